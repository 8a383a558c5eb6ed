/* Numbers that several threads count with. */

#ifndef SKLEARN_BANDIT_BLAS_BUFFERS_H
#define SKLEARN_BANDIT_BLAS_BUFFERS_H

#if defined(_MSC_VER)
#include <intrin.h>
static long skb_fetch_add(volatile long* number, long change)
{ return _InterlockedExchangeAdd(number, change); }
static int skb_replace(volatile long* number, long before, long after)
{ return _InterlockedCompareExchange(number, after, before) == before; }
#else
/* Add to a number; return what it was before. */
static long skb_fetch_add(volatile long* number, long change)
{ return __atomic_fetch_add(number, change, __ATOMIC_SEQ_CST); }
/* Put a number in the place of another, if that is there; return whether it was. */
static int skb_replace(volatile long* number, long before, long after)
{
    return __atomic_compare_exchange_n(
        number, &before, after, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
#endif

/* Raise a number to a value, unless it is as large. */
static void skb_raise(volatile long* number, long value)
{
    long before = skb_fetch_add(number, 0);

    while (before < value && !skb_replace(number, before, value))
        before = skb_fetch_add(number, 0);
}

#endif
