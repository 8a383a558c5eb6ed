/* Rows on their way through packed trees.

   A node is two words of 32 bits, or three where these do not suffice ("wide"):

   word 0   threshold as float32: a row goes right if its value is larger; of a leaf, its
            payload
   word 1   from the lowest bit on: whether there are children; whether missing values go
            right; the feature; the number of the pair of children
   word 2   the number of the pair; word 1 then has no room for it

   Children are neighbours, nodes 2 p and 2 p + 1 of the tree for pair p; the root is
   node 0, and node 1 is empty. What a payload says is in `skb_add_payloads`.

   Or nodes are in groups, which a row passes in one step: see node_groups.h.

   Rows advance together, one level or group at a time, and those that have reached a leaf are
   squeezed out without a branch. So many loads are under way at any time, and none
   waits for a path that is longer than its own. */

#ifndef SKLEARN_BANDIT_WALK_H
#define SKLEARN_BANDIT_WALK_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "node_groups.h"
#include "simd.h"

/* Rows that advance together: enough that loads of many are under way, also of the few
   whose paths are long. On covertype 256 take 10 to 20% less time than 128, and 512 no
   less than 256. */
#define SKB_WALKERS 256

/* A float32 that is not a number has these bits, and any others, but not none, among the
   fraction's: these and the sign number the values that float32 cannot hold. */
#define SKB_NOT_A_NUMBER 0x7F800000u
#define SKB_FRACTION 0x007FFFFFu

/* Bits of word 1. */
#define SKB_INNER 1u
#define SKB_MISSING_RIGHT 2u
#define SKB_FEATURE_SHIFT 2

typedef struct {
    const skb_group** groups;   /* of each tree, or NULL: then there are nodes */
    int n_features;
    const uint32_t* nodes;      /* of all trees */
    const int64_t* first;       /* first node of each tree */
    const double* values;       /* table of distinct leaf values, `width` each */
    int wide;                   /* whether nodes have three words */
    int feature_bits;
    int width;                  /* numbers that a leaf predicts */
    int n_classes;              /* payloads below: all votes for that class */
    int in_place;               /* payloads are float32 values, unless not a number */
} skb_forest;

SKB_INLINED uint32_t skb_feature_mask(const skb_forest* forest)
{
    return ((uint32_t) 1 << forest->feature_bits) - 1;
}

/* Where the number of the pair begins in word 1, unless nodes are wide. */
SKB_INLINED uint32_t skb_pair_shift(const skb_forest* forest)
{
    return (uint32_t) (forest->wide ? 0 : SKB_FEATURE_SHIFT + forest->feature_bits);
}

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

/* One step down from a node; returns 0 if it is a leaf, else 1. `wide` and `has_nan` are
   constants where this is inlined. */
SKB_INLINED uint32_t skb_step(
    const int wide, const int has_nan, const uint32_t* node, const float* x,
    uint32_t feature_mask, uint32_t pair_shift, uint32_t* payload, uint32_t* next)
{
    const uint32_t first = node[0], flags = node[1];
    const float value = x[(flags >> SKB_FEATURE_SHIFT) & feature_mask];
    const uint32_t pair = wide ? node[2] : flags >> pair_shift;
    float threshold;
    memcpy(&threshold, &first, 4);
    uint32_t right = value > threshold;
    if (has_nan) right |= (uint32_t) (value != value) & (flags / SKB_MISSING_RIGHT);
    *payload = first;
    *next = 2 * pair + right;
    return flags & SKB_INNER;
}

/* A walk through one tree. */
typedef struct {
    const uint32_t* nodes;
    uint32_t feature_mask;
    uint32_t pair_shift;
    const uint32_t* list;       /* numbers of rows, or NULL */
    uint32_t* payloads;
} skb_way;

SKB_INLINED void skb_walk(
    const int wide, const int has_nan, const skb_way* way, const skb_rows* rows)
{
    const size_t words = wide ? 3 : 2, stride = (size_t) rows->stride;
    const uint32_t* const nodes = way->nodes;
    const float* const x = rows->x;
    uint32_t* const payloads = way->payloads;
    const uint32_t mask = way->feature_mask, shift = way->pair_shift;
    const size_t n_rows = (size_t) rows->n;
    uint32_t at[SKB_WALKERS], row[SKB_WALKERS];
    for (size_t start = 0; start < n_rows; start += SKB_WALKERS) {
        size_t n = n_rows - start < SKB_WALKERS ? n_rows - start : SKB_WALKERS;
        for (size_t i = 0; i < n; i++) {
            at[i] = 0;
            row[i] = way->list ? way->list[start + i] : (uint32_t) (start + i);
        }
        while (n) {
            size_t left = 0;
            for (size_t i = 0; i < n; i++) {
                const size_t r = row[i];
                uint32_t payload, next;
                const uint32_t goes_on = skb_step(
                    wide, has_nan, nodes + words * at[i], x + r * stride, mask, shift,
                    &payload, &next);
                SKB_PREFETCH(nodes + words * next);
                payloads[r] = payload;
                at[left] = next;
                row[left] = (uint32_t) r;
                left += goes_on;
            }
            n = left;
        }
    }
}

/* Each on its own: together they need more registers than there are. */
SKB_APART SKB_SIMD_256 static void skb_walk_wide(const skb_way* way, const skb_rows* rows)
{
    skb_walk(1, 1, way, rows);
}

SKB_APART SKB_SIMD_256 static void skb_walk_missing(
    const skb_way* way, const skb_rows* rows)
{
    skb_walk(0, 1, way, rows);
}

SKB_APART SKB_SIMD_256 static void skb_walk_complete(
    const skb_way* way, const skb_rows* rows)
{
    skb_walk(0, 0, way, rows);
}

#if defined(SKB_GROUPED)
/* The same for groups of nodes. */
SKB_GROUPED SKB_INLINED void skb_walk_groups(
    const int n_registers, const int has_nan, const skb_group* groups, int n_features,
    const skb_rows* rows, const uint32_t* list, uint32_t* payloads)
{
    const float* const x = rows->x;
    const size_t n_rows = (size_t) rows->n, stride = (size_t) rows->stride;
    uint32_t at[SKB_WALKERS], row[SKB_WALKERS];
    __mmask16 ends[4];
    skb_row_ends(n_registers, n_features, ends);
    for (size_t start = 0; start < n_rows; start += SKB_WALKERS) {
        size_t n = n_rows - start < SKB_WALKERS ? n_rows - start : SKB_WALKERS;
        for (size_t i = 0; i < n; i++) {
            at[i] = 0;
            row[i] = list ? list[start + i] : (uint32_t) (start + i);
        }
        while (n) {
            size_t left = 0;
            for (size_t i = 0; i < n; i++) {
                const size_t r = row[i];
                uint32_t next;
                const uint32_t goes_on = skb_group_step(
                    n_registers, has_nan, groups, at[i], x + r * stride, ends, &next);
                payloads[r] = next;
                at[left] = next;
                row[left] = (uint32_t) r;
                left += goes_on;
            }
            n = left;
        }
    }
}

#define SKB_WALK_GROUPS(REGISTERS) \
SKB_APART SKB_GROUPED static void skb_walk_groups_##REGISTERS( \
    const skb_group* groups, int n_features, const skb_rows* rows, \
    const uint32_t* list, uint32_t* payloads) \
{ \
    if (rows->has_nan) \
        skb_walk_groups(REGISTERS, 1, groups, n_features, rows, list, payloads); \
    else \
        skb_walk_groups(REGISTERS, 0, groups, n_features, rows, list, payloads); \
}
SKB_WALK_GROUPS(1)
SKB_WALK_GROUPS(2)
SKB_WALK_GROUPS(4)
SKB_WALK_GROUPS(8)

static void skb_walk_rows_in_groups(
    const skb_forest* forest, int tree, const skb_rows* rows, const uint32_t* list,
    uint32_t* payloads)
{
    const skb_group* groups = forest->groups[tree];
    const int d = forest->n_features;
    if (d <= 16) skb_walk_groups_1(groups, d, rows, list, payloads);
    else if (d <= 32) skb_walk_groups_2(groups, d, rows, list, payloads);
    else if (d <= 64) skb_walk_groups_4(groups, d, rows, list, payloads);
    else skb_walk_groups_8(groups, d, rows, list, payloads);
}
#else
#define skb_walk_rows_in_groups(forest, tree, rows, list, payloads)
#endif

/* The payload of each row in one tree; of the rows in a list only, unless it is NULL. */
static void skb_walk_rows(
    const skb_forest* forest, int tree, const skb_rows* rows, const uint32_t* list,
    uint32_t* payloads)
{
    if (forest->groups) {
        skb_walk_rows_in_groups(forest, tree, rows, list, payloads);
        return;
    }
    const size_t words = forest->wide ? 3 : 2;
    const skb_way way = {
        forest->nodes + words * (size_t) forest->first[tree], skb_feature_mask(forest),
        skb_pair_shift(forest), list, payloads
    };
    if (forest->wide) skb_walk_wide(&way, rows);
    else if (rows->has_nan) skb_walk_missing(&way, rows);
    else skb_walk_complete(&way, rows);
}

SKB_INLINED void skb_walk_few_rows(
    const int wide, const skb_forest* forest, const int32_t* trees, int n_trees,
    const skb_rows* rows, uint32_t* payloads)
{
    const int words = wide ? 3 : 2;
    const uint32_t mask = skb_feature_mask(forest), shift = skb_pair_shift(forest);
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
            const uint32_t goes_on = skb_step(
                wide, 1, nodes[k] + words * (size_t) at[i], x[k], mask, shift,
                &payloads[k], &next);
            SKB_PREFETCH(nodes[k] + words * (size_t) next);
            at[left] = next;
            number[left] = k;
            left += (int) goes_on;
        }
        n = left;
    }
}

#if defined(SKB_GROUPED)
SKB_GROUPED SKB_INLINED void skb_walk_few_in_registers(
    const int n_registers, const skb_forest* forest, const int32_t* trees, int n_trees,
    const skb_rows* rows, uint32_t* payloads)
{
    const skb_group* groups[SKB_WALKERS];
    const float* x[SKB_WALKERS];
    uint32_t at[SKB_WALKERS], number[SKB_WALKERS];
    __mmask16 ends[4];
    int n = n_trees * rows->n;
    skb_row_ends(n_registers, forest->n_features, ends);
    for (int t = 0, i = 0; t < n_trees; t++)
        for (int r = 0; r < rows->n; r++, i++) {
            groups[i] = forest->groups[trees[t]];
            x[i] = rows->x + r * rows->stride;
            at[i] = 0;
            number[i] = (uint32_t) i;
        }
    while (n) {
        int left = 0;
        for (int i = 0; i < n; i++) {
            const uint32_t k = number[i];
            uint32_t next;
            const uint32_t goes_on = skb_group_step(
                n_registers, 1, groups[k], at[i], x[k], ends, &next);
            payloads[k] = next;
            at[left] = next;
            number[left] = k;
            left += (int) goes_on;
        }
        n = left;
    }
}

SKB_APART SKB_GROUPED static void skb_walk_few_in_groups(
    const skb_forest* forest, const int32_t* trees, int n_trees, const skb_rows* rows,
    uint32_t* payloads)
{
    const int d = forest->n_features;
    if (d <= 16) skb_walk_few_in_registers(1, forest, trees, n_trees, rows, payloads);
    else if (d <= 32)
        skb_walk_few_in_registers(2, forest, trees, n_trees, rows, payloads);
    else if (d <= 64)
        skb_walk_few_in_registers(4, forest, trees, n_trees, rows, payloads);
    else skb_walk_few_in_registers(8, forest, trees, n_trees, rows, payloads);
}
#else
#define skb_walk_few_in_groups(forest, trees, n_trees, rows, payloads)
#endif

/* The payloads of a few rows in several trees, tree by tree: at most SKB_WALKERS. */
static void skb_walk_few(
    const skb_forest* forest, const int32_t* trees, int n_trees, const skb_rows* rows,
    uint32_t* payloads)
{
    if (forest->groups) skb_walk_few_in_groups(forest, trees, n_trees, rows, payloads);
    else if (forest->wide) skb_walk_few_rows(1, forest, trees, n_trees, rows, payloads);
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

/* Whether any of n values is missing or infinite. */
static int skb_any_not_finite(const float* x, ptrdiff_t n)
{
    int found = 0;
    for (ptrdiff_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, 4);
        found |= (bits & SKB_NOT_A_NUMBER) == SKB_NOT_A_NUMBER;
    }
    return found;
}

#endif
