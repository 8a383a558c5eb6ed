/* The few functions of libgomp that the kernels call, on POSIX threads.

ThreadSanitizer does not see how libgomp waits (by futexes of its own), and takes every
loop for a race. Loaded before libgomp, this file takes its place: threads are created
and joined for each parallel region, and meet at barriers that the sanitizer knows.
Slow, and meant for nothing but `make test-threads`.

There is no nested parallelism and no schedule but the dynamic one: what Cython makes of
`prange(..., schedule="dynamic")` and of static ones, which the compiler divides itself.
*/

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct {
    pthread_mutex_t lock;
    pthread_barrier_t barrier;
    int n_threads;
    /* The dynamic loop that the team is in: started by whoever comes first. */
    long next, end, step, chunk;
    int n_entered;
} Team;

typedef struct {
    void (*function)(void *);
    void *data;
    Team *team;
    int number;
} Member;

static __thread Team *my_team = NULL;
static __thread int my_number = 0;
static __thread int max_threads = 0;

static int default_threads(void)
{
    const char *asked = getenv("OMP_NUM_THREADS");
    int n = asked ? atoi(asked) : 2;
    return n < 1 ? 1 : n;
}

int omp_get_max_threads(void) { return max_threads ? max_threads : default_threads(); }
void omp_set_num_threads(int n) { max_threads = n < 1 ? 1 : n; }
int omp_get_num_threads(void) { return my_team ? my_team->n_threads : 1; }
int omp_get_thread_num(void) { return my_number; }
int omp_in_parallel(void) { return my_team != NULL && my_team->n_threads > 1; }

static void *run_member(void *argument)
{
    Member *member = argument;
    my_team = member->team;
    my_number = member->number;
    member->function(member->data);
    my_team = NULL;
    my_number = 0;
    return NULL;
}

void GOMP_parallel(void (*function)(void *), void *data, unsigned n, unsigned flags)
{
    Team *outer = my_team;
    int outer_number = my_number;
    (void)flags;
    if (n == 0) n = omp_get_max_threads();
    if (outer && outer->n_threads > 1) n = 1;

    Team team = {.n_threads = (int)n};
    pthread_mutex_init(&team.lock, NULL);
    pthread_barrier_init(&team.barrier, NULL, n);
    Member *members = malloc(n * sizeof(Member));
    pthread_t *threads = malloc(n * sizeof(pthread_t));
    for (unsigned i = 0; i < n; i++)
        members[i] = (Member){function, data, &team, (int)i};
    for (unsigned i = 1; i < n; i++)
        if (pthread_create(&threads[i], NULL, run_member, &members[i])) abort();
    run_member(&members[0]);
    for (unsigned i = 1; i < n; i++) pthread_join(threads[i], NULL);
    free(members);
    free(threads);
    pthread_barrier_destroy(&team.barrier);
    pthread_mutex_destroy(&team.lock);
    my_team = outer;
    my_number = outer_number;
}

void GOMP_barrier(void)
{
    if (my_team && my_team->n_threads > 1) pthread_barrier_wait(&my_team->barrier);
}

/* Around sums of several reductions. */
static pthread_mutex_t atomic_lock = PTHREAD_MUTEX_INITIALIZER;

void GOMP_atomic_start(void) { pthread_mutex_lock(&atomic_lock); }
void GOMP_atomic_end(void) { pthread_mutex_unlock(&atomic_lock); }

bool GOMP_loop_nonmonotonic_dynamic_next(long *start, long *end)
{
    Team *team = my_team;
    pthread_mutex_lock(&team->lock);
    long first = team->next, last = first + team->chunk * team->step;
    bool more = team->step > 0 ? first < team->end : first > team->end;
    if (more) {
        if (team->step > 0 ? last > team->end : last < team->end) last = team->end;
        team->next = last;
        *start = first;
        *end = last;
    }
    pthread_mutex_unlock(&team->lock);
    return more;
}

bool GOMP_loop_nonmonotonic_dynamic_start(
    long start, long end, long step, long chunk, long *first, long *last)
{
    static __thread Team alone;
    if (!my_team) {
        alone.n_threads = 1;
        pthread_mutex_init(&alone.lock, NULL);
        my_team = &alone;
    }
    Team *team = my_team;
    pthread_mutex_lock(&team->lock);
    if (team->n_entered == 0) {
        team->next = start;
        team->end = end;
        team->step = step;
        team->chunk = chunk;
    }
    /* All members enter a loop before any can enter the next: Cython puts each loop
    into a region of its own. */
    team->n_entered = (team->n_entered + 1) % team->n_threads;
    pthread_mutex_unlock(&team->lock);
    return GOMP_loop_nonmonotonic_dynamic_next(first, last);
}

void GOMP_loop_end_nowait(void) {}
