/* How one row becomes bytes, and what the bytes leave out. */

#ifndef SKLEARN_BANDIT_QUANTIZED_ENCODE_H
#define SKLEARN_BANDIT_QUANTIZED_ENCODE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include "simd.h"

#if defined(_OPENMP)
#define SKB_LOOP(clauses) _Pragma(clauses)
#else
#define SKB_LOOP(clauses)
#endif

/* Sum of squares of a row. */
#define SKB_NORM(KIND, TYPE) \
SKB_SIMD static void skb_row_norm_##KIND(const TYPE* row, ptrdiff_t n, double* norm) \
{ \
    double sum = 0.0; \
    SKB_LOOP("omp simd reduction(+:sum)") \
    for (ptrdiff_t j = 0; j < n; j++) \
        sum += (double) row[j] * (double) row[j]; \
    *norm = sum; \
}
SKB_NORM(single, float)
SKB_NORM(double, double)

/* x = (row * factor - centre) / unit. */
#define SKB_CENTRED(KIND, TYPE) \
SKB_SIMD static void skb_centred_##KIND( \
    const TYPE* row, const double* centre, ptrdiff_t n, double factor, \
    double inverse_unit, double* x) \
{ \
    SKB_LOOP("omp simd") \
    for (ptrdiff_t j = 0; j < n; j++) \
        x[j] = ((double) row[j] * factor - centre[j]) * inverse_unit; \
}
SKB_CENTRED(single, float)
SKB_CENTRED(double, double)

/* What is known of x: the largest entry in steps, squares, part along a direction. */
typedef struct {
    double largest;
    double squares;
    double along;
} skb_measures;

SKB_SIMD static void skb_measure(
    const double* x, const double* inverse_steps, const double* direction,
    ptrdiff_t n, skb_measures* found)
{
    double largest = 0.0, squares = 0.0, along = 0.0;
    SKB_LOOP("omp simd reduction(max:largest) reduction(+:squares,along)")
    for (ptrdiff_t j = 0; j < n; j++) {
        double size = fabs(x[j] * inverse_steps[j]);
        largest = size > largest ? size : largest;
        squares += x[j] * x[j];
        along += x[j] * direction[j];
    }
    found->largest = largest;
    found->squares = squares;
    found->along = along;
}

/* Codes of x, which are whole numbers of -128 to 127, as bytes. On its own: loops that
   compute and pack at the same time become vectors of two. */
SKB_SIMD static void skb_pack(const double* x, ptrdiff_t n, uint8_t* codes)
{
    SKB_LOOP("omp simd")
    for (ptrdiff_t j = 0; j < n; j++)
        codes[j] = (uint8_t) ((int) x[j] + 128);
}

/* Put codes of x, in steps of scale * steps, in the place of x; return the squares of
   residual and codes. The inverses may be rounded: any codes are right, what counts is
   what they leave out. */
SKB_SIMD static void skb_round_products(
    double* x, const double* steps, const double* inverse_steps, ptrdiff_t n,
    double scale, double* squares)
{
    const double inverse_scale = 1.0 / scale;
    double residual = 0.0, size = 0.0;
    SKB_LOOP("omp simd reduction(+:residual,size)")
    for (ptrdiff_t j = 0; j < n; j++) {
        double step = scale * steps[j];
        double code = rint(x[j] * (inverse_steps[j] * inverse_scale));
        code = code > 127.0 ? 127.0 : code;
        code = code < -127.0 ? -127.0 : code;
        double rest = x[j] - step * code;
        residual += rest * rest;
        size += code * code;
        x[j] = code;
    }
    squares[0] = residual;
    squares[1] = size;
}

/* The same in one step, of x as far as it is in the range of codes; return the sums of
   what the codes leave out of that, and of what is outside. */
SKB_SIMD static void skb_round_differences(
    double* x, ptrdiff_t n, double step, double* sums)
{
    const double inverse_step = 1.0 / step, least = -128.0 * step, most = 127.0 * step;
    double rest = 0.0, outside = 0.0;
    SKB_LOOP("omp simd reduction(+:rest,outside)")
    for (ptrdiff_t j = 0; j < n; j++) {
        double inside = x[j] > most ? most : x[j];
        inside = inside < least ? least : inside;
        const double code = rint(inside * inverse_step);
        rest += fabs(inside - step * code);
        outside += fabs(x[j] - inside);
        x[j] = code;
    }
    sums[0] = rest;
    sums[1] = outside;
}

#endif
