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

/* Make a number at least as large as another. */
#if defined(_MSC_VER)
static void skb_raise_to(volatile long* number, long least)
{
    long seen = _InterlockedExchangeAdd(number, 0);
    while (seen < least) {
        long before = _InterlockedCompareExchange(number, least, seen);
        if (before == seen)
            return;
        seen = before;
    }
}
#else
static void skb_raise_to(volatile long* number, long least)
{
    long seen = __atomic_load_n(number, __ATOMIC_SEQ_CST);
    while (seen < least && !__atomic_compare_exchange_n(
               number, &seen, least, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
}
#endif

#endif
