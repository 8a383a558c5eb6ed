/* Kernels of the search in bytes, one table of functions for each instruction set.

   `skb_kernels_of` returns the table of a name, or NULL if the processor or the compiler
   lacks it; the tests run all that are there. Tables differ in speed only: integers are
   summed without overflow or saturation, and exact distances (exact.h) add in one order.

   Layouts. Rows are in blocks of 64. Codes of products: [block][word][64][4], a word
   being four features; codes of differences: [block][word][64][8]. A code is a byte with
   an offset of 128. The four numbers of a row that a bound needs are in
   [block][4][64]: see skb_stat; the two that differences need in [block][2][64]. */

#ifndef SKLEARN_BANDIT_QUANTIZED_KERNELS_H
#define SKLEARN_BANDIT_QUANTIZED_KERNELS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "constants.h"

/* The numbers of a row. */
enum skb_stat {
    SKB_BIAS,               /* what is added to the inner product */
    SKB_SCALE,              /* factor of its codes */
    SKB_RESIDUAL,           /* norm of what the codes leave out; -inf: not a row */
    SKB_SIZE,               /* norm of the codes times the scale */
    SKB_N_STATS
};

/* Those for differences: see _encode.pyx. */
enum skb_difference_stat {
    SKB_REST,               /* sum of what the codes leave out; -inf: not a row */
    SKB_OUTSIDE,            /* sum of what is outside of the range of codes */
    SKB_N_DIFFERENCE_STATS
};

/* A query: one or two bytes a feature, and factors of the numbers of a row. The bound
   of a row is
   unit * scale * (128 * high + low).codes + bias * BIAS + residual * RESIDUAL
   + size * SIZE + constant. */
typedef struct {
    const int8_t* high;     /* n_words * 4 bytes */
    const int8_t* low;      /* the same number, or NULL if there is one byte only */
    int32_t n_words;
    int32_t sum_high;       /* of all bytes: the codes have an offset */
    int32_t sum_low;
    float unit;
    float bias;
    float residual;
    float size;
    float constant;
    float outside;          /* of differences: what is outside of the range of codes */
} skb_query;

/* Bounds of n_blocks blocks for one query with two bytes. */
typedef void (*skb_scan_one)(
    const uint8_t* codes, const float* stats, ptrdiff_t n_blocks,
    const skb_query* query, float* bounds);

/* Bounds of n_blocks blocks for SKB_GROUP queries with one byte each, those of a query
   `stride` after those of the one before. */
typedef void (*skb_scan_group)(
    const uint8_t* codes, const float* stats, ptrdiff_t n_blocks,
    const skb_query* queries, float* bounds, ptrdiff_t stride);

/* Bound of one row whose codes are contiguous, a multiple of 64 bytes. `stats` points
   to its first number; the next is SKB_BLOCK further. */
typedef float (*skb_scan_row)(
    const uint8_t* codes, const float* stats, const skb_query* query);

/* Bounds of minus the sum of absolute differences:
   REST + constant - unit * differences - |OUTSIDE - outside|. */
typedef void (*skb_scan_differences)(
    const uint8_t* codes, const float* stats, ptrdiff_t n_blocks,
    const skb_query* query, float* bounds);

/* Places of the n bounds, plus factor * tails unless tails is NULL, that reach `least`;
   returns how many. There must be room for n. NaN reaches nothing. */
typedef ptrdiff_t (*skb_select)(
    const float* bounds, const float* tails, ptrdiff_t n, float factor, float least,
    int32_t* places);

/* Sums over n features of a row (of float or double) and a query, see exact.h. */
typedef void (*skb_sums)(
    const void* row, const double* query, ptrdiff_t n, double* sums);

typedef struct {
    const char* name;
    skb_scan_one scan_one;
    skb_scan_group scan_group;
    skb_scan_row scan_row;
    skb_scan_differences scan_differences;
    skb_select select;
    skb_sums squares[2];        /* of differences; rows of float, rows of double */
    skb_sums products[2];       /* products, and squares of the row */
    skb_sums absolutes[2];      /* of differences */
} skb_kernels;

#include "kernels_portable.h"
#if defined(__x86_64__) && defined(__GNUC__)
#define SKB_HAS_X86_KERNELS
#include <immintrin.h>
#include "kernels_avx2.h"
#include "kernels_avx512.h"
#endif

static const skb_kernels* skb_kernels_of(const char* name)
{
    if (strcmp(name, "portable") == 0)
        return &skb_portable;
#if defined(SKB_HAS_X86_KERNELS)
    if (strcmp(name, "avx2") == 0 && __builtin_cpu_supports("avx2"))
        return &skb_avx2;
    if (strcmp(name, "avx512") == 0 && __builtin_cpu_supports("avx512f")
        && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")
        && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"))
        return &skb_avx512;
#endif
    return NULL;
}

#endif
