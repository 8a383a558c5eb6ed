"""Classification: class weights; Gini impurity and entropy.

Several outputs are one long list of classes: as every output has the same weight in a
node, the score of all outputs is that of the concatenated class weights.
"""

import numpy as np

from libc.math cimport INFINITY, log2
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memset

from sklearn_bandit._core.memory cimport allocate, allocate_zeros, times
from sklearn_bandit._core.simd cimport simd_void
from sklearn_bandit.tree._common cimport MISSING_BIN, N_LEVELS, Block, Split

from .base cimport Criterion
from .scores cimport xlogx

from .class_histograms import ClassHistograms


cdef class ClassificationCriterion(Criterion):
    """Class labels with integer or real weights.

    Parameters
    ----------
    labels : ndarray of shape (n_samples, n_outputs), uint16
        Classes, numbered through all outputs (those of output 1 follow those of output
        0).
    n_classes : ndarray of shape (n_outputs,), intp
        Number of classes of each output.
    counts : ndarray of shape (n_samples,), uint16, or None
        Integer weights.
    weights : ndarray of shape (n_samples,), float64, or None
        Real weights; exactly one of the two is given.
    entropy : bool
        Entropy instead of the Gini impurity.
    """

    cdef const uint16_t[:, ::1] labels
    cdef const uint16_t[::1] counts
    cdef const double[::1] weights
    cdef const Py_ssize_t[::1] n_classes
    cdef bint entropy
    cdef bint integral
    cdef Py_ssize_t max_classes
    cdef Py_ssize_t max_count           # largest integer weight
    cdef double* tables                 # losses of the classes in the children: of two
    cdef int64_t* sums                  # scratch: four numbers a class
    cdef uint16_t* copied_labels[N_LEVELS]  # targets of copied rows
    cdef uint16_t* copied_counts[N_LEVELS]
    cdef double* copied_weights[N_LEVELS]

    def __init__(self, labels, n_classes, counts, weights, entropy):
        self.labels = labels
        self.n_classes = n_classes
        self.counts = counts
        self.weights = weights
        self.entropy = entropy
        self.integral = weights is None
        self.n_outputs = n_classes.shape[0]
        self.n_channels = n_classes.sum()
        self.max_classes = n_classes.max()
        self.max_count = counts.max() if self.integral else 0
        self.n_values = self.n_outputs * self.max_classes
        self.has_losses = True
        # Sums of real weights lose digits when one is subtracted from another: a pure
        # child would not be quite pure.
        self.keeps_left = self.integral
        self.subtracts = self.integral
        self.tables = <double*> allocate_zeros(self.n_channels, 4 * sizeof(double))
        self.sums = <int64_t*> allocate_zeros(self.n_channels, 4 * sizeof(int64_t))
        if self.tables == NULL or self.sums == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.tables)
        free(self.sums)
        for level in range(N_LEVELS):
            free(self.copied_labels[level])
            free(self.copied_counts[level])
            free(self.copied_weights[level])

    def make_histograms(self, n_slots, n_bins, count_rows):
        """Make the histograms of a splitter; see `Criterion.make_histograms`."""
        return ClassHistograms(
            self, n_slots, n_bins, count_rows, self.entropy, self.max_count
        )

    # -- rows ----

    cdef int reserve_copy(self, Py_ssize_t level, Py_ssize_t n_rows) except -1:
        self.copied_labels[level] = <uint16_t*> allocate(
            n_rows, times(self.n_outputs, sizeof(uint16_t))
        )
        self.copied_counts[level] = <uint16_t*> allocate(n_rows, sizeof(uint16_t))
        self.copied_weights[level] = <double*> allocate(n_rows, sizeof(double))
        if (
            self.copied_labels[level] == NULL
            or self.copied_counts[level] == NULL
            or self.copied_weights[level] == NULL
        ):
            raise MemoryError
        return 0

    cdef void describe(self, Block* block) noexcept nogil:
        block.labels = &self.labels[0, 0]
        block.counts = &self.counts[0] if self.integral else NULL
        block.weights = NULL if self.integral else &self.weights[0]
        block.moments = NULL

    cdef void gather(
        self, Py_ssize_t level, const Block* source, const uint32_t* ids, Py_ssize_t n,
        Py_ssize_t first, Block* copy,
    ) noexcept nogil:
        cdef Py_ssize_t i, j, n_outputs = self.n_outputs
        cdef uint16_t* labels = self.copied_labels[level] + first * n_outputs

        for i in range(n):
            for j in range(n_outputs):
                labels[i * n_outputs + j] = source.labels[ids[i] * n_outputs + j]
        copy.labels = self.copied_labels[level]
        copy.counts = NULL
        copy.weights = NULL
        if self.integral:
            for i in range(n):
                self.copied_counts[level][first + i] = source.counts[ids[i]]
            copy.counts = self.copied_counts[level]
        else:
            for i in range(n):
                self.copied_weights[level][first + i] = source.weights[ids[i]]
            copy.weights = self.copied_weights[level]

    # -- nodes ----

    cdef void summarise(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, double* totals
    ) noexcept nogil:
        cdef Py_ssize_t i, j, n_outputs = self.n_outputs
        cdef double weight
        cdef int64_t* counts = self.sums

        if self.integral and n_outputs == 1:
            # Four sums a class in turn: the next need not wait for the last.
            memset(counts, 0, 4 * self.n_channels * sizeof(int64_t))
            for i in range(n):
                counts[4 * block.labels[ids[i]] + (i & 3)] += block.counts[ids[i]]
            for j in range(self.n_channels):
                totals[j] = (
                    counts[4 * j] + counts[4 * j + 1] + counts[4 * j + 2]
                    + counts[4 * j + 3]
                )
            return
        memset(totals, 0, self.n_channels * sizeof(double))
        for i in range(n):
            weight = block.counts[ids[i]] if self.integral else block.weights[ids[i]]
            for j in range(n_outputs):
                totals[block.labels[ids[i] * n_outputs + j]] += weight

    cdef void add_rows(
        self, const Block* block, Py_ssize_t start, Py_ssize_t n, const uint16_t* nodes,
        double* totals,
    ) noexcept nogil:
        cdef Py_ssize_t i, j, n_outputs = self.n_outputs
        cdef double weight
        cdef double* sums

        for i in range(n):
            sums = totals + nodes[i] * self.n_channels
            if self.integral:
                weight = block.counts[start + i]
            else:
                weight = block.weights[start + i]
            for j in range(n_outputs):
                sums[block.labels[(start + i) * n_outputs + j]] += weight

    cdef double weight(self, const double* totals) noexcept nogil:
        cdef double weight = 0.0
        cdef Py_ssize_t k

        for k in range(self.n_classes[0]):
            weight += totals[k]
        return weight

    cdef double score(self, const double* totals) noexcept nogil:
        cdef double total = 0.0, weight = self.weight(totals)
        cdef Py_ssize_t k

        if self.entropy:
            for k in range(self.n_channels):
                total += xlogx(totals[k])
            return total - self.n_outputs * xlogx(weight)
        for k in range(self.n_channels):
            total += totals[k] * totals[k]
        return total / weight

    cdef double perfect_score(self, const double* totals) noexcept nogil:
        if self.entropy or not self.integral:
            return INFINITY
        return self.weight(totals) * self.n_outputs

    cdef double impurity(self, const double* totals) noexcept nogil:
        cdef double score = self.score(totals) / (self.weight(totals) * self.n_outputs)

        return -score if self.entropy else 1.0 - score

    cdef double middle(self, const double* left, const double* right) noexcept nogil:
        return 0.5 * (left[0] / self.weight(left) + right[0] / self.weight(right))

    cdef void value(
        self, const double* totals, double lower, double upper, double* out
    ) noexcept nogil:
        cdef double fraction, weight = self.weight(totals)
        cdef Py_ssize_t j, k, first = 0

        memset(out, 0, self.n_values * sizeof(double))
        for j in range(self.n_outputs):
            for k in range(self.n_classes[j]):
                out[j * self.max_classes + k] = totals[first + k] / weight
            first += self.n_classes[j]
        # Bounds are on the first of two classes: only those have monotonic constraints.
        # (Two channels may also be two outputs of one class each.)
        if self.n_outputs == 1 and self.n_channels == 2:
            fraction = min(max(out[0], lower), upper)
            out[0] = fraction
            out[1] = 1.0 - fraction

    # -- the bandit's costs ----

    cdef void tabulate(
        self, const Split* split, const double* totals, double* tables
    ) noexcept nogil:
        """Losses of the classes in both children of a split."""
        cdef Py_ssize_t i, n_channels = self.n_channels
        cdef double left = self.weight(split.left), right = self.weight(totals) - left
        cdef double squares_left = 0.0, squares_right = 0.0, fraction

        if self.entropy:
            for i in range(n_channels):
                tables[i] = -log2(max(split.left[i] / left, 1e-300))
                fraction = (totals[i] - split.left[i]) / right
                tables[n_channels + i] = -log2(max(fraction, 1e-300))
            return
        for i in range(n_channels):
            fraction = split.left[i] / left
            squares_left += fraction * fraction
            tables[i] = -2.0 * fraction
            fraction = (totals[i] - split.left[i]) / right
            squares_right += fraction * fraction
            tables[n_channels + i] = -2.0 * fraction
        for i in range(n_channels):
            tables[i] += squares_left / self.n_outputs
            tables[n_channels + i] += squares_right / self.n_outputs

    cdef bint is_whole(self, const Split* split, const double* totals) noexcept nogil:
        """Whether a split leaves everything on the left."""
        return self.weight(split.left) >= self.weight(totals)

    def find_bounds(self):
        self.max_weight = self.max_count if self.integral else np.max(self.weights)

    cdef double difference_range(
        self, const Split* one, const Split* other, const double* totals
    ) noexcept nogil:
        cdef double* tables = self.tables + 2 * self.n_channels
        cdef double lowest, highest, low, high, smallest = INFINITY, difference
        cdef double largest = -INFINITY
        cdef Py_ssize_t side, i, j, first

        self.tabulate(one, totals, self.tables)
        self.tabulate(other, totals, tables)
        for side in range(4):
            # A split that leaves a node whole has no right side.
            if (side & 1 and self.is_whole(one, totals)) or (
                side & 2 and self.is_whole(other, totals)
            ):
                continue
            low = 0.0
            high = 0.0
            first = 0
            for j in range(self.n_outputs):
                lowest = INFINITY
                highest = -INFINITY
                for i in range(first, first + self.n_classes[j]):
                    difference = (
                        self.tables[(side & 1) * self.n_channels + i]
                        - tables[(side >> 1) * self.n_channels + i]
                    )
                    lowest = min(lowest, difference)
                    highest = max(highest, difference)
                low += lowest
                high += highest
                first += self.n_classes[j]
            smallest = min(smallest, low)
            largest = max(largest, high)
        return self.max_weight * (largest - smallest) / self.n_outputs

    cdef void losses(
        self, const Block* block, const Split* split, const double* totals,
        double* loss, double* weight,
    ) noexcept nogil:
        cdef Py_ssize_t i, j, n_outputs = self.n_outputs, n_channels = self.n_channels
        cdef Py_ssize_t n = block.n_rows
        cdef double* table
        cdef uint8_t bin
        cdef bint goes_left

        self.tabulate(split, totals, self.tables)
        if n_outputs == 1:
            look_up_losses(
                block.columns, block.labels, n, split.bin, split.missing_left,
                self.tables, <int32_t> n_channels, loss,
            )
        else:
            for i in range(n):
                bin = block.columns[i]
                goes_left = bin <= split.bin
                if bin == MISSING_BIN:
                    goes_left = split.missing_left
                table = self.tables if goes_left else self.tables + n_channels
                loss[i] = 0.0
                for j in range(n_outputs):
                    loss[i] += table[block.labels[i * n_outputs + j]]
                loss[i] /= n_outputs
        if weight != NULL:
            for i in range(n):
                weight[i] = block.counts[i] if self.integral else block.weights[i]


cdef simd_void look_up_losses(
    const uint8_t* bins, const uint16_t* labels, Py_ssize_t n, int32_t last,
    bint missing_left, const double* tables, int32_t n_classes, double* loss,
) noexcept nogil:
    """Loss of each row from two tables, one after the other: its side is an offset."""
    cdef int32_t bin, side, on_missing = 0 if missing_left else n_classes
    cdef Py_ssize_t i

    for i in range(n):
        bin = bins[i]
        side = 0 if bin <= last else n_classes
        side = on_missing if bin == MISSING_BIN else side
        loss[i] = tables[labels[i] + side]
