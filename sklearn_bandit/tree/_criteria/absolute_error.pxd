"""Regression by medians: see ``absolute_error.pyx``."""

from libc.stdint cimport uint32_t

from sklearn_bandit.tree._common cimport Block


cdef struct Pair:
    # A row and what it is sorted by.
    double y
    uint32_t place              # among the rows of the node


cdef void sort_by_output(
    const Block* block,
    const uint32_t* ids,
    Py_ssize_t n,
    Py_ssize_t width,           # numbers in the moments of a row
    Py_ssize_t output,          # 1, 2, ...
    Pair* pairs,                # out: the rows in order
) noexcept nogil
