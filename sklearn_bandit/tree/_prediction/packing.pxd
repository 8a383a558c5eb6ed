"""Trees of scikit-learn packed into small nodes: see ``packing.pyx``."""

from libc.stdint cimport int32_t, int64_t, uint32_t

from .grouping cimport Group

cdef extern from "walk.h":
    # The comments on the fields, and the form of a node, are in the header.
    ctypedef struct Forest "skb_forest":
        const Group** groups
        int n_features
        const uint32_t* nodes
        const int64_t* first
        const double* values
        int wide
        int feature_bits
        int width
        int n_classes
        int in_place


cdef class PackedTrees:
    """Trees in the form that rows are taken through; read only once made."""

    cdef Forest forest
    cdef readonly Py_ssize_t n_features
    cdef readonly Py_ssize_t n_trees
    cdef readonly str form
    cdef readonly list trees            # scikit-learn's, in the same order
    cdef readonly Py_ssize_t tree_bytes     # of all nodes
    cdef readonly Py_ssize_t nbytes
    cdef uint32_t[::1] memory           # nodes, and room to align them
    cdef int64_t[::1] first
    cdef int32_t[::1] in_order          # 0, 1, ...
    cdef int32_t[::1] shuffled          # the trees in a random order, always the same
    cdef double[::1] values
    cdef uint32_t* nodes                # the first, at the start of a cache line
    cdef list group_memory              # groups of each tree, and room to align them
    cdef Group** groups                 # of each tree, at the start of a cache line
