"""What a query has found: see ``_found.pyx``."""

from libc.stdint cimport int64_t

# A row, and its distance or minus its inner product.
cdef struct Neighbour:
    double key
    int64_t position

# The k best so far, or all within a radius.
cdef struct Found:
    Neighbour* rows             # for k: a heap whose root is the worst
    Py_ssize_t k                # 0: all within `limit`
    Py_ssize_t n
    Py_ssize_t capacity
    double limit                # rows with a larger key are no answers
    bint has_failed             # there was no memory

cdef void push(Found* found, double key, int64_t position) noexcept nogil
cdef void sort_found(Found* found, bint by_key) noexcept nogil
cdef double worst_key(const Found* found) noexcept nogil
