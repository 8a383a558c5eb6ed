/* Rows on their way through packed trees.

   A node is two words of 32 bits, or three where these do not suffice ("wide"):

   word 0   threshold as float32: a row goes right if its value is larger; of a leaf, its
            payload
   word 1   bit 31: leaf; bit 30: missing values go left; then the number of the pair of
            children and, in the lowest bits, the feature
   word 2   the number of the pair; word 1 then has the feature alone

   Children are neighbours, nodes 2 p and 2 p + 1 of the tree for pair p; the root is
   node 0, and node 1 is empty. What a payload says is in `skb_add_payloads`.

   Rows advance together, one level at a time, and those that have reached a leaf are
   squeezed out without a branch. So many loads are under way at any time, and none
   waits for a path that is longer than its own. */

#ifndef SKLEARN_BANDIT_WALK_H
#define SKLEARN_BANDIT_WALK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "simd.h"

/* Rows that advance together: enough that loads of many are under way. */
#define SKB_WALKERS 128

/* A float32 that is not a number has these bits, and any others, but not none, among the
   fraction's: these and the sign number the values that float32 cannot hold. */
#define SKB_NOT_A_NUMBER 0x7F800000u
#define SKB_FRACTION 0x007FFFFFu

typedef struct {
    const uint32_t* nodes;      /* of all trees */
    const int64_t* first;       /* first node of each tree */
    const double* values;       /* table of distinct leaf values, `width` each */
    int wide;                   /* whether nodes have three words */
    int feature_bits;
    int width;                  /* numbers that a leaf predicts */
    int n_classes;              /* payloads below: all votes for that class */
    int in_place;               /* payloads are float32 values, unless not a number */
} skb_forest;

typedef struct {
    const float* x;
    ptrdiff_t stride;           /* floats from a row to the next */
    int n;
    int has_nan;                /* whether any value may be missing */
} skb_rows;

#if defined(_MSC_VER)
#define SKB_APART __declspec(noinline)
#else
#define SKB_APART __attribute__((noinline))
#endif

/* One step down from a node; returns 1 if it is a leaf. `wide` and `has_nan` are
   constants where this is inlined. */
SKB_INLINED uint32_t skb_step(
    const int wide, const int has_nan, const uint32_t* node, const float* x,
    int feature_bits, uint32_t* payload, uint32_t* next)
{
    const uint32_t flags = node[1];
    const uint32_t mask = ((uint32_t) 1 << feature_bits) - 1;
    const float value = x[wide ? flags & 0x3FFFFFFFu : flags & mask];
    const uint32_t pair =
        wide ? node[2] : (flags & 0x3FFFFFFFu) >> feature_bits;
    float threshold;
    memcpy(&threshold, node, 4);
    uint32_t right = value > threshold;
    if (has_nan) right |= (uint32_t) (value != value) & (~flags >> 30) & 1u;
    *payload = node[0];
    *next = 2 * pair + right;
    return flags >> 31;
}

SKB_INLINED void skb_walk(
    const int wide, const int has_nan, const skb_forest* forest, int tree,
    const skb_rows* rows, const uint32_t* list, uint32_t* payloads)
{
    const int words = wide ? 3 : 2;
    const uint32_t* nodes = forest->nodes + words * (size_t) forest->first[tree];
    const int bits = forest->feature_bits;
    uint32_t at[SKB_WALKERS], row[SKB_WALKERS];
    for (int start = 0; start < rows->n; start += SKB_WALKERS) {
        int n = rows->n - start < SKB_WALKERS ? rows->n - start : SKB_WALKERS;
        for (int i = 0; i < n; i++) {
            at[i] = 0;
            row[i] = list ? list[start + i] : (uint32_t) (start + i);
        }
        while (n) {
            int left = 0;
            for (int i = 0; i < n; i++) {
                const uint32_t r = row[i];
                uint32_t next;
                const uint32_t is_leaf = skb_step(
                    wide, has_nan, nodes + words * (size_t) at[i],
                    rows->x + (ptrdiff_t) r * rows->stride, bits, &payloads[r], &next);
                SKB_PREFETCH(nodes + words * (size_t) next);
                at[left] = next;
                row[left] = r;
                left += 1 - (int) is_leaf;
            }
            n = left;
        }
    }
}

/* The payload of each row in one tree; of the rows in a list only, unless it is NULL. */
static void skb_walk_rows(
    const skb_forest* forest, int tree, const skb_rows* rows, const uint32_t* list,
    uint32_t* payloads)
{
    if (forest->wide) skb_walk(1, 1, forest, tree, rows, list, payloads);
    else if (rows->has_nan) skb_walk(0, 1, forest, tree, rows, list, payloads);
    else skb_walk(0, 0, forest, tree, rows, list, payloads);
}

SKB_INLINED void skb_walk_few_rows(
    const int wide, const skb_forest* forest, const int32_t* trees, int n_trees,
    const skb_rows* rows, uint32_t* payloads)
{
    const int words = wide ? 3 : 2, bits = forest->feature_bits;
    const uint32_t* nodes[SKB_WALKERS];
    const float* x[SKB_WALKERS];
    uint32_t at[SKB_WALKERS], number[SKB_WALKERS];
    int n = n_trees * rows->n;
    for (int t = 0, i = 0; t < n_trees; t++)
        for (int r = 0; r < rows->n; r++, i++) {
            nodes[i] = forest->nodes + words * (size_t) forest->first[trees[t]];
            x[i] = rows->x + r * rows->stride;
            at[i] = 0;
            number[i] = (uint32_t) i;
        }
    while (n) {
        int left = 0;
        for (int i = 0; i < n; i++) {
            const uint32_t k = number[i];
            uint32_t next;
            const uint32_t is_leaf = skb_step(
                wide, 1, nodes[k] + words * (size_t) at[i], x[k], bits, &payloads[k],
                &next);
            SKB_PREFETCH(nodes[k] + words * (size_t) next);
            at[left] = next;
            number[left] = k;
            left += 1 - (int) is_leaf;
        }
        n = left;
    }
}

/* The payloads of a few rows in several trees, tree by tree: at most SKB_WALKERS. */
static void skb_walk_few(
    const skb_forest* forest, const int32_t* trees, int n_trees, const skb_rows* rows,
    uint32_t* payloads)
{
    if (forest->wide) skb_walk_few_rows(1, forest, trees, n_trees, rows, payloads);
    else skb_walk_few_rows(0, forest, trees, n_trees, rows, payloads);
}

SKB_INLINED double skb_value_in_place(const skb_forest* forest, uint32_t payload)
{
    float value;
    memcpy(&value, &payload, 4);
    if (value == value) return value;
    return forest->values[(payload & SKB_FRACTION) - 1 + (payload >> 31) * SKB_FRACTION];
}

/* Add what one tree predicts to the sums of rows; to those in a list unless NULL.

   Not inlined: the compiler may re-associate sums, and those of a row are to be in the
   order of the trees. */
SKB_APART static void skb_add_payloads(
    const skb_forest* forest, const uint32_t* payloads, const uint32_t* list, int n,
    double* sums)
{
    const int width = forest->width;
    const uint32_t n_classes = (uint32_t) forest->n_classes;
    if (forest->in_place) {
        for (int i = 0; i < n; i++)
            sums[i] += skb_value_in_place(forest, payloads[i]);
        return;
    }
    if (width == 1) {
        for (int i = 0; i < n; i++) sums[i] += forest->values[payloads[i]];
        return;
    }
    for (int i = 0; i < n; i++) {
        const uint32_t r = list ? list[i] : (uint32_t) i;
        const uint32_t payload = payloads[r];
        double* sum = sums + (size_t) r * width;
        if (payload < n_classes) {
            sum[payload] += 1.0;
        } else {
            const double* more = forest->values + (size_t) (payload - n_classes) * width;
            for (int k = 0; k < width; k++) sum[k] += more[k];
        }
    }
}

/* Whether any of n values is missing. */
static int skb_any_nan(const float* x, ptrdiff_t n)
{
    int found = 0;
    for (ptrdiff_t i = 0; i < n; i++) found |= x[i] != x[i];
    return found;
}

#endif
