"""The best splits of a node and its sibling: see ``split_search.pyx``."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

from .histogram cimport HistogramBuilder
from .splits cimport Rules, Split
from .tree_nodes cimport Node

cdef struct Siblings:
    Node* small                     # its rows were just inserted
    Node* large                     # NULL for the root, which has no sibling
    int small_side                  # 0: the smaller one is the left child, 1: the right
    double* small_cells
    double* large_cells             # the parent's until those of `small` are subtracted
    uint8_t* small_live             # features whose histograms are good
    uint8_t* large_live


cdef class SplitSearch:
    """Completes the histograms of two siblings and finds their best splits."""

    cdef HistogramBuilder builder
    cdef Rules rules
    cdef int missing_bin
    cdef Py_ssize_t n_features
    cdef const int32_t[::1] n_bins
    cdef const uint8_t[::1] has_missing
    cdef const uint8_t[::1] is_categorical
    cdef const int32_t[::1] frequent_cell
    cdef const int64_t[::1] first_cell
    cdef const int8_t[::1] monotonic
    cdef const uint8_t[:, ::1] tried    # features to try in the left, right child
    cdef Split* found                   # best split of each feature, left and right

    cdef int search(self, const Siblings* siblings, int n_threads) except -1

    cdef void _search_feature(
        self, Py_ssize_t feature, const Siblings* siblings
    ) noexcept nogil

    cdef void _find(
        self,
        Py_ssize_t feature,
        const Node* node,
        const double* all_cells,
        uint8_t* live,
        int side,
    ) noexcept nogil

    cdef void _take_best(self, Node* node, int side) noexcept nogil
