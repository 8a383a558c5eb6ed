"""Rows sampled from a node: see ``row_sample.pyx``."""

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from sklearn_bandit.tree._common cimport Block, Limits
from sklearn_bandit.tree._criteria.base cimport Criterion
from sklearn_bandit.tree._criteria.histograms cimport Histograms

cdef enum:
    # A sample of more than a node's rows divided by this does not pay: a row read at
    # random costs about as much as several read in order.
    SAMPLE_SHARE = 8
    # The same where the rows are a subset already, drawn to be sampled from.
    SUBSET_SHARE = 2
    # Nor does a larger sample, whatever the node: its losses no longer fit the cache.
    LARGEST_SAMPLE = 65536
    SAMPLE_BYTES = 1 << 24


cdef inline Py_ssize_t count_room(Py_ssize_t n_rows, Py_ssize_t n_slots) noexcept nogil:
    """Return how many of some rows a sample has at most."""
    return min(n_rows, min(<Py_ssize_t> LARGEST_SAMPLE, SAMPLE_BYTES // n_slots))


cdef struct Node:
    # What a search is about.
    const Block* block
    const uint32_t* ids
    Py_ssize_t n
    const double* totals
    const Limits* limits


cdef struct Slots:
    # Features of which histograms are held: slot i is for feature features[i].
    const int32_t* features
    const Py_ssize_t* used          # the slots that are in use
    Py_ssize_t n_used


cdef class RowSample:
    cdef Criterion criterion
    cdef Histograms histograms
    cdef Block block                # the targets, and the bins of the slot shown
    cdef Py_ssize_t room            # most rows
    cdef Py_ssize_t n_rows
    cdef uint8_t* bins              # of each slot, column by column
    cdef uint32_t* ids              # of the rows that were sampled last
    cdef uint32_t[::1] places       # 0, 1, 2, ...: all rows of the sample

    cdef void add(
        self, const Node* node, Py_ssize_t n_next, const Slots* slots, uint64_t* random
    ) noexcept nogil
    cdef void gather_bins(
        self, const Block* source, Py_ssize_t n_new, const Slots* slots
    ) noexcept nogil
    cdef void fill(
        self, Py_ssize_t first, Py_ssize_t slot, int kind
    ) noexcept nogil
    cdef void show(self, Py_ssize_t slot) noexcept nogil
