"""What leaves predict, as one word each: see ``leaf_values.pyx``."""

from libc.stdint cimport uint32_t

from .source_tree cimport SourceTree


cdef class LeafValues:
    """Payloads of leaves, and the table that some of them number."""

    cdef readonly int width         # numbers that a leaf predicts
    cdef readonly int n_classes     # payloads below: all votes for that class
    cdef readonly bint in_place     # payloads are float32 values, unless not a number
    cdef double* values
    cdef uint32_t* slots            # number of the row, plus 1; 0 if free
    cdef size_t n, room, n_slots    # `n_slots` is a power of two
    cdef size_t n_asked
    cdef bint is_hashed             # False if few values are equal

    cdef void write_payloads(self, SourceTree tree) noexcept nogil
    cdef uint32_t payload(self, const double* value) noexcept nogil
    cdef uint32_t find(self, const double* row) noexcept nogil
    cdef uint32_t _add(self, const double* row) noexcept nogil
