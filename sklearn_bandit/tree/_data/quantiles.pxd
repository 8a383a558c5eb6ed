"""Edges between sorted values: see ``quantiles.pyx``."""

from libc.stdint cimport uint32_t


cdef Py_ssize_t sort_values(
    float* values,              # sorted in place, NaN left out
    Py_ssize_t n,
    uint32_t* keys,             # scratch for n keys
    uint32_t* spare,            # and for n more
) noexcept nogil

cdef Py_ssize_t count_runs(
    float* values, Py_ssize_t n, uint32_t* counts
) noexcept nogil

cdef bint hardly_vary(const float* values, Py_ssize_t n) noexcept nogil

cdef Py_ssize_t cut(
    const float* values, const uint32_t* counts, Py_ssize_t n, Py_ssize_t max_bins,
    float* edges,
) noexcept nogil
