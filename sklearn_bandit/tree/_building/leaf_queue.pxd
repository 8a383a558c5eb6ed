"""Leaves that can be split, the best first: see ``leaf_queue.pyx``."""

from sklearn_bandit.tree._common cimport Split

from .node_stack cimport Pending


cdef struct Leaf:
    # A leaf that can be split, and the split.
    Pending node
    Py_ssize_t id               # its number in the tree
    Split split
    Py_ssize_t n_left
    double improvement


cdef class LeafQueue:
    cdef readonly Py_ssize_t n_leaves
    cdef Py_ssize_t capacity
    cdef Py_ssize_t n_totals    # numbers in the totals of both children
    cdef Leaf* leaves           # in the order of their numbers, which ties go by
    cdef double* totals         # of the children of each leaf, in the same order
    cdef Py_ssize_t* heap       # numbers of leaves: each is before those below it
    cdef Py_ssize_t* places     # where in the heap each leaf is

    cdef int push(self, const Leaf* leaf, const double* totals) noexcept nogil
    cdef void pop(self, Leaf* leaf, double* totals) noexcept nogil
    cdef int reserve(self) noexcept nogil
    cdef bint is_before(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil
    cdef void put(self, Py_ssize_t place, Py_ssize_t number) noexcept nogil
    cdef void rise(self, Py_ssize_t place) noexcept nogil
    cdef void sink(self, Py_ssize_t place) noexcept nogil
