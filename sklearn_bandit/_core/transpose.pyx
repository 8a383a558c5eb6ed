"""Bins row by row made bins column by column, in squares that fit the registers.

A node's rows that are many cache lines wide are copied both ways: row by row, to see
which features vary, and column by column, to count a few of them.
"""

from libc.stdint cimport uint64_t
from libc.string cimport memcpy

cdef extern from "transpose.h":
    void transpose_16 "skb_transpose"(    # 16 by 16 bytes
        const uint8_t* source, Py_ssize_t stride, uint8_t* to, Py_ssize_t to_stride
    ) noexcept nogil


cdef inline void _swap(
    uint64_t* a, uint64_t* b, const int shift, uint64_t mask
) noexcept nogil:
    """Exchange the upper parts of one word with the lower ones of another."""
    cdef uint64_t change = ((a[0] >> shift) ^ b[0]) & mask

    b[0] ^= change
    a[0] ^= change << shift


cdef void transpose_8(
    const uint8_t* source, Py_ssize_t stride, uint8_t* to, Py_ssize_t to_stride
) noexcept nogil:
    """Turn 8 by 8 bytes: blocks of four, of two, then bytes change places."""
    cdef uint64_t[8] lines
    cdef int i

    for i in range(8):
        memcpy(&lines[i], source + i * stride, 8)
    for i in range(4):
        _swap(&lines[i], &lines[i + 4], 32, 0x00000000FFFFFFFFULL)
    for i in range(2):
        _swap(&lines[i], &lines[i + 2], 16, 0x0000FFFF0000FFFFULL)
        _swap(&lines[i + 4], &lines[i + 6], 16, 0x0000FFFF0000FFFFULL)
    for i in range(4):
        _swap(&lines[2 * i], &lines[2 * i + 1], 8, 0x00FF00FF00FF00FFULL)
    for i in range(8):
        memcpy(to + i * to_stride, &lines[i], 8)


cdef void transpose(
    const uint8_t* rows, Py_ssize_t stride, Py_ssize_t n, Py_ssize_t m, uint8_t* out,
    Py_ssize_t out_stride,
) noexcept nogil:
    """Turn n rows of m bytes into m columns."""
    cdef Py_ssize_t i, j, first

    for i in range(0, n - 15, 16):
        for j in range(0, m - 15, 16):
            transpose_16(
                rows + i * stride + j, stride, out + j * out_stride + i, out_stride
            )
    # What is left on the right, then below.
    first = m & ~15
    for i in range(0, n - 7, 8):
        for j in range(first if i < n & ~15 else 0, m - 7, 8):
            transpose_8(
                rows + i * stride + j, stride, out + j * out_stride + i, out_stride
            )
    first = m & ~7
    for i in range(n):
        for j in range(first if i < n & ~7 else 0, m):
            out[j * out_stride + i] = rows[i * stride + j]
