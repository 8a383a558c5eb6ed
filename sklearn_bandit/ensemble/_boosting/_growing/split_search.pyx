"""Complete the histograms of a node and its sibling and find their best splits.

A feature that cannot be split in a node, because all but a few of its rows are in one
bin, cannot be split further down either: it is not live there, and its histogram is
neither completed nor searched.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport uint8_t
from libc.stdlib cimport free

from sklearn_bandit._core.memory cimport allocate, times

from .histogram cimport HistogramBuilder
from .splits cimport NodeSums, Split, find_categorical_split, find_split
from .tree_nodes cimport Node

cdef enum:
    # Fewer cells than this are searched by one thread: that takes some ten
    # microseconds, to start a loop in threads and wait for them takes one or two.
    MIN_PARALLEL_CELLS = 1024
    # Features that a thread searches before it asks for more: few, so that all threads
    # end at about the same time.
    TASK_FEATURES = 2

# Splits that leave a child with a smaller sum of hessians are not made.
MIN_HESSIAN = 1e-3
# Added to denominators against 0 / 0.
EPSILON = 1e-15


cdef class SplitSearch:
    """Completes the histograms of two siblings and finds their best splits.

    Parameters
    ----------
    layout : Layout
        Cells of the features.
    builder : HistogramBuilder
        Sums histograms.
    options : GrowthOptions
        What splits are allowed.
    n_samples : int
        Number of rows.
    tried : ndarray of uint8 of shape (2, n_features)
        Which features are tried in the left and the right child.
    """

    def __cinit__(
        self, layout, HistogramBuilder builder, options, Py_ssize_t n_samples,
        const uint8_t[:, ::1] tried,
    ):
        self.builder = builder
        self.tried = tried
        self.n_features = tried.shape[1]
        self.monotonic = np.ascontiguousarray(options.monotonic_cst, dtype=np.int8)
        # Any integer is allowed; leaves with more than all rows there cannot be.
        self.rules.min_samples_leaf = min(options.min_samples_leaf, n_samples + 1)
        self.rules.min_hessian = MIN_HESSIAN
        self.rules.l2 = options.l2_regularization + EPSILON
        self.rules.is_bounded = bool(np.any(options.monotonic_cst))
        self.rules.first_of_equal = options.first_of_equal
        self.rules.width = builder.width
        self.missing_bin = layout.missing_bin
        self.n_bins = layout.n_bins
        self.has_missing = layout.has_missing
        self.is_categorical = layout.is_categorical
        self.frequent_cell = layout.frequent_cell
        self.first_cell = layout.first_cell
        self.found = <Split*> allocate(times(2, self.n_features), sizeof(Split))
        if self.found == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.found)

    cdef int search(self, const Siblings* siblings, int n_threads) except -1:
        """Complete the histograms and write the best splits into the nodes."""
        cdef Py_ssize_t feature

        if self.builder.total_cells < MIN_PARALLEL_CELLS:
            n_threads = 1
        for feature in prange(
            self.n_features, nogil=True, schedule="dynamic", chunksize=TASK_FEATURES,
            num_threads=n_threads
        ):
            self._search_feature(feature, siblings)
        self._take_best(siblings.small, siblings.small_side)
        if siblings.large != NULL:
            self._take_best(siblings.large, 1 - siblings.small_side)
        return 0

    cdef void _search_feature(
        self, Py_ssize_t feature, const Siblings* siblings
    ) noexcept nogil:
        """Complete the histograms of a feature and find its best splits."""
        cdef const NodeSums* sums = &siblings.small.sums
        cdef Split* left_right = self.found + 2 * feature
        cdef int side = siblings.small_side

        left_right[0].gain = -1.0
        left_right[1].gain = -1.0
        if not siblings.small_live[feature]:
            return
        self.builder.finish(
            feature, sums.n, sums.sum_g, sums.sum_h, siblings.small_cells
        )
        if siblings.large != NULL:
            self.builder.subtract(feature, siblings.small_cells, siblings.large_cells)
            self._find(
                feature, siblings.large, siblings.large_cells, siblings.large_live,
                1 - side,
            )
        self._find(
            feature, siblings.small, siblings.small_cells, siblings.small_live, side
        )

    cdef void _find(
        self, Py_ssize_t feature, const Node* node, const double* all_cells,
        uint8_t* live, int side
    ) noexcept nogil:
        """Best split of a node on a feature."""
        cdef const NodeSums* sums = &node.sums
        cdef Split* split = self.found + 2 * feature + side
        cdef const double* cells = (
            all_cells + self.rules.width * self.first_cell[feature]
        )

        if (
            sums.n - cells[self.rules.width * self.frequent_cell[feature] + 1]
            < self.rules.min_samples_leaf
        ):
            live[feature] = False
            return
        if not self.tried[side, feature]:
            return
        split.feature = feature
        if self.is_categorical[feature]:
            find_categorical_split(
                cells, self.n_bins[feature], self.has_missing[feature],
                self.missing_bin, sums, &self.rules, split,
            )
        else:
            find_split(
                cells, self.n_bins[feature], self.has_missing[feature],
                self.monotonic[feature], sums, &self.rules, split,
            )

    cdef void _take_best(self, Node* node, int side) noexcept nogil:
        """The best split over all features, the first of equal ones."""
        cdef Py_ssize_t feature, best = -1
        cdef double gain = -1.0

        for feature in range(self.n_features):
            if self.found[2 * feature + side].gain > gain:
                gain = self.found[2 * feature + side].gain
                best = feature
        if best >= 0:
            node.split = self.found[2 * best + side]
