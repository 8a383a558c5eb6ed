/* Four neighbouring values of each of four rows, written column by column. */

#ifndef SKLEARN_BANDIT_MATRIX_H
#define SKLEARN_BANDIT_MATRIX_H

#include <stddef.h>

/* As in scikit-learn: a value must exceed the one before by more to be another. */
#define SKB_FEATURE_THRESHOLD 1e-7f

#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
static inline __m128 skb_four_floats(const float* x) { return _mm_loadu_ps(x); }
static inline __m128 skb_four_doubles(const double* x)
{
    return _mm_movelh_ps(
        _mm_cvtpd_ps(_mm_loadu_pd(x)), _mm_cvtpd_ps(_mm_loadu_pd(x + 2)));
}
#define SKB_TRANSPOSE_4(TYPE, LOAD) \
static inline void skb_transpose_##TYPE( \
    const TYPE* const* rows, ptrdiff_t column, float* out, ptrdiff_t stride) \
{ \
    __m128 a = LOAD(rows[0] + column), b = LOAD(rows[1] + column); \
    __m128 c = LOAD(rows[2] + column), d = LOAD(rows[3] + column); \
    _MM_TRANSPOSE4_PS(a, b, c, d); \
    _mm_storeu_ps(out, a); \
    _mm_storeu_ps(out + stride, b); \
    _mm_storeu_ps(out + 2 * stride, c); \
    _mm_storeu_ps(out + 3 * stride, d); \
}
SKB_TRANSPOSE_4(float, skb_four_floats)
SKB_TRANSPOSE_4(double, skb_four_doubles)
#else
#define SKB_TRANSPOSE_4(TYPE) \
static inline void skb_transpose_##TYPE( \
    const TYPE* const* rows, ptrdiff_t column, float* out, ptrdiff_t stride) \
{ \
    for (int j = 0; j < 4; j++) \
        for (int i = 0; i < 4; i++) \
            out[j * stride + i] = (float) rows[i][column + j]; \
}
SKB_TRANSPOSE_4(float)
SKB_TRANSPOSE_4(double)
#endif

#endif
