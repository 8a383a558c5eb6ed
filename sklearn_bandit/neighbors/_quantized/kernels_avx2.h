/* The kernels for AVX2.

   maddubs adds pairs of products in 16 bits: two bytes of at most 64 by codes of at
   most 255 are 32,640 and fit. The single byte of a group goes up to 127: there the
   offset of the codes is taken out, and the byte's sign put on them first. */

#ifndef SKLEARN_BANDIT_QUANTIZED_KERNELS_AVX2_H
#define SKLEARN_BANDIT_QUANTIZED_KERNELS_AVX2_H

#define SKB_AVX2 __attribute__((target("avx2")))

SKB_EXACT(avx2, SKB_AVX2)

#define SKB_LOAD_256(x) _mm256_loadu_si256((const __m256i*) (x))

SKB_AVX2 static inline __m256i skb_multiply_256(__m256i codes, __m256i bytes)
{
    return _mm256_madd_epi16(
        _mm256_maddubs_epi16(codes, bytes), _mm256_set1_epi16(1));
}

SKB_AVX2 static inline __m256i skb_word_256(const int8_t* bytes)
{
    int32_t word;
    memcpy(&word, bytes, 4);
    return _mm256_set1_epi32(word);
}

SKB_AVX2 static inline void skb_bounds_256(
    __m256 products, const float* stats, const skb_query* query, float* bounds)
{
    __m256 bound = _mm256_add_ps(
        _mm256_set1_ps(query->constant),
        _mm256_mul_ps(
            _mm256_set1_ps(query->bias),
            _mm256_loadu_ps(stats + SKB_BIAS * SKB_BLOCK)));
    bound = _mm256_add_ps(bound, _mm256_mul_ps(
        _mm256_set1_ps(query->size), _mm256_loadu_ps(stats + SKB_SIZE * SKB_BLOCK)));
    bound = _mm256_add_ps(bound, _mm256_mul_ps(
        _mm256_set1_ps(query->residual),
        _mm256_loadu_ps(stats + SKB_RESIDUAL * SKB_BLOCK)));
    products = _mm256_mul_ps(
        products, _mm256_loadu_ps(stats + SKB_SCALE * SKB_BLOCK));
    bound = _mm256_add_ps(
        bound, _mm256_mul_ps(_mm256_set1_ps(query->unit), products));
    _mm256_storeu_ps(bounds, bound);
}

SKB_AVX2 static void skb_scan_one_avx2(
    const uint8_t* codes, const float* stats, ptrdiff_t n_blocks,
    const skb_query* query, float* bounds)
{
    const __m256i offset_high = _mm256_set1_epi32(SKB_BYTE_OFFSET * query->sum_high);
    const __m256i offset_low = _mm256_set1_epi32(SKB_BYTE_OFFSET * query->sum_low);
    for (ptrdiff_t b = 0; b < n_blocks; b++) {
        for (int half = 0; half < 2; half++) {
            const uint8_t* c = codes + half * 2 * SKB_BLOCK;
            __m256i high[4], low[4];
            for (int t = 0; t < 4; t++)
                high[t] = low[t] = _mm256_setzero_si256();
            for (int32_t word = 0; word < query->n_words; word++, c += 4 * SKB_BLOCK) {
                const __m256i x = skb_word_256(query->high + 4 * word);
                const __m256i y = skb_word_256(query->low + 4 * word);
                for (int t = 0; t < 4; t++) {
                    const __m256i v = SKB_LOAD_256(c + 32 * t);
                    high[t] = _mm256_add_epi32(high[t], skb_multiply_256(v, x));
                    low[t] = _mm256_add_epi32(low[t], skb_multiply_256(v, y));
                }
            }
            for (int t = 0; t < 4; t++) {
                const int i = half * SKB_BLOCK / 2 + 8 * t;
                const __m256 h = _mm256_cvtepi32_ps(
                    _mm256_sub_epi32(high[t], offset_high));
                const __m256 l = _mm256_cvtepi32_ps(
                    _mm256_sub_epi32(low[t], offset_low));
                skb_bounds_256(
                    _mm256_add_ps(_mm256_mul_ps(_mm256_set1_ps(SKB_HIGH_STEP), h), l),
                    stats + i, query, bounds + i);
            }
        }
        codes += (ptrdiff_t) query->n_words * 4 * SKB_BLOCK;
        stats += SKB_N_STATS * SKB_BLOCK;
        bounds += SKB_BLOCK;
    }
}

SKB_AVX2 static void skb_scan_block_avx2(
    const uint8_t* codes, const float* stats, const skb_query* queries,
    float* bounds, ptrdiff_t stride)
{
    const __m256i offset = _mm256_set1_epi8((char) SKB_BYTE_OFFSET);
    for (int half = 0; half < 2; half++)
        for (int q = 0; q < SKB_GROUP; q += 2) {
            const uint8_t* c = codes + half * 2 * SKB_BLOCK;
            __m256i sums[2][4];
            for (int t = 0; t < 4; t++)
                sums[0][t] = sums[1][t] = _mm256_setzero_si256();
            for (int32_t word = 0; word < queries->n_words; word++, c += 4 * SKB_BLOCK) {
                const __m256i x = skb_word_256(queries[q].high + 4 * word);
                const __m256i y = skb_word_256(queries[q + 1].high + 4 * word);
                const __m256i size_x = _mm256_abs_epi8(x), size_y = _mm256_abs_epi8(y);
                for (int t = 0; t < 4; t++) {
                    const __m256i v = _mm256_xor_si256(SKB_LOAD_256(c + 32 * t), offset);
                    sums[0][t] = _mm256_add_epi32(
                        sums[0][t], skb_multiply_256(size_x, _mm256_sign_epi8(v, x)));
                    sums[1][t] = _mm256_add_epi32(
                        sums[1][t], skb_multiply_256(size_y, _mm256_sign_epi8(v, y)));
                }
            }
            for (int k = 0; k < 2; k++)
                for (int t = 0; t < 4; t++) {
                    const int i = half * SKB_BLOCK / 2 + 8 * t;
                    skb_bounds_256(
                        _mm256_cvtepi32_ps(sums[k][t]), stats + i, queries + q + k,
                        bounds + (q + k) * stride + i);
                }
        }
}

SKB_AVX2 static void skb_scan_group_avx2(
    const uint8_t* codes, const float* stats, ptrdiff_t n_blocks,
    const skb_query* queries, float* bounds, ptrdiff_t stride)
{
    const ptrdiff_t block_bytes = (ptrdiff_t) queries->n_words * 4 * SKB_BLOCK;
    for (ptrdiff_t i = 0; i < n_blocks; i++)
        skb_scan_block_avx2(
            codes + i * block_bytes, stats + i * SKB_N_STATS * SKB_BLOCK, queries,
            bounds + i * SKB_BLOCK, stride);
}

SKB_AVX2 static inline int32_t skb_sum_256(__m256i x)
{
    __m128i s = _mm_add_epi32(
        _mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
    return _mm_cvtsi128_si32(s);
}

SKB_AVX2 static float skb_scan_row_avx2(
    const uint8_t* codes, const float* stats, const skb_query* query)
{
    __m256i high = _mm256_setzero_si256(), low = high;
    for (int32_t j = 0; j < 4 * query->n_words; j += 32) {
        const __m256i v = SKB_LOAD_256(codes + j);
        high = _mm256_add_epi32(
            high, skb_multiply_256(v, SKB_LOAD_256(query->high + j)));
        low = _mm256_add_epi32(low, skb_multiply_256(v, SKB_LOAD_256(query->low + j)));
    }
    const int32_t h = skb_sum_256(high) - SKB_BYTE_OFFSET * query->sum_high;
    const int32_t l = skb_sum_256(low) - SKB_BYTE_OFFSET * query->sum_low;
    return skb_bound(SKB_HIGH_STEP * (float) h + (float) l, stats, 0, query);
}

SKB_AVX2 static void skb_scan_differences_avx2(
    const uint8_t* codes, const float* stats, ptrdiff_t n_blocks,
    const skb_query* query, float* bounds)
{
    int64_t sums[SKB_BLOCK];
    for (ptrdiff_t b = 0; b < n_blocks; b++) {
        for (int half = 0; half < 2; half++) {
            const uint8_t* c = codes + half * 4 * SKB_BLOCK;
            __m256i sum[8];
            for (int t = 0; t < 8; t++)
                sum[t] = _mm256_setzero_si256();
            for (int32_t word = 0; word < query->n_words; word++, c += 8 * SKB_BLOCK) {
                int64_t bytes;
                memcpy(&bytes, query->high + 8 * word, 8);
                const __m256i x = _mm256_set1_epi64x(bytes);
                for (int t = 0; t < 8; t++)
                    sum[t] = _mm256_add_epi64(
                        sum[t], _mm256_sad_epu8(SKB_LOAD_256(c + 32 * t), x));
            }
            for (int t = 0; t < 8; t++)
                _mm256_storeu_si256(
                    (__m256i*) (sums + half * SKB_BLOCK / 2 + 4 * t), sum[t]);
        }
        for (int i = 0; i < SKB_BLOCK; i++)
            bounds[i] = skb_difference_bound((int32_t) sums[i], stats, i, query);
        codes += (ptrdiff_t) query->n_words * 8 * SKB_BLOCK;
        stats += SKB_N_DIFFERENCE_STATS * SKB_BLOCK;
        bounds += SKB_BLOCK;
    }
}

SKB_AVX2 static ptrdiff_t skb_select_avx2(
    const float* bounds, const float* tails, ptrdiff_t n, float factor, float least,
    int32_t* places)
{
    const __m256 threshold = _mm256_set1_ps(least), f = _mm256_set1_ps(factor);
    ptrdiff_t n_found = 0, i = 0;
    for (; i + 8 <= n; i += 8) {
        __m256 x = _mm256_loadu_ps(bounds + i);
        if (tails != NULL)
            x = _mm256_add_ps(x, _mm256_mul_ps(f, _mm256_loadu_ps(tails + i)));
        int found = _mm256_movemask_ps(_mm256_cmp_ps(x, threshold, _CMP_GE_OQ));
        for (; found; found &= found - 1)
            places[n_found++] = (int32_t) i + __builtin_ctz(found);
    }
    const ptrdiff_t more = skb_select_portable(
        bounds + i, tails == NULL ? NULL : tails + i, n - i, factor, least,
        places + n_found);
    for (ptrdiff_t k = 0; k < more; k++)
        places[n_found + k] += (int32_t) i;
    return n_found + more;
}

static const skb_kernels skb_avx2 = {
    "avx2", skb_scan_one_avx2, skb_scan_group_avx2, skb_scan_row_avx2,
    skb_scan_differences_avx2, skb_select_avx2, SKB_EXACT_TABLE(avx2)
};

#endif
