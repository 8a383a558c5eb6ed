/* Rows of bins on their way through a boosted tree.

   A node is a word of 32 bits:

   bit 31       leaf; bits 0 to 30 are then the number of its value
   bit 30       categorical split
   up to 29     number of the pair of children, nodes 2 p and 2 p + 1: `pair_shift` says
                from which bit on
   from 8       column of the row
   bits 0-7     a row goes right if its bin is larger; of a categorical split, the
                number of its set of categories that go right

   The root is node 0, node 1 is empty. A tree of at most 64 nodes is four registers of
   AVX-512: to look a node up for 16 rows is two permutations and a choice. The nodes of
   larger trees are gathered, as the bins are; with AVX2 those of all trees. Without
   either, rows advance together one level at a time. */

#ifndef SKLEARN_BANDIT_TREE_REGISTERS_H
#define SKLEARN_BANDIT_TREE_REGISTERS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "simd.h"

/* Nodes of a tree that is kept in registers. */
#define SKB_TREE_NODES 64
#define SKB_SET_WORDS 8
/* Rows that advance together without AVX-512. */
#define SKB_GROUP_ROWS 128
/* Rows are read in fours of bytes. */
#define SKB_ROW_PADDING 4

enum { SKB_PORTABLY, SKB_BY_AVX2, SKB_BY_AVX512 };

typedef struct {
    const uint8_t* rows;        /* bins, row by row, readable SKB_ROW_PADDING beyond */
    ptrdiff_t stride;           /* bytes from a row to the next */
    ptrdiff_t n;
} skb_binned_rows;

typedef struct {
    const uint32_t* nodes;      /* SKB_TREE_NODES at least */
    const double* values;       /* of the leaves */
    const uint32_t* sets;       /* SKB_SET_WORDS each */
    int has_sets;
    int pair_shift;
    int is_small;               /* whether it has at most SKB_TREE_NODES nodes */
} skb_binned_tree;

SKB_INLINED int skb_goes_right(uint32_t node, uint32_t bin, const uint32_t* sets)
{
    if (node >> 30 & 1)
        return sets[(node & 255) * SKB_SET_WORDS + (bin >> 5)] >> (bin & 31) & 1;
    return bin > (node & 255);
}

static void skb_add_leaves_portable(
    const skb_binned_tree* tree, const skb_binned_rows* rows, double* sums)
{
    const uint32_t* nodes = tree->nodes;
    const int pair_shift = tree->pair_shift, has_sets = tree->has_sets;
    const uint32_t column_mask = ((uint32_t) 1 << (pair_shift - 8)) - 1;
    uint32_t at[SKB_GROUP_ROWS], leaf[SKB_GROUP_ROWS];
    uint8_t row[SKB_GROUP_ROWS];
    for (ptrdiff_t start = 0; start < rows->n; start += SKB_GROUP_ROWS) {
        const uint8_t* x = rows->rows + start * rows->stride;
        double* sum = sums + start;
        int n = (int) (rows->n - start);
        if (n > SKB_GROUP_ROWS) n = SKB_GROUP_ROWS;
        for (int i = 0; i < n; i++) {
            at[i] = 0;
            row[i] = (uint8_t) i;
        }
        const int all = n;
        while (n) {
            int left = 0;
            for (int i = 0; i < n; i++) {
                const uint32_t r = row[i], node = nodes[at[i]];
                const uint32_t bin = x[r * rows->stride + (node >> 8 & column_mask) *
                                       (1 - (node >> 31))];
                const int right = has_sets && node >> 31 == 0
                    ? skb_goes_right(node, bin, tree->sets) : bin > (node & 255);
                leaf[r] = node;
                at[left] =
                    2 * ((node & 0x3FFFFFFFu) >> pair_shift) + (uint32_t) right;
                row[left] = (uint8_t) r;
                left += 1 - (int) (node >> 31);
            }
            n = left;
        }
        for (int i = 0; i < all; i++) sum[i] += tree->values[leaf[i] & 0x7FFFFFFFu];
    }
}

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define SKB_AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))

/* `is_small` is a constant where this is inlined. */
SKB_AVX512 SKB_INLINED void skb_add_leaves_gathered(
    const int is_small, const skb_binned_tree* tree, const skb_binned_rows* rows,
    double* sums)
{
    const uint32_t* nodes = tree->nodes;
    const __m512i a = _mm512_loadu_si512(nodes), b = _mm512_loadu_si512(nodes + 16);
    const __m512i c = _mm512_loadu_si512(nodes + 32), d = _mm512_loadu_si512(nodes + 48);
    const __m512i byte = _mm512_set1_epi32(255), one = _mm512_set1_epi32(1);
    const __m512i column_mask = _mm512_set1_epi32((1 << (tree->pair_shift - 8)) - 1);
    const __m512i pair_mask = _mm512_set1_epi32(0x3FFFFFFF);
    const __m128i pair_shift = _mm_cvtsi32_si128(tree->pair_shift);
    const __m512i half = _mm512_set1_epi32(32);
    const __m512i is_set = _mm512_set1_epi32(1 << 30);
    const __m512i numbers = _mm512_setr_epi32(
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const __m512i offsets = _mm512_mullo_epi32(
        numbers, _mm512_set1_epi32((int) rows->stride));
    const ptrdiff_t whole = rows->n & ~(ptrdiff_t) 63;
    for (ptrdiff_t start = 0; start < whole; start += 64) {
        __m512i at[4], node[4];
        __mmask16 done[4];
        for (int v = 0; v < 4; v++) at[v] = _mm512_setzero_si512();
        for (;;) {
            _Pragma("GCC unroll 4")
            for (int v = 0; v < 4; v++) {
                if (is_small) {
                    const __m512i low = _mm512_permutex2var_epi32(a, at[v], b);
                    const __m512i high = _mm512_permutex2var_epi32(c, at[v], d);
                    node[v] = _mm512_mask_mov_epi32(
                        low, _mm512_test_epi32_mask(at[v], half), high);
                } else {
                    node[v] = _mm512_i32gather_epi32(at[v], nodes, 4);
                }
                done[v] = _mm512_movepi32_mask(node[v]);
            }
            if ((done[0] & done[1] & done[2] & done[3]) == 0xFFFF) break;
            _Pragma("GCC unroll 4")
            for (int v = 0; v < 4; v++) {
                const uint8_t* x = rows->rows + (start + 16 * v) * rows->stride;
                const __mmask16 open = (__mmask16) ~done[v];
                const __m512i column = _mm512_and_si512(
                    _mm512_srli_epi32(node[v], 8), column_mask);
                const __m512i bin = _mm512_and_si512(byte, _mm512_mask_i32gather_epi32(
                    byte, open, _mm512_add_epi32(offsets, column), x, 1));
                __mmask16 right = _mm512_cmpgt_epu32_mask(
                    bin, _mm512_and_si512(node[v], byte));
                if (tree->has_sets) {
                    const __mmask16 sorted = _mm512_mask_test_epi32_mask(
                        open, node[v], is_set);
                    if (sorted) {
                        const __m512i word = _mm512_add_epi32(
                            _mm512_slli_epi32(_mm512_and_si512(node[v], byte), 3),
                            _mm512_srli_epi32(bin, 5));
                        const __m512i found = _mm512_mask_i32gather_epi32(
                            one, sorted, word, tree->sets, 4);
                        const __mmask16 bit = _mm512_test_epi32_mask(
                            _mm512_srlv_epi32(
                                found,
                                _mm512_and_si512(bin, _mm512_set1_epi32(31))),
                            one);
                        right = (__mmask16) ((right & ~sorted) | (bit & sorted));
                    }
                }
                __m512i next = _mm512_srl_epi32(
                    _mm512_and_si512(node[v], pair_mask), pair_shift);
                next = _mm512_add_epi32(next, next);
                next = _mm512_mask_add_epi32(next, right, next, one);
                at[v] = _mm512_mask_mov_epi32(next, done[v], at[v]);
            }
        }
        for (int v = 0; v < 4; v++) {
            const __m512i number = _mm512_and_si512(
                node[v], _mm512_set1_epi32(0x7FFFFFFF));
            double* sum = sums + start + 16 * v;
            _mm512_storeu_pd(sum, _mm512_add_pd(
                _mm512_loadu_pd(sum),
                _mm512_i32gather_pd(_mm512_castsi512_si256(number), tree->values, 8)));
            _mm512_storeu_pd(sum + 8, _mm512_add_pd(
                _mm512_loadu_pd(sum + 8),
                _mm512_i32gather_pd(
                    _mm512_extracti64x4_epi64(number, 1), tree->values, 8)));
        }
    }
    const skb_binned_rows rest = {
        rows->rows + whole * rows->stride, rows->stride, rows->n - whole};
    skb_add_leaves_portable(tree, &rest, sums + whole);
}

SKB_AVX512 static void skb_add_leaves_avx512(
    const skb_binned_tree* tree, const skb_binned_rows* rows, double* sums)
{
    if (tree->is_small) skb_add_leaves_gathered(1, tree, rows, sums);
    else skb_add_leaves_gathered(0, tree, rows, sums);
}

/* The same for eight rows at a time. */
__attribute__((target("avx2")))
static void skb_add_leaves_avx2(
    const skb_binned_tree* tree, const skb_binned_rows* rows, double* sums)
{
    const int* nodes = (const int*) tree->nodes;
    const __m256i byte = _mm256_set1_epi32(255), one = _mm256_set1_epi32(1);
    const __m256i column_mask = _mm256_set1_epi32((1 << (tree->pair_shift - 8)) - 1);
    const __m256i pair_mask = _mm256_set1_epi32(0x3FFFFFFF);
    const __m128i pair_shift = _mm_cvtsi32_si128(tree->pair_shift);
    const __m256i offsets = _mm256_mullo_epi32(
        _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
        _mm256_set1_epi32((int) rows->stride));
    const ptrdiff_t whole = rows->n & ~(ptrdiff_t) 31;
    for (ptrdiff_t start = 0; start < whole; start += 32) {
        __m256i at[4], node[4];
        for (int v = 0; v < 4; v++) at[v] = _mm256_setzero_si256();
        for (;;) {
            _Pragma("GCC unroll 4")
            for (int v = 0; v < 4; v++) node[v] = _mm256_i32gather_epi32(nodes, at[v], 4);
            const __m256i all = _mm256_and_si256(
                _mm256_and_si256(node[0], node[1]), _mm256_and_si256(node[2], node[3]));
            if (_mm256_movemask_ps(_mm256_castsi256_ps(all)) == 0xFF) break;
            _Pragma("GCC unroll 4")
            for (int v = 0; v < 4; v++) {
                const uint8_t* x = rows->rows + (start + 8 * v) * rows->stride;
                const __m256i done = _mm256_srai_epi32(node[v], 31);
                /* A leaf reads the first column. */
                const __m256i column = _mm256_andnot_si256(
                    done, _mm256_and_si256(_mm256_srli_epi32(node[v], 8), column_mask));
                const __m256i bin = _mm256_and_si256(byte, _mm256_i32gather_epi32(
                    (const int*) x, _mm256_add_epi32(offsets, column), 1));
                __m256i right = _mm256_cmpgt_epi32(bin, _mm256_and_si256(node[v], byte));
                if (tree->has_sets) {
                    const __m256i sorted = _mm256_andnot_si256(
                        done, _mm256_srai_epi32(_mm256_slli_epi32(node[v], 1), 31));
                    const __m256i word = _mm256_add_epi32(
                        _mm256_slli_epi32(_mm256_and_si256(node[v], byte), 3),
                        _mm256_srli_epi32(bin, 5));
                    const __m256i found = _mm256_mask_i32gather_epi32(
                        one, (const int*) tree->sets, word, sorted, 4);
                    const __m256i bit = _mm256_and_si256(one, _mm256_srlv_epi32(
                        found, _mm256_and_si256(bin, _mm256_set1_epi32(31))));
                    right = _mm256_blendv_epi8(
                        right, _mm256_cmpeq_epi32(bit, one), sorted);
                }
                __m256i next = _mm256_srl_epi32(
                    _mm256_and_si256(node[v], pair_mask), pair_shift);
                next = _mm256_sub_epi32(_mm256_add_epi32(next, next), right);
                at[v] = _mm256_blendv_epi8(next, at[v], done);
            }
        }
        uint32_t leaf[32];
        for (int v = 0; v < 4; v++)
            _mm256_storeu_si256((__m256i*) (leaf + 8 * v), node[v]);
        for (int i = 0; i < 32; i++)
            sums[start + i] += tree->values[leaf[i] & 0x7FFFFFFFu];
    }
    const skb_binned_rows rest = {
        rows->rows + whole * rows->stride, rows->stride, rows->n - whole};
    skb_add_leaves_portable(tree, &rest, sums + whole);
}

static int skb_can_add_leaves(int kernel)
{
    if (kernel == SKB_BY_AVX512)
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    return kernel == SKB_PORTABLY || __builtin_cpu_supports("avx2");
}
#else
static int skb_can_add_leaves(int kernel) { return kernel == SKB_PORTABLY; }
#define skb_add_leaves_avx512 skb_add_leaves_portable
#define skb_add_leaves_avx2 skb_add_leaves_portable
#endif

/* Add the value of each row's leaf to its sum, by a kernel that this processor has. */
static void skb_add_leaves(
    int kernel, const skb_binned_tree* tree, const skb_binned_rows* rows, double* sums)
{
    if (kernel == SKB_BY_AVX512) skb_add_leaves_avx512(tree, rows, sums);
    else if (kernel == SKB_BY_AVX2) skb_add_leaves_avx2(tree, rows, sums);
    else skb_add_leaves_portable(tree, rows, sums);
}

#endif
