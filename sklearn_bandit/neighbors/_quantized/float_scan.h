/* Sums over the features of rows as they are, in their own precision, for one query.

   Four rows at a time: their sums do not wait for each other, and a value of the query
   is loaded once. The order of summation is the compiler's: see _float_scan.pyx. */

#ifndef SKLEARN_BANDIT_QUANTIZED_FLOAT_SCAN_H
#define SKLEARN_BANDIT_QUANTIZED_FLOAT_SCAN_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include "encode.h"

#define SKB_SUM_DISTANCES(NAME, KIND, TYPE, TERM) \
SKB_SIMD static void skb_##NAME##_##KIND( \
    const TYPE* rows, const TYPE* query, ptrdiff_t n_rows, ptrdiff_t d, double* sums) \
{ \
    ptrdiff_t r = 0; \
    for (; r + 4 <= n_rows; r += 4) { \
        const TYPE *a = rows + r * d, *b = a + d, *c = b + d, *e = c + d; \
        TYPE s = 0, t = 0, u = 0, v = 0; \
        SKB_LOOP("omp simd reduction(+:s,t,u,v)") \
        for (ptrdiff_t j = 0; j < d; j++) { \
            s += TERM(a[j] - query[j]); \
            t += TERM(b[j] - query[j]); \
            u += TERM(c[j] - query[j]); \
            v += TERM(e[j] - query[j]); \
        } \
        sums[r] = s; \
        sums[r + 1] = t; \
        sums[r + 2] = u; \
        sums[r + 3] = v; \
    } \
    for (; r < n_rows; r++) { \
        const TYPE* a = rows + r * d; \
        TYPE s = 0; \
        SKB_LOOP("omp simd reduction(+:s)") \
        for (ptrdiff_t j = 0; j < d; j++) \
            s += TERM(a[j] - query[j]); \
        sums[r] = s; \
    } \
}

#define SKB_SQUARE(x) ((x) * (x))
SKB_SUM_DISTANCES(sum_squares, single, float, SKB_SQUARE)
SKB_SUM_DISTANCES(sum_squares, double, double, SKB_SQUARE)
SKB_SUM_DISTANCES(sum_absolutes, single, float, fabsf)
SKB_SUM_DISTANCES(sum_absolutes, double, double, fabs)

/* Products with the query, and squares of the row. */
#define SKB_SUM_PRODUCTS(KIND, TYPE) \
SKB_SIMD static void skb_sum_products_##KIND( \
    const TYPE* rows, const TYPE* query, ptrdiff_t n_rows, ptrdiff_t d, double* sums, \
    double* squares) \
{ \
    ptrdiff_t r = 0; \
    for (; r + 2 <= n_rows; r += 2) { \
        const TYPE *a = rows + r * d, *b = a + d; \
        TYPE s = 0, t = 0, u = 0, v = 0; \
        SKB_LOOP("omp simd reduction(+:s,t,u,v)") \
        for (ptrdiff_t j = 0; j < d; j++) { \
            s += a[j] * query[j]; \
            t += b[j] * query[j]; \
            u += a[j] * a[j]; \
            v += b[j] * b[j]; \
        } \
        sums[r] = s; \
        sums[r + 1] = t; \
        squares[r] = u; \
        squares[r + 1] = v; \
    } \
    for (; r < n_rows; r++) { \
        const TYPE* a = rows + r * d; \
        TYPE s = 0, u = 0; \
        SKB_LOOP("omp simd reduction(+:s,u)") \
        for (ptrdiff_t j = 0; j < d; j++) { \
            s += a[j] * query[j]; \
            u += a[j] * a[j]; \
        } \
        sums[r] = s; \
        squares[r] = u; \
    } \
}

SKB_SUM_PRODUCTS(single, float)
SKB_SUM_PRODUCTS(double, double)

/* Places of the n sums that are not above `most`; what is not a number is not. */
static ptrdiff_t skb_near(
    const double* sums, ptrdiff_t n, double most, int32_t* places)
{
    ptrdiff_t n_found = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        places[n_found] = (int32_t) i;
        n_found += !(sums[i] > most);
    }
    return n_found;
}

/* What a product has to reach, by_norm * |row| + constant, for rows whose squares are
   within the limits; others reach it. */
typedef struct {
    double by_norm;
    double constant;
    double least_squares;
    double most_squares;
} skb_product_limit;

static ptrdiff_t skb_large(
    const double* products, const double* squares, ptrdiff_t n,
    const skb_product_limit* limit, int32_t* places)
{
    ptrdiff_t n_found = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        const double least = limit->by_norm * sqrt(squares[i]) + limit->constant;
        const int is_below = (products[i] < least)
            & (squares[i] > limit->least_squares) & (squares[i] < limit->most_squares);
        places[n_found] = (int32_t) i;
        n_found += !is_below;
    }
    return n_found;
}

#endif
