"""Bins row by row made bins column by column, in squares that fit the registers.

A node's rows that are many cache lines wide are copied both ways: row by row, to see
which features vary, and column by column, to count a few of them.
"""

cdef extern from *:
    """
    #include <stddef.h>
    #include <stdint.h>
    #if defined(__SSE2__) || defined(_M_X64)
    #include <emmintrin.h>
    static void skb_turn(const uint8_t* from, ptrdiff_t stride, uint8_t* to,
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
    static void skb_turn(const uint8_t* from, ptrdiff_t stride, uint8_t* to,
        ptrdiff_t to_stride)
    {
        for (int j = 0; j < 16; j++)
            for (int i = 0; i < 16; i++)
                to[j * to_stride + i] = from[i * stride + j];
    }
    #endif
    """
    void turn "skb_turn"(       # 16 by 16 bytes
        const uint8_t* source, Py_ssize_t stride, uint8_t* to, Py_ssize_t to_stride
    ) noexcept nogil


cdef void turn_rows(
    const uint8_t* rows, Py_ssize_t stride, uint8_t* out, Py_ssize_t out_stride
) noexcept nogil:
    """Turn TURNED_ROWS rows, whose stride is a multiple of 16, into columns."""
    cdef Py_ssize_t start = 0

    while start < stride:
        turn(rows + start, stride, out + start * out_stride, out_stride)
        start += TURNED_ROWS
