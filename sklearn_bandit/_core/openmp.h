/* The few OpenMP functions that kernels need, with a serial fall-back. */

#ifndef SKLEARN_BANDIT_OPENMP_H
#define SKLEARN_BANDIT_OPENMP_H

#ifdef _OPENMP
#include <omp.h>
#define SKB_HAS_OPENMP 1
#define skb_max_threads omp_get_max_threads
#define skb_thread_num omp_get_thread_num
#else
#define SKB_HAS_OPENMP 0
static inline int skb_max_threads(void) { return 1; }
static inline int skb_thread_num(void) { return 0; }
#endif

#endif
