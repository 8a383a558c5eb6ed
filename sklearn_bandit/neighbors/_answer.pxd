"""What a search returns; see ``_answer.pyx``."""


cdef struct Best:
    # Where the result for one query is written.
    Py_ssize_t* slots           # of the best k atoms
    double* products            # their inner products
    Py_ssize_t* count           # multiplications of coordinates


cdef class Answer:
    cdef readonly object slots
    cdef readonly object products
    cdef readonly object counts
    cdef Best first             # of the first query
    cdef Py_ssize_t n_queries
    cdef Py_ssize_t k

    cdef void _point(self) except *


cdef inline Best best_of(Best first, Py_ssize_t k, Py_ssize_t i) noexcept nogil:
    """Where the result for query i is written."""
    first.slots += i * k
    first.products += i * k
    first.count += i
    return first
