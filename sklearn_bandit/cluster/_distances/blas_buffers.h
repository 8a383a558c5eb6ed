/* Numbers that several threads count with. */

#ifndef SKLEARN_BANDIT_BLAS_BUFFERS_H
#define SKLEARN_BANDIT_BLAS_BUFFERS_H

/* Add to a number; return what it was before. */
#if defined(_MSC_VER)
#include <intrin.h>
static long skb_fetch_add(volatile long* number, long change)
{ return _InterlockedExchangeAdd(number, change); }
#else
static long skb_fetch_add(volatile long* number, long change)
{ return __atomic_fetch_add(number, change, __ATOMIC_SEQ_CST); }
#endif

#endif
