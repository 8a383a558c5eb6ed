/* Inner products of rows and queries in single precision, a tile of both at a time.

   The rows of a tile are stored by feature, so that a value of a query meets those of
   all rows in a few registers. */

#ifndef SKLEARN_BANDIT_PRODUCTS_H
#define SKLEARN_BANDIT_PRODUCTS_H

#include <stddef.h>
#include <string.h>
#include "simd.h"

#define SKB_TILE_ROWS 32
#define SKB_TILE_QUERIES 4

/* Thresholds from here on may have overflowed: what they say is not to be trusted. */
#define SKB_MOST_THRESHOLD 1e300

/* The products of SKB_TILE_ROWS rows (n_features, SKB_TILE_ROWS) and SKB_TILE_QUERIES
   queries (SKB_TILE_QUERIES, n_features). */
SKB_SIMD static void skb_tile_products(
    const float* rows, const float* queries, ptrdiff_t n_features, float* products)
{
#if defined(__GNUC__) || defined(__clang__)
    typedef float lanes __attribute__((vector_size(64)));
    lanes sums[SKB_TILE_QUERIES][2] = {{{0.0f}}};
    for (ptrdiff_t j = 0; j < n_features; j++) {
        lanes low, high;
        memcpy(&low, rows + SKB_TILE_ROWS * j, 64);
        memcpy(&high, rows + SKB_TILE_ROWS * j + 16, 64);
        for (int q = 0; q < SKB_TILE_QUERIES; q++) {
            const float value = queries[q * n_features + j];
            sums[q][0] += value * low;
            sums[q][1] += value * high;
        }
    }
    memcpy(products, sums, sizeof(sums));
#else
    memset(products, 0, sizeof(float) * SKB_TILE_QUERIES * SKB_TILE_ROWS);
    for (ptrdiff_t j = 0; j < n_features; j++)
        for (int q = 0; q < SKB_TILE_QUERIES; q++)
            for (int r = 0; r < SKB_TILE_ROWS; r++)
                products[q * SKB_TILE_ROWS + r] +=
                    queries[q * n_features + j] * rows[SKB_TILE_ROWS * j + r];
#endif
}

/* What a product has to reach: by_square * |row|^2 + by_norm * |row| + constant. */
typedef struct {
    double by_square;
    double by_norm;
    double constant;
} skb_threshold;

/* Mark the rows of a tile whose products reach the threshold; return whether there are
   any. A product or threshold that is not a number is one that reaches. */
SKB_SIMD static int skb_reaching(
    const float* products, const double* norms, const skb_threshold* threshold,
    unsigned char* reaches)
{
    int any = 0;
    for (int r = 0; r < SKB_TILE_ROWS; r++) {
        const double least = threshold->constant +
            norms[r] * (threshold->by_norm + norms[r] * threshold->by_square);
        const int is_below = (products[r] < least) & (least < SKB_MOST_THRESHOLD);
        reaches[r] = (unsigned char) !is_below;
        any |= !is_below;
    }
    return any;
}

#endif
