/* All thresholds of up to eight features in a node of a few rows, at once.
   The idea is explained in mean_small_nodes.pxd. */

#ifndef SKLEARN_BANDIT_MEAN_SMALL_NODES_H
#define SKLEARN_BANDIT_MEAN_SMALL_NODES_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const uint8_t* rows[32];
    double moments[64];
    int n;
    double weight;
    double total;
    double least_weight;
    int least_rows;
} skb_few_rows;

typedef struct {
    int32_t varies[8];
    int32_t missing[8];
    int32_t last[8];
    int32_t next[8];
    double scores[8];
} skb_lane_splits;

#if defined(__GNUC__) && (defined(__clang__) || __GNUC__ >= 12)
typedef int16_t skb_keys __attribute__((vector_size(16)));
typedef uint8_t skb_byte_keys __attribute__((vector_size(8)));
typedef uint8_t skb_row __attribute__((vector_size(16)));
typedef double skb_lane __attribute__((vector_size(64)));
typedef int64_t skb_mask __attribute__((vector_size(64)));
#define SKB_CHOOSE(mask, x, y) \
    ((skb_lane) (((mask) & (skb_mask) (x)) | (~(mask) & (skb_mask) (y))))
#if defined(__SSE2__)
#include <immintrin.h>
#define SKB_LESS(x, y) (skb_keys) _mm_min_epi16((__m128i) (x), (__m128i) (y))
#define SKB_MORE(x, y) (skb_keys) _mm_max_epi16((__m128i) (x), (__m128i) (y))
#else
#define SKB_LESS(x, y) (((x) < (y)) & (x)) | (~((x) < (y)) & (y))
#define SKB_MORE(x, y) (((x) < (y)) & (y)) | (~((x) < (y)) & (x))
#endif
#define SKB_EXCHANGE(i, j) do { \
    const skb_keys x = key[i], y = key[j]; \
    key[i] = SKB_LESS(x, y); \
    key[j] = SKB_MORE(x, y); \
} while (0)
#define SKB_UNROLL _Pragma("GCC unroll 32")
/* Merge two sorted halves of N keys from B on: Batcher's odd-even merge. */
#define SKB_MERGE_FIRST(B, N) \
    SKB_UNROLL for (int i = 0; i < N / 2; i++) \
        SKB_EXCHANGE(B + i, B + i + N / 2);
#define SKB_MERGE_STEP(B, N, D) \
    SKB_UNROLL for (int i = 0; i < (N / D - 2) / 2; i++) \
        SKB_UNROLL for (int k = 0; k < D; k++) \
            SKB_EXCHANGE(B + (2 * i + 1) * D + k, B + (2 * i + 2) * D + k);
#define SKB_SORT_2(B) SKB_EXCHANGE(B, B + 1);
#define SKB_SORT_4(B) SKB_SORT_2(B) SKB_SORT_2(B + 2) SKB_MERGE_FIRST(B, 4) \
    SKB_MERGE_STEP(B, 4, 1)
#define SKB_SORT_8(B) SKB_SORT_4(B) SKB_SORT_4(B + 4) SKB_MERGE_FIRST(B, 8) \
    SKB_MERGE_STEP(B, 8, 2) SKB_MERGE_STEP(B, 8, 1)
#define SKB_SORT_16(B) SKB_SORT_8(B) SKB_SORT_8(B + 8) SKB_MERGE_FIRST(B, 16) \
    SKB_MERGE_STEP(B, 16, 4) SKB_MERGE_STEP(B, 16, 2) SKB_MERGE_STEP(B, 16, 1)
#define SKB_SORT_32(B) SKB_SORT_16(B) SKB_SORT_16(B + 16) \
    SKB_MERGE_FIRST(B, 32) SKB_MERGE_STEP(B, 32, 8) SKB_MERGE_STEP(B, 32, 4) \
    SKB_MERGE_STEP(B, 32, 2) SKB_MERGE_STEP(B, 32, 1)

/* The bins of eight features in a row: where there are no more than sixteen, one
   instruction. */
#define SKB_LOAD_LANES(bytes, row) do { \
    uint64_t word = 0; \
    for (int f = 0; f < 8; f++) \
        word |= (uint64_t) (row)[features[f]] << 8 * f; \
    memcpy(&bytes, &word, 8); \
} while (0)

#define SKB_SORTED(NAME, WIDTH, NARROW) \
static void NAME(const skb_few_rows* few, const int32_t* features, \
    int n_features, int offset, double tie, skb_lane_splits* out) \
{ \
    skb_keys key[WIDTH], sorted[WIDTH + 1]; \
    double left_weight[WIDTH][8], left[WIDTH][8]; \
    const int n = few->n; \
    const skb_lane zero = {0.0}; \
    NARROW##_PREPARE \
    SKB_UNROLL for (int i = 0; i < WIDTH; i++) { \
        skb_byte_keys bytes; \
        NARROW##_LOAD(bytes, few->rows[i]); \
        bytes += (uint8_t) offset; \
        const int16_t number = i < n ? i : 0x7fff; \
        key[i] = (__builtin_convertvector(bytes, skb_keys) << 5) | number; \
    } \
    SKB_SORT_##WIDTH(0) \
    memcpy(sorted, key, sizeof(key)); \
    const int16_t* numbers = (const int16_t*) sorted; \
    memset(left_weight, 0, n * sizeof(left_weight[0])); \
    memset(left, 0, n * sizeof(left[0])); \
    for (int f = 0; f < n_features; f++) { \
        double weight = 0.0, sum = 0.0; \
        for (int p = 0; p < n; p++) { \
            const double* moment = few->moments + 2 * (numbers[8 * p + f] & 31); \
            weight += moment[0]; \
            sum += moment[1]; \
            left_weight[p][f] = weight; \
            left[p][f] = sum; \
        } \
    } \
    skb_lane top = -1.0 - zero, bottom = 1.0 - zero; \
    skb_mask place = (skb_mask) {0} - 1; \
    for (int p = 0; p < n - 1; p++) { \
        skb_lane w, s; \
        memcpy(&w, left_weight[p], 64); \
        memcpy(&s, left[p], 64); \
        const skb_keys own = sorted[p], next = sorted[p + 1]; \
        const skb_keys ok = ((own >> 5) != (next >> 5)) \
            & ((own >> 5) >= (int16_t) offset); \
        const skb_lane right_weight = few->weight - w, right = few->total - s; \
        const skb_lane upper = s * s * right_weight + right * right * w; \
        const skb_lane lower = w * right_weight; \
        skb_mask better = __builtin_convertvector(ok, skb_mask) \
            & (upper * bottom * (1.0 - tie) > top * lower) \
            & (w >= few->least_weight) & (right_weight >= few->least_weight); \
        if (p + 1 < few->least_rows || n - p - 1 < few->least_rows) \
            better = (skb_mask) {0}; \
        top = SKB_CHOOSE(better, upper, top); \
        bottom = SKB_CHOOSE(better, lower, bottom); \
        place = (better & (int64_t) p) | (~better & place); \
    } \
    top /= bottom; \
    memcpy(out->scores, &top, 64); \
    for (int f = 0; f < n_features; f++) { \
        const int first = numbers[f] >> 5, end = numbers[8 * (n - 1) + f] >> 5; \
        const int64_t p = place[f]; \
        out->varies[f] = first != end; \
        out->missing[f] = end == 255; \
        out->last[f] = p < 0 ? -1 : numbers[8 * p + f] >> 5; \
        out->next[f] = p < 0 ? -1 : numbers[8 * p + 8 + f] >> 5; \
    } \
}
#define SKB_WIDE_PREPARE
#define SKB_WIDE_LOAD(bytes, row) SKB_LOAD_LANES(bytes, row)
#define SKB_NARROW_PREPARE \
    skb_row chosen = {0}; \
    for (int f = 0; f < 8; f++) \
        chosen[f] = (uint8_t) features[f];
#define SKB_NARROW_LOAD(bytes, row) do { \
    skb_row whole; \
    memcpy(&whole, row, 16); \
    whole = (skb_row) _mm_shuffle_epi8((__m128i) whole, (__m128i) chosen); \
    memcpy(&bytes, &whole, 8); \
} while (0)

#define SKB_ALL_SORTED(SET, KIND) \
SKB_SORTED(skb_sorted_4_##SET, 4, KIND) \
SKB_SORTED(skb_sorted_8_##SET, 8, KIND) \
SKB_SORTED(skb_sorted_16_##SET, 16, KIND) \
SKB_SORTED(skb_sorted_32_##SET, 32, KIND) \
static const skb_sorted skb_sorted_##SET[] = { \
    skb_sorted_4_##SET, skb_sorted_8_##SET, skb_sorted_16_##SET, \
    skb_sorted_32_##SET};

typedef void (*skb_sorted)(const skb_few_rows*, const int32_t*, int, int, double,
    skb_lane_splits*);

SKB_ALL_SORTED(any, SKB_WIDE)
#if defined(__x86_64__) && !defined(__clang__)
#define SKB_DISPATCH_SORTED
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v3")
SKB_ALL_SORTED(v3, SKB_WIDE)
SKB_ALL_SORTED(v3_narrow, SKB_NARROW)
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("arch=x86-64-v4")
SKB_ALL_SORTED(v4, SKB_WIDE)
SKB_ALL_SORTED(v4_narrow, SKB_NARROW)
#pragma GCC pop_options
#endif
#else
typedef void (*skb_sorted)(const skb_few_rows*, const int32_t*, int, int, double,
    skb_lane_splits*);

/* Without vectors: one feature after the other, sorted by insertion. */
static void skb_sorted_any_rows(const skb_few_rows* few, const int32_t* features,
    int n_features, int offset, double tie, skb_lane_splits* out)
{
    const int n = few->n;
    for (int f = 0; f < n_features; f++) {
        int keys[32];
        double w = 0.0, s = 0.0, top = -1.0, bottom = 1.0;
        for (int i = 0; i < n; i++) {
            const uint8_t bin = (uint8_t) (few->rows[i][features[f]] + offset);
            const int key = bin << 5 | i;
            int p = i;
            for (; p > 0 && keys[p - 1] > key; p--)
                keys[p] = keys[p - 1];
            keys[p] = key;
        }
        out->varies[f] = keys[0] >> 5 != keys[n - 1] >> 5;
        out->missing[f] = keys[n - 1] >> 5 == 255;
        out->last[f] = -1;
        out->next[f] = -1;
        for (int p = 0; p < n - 1; p++) {
            const double* moment = few->moments + 2 * (keys[p] & 31);
            double right_weight, right, upper, lower;
            w += moment[0];
            s += moment[1];
            right_weight = few->weight - w;
            right = few->total - s;
            upper = s * s * right_weight + right * right * w;
            lower = w * right_weight;
            if (keys[p] >> 5 == keys[p + 1] >> 5 || keys[p] >> 5 < offset
                || w < few->least_weight || right_weight < few->least_weight
                || p + 1 < few->least_rows || n - p - 1 < few->least_rows
                || !(upper * bottom * (1.0 - tie) > top * lower))
                continue;
            top = upper;
            bottom = lower;
            out->last[f] = keys[p] >> 5;
            out->next[f] = keys[p + 1] >> 5;
        }
        out->scores[f] = top / bottom;
    }
}
static const skb_sorted skb_sorted_any[] = {skb_sorted_any_rows,
    skb_sorted_any_rows, skb_sorted_any_rows, skb_sorted_any_rows};
#endif

static skb_sorted skb_sorted_for(int n, int narrow)
{
    const int size = (n > 4) + (n > 8) + (n > 16);
#ifdef SKB_DISPATCH_SORTED
    if (__builtin_cpu_supports("x86-64-v4"))
        return narrow ? skb_sorted_v4_narrow[size] : skb_sorted_v4[size];
    if (__builtin_cpu_supports("x86-64-v3"))
        return narrow ? skb_sorted_v3_narrow[size] : skb_sorted_v3[size];
#endif
    return skb_sorted_any[size];
}

#endif
