/* Distances in double precision, the same to the last bit with any instruction set.

   Sixteen sums, one for every sixteenth feature, are added in one order at the end.
   Nothing is fused or re-associated: this file is compiled with -ffp-contract=off and
   without -fassociative-math (STRICT in setup.py). Each sum has ceil(n / 16) + 4
   roundings, relative to sums of absolute values.

   SKB_EXACT(SUFFIX, ATTRIBUTES) defines the functions for one instruction set. The
   loops over sixteen lanes become vectors of whatever width it has. */

#ifndef SKLEARN_BANDIT_QUANTIZED_EXACT_H
#define SKLEARN_BANDIT_QUANTIZED_EXACT_H

#include <math.h>

#define SKB_EXACT_LANES 16

static inline double skb_add_lanes(double* lanes)
{
    for (int width = SKB_EXACT_LANES / 2; width; width /= 2)
        for (int i = 0; i < width; i++)
            lanes[i] += lanes[i + width];
    return lanes[0];
}

#define SKB_EXACT_SUMS(SUFFIX, KIND, TYPE, ATTRIBUTES) \
ATTRIBUTES static void skb_squares_##KIND##_##SUFFIX( \
    const void* row, const double* query, ptrdiff_t n, double* sums) \
{ \
    const TYPE* x = (const TYPE*) row; \
    double lanes[SKB_EXACT_LANES] = {0}; \
    ptrdiff_t j = 0; \
    for (; j + SKB_EXACT_LANES <= n; j += SKB_EXACT_LANES) \
        for (int i = 0; i < SKB_EXACT_LANES; i++) { \
            double step = (double) x[j + i] - query[j + i]; \
            lanes[i] += step * step; \
        } \
    for (int i = 0; j < n; i++, j++) { \
        double step = (double) x[j] - query[j]; \
        lanes[i] += step * step; \
    } \
    sums[0] = skb_add_lanes(lanes); \
} \
ATTRIBUTES static void skb_products_##KIND##_##SUFFIX( \
    const void* row, const double* query, ptrdiff_t n, double* sums) \
{ \
    const TYPE* x = (const TYPE*) row; \
    double lanes[SKB_EXACT_LANES] = {0}, own[SKB_EXACT_LANES] = {0}; \
    ptrdiff_t j = 0; \
    for (; j + SKB_EXACT_LANES <= n; j += SKB_EXACT_LANES) \
        for (int i = 0; i < SKB_EXACT_LANES; i++) { \
            double value = (double) x[j + i]; \
            lanes[i] += value * query[j + i]; \
            own[i] += value * value; \
        } \
    for (int i = 0; j < n; i++, j++) { \
        double value = (double) x[j]; \
        lanes[i] += value * query[j]; \
        own[i] += value * value; \
    } \
    sums[0] = skb_add_lanes(lanes); \
    sums[1] = skb_add_lanes(own); \
} \
ATTRIBUTES static void skb_absolutes_##KIND##_##SUFFIX( \
    const void* row, const double* query, ptrdiff_t n, double* sums) \
{ \
    const TYPE* x = (const TYPE*) row; \
    double lanes[SKB_EXACT_LANES] = {0}; \
    ptrdiff_t j = 0; \
    for (; j + SKB_EXACT_LANES <= n; j += SKB_EXACT_LANES) \
        for (int i = 0; i < SKB_EXACT_LANES; i++) \
            lanes[i] += fabs((double) x[j + i] - query[j + i]); \
    for (int i = 0; j < n; i++, j++) \
        lanes[i] += fabs((double) x[j] - query[j]); \
    sums[0] = skb_add_lanes(lanes); \
}

#define SKB_EXACT(SUFFIX, ATTRIBUTES) \
    SKB_EXACT_SUMS(SUFFIX, single, float, ATTRIBUTES) \
    SKB_EXACT_SUMS(SUFFIX, double, double, ATTRIBUTES)

#define SKB_EXACT_TABLE(SUFFIX) \
    {skb_squares_single_##SUFFIX, skb_squares_double_##SUFFIX}, \
    {skb_products_single_##SUFFIX, skb_products_double_##SUFFIX}, \
    {skb_absolutes_single_##SUFFIX, skb_absolutes_double_##SUFFIX}

#endif
