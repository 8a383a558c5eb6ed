"""Nodes that are still to be made, the last first."""

from libc.stdlib cimport free
from libc.string cimport memcpy

from sklearn_bandit._core.memory cimport reallocate, times


cdef class NodeStack:
    """A stack of nodes and their totals.

    Parameters
    ----------
    n_totals : int
        Numbers in the totals of a node.
    """

    def __cinit__(self, Py_ssize_t n_totals):
        self.n_totals = n_totals

    def __dealloc__(self):
        free(self.nodes)
        free(self.totals)

    cdef int push(self, const Pending* node, const double* totals) noexcept nogil:
        """Add a node; -1 if there is no memory."""
        cdef Py_ssize_t capacity
        cdef void* grown

        if self.n_nodes == self.capacity:
            capacity = max(2 * self.capacity, <Py_ssize_t> 64)
            grown = reallocate(self.nodes, capacity, sizeof(Pending))
            if grown == NULL:
                return -1
            self.nodes = <Pending*> grown
            grown = reallocate(
                self.totals, capacity, times(self.n_totals, sizeof(double))
            )
            if grown == NULL:
                return -1
            self.totals = <double*> grown
            self.capacity = capacity
        self.nodes[self.n_nodes] = node[0]
        memcpy(
            self.totals + self.n_nodes * self.n_totals, totals,
            self.n_totals * sizeof(double),
        )
        self.n_nodes += 1
        return 0

    cdef void pop(self, Pending* node, double* totals) noexcept nogil:
        """Take the last node, of which there is one, out."""
        self.n_nodes -= 1
        node[0] = self.nodes[self.n_nodes]
        memcpy(
            totals, self.totals + self.n_nodes * self.n_totals,
            self.n_totals * sizeof(double),
        )
