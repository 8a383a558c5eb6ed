"""Rows that may be answers: see ``_candidates.pyx``."""

from libc.stdint cimport int32_t

# A row that may be an answer.
cdef struct Candidate:
    float bound
    int32_t place


cdef Py_ssize_t largest(
    float* bounds, Py_ssize_t n, Py_ssize_t k, int32_t* places, Candidate* best
) noexcept nogil
