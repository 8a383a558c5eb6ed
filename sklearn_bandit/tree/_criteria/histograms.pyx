"""Histograms of some features of a node, and the search for splits in them.

A histogram has one cell per bin, which holds the totals of the rows in that bin. There
is room for several, in *slots*. Splitters ask to *fill* some from rows and to *scan*
one for the threshold with the best *score* (see ``base.pyx``).

Two searches do without where they can: of *tiny* nodes, whose few rows are compared or
sorted, and of *cuts*, thresholds drawn beforehand, at which rows are divided.
"""

import numpy as np

from libc.math cimport fabs
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from sklearn_bandit._core.memory cimport allocate_zeros
from sklearn_bandit.tree._bin_sets cimport N_WORDS, keep_highest
from sklearn_bandit.tree._common cimport (
    MAX_GROUP,
    N_SLOTS,
    SMALL,
    SPARSE,
    UNKNOWN_BIN,
    set_split,
)

cdef enum:
    # Up to this many rows, only the bins that they touch are scanned and cleared: fewer
    # than the bins there are, or hardly more.
    SPARSE_ROWS = 512


cdef class Histograms:
    """Base class: the rows counted in the cells, and the search among cuts.

    Parameters
    ----------
    criterion : Criterion
        What is to be predicted.
    n_slots : int
        Histograms to make room for.
    n_bins : ndarray of shape (n_features,), int32
        Bins of each feature.
    count_rows : bool
        Whether rows are counted, for `min_samples_leaf`.
    """

    def __cinit__(self, *args, **kwargs):
        self.sparse_rows = SPARSE_ROWS
        self.tiny_group = 1

    def __init__(self, Criterion criterion, n_slots, n_bins, count_rows):
        self.criterion = criterion
        self.n_bins = n_bins
        self.lefts = np.empty((MAX_GROUP, criterion.n_channels))
        if count_rows:
            self.sizes = <uint32_t*> allocate_zeros(
                n_slots, N_SLOTS * sizeof(uint32_t)
            )
            if self.sizes == NULL:
                raise MemoryError

    def __dealloc__(self):
        free(self.sizes)

    # -- one histogram ----

    cdef int choose_kind(self, Py_ssize_t n, const double* totals) noexcept nogil:
        """Kind of the histograms of a node."""
        cdef int kind = SPARSE if n <= self.sparse_rows else 0

        return kind | SMALL if self.is_small(totals) else kind

    cdef bint is_small(self, const double* totals) noexcept nogil:
        """Whether short integers hold all weights in a node."""
        return False

    cdef bint is_small_sample(self, Py_ssize_t n) noexcept nogil:
        """Whether short integers hold the weights of any n rows."""
        return False

    cdef void fill(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_features, Py_ssize_t slot, int kind,
    ) noexcept nogil:
        """Add rows to the histograms of some features, in slots from `slot` on.

        At most MAX_GROUP features. `kind` is that of the histograms: SPARSE, SMALL,
        both or 0; SMALL only if `is_small` allows it.
        """

    cdef void count_rows(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_features, Py_ssize_t slot,
    ) noexcept nogil:
        """Count the rows of each cell, for `min_samples_leaf`."""
        cdef Py_ssize_t i, j
        cdef uint32_t* sizes

        for j in range(n_features):
            sizes = self.sizes + (slot + j) * N_SLOTS
            for i in range(n):
                sizes[block.rows[<Py_ssize_t> ids[i] * block.stride + features[j]]] += 1

    cdef void clear(self, Py_ssize_t slot, int kind) noexcept nogil:
        """Empty a histogram."""
        if self.sizes != NULL:
            memset(self.sizes + slot * N_SLOTS, 0, N_SLOTS * sizeof(uint32_t))

    cdef void subtract(self, Py_ssize_t part, Py_ssize_t whole) noexcept nogil:
        """Take the histogram of one child from that of its parent: the other child's.

        Only where weights are integers, so that what is empty becomes exactly 0.
        """
        cdef Py_ssize_t i

        if self.sizes != NULL:
            for i in range(N_SLOTS):
                self.sizes[whole * N_SLOTS + i] -= self.sizes[part * N_SLOTS + i]

    cdef uint8_t* find_cells(self, Py_ssize_t slot) noexcept nogil:
        """The cells of a histogram of kind 0; those of the next slot follow."""
        return NULL

    cdef Py_ssize_t histogram_bytes(self) noexcept nogil:
        """Bytes of the cells of a histogram of kind 0."""
        return 0

    def save(self, Py_ssize_t slot, Py_ssize_t n_slots):
        """Copy histograms of kind 0 out of the slots from `slot` on.

        Returns
        -------
        saved : tuple of bytes
            Their cells, and the rows counted in them; for `restore`, also of others
            that were made by the same criterion for the same features.
        """
        sizes = b""
        if self.sizes != NULL:
            sizes = (<const char*> (self.sizes + slot * N_SLOTS))[
                : n_slots * N_SLOTS * sizeof(uint32_t)
            ]
        n_bytes = n_slots * self.histogram_bytes()
        return (<const char*> self.find_cells(slot))[:n_bytes], sizes

    def restore(self, Py_ssize_t slot, saved):
        """Put histograms that were saved into slots that are empty."""
        cdef const uint8_t[::1] cells = saved[0], sizes = saved[1]

        memcpy(self.find_cells(slot), &cells[0], len(cells))
        if self.sizes != NULL:
            memcpy(self.sizes + slot * N_SLOTS, &sizes[0], len(sizes))

    cdef bint scan(
        self, Py_ssize_t slot, int kind, const ScanRequest* request, Split* best
    ) noexcept nogil:
        """Find the best threshold of a feature; replace `best` if it has a better
        score. Returns whether the feature varies in the node.
        """
        return False

    cdef void find_occupied(
        self, Py_ssize_t slot, int kind, int32_t feature, uint64_t* out
    ) noexcept nogil:
        """Bitmap of the bins of a histogram that hold rows."""

    # -- thresholds drawn beforehand ----

    cdef void try_cuts(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, Cut* cuts,
        Py_ssize_t n_cuts, const double* totals, const Limits* limits, Split* best,
    ) noexcept nogil:
        """Try one cut each of up to MAX_GROUP features; replace `best` by a better one.

        No value is missing, every cut leaves rows on each side, and the node has no
        monotonic constraints.
        """
        cdef double left_weight, weight
        cdef double* left
        cdef Cut* cut
        cdef Py_ssize_t j

        if not self.divides:
            self.scan_cuts(block, ids, n, cuts, n_cuts, totals, limits, best)
            return
        self.divide(block, ids, n, cuts, n_cuts, totals)
        weight = self.criterion.weight(totals)
        for j in range(n_cuts):
            cut = &cuts[j]
            left = &self.lefts[j, 0]
            left_weight = self.criterion.weight(left)
            if (
                cut.score - self.tie * fabs(cut.score) > best.score
                and is_allowed(
                    limits, 0, left_weight, weight - left_weight, cut.n_left, 0.0, 0.0
                )
            ):
                set_split(
                    best, cut.feature, cut.last, UNKNOWN_BIN, False, False, cut.score
                )
                memcpy(best.left, left, self.criterion.n_channels * sizeof(double))

    cdef void scan_cuts(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, const Cut* cuts,
        Py_ssize_t n_cuts, const double* totals, const Limits* limits, Split* best,
    ) noexcept nogil:
        """Try cuts by histograms."""
        cdef int kind = self.choose_kind(n, totals)
        cdef int32_t features[MAX_GROUP]
        cdef uint64_t bins[N_WORDS]
        cdef ScanRequest request
        cdef Py_ssize_t j

        for j in range(n_cuts):
            features[j] = cuts[j].feature
        self.fill(block, ids, n, features, n_cuts, 0, kind)
        request.constraint = 0
        request.totals = totals
        request.limits = limits
        request.allowed = bins
        request.clear = True
        for j in range(n_cuts):
            self.find_occupied(j, kind, features[j], bins)
            keep_highest(bins, cuts[j].last)
            request.feature = features[j]
            self.scan(j, kind, &request, best)

    cdef void divide(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, Cut* cuts,
        Py_ssize_t n_cuts, const double* totals,
    ) noexcept nogil:
        """Divide rows at cuts: fill in their scores, and in `lefts` the totals on the
        left, those that the score needs.
        """

    cdef void count_left(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, Cut* cut
    ) noexcept nogil:
        """Count the rows on the left of a cut, for `min_samples_leaf`."""
        cdef const uint8_t* bins = block.rows + cut.feature
        cdef Py_ssize_t i

        cut.n_left = 0
        for i in range(n):
            cut.n_left += bins[<Py_ssize_t> ids[i] * block.stride] <= cut.last

    # -- tiny nodes, without histograms ----

    cdef void load_tiny(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits,
    ) noexcept nogil:
        """Prepare the search of a node of at most `tiny_rows` rows.

        It has no monotonic constraints.
        """
        self.tiny_limits = limits

    cdef int search_tiny(
        self, const int32_t* features, Py_ssize_t n_features, uint8_t* varies,
        Split* best,
    ) noexcept nogil:
        """Find the best threshold of some features in the node that was loaded.

        `features` has MAX_GROUP elements, of which the first `n_features` count;
        `varies` is set for these. Returns -1, with nothing done, if histograms are
        needed.
        """
        return -1
