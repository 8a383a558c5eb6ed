"""Bytes row by row made bytes column by column: see ``_turning.pyx``."""

from libc.stdint cimport uint8_t

cdef enum:
    TURNED_ROWS = 16            # rows that are best turned at a time, or a multiple


cdef void turn(
    const uint8_t* rows, Py_ssize_t stride, Py_ssize_t n, Py_ssize_t m, uint8_t* out,
    Py_ssize_t out_stride,
) noexcept nogil
