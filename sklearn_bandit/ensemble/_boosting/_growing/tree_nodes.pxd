"""The nodes of a tree while it grows: see ``tree_nodes.pyx``."""

from libc.stdint cimport int32_t

from .splits cimport NodeSums, Split

cdef struct Node:
    NodeSums sums
    Split split                 # best split; its gain is below 0 if there is none
    Py_ssize_t start            # first and last + 1 of its rows in the permutation
    Py_ssize_t stop
    int32_t depth
    int32_t left                # children; -1 for a leaf
    int32_t right
    int32_t slot                # of its histograms; -1 if there are none


cdef class TreeNodes:
    """Nodes in the order in which they are made; the root is the first."""

    cdef Node* nodes            # moves when a node is added
    cdef Py_ssize_t n           # number of nodes
    cdef Py_ssize_t n_room

    cdef Py_ssize_t add(self) except -1

    cdef Py_ssize_t add_child(
        self, Py_ssize_t parent, Py_ssize_t start, Py_ssize_t stop
    ) except -1
