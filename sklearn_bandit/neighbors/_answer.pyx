"""What a search returns: slots, inner products and counts, one row a query."""

import numpy as np

from libc.float cimport FLT_MAX
from libc.math cimport fabs


cdef class Answer:
    """The best atoms of some queries.

    Parameters
    ----------
    n_queries : int
        Number of queries, at least one.
    k : int
        Number of atoms for each.

    Attributes
    ----------
    slots : ndarray of shape (n_queries, k)
        Slots of the atoms, best first.
    products : ndarray of shape (n_queries, k)
        Their inner products with the query.
    counts : ndarray of shape (n_queries,)
        Multiplications of coordinates.
    """

    def __init__(self, Py_ssize_t n_queries, Py_ssize_t k):
        self.slots = np.empty((n_queries, k), dtype=np.intp)
        self.products = np.empty((n_queries, k))
        self.counts = np.zeros(n_queries, dtype=np.intp)
        self._point()

    def part(self, Py_ssize_t start, Py_ssize_t stop):
        """Return the answer for some queries, which shares its memory with this one."""
        cdef Answer part

        if start == 0 and stop == self.n_queries:
            return self
        part = Answer.__new__(Answer)
        part.slots = self.slots[start:stop]
        part.products = self.products[start:stop]
        part.counts = self.counts[start:stop]
        part._point()
        return part

    def put(self, chosen, Answer other):
        """Take over the rows of another answer, for the chosen queries."""
        self.slots[chosen] = other.slots
        self.products[chosen] = other.products
        self.counts[chosen] = other.counts

    cdef void _point(self) except *:
        """Set the pointers for the kernels."""
        cdef Py_ssize_t[:, ::1] slots = self.slots
        cdef double[:, ::1] products = self.products
        cdef Py_ssize_t[::1] counts = self.counts

        self.first.slots = &slots[0, 0]
        self.first.products = &products[0, 0]
        self.first.count = &counts[0]
        self.n_queries = slots.shape[0]
        self.k = slots.shape[1]


def to_single(const double[:, ::1] products):
    """Return inner products in single precision, or None where it cannot hold them.

    It takes half of numpy's time, and there is no warning.
    """
    cdef Py_ssize_t i, j
    narrow = np.empty((products.shape[0], products.shape[1]), dtype=np.float32)
    cdef float[:, ::1] out = narrow

    for i in range(products.shape[0]):
        for j in range(products.shape[1]):
            if fabs(products[i, j]) > FLT_MAX:
                return None
            out[i, j] = <float> products[i, j]
    return narrow
