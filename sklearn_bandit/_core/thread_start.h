/* Threads of the system, tried before OpenMP asks for them. */

#ifndef SKLEARN_BANDIT_THREAD_START_H
#define SKLEARN_BANDIT_THREAD_START_H

/* The most threads that this thread has started loops with. */
#if defined(_MSC_VER)
static __declspec(thread) int skb_most_started = 1;
#else
static __thread int skb_most_started = 1;
#endif
static void skb_note_started(int n)
{ skb_most_started = n > skb_most_started ? n : skb_most_started; }

#if defined(_OPENMP) && !defined(_WIN32)
#include <pthread.h>

static void* skb_wait(void* gate)
{
    pthread_mutex_lock((pthread_mutex_t*) gate);
    pthread_mutex_unlock((pthread_mutex_t*) gate);
    return NULL;
}

/* How many of n threads start; all are there at the same time. */
static int skb_try_threads(int n, pthread_t* threads)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    int n_started = 0, i;

    pthread_mutex_lock(&gate);
    while (n_started < n
           && !pthread_create(&threads[n_started], NULL, skb_wait, &gate))
        n_started++;
    pthread_mutex_unlock(&gate);
    for (i = 0; i < n_started; i++)
        pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&gate);
    return n_started;
}
#else
typedef int pthread_t;
static int skb_try_threads(int n, pthread_t* threads) { return n; }
#endif

#endif
