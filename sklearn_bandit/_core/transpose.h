/* Squares of bytes, row by row made column by column. */

#ifndef SKLEARN_BANDIT_TRANSPOSE_H
#define SKLEARN_BANDIT_TRANSPOSE_H

#include <stddef.h>
#include <stdint.h>
#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
static void skb_transpose(const uint8_t* from, ptrdiff_t stride, uint8_t* to,
    ptrdiff_t to_stride)
{
    __m128i a[16], b[16];
    for (int i = 0; i < 16; i++)
        a[i] = _mm_loadu_si128((const __m128i*) (from + i * stride));
    /* Four times, the first half is interleaved with the second. */
    for (int step = 0; step < 2; step++) {
        for (int i = 0; i < 8; i++) {
            b[2 * i] = _mm_unpacklo_epi8(a[i], a[i + 8]);
            b[2 * i + 1] = _mm_unpackhi_epi8(a[i], a[i + 8]);
        }
        for (int i = 0; i < 8; i++) {
            a[2 * i] = _mm_unpacklo_epi8(b[i], b[i + 8]);
            a[2 * i + 1] = _mm_unpackhi_epi8(b[i], b[i + 8]);
        }
    }
    for (int i = 0; i < 16; i++)
        _mm_storeu_si128((__m128i*) (to + i * to_stride), a[i]);
}
#else
static void skb_transpose(const uint8_t* from, ptrdiff_t stride, uint8_t* to,
    ptrdiff_t to_stride)
{
    for (int j = 0; j < 16; j++)
        for (int i = 0; i < 16; i++)
            to[j * to_stride + i] = from[i * stride + j];
}
#endif

#endif
