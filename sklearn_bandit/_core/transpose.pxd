"""Bytes row by row made bytes column by column: see ``transpose.pyx``."""

from libc.stdint cimport uint8_t

cdef enum:
    TRANSPOSED_ROWS = 16            # rows that are best done at a time, or a multiple


cdef void transpose(
    const uint8_t* rows, Py_ssize_t stride, Py_ssize_t n, Py_ssize_t m, uint8_t* out,
    Py_ssize_t out_stride,
) noexcept nogil
