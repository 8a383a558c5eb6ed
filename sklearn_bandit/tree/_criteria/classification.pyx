"""Classification: histograms of class weights; Gini impurity and entropy.

Unweighted samples, bootstrap counts included, are counted in integers: smaller
histograms, and sums that do not depend on their order. In nodes of little weight these
have 16 bits and the scan multiplies 32-bit integers, twice to four times as many at
once as doubles. Real weights are summed in double.

Several outputs are one long list of classes: as every output has the same weight in a
node, the score of all outputs is that of the concatenated class weights.
"""

import numpy as np

from libc.math cimport INFINITY, log2
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from sklearn_bandit._core.memory cimport allocate, allocate_zeros, times
from sklearn_bandit._core.simd cimport add_where_8, lowest_bit, simd_void
from sklearn_bandit.tree._common cimport (
    MAX_GROUP,
    MISSING_BIN,
    N_LEVELS,
    N_SLOTS,
    SMALL,
    SPARSE,
    Block,
    Cut,
    Limits,
    Split,
    bins_of,
)

from .base cimport Criterion, first_bins, read_marks
from .class_fill cimport fill_group
from .class_scan cimport Scan, cell_t, scan_cells, sum_t, xlogx
from .gini_scan cimport GINI_WEIGHT, scan_gini
from .gini_small_nodes cimport MAX_COMPARED, FewRows, load_few, search_few

cdef enum:
    # Marking a bin takes one store: with more rows than there are bins it still pays.
    SPARSE_ROWS = 2048
    # A larger weight, squared, does not fit 32 bits.
    SMALL_WEIGHT = 46340
    # Rows whose bins are gathered before they are compared with random thresholds.
    DIVIDED_ROWS = 64

# Random thresholds whose scores differ by rounding alone are tied: the first feature
# drawn keeps the lead, whether one output is searched or several copies of it.
cdef double TIE = 1e-14


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
    cdef Py_ssize_t n_cells             # numbers in a cell: the classes, padded
    cdef Py_ssize_t max_classes
    cdef Py_ssize_t max_count           # largest integer weight
    cdef void* cells
    cdef uint8_t* marks                 # of the bins that sparse histograms touch
    cdef double* running                # sums of a scan: room for 3 n_cells
    cdef double* tables                 # losses of the classes in the children: of two
    cdef double* divided                # scratch: MAX_GROUP numbers a class
    cdef FewRows few                    # the tiny node that was loaded
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
        self.divides = self.n_outputs == 1
        self.tie = TIE
        self.sparse_rows = SPARSE_ROWS
        has_squares = self.integral and self.n_outputs == 1 and not entropy
        self.tiny_rows = MAX_COMPARED if has_squares else 0
        self.n_cells = 2
        while self.n_cells < min(self.n_channels, 16):
            self.n_cells *= 2
        if self.n_channels > 16:
            self.n_cells = self.n_channels

    def __dealloc__(self):
        free(self.cells)
        free(self.marks)
        free(self.running)
        free(self.tables)
        free(self.divided)
        for level in range(N_LEVELS):
            free(self.copied_labels[level])
            free(self.copied_counts[level])
            free(self.copied_weights[level])

    # -- memory ----

    cdef int reserve(self, Py_ssize_t n_slots, bint count_rows) except -1:
        Criterion.reserve(self, n_slots, count_rows)
        self.cells = allocate_zeros(
            n_slots, times(self.n_cells, N_SLOTS * self.cell_size(0))
        )
        self.marks = <uint8_t*> allocate_zeros(n_slots, N_SLOTS)
        self.running = <double*> allocate_zeros(self.n_cells, 3 * sizeof(double))
        self.tables = <double*> allocate_zeros(self.n_cells, 4 * sizeof(double))
        self.divided = <double*> allocate_zeros(
            self.n_channels, MAX_GROUP * sizeof(double)
        )
        if (
            self.cells == NULL
            or self.marks == NULL
            or self.running == NULL
            or self.tables == NULL
            or self.divided == NULL
        ):
            raise MemoryError
        return 0

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

    cdef Py_ssize_t cell_size(self, int kind) noexcept nogil:
        """Bytes of one number in a cell."""
        if kind & SMALL:
            return sizeof(uint16_t)
        return sizeof(int32_t) if self.integral else sizeof(double)

    cdef void* slot_cells(self, Py_ssize_t slot, int kind) noexcept nogil:
        """The cells of a histogram; short ones lie closer together."""
        cdef Py_ssize_t size = N_SLOTS * self.n_cells * self.cell_size(kind)

        return <uint8_t*> self.cells + slot * size

    # -- rows ----

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
        cdef int64_t* counts = <int64_t*> self.divided

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

    cdef bint is_small(self, const double* totals) noexcept nogil:
        return (
            self.integral
            and self.n_outputs == 1
            and self.weight(totals) <= SMALL_WEIGHT
        )

    cdef bint is_small_sample(self, Py_ssize_t n) noexcept nogil:
        return (
            self.integral
            and self.n_outputs == 1
            and n * self.max_count <= SMALL_WEIGHT
        )

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
        cdef double share = self.score(totals) / (self.weight(totals) * self.n_outputs)

        return -share if self.entropy else 1.0 - share

    cdef double middle(self, const double* left, const double* right) noexcept nogil:
        return 0.5 * (left[0] / self.weight(left) + right[0] / self.weight(right))

    cdef void value(
        self, const double* totals, double lower, double upper, double* out
    ) noexcept nogil:
        cdef double share, weight = self.weight(totals)
        cdef Py_ssize_t j, k, first = 0

        memset(out, 0, self.n_values * sizeof(double))
        for j in range(self.n_outputs):
            for k in range(self.n_classes[j]):
                out[j * self.max_classes + k] = totals[first + k] / weight
            first += self.n_classes[j]
        # Bounds are on the first of two classes: only those have monotonic constraints.
        # (Two channels may also be two outputs of one class each.)
        if self.n_outputs == 1 and self.n_channels == 2:
            share = min(max(out[0], lower), upper)
            out[0] = share
            out[1] = 1.0 - share

    # -- histograms ----

    cdef void fill(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_features, Py_ssize_t slot, int kind,
    ) noexcept nogil:
        cdef uint8_t* marks = self.marks + slot * N_SLOTS if kind & SPARSE else NULL
        cdef void* cells = self.slot_cells(slot, kind)

        if kind & SMALL:
            fill_group[uint16_t](
                <uint16_t*> cells, marks, self.n_cells, block, self.n_outputs, ids,
                n, features, n_features,
            )
        elif self.integral:
            fill_group[int32_t](
                <int32_t*> cells, marks, self.n_cells, block, self.n_outputs, ids, n,
                features, n_features,
            )
        else:
            fill_group[double](
                <double*> cells, marks, self.n_cells, block, self.n_outputs, ids, n,
                features, n_features,
            )
        if self.sizes != NULL:
            self.count_rows(block, ids, n, features, n_features, slot)

    cdef bint scan(
        self, Py_ssize_t slot, int32_t feature, int kind, int32_t n_bins,
        const double* totals, const Limits* limits, int8_t constraint,
        const uint64_t* allowed, bint clear, Split* best,
    ) noexcept nogil:
        cdef void* cells = self.slot_cells(slot, kind)
        cdef uint8_t bins[N_SLOTS + 8]
        cdef Scan scan

        if kind & SPARSE:
            read_marks(self.marks + slot * N_SLOTS, clear, scan.bins)
        else:
            first_bins(n_bins, scan.bins)
        if (
            kind & SMALL
            and clear
            and allowed == NULL
            and self.is_plain(totals, limits)
            and not self.has_missing(<const uint16_t*> cells, scan.bins)
        ):
            return scan_gini(
                <uint16_t*> cells, self.n_cells, bins, list_bins(scan.bins, bins),
                totals, self.n_channels, feature, best,
            )
        scan.n_channels = self.n_channels
        scan.n_cells = self.n_cells
        scan.n_outputs = self.n_outputs
        scan.entropy = self.entropy
        scan.totals = totals
        scan.weight = self.weight(totals)
        scan.limits = limits
        scan.constraint = constraint
        scan.allowed = allowed
        scan.tie = 0.0 if allowed == NULL else self.tie
        scan.clear = clear
        scan.feature = feature
        scan.varies = False
        scan.sizes = NULL
        if self.sizes != NULL:
            scan.sizes = self.sizes + slot * N_SLOTS
        if kind & SMALL:
            scan_cells(<uint16_t*> cells, <int32_t*> self.running, &scan, best)
        elif self.integral:
            scan_cells(<int32_t*> cells, self.running, &scan, best)
        else:
            scan_cells(<double*> cells, self.running, &scan, best)
        return scan.varies

    cdef bint is_plain(self, const double* totals, const Limits* limits) noexcept nogil:
        """Whether a node can be scanned the short way: all splits are allowed."""
        return (
            not self.entropy
            and self.n_channels <= 16
            and self.sizes == NULL
            and not limits.monotonic
            and limits.min_weight_leaf <= 1.0
            and self.weight(totals) <= GINI_WEIGHT
        )

    cdef bint has_missing(
        self, const uint16_t* cells, uint64_t* bins
    ) noexcept nogil:
        """Whether a bitmap of bins has rows in the missing one; if not, take it out."""
        cdef Py_ssize_t k

        if (bins[3] >> 63) & 1:
            for k in range(self.n_channels):
                if cells[MISSING_BIN * self.n_cells + k]:
                    return True
            bins[3] &= ~((<uint64_t> 1) << 63)
        return False

    cdef void find_occupied(
        self, Py_ssize_t slot, int kind, int32_t n_bins, uint64_t* out
    ) noexcept nogil:
        cdef void* cells = self.slot_cells(slot, kind)

        if kind & SPARSE:
            read_marks(self.marks + slot * N_SLOTS, False, out)
            return
        first_bins(n_bins, out)
        if kind & SMALL:
            drop_empty[uint16_t](<uint16_t*> cells, self.n_cells, out)
        elif self.integral:
            drop_empty[int32_t](<int32_t*> cells, self.n_cells, out)
        else:
            drop_empty[double](<double*> cells, self.n_cells, out)

    cdef void clear(self, Py_ssize_t slot, int kind) noexcept nogil:
        Criterion.clear(self, slot, kind)
        memset(self.marks + slot * N_SLOTS, 0, N_SLOTS)
        memset(
            self.slot_cells(slot, kind), 0,
            N_SLOTS * self.n_cells * self.cell_size(kind),
        )

    cdef void subtract(self, Py_ssize_t part, Py_ssize_t whole) noexcept nogil:
        cdef const int32_t* less = <const int32_t*> self.slot_cells(part, 0)
        cdef int32_t* cells = <int32_t*> self.slot_cells(whole, 0)
        cdef Py_ssize_t i

        Criterion.subtract(self, part, whole)
        for i in range(N_SLOTS * self.n_cells):
            cells[i] -= less[i]

    # -- random thresholds ----

    cdef void divide(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_features, const double* totals, Cut* cuts,
        double* lefts,
    ) noexcept nogil:
        cdef Py_ssize_t j, k, n_channels = self.n_channels
        cdef int32_t* counts = <int32_t*> self.divided
        cdef uint16_t* shorts = <uint16_t*> self.divided

        if block.columns == NULL and self.is_small(totals):
            memset(shorts, 0, 2 * n_channels * MAX_GROUP * sizeof(uint16_t))
            divide_group(block, ids, n, features, n_features, cuts, shorts)
            for j in range(n_features):
                for k in range(n_channels):
                    lefts[j * n_channels + k] = (
                        shorts[2 * k * MAX_GROUP + j]
                        + shorts[(2 * k + 1) * MAX_GROUP + j]
                    )
        elif self.integral:
            for j in range(n_features):
                memset(counts, 0, n_channels * sizeof(int32_t))
                divide_rows(block, ids, n, features[j], cuts[j].last, counts)
                for k in range(n_channels):
                    lefts[j * n_channels + k] = counts[k]
        else:
            memset(lefts, 0, n_features * n_channels * sizeof(double))
            for j in range(n_features):
                divide_rows(
                    block, ids, n, features[j], cuts[j].last, lefts + j * n_channels
                )
        for j in range(n_features):
            cuts[j].score = self.score_division(lefts + j * n_channels, totals)
            if self.sizes != NULL:
                self.count_left(block, ids, n, features[j], &cuts[j])

    cdef double score_division(
        self, const double* left, const double* totals
    ) noexcept nogil:
        """Score of a split of one output from the class weights on the left."""
        cdef double weight, right_weight, left_score = 0.0, right_score = 0.0
        cdef Py_ssize_t k

        weight = self.weight(left)
        right_weight = self.weight(totals) - weight
        if self.entropy:
            for k in range(self.n_channels):
                left_score += xlogx(left[k])
                right_score += xlogx(totals[k] - left[k])
            return left_score + right_score - xlogx(weight) - xlogx(right_weight)
        for k in range(self.n_channels):
            left_score += left[k] * left[k]
            right_score += (totals[k] - left[k]) * (totals[k] - left[k])
        return left_score / weight + right_score / right_weight

    # -- tiny nodes ----

    cdef void load_tiny(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals,
    ) noexcept nogil:
        load_few(
            block, ids, n, totals, self.n_channels, <int64_t*> self.divided, &self.few
        )

    cdef int search_tiny(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_features, const double* totals,
        const Limits* limits, uint8_t* varies, Split* best,
    ) noexcept nogil:
        cdef int found

        if self.few.n == 0:
            return -1
        found = search_few(&self.few, features[0], limits, self.n_channels, best)
        varies[0] = found > 0
        return found

    # -- the bandit's rewards ----

    cdef void tabulate(
        self, const Split* split, const double* totals, double* tables
    ) noexcept nogil:
        """Losses of the classes in both children of a split."""
        cdef Py_ssize_t i, n_cells = self.n_cells
        cdef double left = self.weight(split.left), right = self.weight(totals) - left
        cdef double squares_left = 0.0, squares_right = 0.0, share

        if self.entropy:
            for i in range(self.n_channels):
                tables[i] = -log2(max(split.left[i] / left, 1e-300))
                share = (totals[i] - split.left[i]) / right
                tables[n_cells + i] = -log2(max(share, 1e-300))
            return
        for i in range(self.n_channels):
            share = split.left[i] / left
            squares_left += share * share
            tables[i] = -2.0 * share
            share = (totals[i] - split.left[i]) / right
            squares_right += share * share
            tables[n_cells + i] = -2.0 * share
        for i in range(self.n_channels):
            tables[i] += squares_left / self.n_outputs
            tables[n_cells + i] += squares_right / self.n_outputs

    cdef bint is_whole(self, const Split* split, const double* totals) noexcept nogil:
        """Whether a split leaves everything on the left."""
        return self.weight(split.left) >= self.weight(totals)

    def find_bounds(self):
        self.max_weight = self.max_count if self.integral else np.max(self.weights)

    cdef double difference_range(
        self, const Split* one, const Split* other, const double* totals
    ) noexcept nogil:
        cdef double* tables = self.tables + 2 * self.n_cells
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
                        self.tables[(side & 1) * self.n_cells + i]
                        - tables[(side >> 1) * self.n_cells + i]
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
        cdef Py_ssize_t i, j, n_outputs = self.n_outputs, n_cells = self.n_cells
        cdef Py_ssize_t n = block.n_rows
        cdef double* table
        cdef uint8_t bin
        cdef bint goes_left

        self.tabulate(split, totals, self.tables)
        if n_outputs == 1:
            look_up_losses(
                block.columns, block.labels, n, split.bin, split.missing_left,
                self.tables, <int32_t> n_cells, loss,
            )
        else:
            for i in range(n):
                bin = block.columns[i]
                goes_left = bin <= split.bin
                if bin == MISSING_BIN:
                    goes_left = split.missing_left
                table = self.tables if goes_left else self.tables + n_cells
                loss[i] = 0.0
                for j in range(n_outputs):
                    loss[i] += table[block.labels[i * n_outputs + j]]
                loss[i] /= n_outputs
        if weight != NULL:
            for i in range(n):
                weight[i] = block.counts[i] if self.integral else block.weights[i]


cdef simd_void look_up_losses(
    const uint8_t* bins, const uint16_t* labels, Py_ssize_t n, int32_t last,
    bint missing_left, const double* tables, int32_t n_cells, double* loss,
) noexcept nogil:
    """Loss of each row from two tables, one after the other: its side is an offset."""
    cdef int32_t bin, side, on_missing = 0 if missing_left else n_cells
    cdef Py_ssize_t i

    for i in range(n):
        bin = bins[i]
        side = 0 if bin <= last else n_cells
        side = on_missing if bin == MISSING_BIN else side
        loss[i] = tables[labels[i] + side]


# -- bins -----------------------------------------------------------------------------


# For every byte, the places of its bits that are set, a byte each, and their number.
cdef uint64_t BIT_PLACES[256]
cdef uint8_t N_BITS[256]


cdef void set_tables() noexcept:
    cdef uint64_t place
    cdef int byte

    for byte in range(256):
        BIT_PLACES[byte] = 0
        N_BITS[byte] = 0
        for place in range(8):
            if (byte >> place) & 1:
                BIT_PLACES[byte] |= place << (8 * N_BITS[byte])
                N_BITS[byte] += 1


set_tables()


cdef Py_ssize_t list_bins(const uint64_t* bitmap, uint8_t* bins) noexcept nogil:
    """List the bins of a bitmap, eight at a time; returns their number.

    `bins` has room for eight more: how many there are cannot be foreseen.
    """
    cdef Py_ssize_t n = 0
    cdef uint64_t places
    cdef uint8_t byte
    cdef int i

    for i in range(N_SLOTS // 8):
        byte = <uint8_t> (bitmap[i >> 3] >> (8 * (i & 7)))
        places = BIT_PLACES[byte] + 8 * i * 0x0101010101010101ULL
        memcpy(bins + n, &places, 8)
        n += N_BITS[byte]
    return n


cdef void drop_empty(
    const cell_t* cells, Py_ssize_t n_cells, uint64_t* bins
) noexcept nogil:
    """Take the empty bins out of a bitmap."""
    cdef int word, bin
    cdef Py_ssize_t k
    cdef uint64_t bits
    cdef cell_t total

    for word in range(4):
        bits = bins[word]
        while bits:
            bin = 64 * word + lowest_bit(bits)
            bits &= bits - 1
            total = 0
            for k in range(n_cells):
                total += cells[bin * n_cells + k]
            if total == 0:
                bins[word] &= ~((<uint64_t> 1) << (bin - 64 * word))


cdef void divide_rows(
    const Block* block, const uint32_t* ids, Py_ssize_t n, int32_t feature,
    int32_t last, sum_t* left,
) noexcept nogil:
    """Sum the class weights of the rows that go left at a cut."""
    cdef Py_ssize_t i, stride = 0
    cdef const uint8_t* bins = bins_of(block, feature, &stride)
    cdef bint goes_left

    for i in range(n):
        goes_left = bins[<Py_ssize_t> ids[i] * stride] <= last
        if sum_t is double:
            left[block.labels[ids[i]]] += block.weights[ids[i]] if goes_left else 0.0
        else:
            left[block.labels[ids[i]]] += block.counts[ids[i]] if goes_left else 0


cdef void divide_group(
    const Block* block, const uint32_t* ids, Py_ssize_t n, const int32_t* features,
    Py_ssize_t n_features, const Cut* cuts, uint16_t* left,
) noexcept nogil:
    """Sum the counts of the rows that go left at the cuts of eight features at once.

    `left` holds eight numbers a class, twice: every other row is added to the others,
    so that a row need not wait for the one before it. Bins are gathered some rows
    ahead: eight bytes just written one by one cannot be read together without a delay.
    """
    cdef uint8_t bins[DIVIDED_ROWS * MAX_GROUP]
    cdef int32_t chosen[MAX_GROUP]
    cdef uint8_t last[MAX_GROUP]
    cdef const uint8_t* row
    cdef Py_ssize_t first = 0, i, n_chunk
    cdef int j

    for j in range(MAX_GROUP):
        chosen[j] = features[min(j, n_features - 1)]
        last[j] = <uint8_t> cuts[min(j, n_features - 1)].last
    while first < n:
        n_chunk = min(<Py_ssize_t> DIVIDED_ROWS, n - first)
        for i in range(n_chunk):
            row = block.rows + <Py_ssize_t> ids[first + i] * block.stride
            for j in range(MAX_GROUP):
                bins[MAX_GROUP * i + j] = row[chosen[j]]
        for i in range(n_chunk):
            add_where_8(
                left + MAX_GROUP * (2 * block.labels[ids[first + i]] + (i & 1)),
                bins + MAX_GROUP * i, last, block.counts[ids[first + i]],
            )
        first += n_chunk
