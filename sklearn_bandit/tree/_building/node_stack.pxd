"""Nodes that are still to be made: see ``node_stack.pyx``."""


cdef struct Pending:
    # A node that is still to be made.
    Py_ssize_t start            # its rows: positions in the list of ids
    Py_ssize_t n
    Py_ssize_t depth
    Py_ssize_t parent           # -1: the root
    bint is_left
    int level                   # which block its ids refer to
    Py_ssize_t set              # its histograms, in the splitter; -1: none
    Py_ssize_t n_constant       # features known to be constant
    double lower                # bounds of its value
    double upper


cdef class NodeStack:
    cdef Py_ssize_t n_nodes
    cdef Py_ssize_t capacity
    cdef Py_ssize_t n_totals    # numbers in the totals of a node
    cdef Pending* nodes
    cdef double* totals         # of each node

    cdef int push(self, const Pending* node, const double* totals) noexcept nogil
    cdef void pop(self, Pending* node, double* totals) noexcept nogil
