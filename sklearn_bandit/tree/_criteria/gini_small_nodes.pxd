"""Nodes of a few rows by Gini: see ``gini_small_nodes.pyx``."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

from sklearn_bandit.tree._common cimport Block, Limits, Split

cdef enum:
    MAX_COMPARED = 64           # rows
    MAX_WEIGHT = 255            # of these rows: sums are bytes


cdef struct FewRows:
    # The rows of a node in the order of their classes.
    int32_t n
    const uint8_t* rows[MAX_COMPARED]
    uint8_t weights[MAX_COMPARED]
    int32_t n_groups            # classes present
    int32_t ends[MAX_COMPARED]  # of each: where its rows end, number, weight
    uint16_t labels[MAX_COMPARED]
    int32_t totals[MAX_COMPARED]
    int32_t weight              # of all rows, and the sum of the squared totals
    int32_t squares


cdef void load_few(
    const Block* block, const uint32_t* ids, Py_ssize_t n, const double* totals,
    Py_ssize_t n_classes, int64_t* places, FewRows* few,
) noexcept nogil

cdef int search_few(
    const FewRows* few, int32_t feature, const Limits* limits, Py_ssize_t n_classes,
    Split* best,
) noexcept nogil
