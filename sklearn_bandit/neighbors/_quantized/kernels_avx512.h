/* The kernels for AVX-512 with VNNI: dpbusd multiplies 64 codes by 64 bytes and adds
   four products each to 32 bits, without saturation. */

#ifndef SKLEARN_BANDIT_QUANTIZED_KERNELS_AVX512_H
#define SKLEARN_BANDIT_QUANTIZED_KERNELS_AVX512_H

#define SKB_AVX512 __attribute__((target( \
    "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,prefer-vector-width=512")))

SKB_EXACT(avx512, SKB_AVX512)

#define SKB_UNROLLED _Pragma("GCC unroll 8")

SKB_AVX512 static inline __m512i skb_word_512(const int8_t* bytes)
{
    int32_t word;
    memcpy(&word, bytes, 4);
    return _mm512_set1_epi32(word);
}

SKB_AVX512 static inline void skb_bounds_512(
    __m512 products, const float* stats, const skb_query* query, float* bounds)
{
    __m512 bound = _mm512_fmadd_ps(
        _mm512_set1_ps(query->bias), _mm512_loadu_ps(stats + SKB_BIAS * SKB_BLOCK),
        _mm512_set1_ps(query->constant));
    bound = _mm512_fmadd_ps(
        _mm512_set1_ps(query->size), _mm512_loadu_ps(stats + SKB_SIZE * SKB_BLOCK),
        bound);
    bound = _mm512_fmadd_ps(
        _mm512_set1_ps(query->residual),
        _mm512_loadu_ps(stats + SKB_RESIDUAL * SKB_BLOCK), bound);
    products = _mm512_mul_ps(products, _mm512_loadu_ps(stats + SKB_SCALE * SKB_BLOCK));
    bound = _mm512_fmadd_ps(_mm512_set1_ps(query->unit), products, bound);
    _mm512_storeu_ps(bounds, bound);
}

SKB_AVX512 static void skb_scan_one_avx512(
    const uint8_t* codes, const float* stats, ptrdiff_t n_blocks,
    const skb_query* query, float* bounds)
{
    const __m512i offset_high = _mm512_set1_epi32(SKB_BYTE_OFFSET * query->sum_high);
    const __m512i offset_low = _mm512_set1_epi32(SKB_BYTE_OFFSET * query->sum_low);
    for (ptrdiff_t b = 0; b < n_blocks; b++) {
        __m512i high[4], low[4];
        for (int t = 0; t < 4; t++)
            high[t] = low[t] = _mm512_setzero_si512();
        for (int32_t word = 0; word < query->n_words; word++, codes += 4 * SKB_BLOCK) {
            const __m512i x = skb_word_512(query->high + 4 * word);
            const __m512i y = skb_word_512(query->low + 4 * word);
            SKB_UNROLLED
            for (int t = 0; t < 4; t++) {
                const __m512i v = _mm512_loadu_si512(codes + 64 * t);
                high[t] = _mm512_dpbusd_epi32(high[t], v, x);
                low[t] = _mm512_dpbusd_epi32(low[t], v, y);
            }
        }
        for (int t = 0; t < 4; t++) {
            const __m512 h = _mm512_cvtepi32_ps(_mm512_sub_epi32(high[t], offset_high));
            const __m512 l = _mm512_cvtepi32_ps(_mm512_sub_epi32(low[t], offset_low));
            skb_bounds_512(
                _mm512_fmadd_ps(_mm512_set1_ps(SKB_HIGH_STEP), h, l),
                stats + 16 * t, query, bounds + 16 * t);
        }
        stats += SKB_N_STATS * SKB_BLOCK;
        bounds += SKB_BLOCK;
    }
}

/* Add products of codes and bytes. As an instruction with its registers: of the
   intrinsic, GCC 12 copies and stores sums at every step if there are 24 of them, which
   takes more than twice as long. */
SKB_AVX512 static inline __m512i skb_add_products_512(
    __m512i sums, __m512i codes, __m512i bytes)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(codes), "v"(bytes));
    return sums;
}

#define SKB_SUMS(q) __m512i s##q##0, s##q##1, s##q##2, s##q##3;

#define SKB_START(q) \
    s##q##0 = s##q##1 = s##q##2 = s##q##3 = \
        _mm512_set1_epi32(-SKB_BYTE_OFFSET * queries[q].sum_high);

#define SKB_MULTIPLY(q) { \
    const __m512i x = skb_word_512(queries[q].high + 4 * word); \
    s##q##0 = skb_add_products_512(s##q##0, a, x); \
    s##q##1 = skb_add_products_512(s##q##1, b, x); \
    s##q##2 = skb_add_products_512(s##q##2, c, x); \
    s##q##3 = skb_add_products_512(s##q##3, d, x); \
}

#define SKB_FINISH(q) \
    skb_finish_512(s##q##0, stats, queries + q, bounds + q * stride); \
    skb_finish_512(s##q##1, stats + 16, queries + q, bounds + q * stride + 16); \
    skb_finish_512(s##q##2, stats + 32, queries + q, bounds + q * stride + 32); \
    skb_finish_512(s##q##3, stats + 48, queries + q, bounds + q * stride + 48);

#define SKB_EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5)

SKB_AVX512 static inline void skb_finish_512(
    __m512i sums, const float* stats, const skb_query* query, float* bounds)
{
    skb_bounds_512(_mm512_cvtepi32_ps(sums), stats, query, bounds);
}

SKB_AVX512 static void skb_scan_group_avx512(
    const uint8_t* codes, const float* stats, ptrdiff_t n_blocks,
    const skb_query* queries, float* bounds, ptrdiff_t stride)
{
    const int32_t n_words = queries->n_words;
    for (ptrdiff_t i = 0; i < n_blocks; i++) {
        SKB_EACH(SKB_SUMS)
        SKB_EACH(SKB_START)
        for (int32_t word = 0; word < n_words; word++, codes += 4 * SKB_BLOCK) {
            const __m512i a = _mm512_loadu_si512(codes);
            const __m512i b = _mm512_loadu_si512(codes + 64);
            const __m512i c = _mm512_loadu_si512(codes + 128);
            const __m512i d = _mm512_loadu_si512(codes + 192);
            SKB_EACH(SKB_MULTIPLY)
        }
        SKB_EACH(SKB_FINISH)
        stats += SKB_N_STATS * SKB_BLOCK;
        bounds += SKB_BLOCK;
    }
}

SKB_AVX512 static float skb_scan_row_avx512(
    const uint8_t* codes, const float* stats, const skb_query* query)
{
    __m512i high = _mm512_setzero_si512(), low = high;
    for (int32_t j = 0; j < 4 * query->n_words; j += 64) {
        const __m512i v = _mm512_loadu_si512(codes + j);
        high = _mm512_dpbusd_epi32(high, v, _mm512_loadu_si512(query->high + j));
        low = _mm512_dpbusd_epi32(low, v, _mm512_loadu_si512(query->low + j));
    }
    const int32_t h = _mm512_reduce_add_epi32(high) - SKB_BYTE_OFFSET * query->sum_high;
    const int32_t l = _mm512_reduce_add_epi32(low) - SKB_BYTE_OFFSET * query->sum_low;
    return skb_bound(SKB_HIGH_STEP * (float) h + (float) l, stats, 0, query);
}

SKB_AVX512 static void skb_scan_differences_avx512(
    const uint8_t* codes, const float* stats, ptrdiff_t n_blocks,
    const skb_query* query, float* bounds)
{
    const __m256 unit = _mm256_set1_ps(query->unit);
    const __m256 constant = _mm256_set1_ps(query->constant);
    const __m256 own_outside = _mm256_set1_ps(query->outside);
    const __m256 sign = _mm256_set1_ps(-0.0f);
    for (ptrdiff_t b = 0; b < n_blocks; b++) {
        __m512i sum[8];
        for (int t = 0; t < 8; t++)
            sum[t] = _mm512_setzero_si512();
        for (int32_t word = 0; word < query->n_words; word++, codes += 8 * SKB_BLOCK) {
            int64_t bytes;
            memcpy(&bytes, query->high + 8 * word, 8);
            const __m512i x = _mm512_set1_epi64(bytes);
            SKB_UNROLLED
            for (int t = 0; t < 8; t++)
                sum[t] = _mm512_add_epi64(
                    sum[t], _mm512_sad_epu8(_mm512_loadu_si512(codes + 64 * t), x));
        }
        for (int t = 0; t < 8; t++) {
            const float* own = stats + 8 * t;
            const __m256 inside = _mm256_sub_ps(
                constant, _mm256_mul_ps(unit, _mm512_cvtepi64_ps(sum[t])));
            const __m256 outside = _mm256_sub_ps(
                _mm256_loadu_ps(own + SKB_OUTSIDE * SKB_BLOCK), own_outside);
            const __m256 bound = _mm256_sub_ps(
                inside, _mm256_andnot_ps(sign, outside));
            _mm256_storeu_ps(
                bounds + 8 * t,
                _mm256_add_ps(_mm256_loadu_ps(own + SKB_REST * SKB_BLOCK), bound));
        }
        stats += SKB_N_DIFFERENCE_STATS * SKB_BLOCK;
        bounds += SKB_BLOCK;
    }
}

SKB_AVX512 static ptrdiff_t skb_select_avx512(
    const float* bounds, const float* tails, ptrdiff_t n, float factor, float least,
    int32_t* places)
{
    const __m512 threshold = _mm512_set1_ps(least), f = _mm512_set1_ps(factor);
    const __m512i lanes = _mm512_setr_epi32(
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    ptrdiff_t n_found = 0;
    for (ptrdiff_t i = 0; i < n; i += 16) {
        const __mmask16 valid = (__mmask16) (n - i >= 16 ? 0xffff : (1u << (n - i)) - 1);
        __m512 x = _mm512_maskz_loadu_ps(valid, bounds + i);
        if (tails != NULL)
            x = _mm512_fmadd_ps(f, _mm512_maskz_loadu_ps(valid, tails + i), x);
        const __mmask16 found = _mm512_mask_cmp_ps_mask(valid, x, threshold, _CMP_GE_OQ);
        if (found) {
            /* Compressed in a register: to memory it takes hundreds of cycles on AMD. */
            const int count = __builtin_popcount(found);
            const __m512i here = _mm512_add_epi32(_mm512_set1_epi32((int32_t) i), lanes);
            _mm512_mask_storeu_epi32(
                places + n_found, (__mmask16) ((1u << count) - 1),
                _mm512_maskz_compress_epi32(found, here));
            n_found += count;
        }
    }
    return n_found;
}

static const skb_kernels skb_avx512 = {
    "avx512", skb_scan_one_avx512, skb_scan_group_avx512, skb_scan_row_avx512,
    skb_scan_differences_avx512, skb_select_avx512, SKB_EXACT_TABLE(avx512)
};

#endif
