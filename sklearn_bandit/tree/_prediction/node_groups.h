/* Nodes in groups that are passed in one step: rows of a few registers, AVX-512.

   A group has up to 15 nodes: the upper part of a subtree, or several small subtrees
   side by side. A row is compared with all of them at once, its values being permuted to
   where the nodes want them, so it has to fit into registers. Each way out of a subtree
   knows which of the answers lie on its path, and what they are to be: of the ways out
   of one subtree exactly one fits. On covertype a row passes 3.5 groups of a tree instead
   of 18.5 nodes.

   Where a row stands is a number: 16 times the group, plus the first way out of its
   subtree, as the ways out of a subtree stand together. */

#ifndef SKLEARN_BANDIT_NODE_GROUPS_H
#define SKLEARN_BANDIT_NODE_GROUPS_H

#include <stddef.h>
#include <stdint.h>
#include "simd.h"

#define SKB_GROUP_NODES 15
#define SKB_GROUP_EXITS 16
#define SKB_GROUP_SHIFT 4       /* SKB_GROUP_EXITS as a power of two */
/* The answer of no node: a way out that wants it is never taken. */
#define SKB_NO_NODE 0x8000u
/* Features of a row that eight registers hold. With sixteen there would be none left. */
#define SKB_REGISTER_FEATURES 128

typedef struct {
    float thresholds[16];       /* a row goes right if its value is larger */
    uint32_t exits[16];         /* where the row stands next, or the payload of a leaf */
    uint16_t on_path[16];       /* for each way out: bits of the nodes on its path */
    uint16_t answers[16];       /* and whether the path goes right there */
    uint16_t features[16];
    uint16_t goes_on;           /* bit of each way out: whether it leads to a group */
    uint16_t missing_right;     /* bit of each node: whether missing values go right */
    uint16_t n_nodes;
    uint16_t n_exits;
    uint16_t padding[12];       /* four cache lines */
} skb_group;

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>

#define SKB_GROUPED \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,bmi,bmi2")))

static int skb_can_group(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

/* Which of the 16 floats from number `first` on a row has. */
SKB_GROUPED SKB_INLINED __mmask16 skb_floats_from(int first, int n_features)
{
    const int n = n_features - first;
    return (__mmask16) (n >= 16 ? 0xFFFF : n <= 0 ? 0 : (1 << n) - 1);
}

/* The values of one row that 16 nodes ask for. `n_registers` is a constant where this is
   inlined: the least power of two that holds the row, whose second half has an end. */
SKB_GROUPED SKB_INLINED __m512 skb_asked_values(
    const int n_registers, const float* x, const __mmask16* ends, __m512i features)
{
    if (n_registers == 1)
        return _mm512_permutexvar_ps(features, _mm512_maskz_loadu_ps(ends[0], x));
    if (n_registers == 2)
        return _mm512_permutex2var_ps(
            _mm512_loadu_ps(x), features, _mm512_maskz_loadu_ps(ends[0], x + 16));
    const __mmask16 third_bit = _mm512_test_epi32_mask(features, _mm512_set1_epi32(32));
    const __m512 first = _mm512_permutex2var_ps(
        _mm512_loadu_ps(x), features, _mm512_loadu_ps(x + 16));
    if (n_registers == 4)
        return _mm512_mask_mov_ps(first, third_bit, _mm512_permutex2var_ps(
            _mm512_maskz_loadu_ps(ends[0], x + 32), features,
            _mm512_maskz_loadu_ps(ends[1], x + 48)));
    const __m512 low = _mm512_mask_mov_ps(first, third_bit, _mm512_permutex2var_ps(
        _mm512_loadu_ps(x + 32), features, _mm512_loadu_ps(x + 48)));
    const __m512 third = _mm512_permutex2var_ps(
        _mm512_maskz_loadu_ps(ends[0], x + 64), features,
        _mm512_maskz_loadu_ps(ends[1], x + 80));
    const __m512 high = _mm512_mask_mov_ps(third, third_bit, _mm512_permutex2var_ps(
        _mm512_maskz_loadu_ps(ends[2], x + 96), features,
        _mm512_maskz_loadu_ps(ends[3], x + 112)));
    return _mm512_mask_mov_ps(
        low, _mm512_test_epi32_mask(features, _mm512_set1_epi32(64)), high);
}

/* Ends of the registers in the second half of a row (of the only one, if there is one). */
SKB_GROUPED SKB_INLINED void skb_row_ends(
    const int n_registers, int n_features, __mmask16* ends)
{
    for (int i = n_registers / 2; i < n_registers; i++)
        ends[i - n_registers / 2] = skb_floats_from(16 * i, n_features);
}

/* One step: from where a row stands to where it stands next, or to the payload of its
   leaf. Returns 0 if that is what it is, else 1. */
SKB_GROUPED SKB_INLINED uint32_t skb_group_step(
    const int n_registers, const int has_nan, const skb_group* groups, uint32_t at,
    const float* x, const __mmask16* ends, uint32_t* next)
{
    const skb_group* group = groups + (at >> SKB_GROUP_SHIFT);
    const uint32_t first = at & (SKB_GROUP_EXITS - 1);
    const __m512 values = skb_asked_values(
        n_registers, x, ends,
        _mm512_cvtepu16_epi32(_mm256_load_si256((const __m256i*) group->features)));
    uint32_t right = _mm512_cmp_ps_mask(
        values, _mm512_load_ps(group->thresholds), _CMP_GT_OQ);
    if (has_nan)
        right |= _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q) & group->missing_right;
    const uint32_t fits = _mm256_testn_epi16_mask(
        _mm256_xor_si256(
            _mm256_set1_epi16((short) right),
            _mm256_load_si256((const __m256i*) group->answers)),
        _mm256_load_si256((const __m256i*) group->on_path));
    const uint32_t exit = first + _tzcnt_u32(fits >> first);
    const uint32_t goes_on = group->goes_on >> exit & 1;
    *next = group->exits[exit];
    const char* line = (const char*) (groups + (*next >> SKB_GROUP_SHIFT) * goes_on);
    SKB_PREFETCH(line);
    SKB_PREFETCH(line + 64);
    SKB_PREFETCH(line + 128);
    SKB_PREFETCH(line + 192);
    return goes_on;
}

#else
static int skb_can_group(void) { return 0; }
#endif

#endif
