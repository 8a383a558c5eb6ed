"""Bins row by row made bins column by column: see ``_turning.pyx``."""

from libc.stdint cimport uint8_t

cdef enum:
    TURNED_ROWS = 16            # rows that are turned at a time


cdef void turn_rows(
    const uint8_t* rows, Py_ssize_t stride, uint8_t* out, Py_ssize_t out_stride
) noexcept nogil
