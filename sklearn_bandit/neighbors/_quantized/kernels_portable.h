/* The kernels in plain C: the reference for the others, and what other processors use. */

#ifndef SKLEARN_BANDIT_QUANTIZED_KERNELS_PORTABLE_H
#define SKLEARN_BANDIT_QUANTIZED_KERNELS_PORTABLE_H

#include "exact.h"

SKB_EXACT(portable, )

/* Sums of codes times one byte, of a block; the offset of the codes is taken out. */
static void skb_products_of_block(
    const uint8_t* codes, const int8_t* bytes, int32_t n_words, int32_t sum,
    int32_t* sums)
{
    for (int i = 0; i < SKB_BLOCK; i++)
        sums[i] = -SKB_BYTE_OFFSET * sum;
    for (int32_t word = 0; word < n_words; word++, codes += 4 * SKB_BLOCK, bytes += 4)
        for (int i = 0; i < SKB_BLOCK; i++)
            for (int j = 0; j < 4; j++)
                sums[i] += (int32_t) codes[4 * i + j] * bytes[j];
}

static float skb_bound(
    float product, const float* stats, int i, const skb_query* query)
{
    float bound = query->constant + query->bias * stats[SKB_BIAS * SKB_BLOCK + i];
    bound += query->size * stats[SKB_SIZE * SKB_BLOCK + i];
    bound += query->residual * stats[SKB_RESIDUAL * SKB_BLOCK + i];
    return bound + query->unit * (product * stats[SKB_SCALE * SKB_BLOCK + i]);
}

static void skb_scan_one_portable(
    const uint8_t* codes, const float* stats, ptrdiff_t n_blocks,
    const skb_query* query, float* bounds)
{
    int32_t high[SKB_BLOCK], low[SKB_BLOCK];
    for (ptrdiff_t b = 0; b < n_blocks; b++) {
        skb_products_of_block(codes, query->high, query->n_words, query->sum_high, high);
        skb_products_of_block(codes, query->low, query->n_words, query->sum_low, low);
        for (int i = 0; i < SKB_BLOCK; i++)
            bounds[i] = skb_bound(
                SKB_HIGH_STEP * (float) high[i] + (float) low[i], stats, i, query);
        codes += (ptrdiff_t) query->n_words * 4 * SKB_BLOCK;
        stats += SKB_N_STATS * SKB_BLOCK;
        bounds += SKB_BLOCK;
    }
}

static void skb_scan_group_portable(
    const uint8_t* codes, const float* stats, ptrdiff_t n_blocks,
    const skb_query* queries, float* bounds, ptrdiff_t stride)
{
    int32_t sums[SKB_BLOCK];
    for (ptrdiff_t b = 0; b < n_blocks; b++) {
        for (int q = 0; q < SKB_GROUP; q++) {
            const skb_query* query = queries + q;
            skb_products_of_block(
                codes, query->high, query->n_words, query->sum_high, sums);
            for (int i = 0; i < SKB_BLOCK; i++)
                bounds[q * stride + i] = skb_bound((float) sums[i], stats, i, query);
        }
        codes += (ptrdiff_t) queries->n_words * 4 * SKB_BLOCK;
        stats += SKB_N_STATS * SKB_BLOCK;
        bounds += SKB_BLOCK;
    }
}

static float skb_scan_row_portable(
    const uint8_t* codes, const float* stats, const skb_query* query)
{
    int32_t high = -SKB_BYTE_OFFSET * query->sum_high;
    int32_t low = -SKB_BYTE_OFFSET * query->sum_low;
    for (int32_t j = 0; j < 4 * query->n_words; j++) {
        high += (int32_t) codes[j] * query->high[j];
        low += (int32_t) codes[j] * query->low[j];
    }
    return skb_bound(SKB_HIGH_STEP * (float) high + (float) low, stats, 0, query);
}

static float skb_difference_bound(
    int32_t sum, const float* stats, int i, const skb_query* query)
{
    const float bound = query->constant - query->unit * (float) sum;
    const float outside = stats[SKB_OUTSIDE * SKB_BLOCK + i] - query->outside;
    return stats[SKB_REST * SKB_BLOCK + i] + (bound - fabsf(outside));
}

static void skb_scan_differences_portable(
    const uint8_t* codes, const float* stats, ptrdiff_t n_blocks,
    const skb_query* query, float* bounds)
{
    const uint8_t* bytes = (const uint8_t*) query->high;
    int32_t sums[SKB_BLOCK];
    for (ptrdiff_t b = 0; b < n_blocks; b++) {
        memset(sums, 0, sizeof(sums));
        for (int32_t word = 0; word < query->n_words; word++, codes += 8 * SKB_BLOCK)
            for (int i = 0; i < SKB_BLOCK; i++)
                for (int j = 0; j < 8; j++) {
                    int32_t step = (int32_t) codes[8 * i + j] - bytes[8 * word + j];
                    sums[i] += step < 0 ? -step : step;
                }
        for (int i = 0; i < SKB_BLOCK; i++)
            bounds[i] = skb_difference_bound(sums[i], stats, i, query);
        stats += SKB_N_DIFFERENCE_STATS * SKB_BLOCK;
        bounds += SKB_BLOCK;
    }
}

static ptrdiff_t skb_select_portable(
    const float* bounds, const float* tails, ptrdiff_t n, float factor, float least,
    int32_t* places)
{
    ptrdiff_t n_found = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        float bound = tails == NULL ? bounds[i] : bounds[i] + factor * tails[i];
        places[n_found] = (int32_t) i;
        n_found += bound >= least;
    }
    return n_found;
}

static const skb_kernels skb_portable = {
    "portable", skb_scan_one_portable, skb_scan_group_portable, skb_scan_row_portable,
    skb_scan_differences_portable, skb_select_portable, SKB_EXACT_TABLE(portable)
};

#endif
