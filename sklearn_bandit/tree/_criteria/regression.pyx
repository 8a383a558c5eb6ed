"""Regression by means: histograms of weights and sums; squared error and Poisson
deviance.

A cell holds the weight of its rows and, for each output, the weighted sum of y. The y
are centred first, so that sums of squares lose no digits to a large mean.
"""

import numpy as np

from libc.math cimport INFINITY, fabs, log
from libc.stdint cimport int8_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from sklearn_bandit._core.memory cimport allocate, allocate_zeros, times
from sklearn_bandit._core.simd cimport inline_void, lowest_bit, prefetch
from sklearn_bandit.tree._common cimport (
    MARK,
    MISSING_BIN,
    N_LEVELS,
    N_SLOTS,
    SPARSE,
    Block,
    Cut,
    Limits,
    Split,
    bins_of,
)

from .base cimport Criterion, first_bins, is_allowed, read_marks
from .mean_scan cimport scan_means
from .mean_small_nodes cimport (
    MAX_SORTED,
    N_LANES,
    FewRows,
    LaneSplits,
    Sorted,
    sorted_for,
)

cdef extern from "regression.h":
    void sum_moments "skb_sum_moments"(     # weights, sums and squares of one output
        const double* moments, const uint32_t* ids, Py_ssize_t n, double* out
    ) noexcept nogil


cdef enum:
    # Rows that are fetched ahead of their use, where they are not next to each other.
    ROWS_AHEAD = 16

# Scores that differ by rounding alone are tied: the first feature drawn keeps the lead.
cdef double TIE = 1e-13

# Weights of tiny nodes whose products neither vanish nor overflow.
cdef double SMALLEST_TINY = 1e-30
cdef double LARGEST_TINY = 1e30

# Relative rounding error of an impurity.
cdef double ROUNDING = 1e-14


cdef class RegressionCriterion(Criterion):
    """Real targets with weights, predicted by their mean.

    Totals of a node are its weight, the weighted sum of each output and, for the
    impurity, the weighted sum of squares (squared error) or of ``y log y`` (Poisson)
    over all outputs.

    Parameters
    ----------
    moments : ndarray of shape (n_samples, 1 + n_outputs), float64
        Weight of each sample, and weight times y less `shift`.
    shift : ndarray of shape (n_outputs,), float64
        What was subtracted from y: its mean, or 0 for the Poisson deviance.
    poisson : bool
        Half Poisson deviance instead of the squared error.
    integral : bool
        Whether all weights are integers.
    """

    cdef const double[:, ::1] moments
    cdef const double[::1] shift
    cdef bint poisson
    cdef double[:, ::1] bounds              # smallest and largest y of each output
    cdef Py_ssize_t n_cells
    cdef double* cells
    cdef uint8_t* marks                     # of the bins that sparse histograms touch
    cdef double* running
    cdef double* copied[N_LEVELS]
    cdef FewRows few                        # the rows of a tiny node
    cdef Sorted sorted                      # the kernel for so many rows

    def __init__(self, moments, shift, poisson, integral):
        self.moments = moments
        self.shift = shift
        self.poisson = poisson
        self.n_outputs = shift.shape[0]
        self.n_cells = 1 + self.n_outputs
        self.n_channels = 2 + self.n_outputs
        self.n_values = self.n_outputs
        self.has_losses = True
        self.keeps_left = False
        self.subtracts = integral and not poisson
        self.divides = not poisson
        self.tie = TIE
        self.tiny_rows = MAX_SORTED if self.n_cells == 2 and not poisson else 0
        self.tiny_group = N_LANES

    def __dealloc__(self):
        free(self.cells)
        free(self.marks)
        free(self.running)
        for level in range(N_LEVELS):
            free(self.copied[level])

    # -- memory ----

    cdef int reserve(self, Py_ssize_t n_slots, bint count_rows) except -1:
        Criterion.reserve(self, n_slots, count_rows)
        self.cells = <double*> allocate_zeros(
            n_slots, times(self.n_cells, N_SLOTS * sizeof(double))
        )
        self.marks = <uint8_t*> allocate_zeros(n_slots, N_SLOTS)
        self.running = <double*> allocate_zeros(self.n_cells, 2 * sizeof(double))
        if self.cells == NULL or self.marks == NULL or self.running == NULL:
            raise MemoryError
        return 0

    cdef int reserve_copy(self, Py_ssize_t level, Py_ssize_t n_rows) except -1:
        self.copied[level] = <double*> allocate(
            n_rows, times(self.n_cells, sizeof(double))
        )
        if self.copied[level] == NULL:
            raise MemoryError
        return 0

    # -- rows ----

    cdef void describe(self, Block* block) noexcept nogil:
        block.labels = NULL
        block.counts = NULL
        block.weights = NULL
        block.moments = &self.moments[0, 0]

    cdef void gather(
        self, Py_ssize_t level, const Block* source, const uint32_t* ids, Py_ssize_t n,
        Py_ssize_t first, Block* copy,
    ) noexcept nogil:
        cdef Py_ssize_t i, n_cells = self.n_cells

        cdef Py_ssize_t k
        cdef const double* moment
        cdef double* out = self.copied[level] + first * n_cells

        for i in range(n):
            moment = source.moments + <Py_ssize_t> ids[i] * n_cells
            for k in range(n_cells):
                out[i * n_cells + k] = moment[k]
        copy.moments = self.copied[level]

    # -- nodes ----

    cdef void summarise(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, double* totals
    ) noexcept nogil:
        cdef Py_ssize_t i

        memset(totals, 0, self.n_channels * sizeof(double))
        if self.n_cells == 2 and not self.poisson:
            sum_moments(block.moments, ids, n, totals)
            return
        for i in range(n):
            add_moments(
                block.moments + <Py_ssize_t> ids[i] * self.n_cells, self.n_cells,
                self.poisson, totals,
            )

    cdef void add_rows(
        self, const Block* block, Py_ssize_t start, Py_ssize_t n, const uint16_t* nodes,
        double* totals,
    ) noexcept nogil:
        cdef Py_ssize_t i

        for i in range(n):
            add_moments(
                block.moments + (start + i) * self.n_cells, self.n_cells, self.poisson,
                totals + nodes[i] * self.n_channels,
            )

    cdef double weight(self, const double* totals) noexcept nogil:
        return totals[0]

    cdef double score(self, const double* totals) noexcept nogil:
        cdef double score = 0.0
        cdef Py_ssize_t k

        for k in range(1, self.n_cells):
            if self.poisson:
                score += ylogy(totals[k], totals[0])
            else:
                score += totals[k] * totals[k] / totals[0]
        return score

    cdef double perfect_score(self, const double* totals) noexcept nogil:
        if self.poisson:
            return INFINITY
        return (1.0 - ROUNDING) * totals[self.n_cells]

    cdef double impurity(self, const double* totals) noexcept nogil:
        cdef double loss

        if self.n_cells == 2 and not self.poisson:
            loss = totals[2] - totals[1] * totals[1] / totals[0]
        else:
            loss = totals[self.n_cells] - self.score(totals)

        # What rounding leaves of a constant y is no impurity.
        if loss <= ROUNDING * totals[self.n_cells]:
            return 0.0
        return loss / (totals[0] * self.n_outputs)

    cdef double middle(self, const double* left, const double* right) noexcept nogil:
        return 0.5 * (left[1] / left[0] + right[1] / right[0])

    cdef void value(
        self, const double* totals, double lower, double upper, double* out
    ) noexcept nogil:
        cdef Py_ssize_t k

        for k in range(self.n_outputs):
            out[k] = totals[k + 1] / totals[0]
        if self.n_outputs == 1:
            out[0] = min(max(out[0], lower), upper)
        for k in range(self.n_outputs):
            out[k] += self.shift[k]

    # -- histograms ----

    cdef void fill(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_features, Py_ssize_t slot, int kind,
    ) noexcept nogil:
        cdef double* cells = self.cells + slot * N_SLOTS * self.n_cells
        cdef uint8_t* marks = self.marks + slot * N_SLOTS if kind & SPARSE else NULL
        cdef Py_ssize_t j

        if self.n_cells == 2:
            fill_group(cells, marks, block, ids, n, features, n_features)
        else:
            for j in range(n_features):
                fill_outputs(
                    cells + j * N_SLOTS * self.n_cells,
                    marks + j * N_SLOTS if marks != NULL else NULL,
                    self.n_cells, block, ids, n, features[j],
                )
        if self.sizes != NULL:
            self.count_rows(block, ids, n, features, n_features, slot)

    cdef bint scan(
        self, Py_ssize_t slot, int32_t feature, int kind, int32_t n_bins,
        const double* totals, const Limits* limits, int8_t constraint,
        const uint64_t* allowed, bint clear, Split* best,
    ) noexcept nogil:
        cdef double* cells = self.cells + slot * N_SLOTS * self.n_cells
        cdef double* missing = cells + MISSING_BIN * self.n_cells
        cdef Scan scan

        scan.n_cells = self.n_cells
        scan.poisson = self.poisson
        scan.totals = totals
        scan.left = self.running
        scan.limits = limits
        scan.constraint = constraint
        scan.allowed = allowed
        scan.sizes = NULL if self.sizes == NULL else self.sizes + slot * N_SLOTS
        scan.feature = feature
        scan.varies = False
        if kind & SPARSE:
            read_marks(self.marks + slot * N_SLOTS, clear, scan.bins)
        else:
            first_bins(n_bins, scan.bins)
        if (
            self.n_cells == 2
            and not self.poisson
            and self.sizes == NULL
            and allowed == NULL
            and not limits.monotonic
            and limits.min_weight_leaf <= 0.0
        ):
            return scan_means(cells, scan.bins, totals, feature, TIE, clear, best)
        if missing[0] == 0.0:
            scan_cells(cells, &scan, False, False, clear, best)
        else:
            scan_cells(cells, &scan, False, True, False, best)
            scan_cells(cells, &scan, True, True, clear, best)
            if clear:
                memset(missing, 0, self.n_cells * sizeof(double))
        if clear and self.sizes != NULL:
            memset(self.sizes + slot * N_SLOTS, 0, N_SLOTS * sizeof(uint32_t))
        return scan.varies

    cdef void find_occupied(
        self, Py_ssize_t slot, int kind, int32_t n_bins, uint64_t* out
    ) noexcept nogil:
        cdef int word, bin
        cdef uint64_t bits

        if kind & SPARSE:
            read_marks(self.marks + slot * N_SLOTS, False, out)
            return
        first_bins(n_bins, out)
        for word in range(4):
            bits = out[word]
            while bits:
                bin = 64 * word + lowest_bit(bits)
                bits &= bits - 1
                if self.cells[(slot * N_SLOTS + bin) * self.n_cells] == 0.0:
                    out[word] &= ~((<uint64_t> 1) << (bin - 64 * word))

    cdef void clear(self, Py_ssize_t slot, int kind) noexcept nogil:
        Criterion.clear(self, slot, kind)
        memset(self.marks + slot * N_SLOTS, 0, N_SLOTS)
        memset(
            self.cells + slot * N_SLOTS * self.n_cells, 0,
            N_SLOTS * self.n_cells * sizeof(double),
        )

    cdef void subtract(self, Py_ssize_t part, Py_ssize_t whole) noexcept nogil:
        cdef Py_ssize_t i, size = N_SLOTS * self.n_cells

        Criterion.subtract(self, part, whole)
        for i in range(size):
            self.cells[whole * size + i] -= self.cells[part * size + i]

    # -- random thresholds ----

    cdef void divide(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_features, const double* totals, Cut* cuts,
        double* lefts,
    ) noexcept nogil:
        cdef double* left
        cdef double right
        cdef Py_ssize_t j, k

        for j in range(n_features):
            left = lefts + j * self.n_channels
            memset(left, 0, self.n_cells * sizeof(double))
            divide_rows(block, ids, n, features[j], cuts[j].last, self.n_cells, left)
            cuts[j].score = 0.0
            for k in range(1, self.n_cells):
                right = totals[k] - left[k]
                cuts[j].score += left[k] * left[k] / left[0]
                cuts[j].score += right * right / (totals[0] - left[0])
            if self.sizes != NULL:
                self.count_left(block, ids, n, features[j], &cuts[j])

    # -- tiny nodes ----

    cdef void load_tiny(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals,
    ) noexcept nogil:
        cdef FewRows* few = &self.few
        cdef Py_ssize_t i

        for i in range(n):
            few.rows[i] = block.rows + <Py_ssize_t> ids[i] * block.stride
            few.moments[2 * i] = block.moments[2 * <Py_ssize_t> ids[i]]
            few.moments[2 * i + 1] = block.moments[2 * <Py_ssize_t> ids[i] + 1]
        for i in range(n, 4 if n <= 4 else 8 if n <= 8 else 16 if n <= 16 else 32):
            few.rows[i] = few.rows[0]
        few.n = <int> n
        few.weight = totals[0]
        few.total = totals[1]
        self.sorted = sorted_for(<int> n, block.stride == 16)

    cdef int search_tiny(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_features, const double* totals,
        const Limits* limits, uint8_t* varies, Split* best,
    ) noexcept nogil:
        cdef LaneSplits right, left
        cdef bint any_missing = False
        cdef Py_ssize_t j

        # Scores are compared as fractions: products of four weights.
        if not SMALLEST_TINY < totals[0] < LARGEST_TINY:
            return -1
        self.few.least_weight = max(limits.min_weight_leaf, SMALLEST_TINY * totals[0])
        self.few.least_rows = <int> min(limits.min_samples_leaf, n)
        if n == 2 and self.few.least_rows <= 1 and limits.min_weight_leaf <= 0.0:
            part_two(&self.few, features, n_features, varies, best)
            return 1
        self.sorted(&self.few, features, <int> n_features, 0, TIE, &right)
        for j in range(n_features):
            varies[j] = right.varies[j]
            any_missing |= right.missing[j]
        if any_missing:
            self.sorted(&self.few, features, <int> n_features, 1, TIE, &left)
        # First with the missing values, if any, on the right, then on the left.
        for j in range(n_features):
            take_split(&right, j, features[j], 0, best)
            if right.missing[j]:
                take_split(&left, j, features[j], 1, best)
        return 1

    # -- the bandit's rewards ----

    def find_bounds(self):
        moments = np.asarray(self.moments)
        used = moments[:, 0] > 0.0
        y = moments[used, 1:] / moments[used, :1]
        self.max_weight = moments[:, 0].max()
        self.bounds = np.ascontiguousarray([y.min(axis=0), y.max(axis=0)])

    cdef double difference_range(
        self, const Split* one, const Split* other, const double* totals
    ) noexcept nogil:
        cdef double smallest = INFINITY, largest = -INFINITY, first, second, low, high
        cdef Py_ssize_t side, k

        for side in range(4):
            # A split that leaves a node whole has no right side.
            if (side & 1 and one.left[0] >= totals[0]) or (
                side & 2 and other.left[0] >= totals[0]
            ):
                continue
            low = 0.0
            high = 0.0
            for k in range(1, self.n_cells):
                # Linear in y: extreme where y is.
                first = self.difference(one, other, totals, side, k, 0)
                second = self.difference(one, other, totals, side, k, 1)
                low += min(first, second)
                high += max(first, second)
            smallest = min(smallest, low)
            largest = max(largest, high)
        return self.max_weight * (largest - smallest) / self.n_outputs

    cdef double difference(
        self, const Split* one, const Split* other, const double* totals,
        Py_ssize_t side, Py_ssize_t k, Py_ssize_t end,
    ) noexcept nogil:
        """Difference of the losses of an output at one end of its range.

        The first bit of `side` says on which side of the one split, the second of the
        other.
        """
        cdef double y = self.bounds[end, k - 1]
        cdef double mean = one.left[k] / one.left[0], rival = other.left[k]

        if side & 1:
            mean = (totals[k] - one.left[k]) / (totals[0] - one.left[0])
        rival /= other.left[0]
        if side & 2:
            rival = (totals[k] - other.left[k]) / (totals[0] - other.left[0])
        if self.poisson:
            if mean <= 0.0 or rival <= 0.0:
                return INFINITY if end else -INFINITY
            return mean - rival - y * (log(mean) - log(rival))
        return (mean - rival) * (mean + rival - 2.0 * y)

    cdef void losses(
        self, const Block* block, const Split* split, const double* totals,
        double* loss, double* weight,
    ) noexcept nogil:
        cdef Py_ssize_t i, k, n_cells = self.n_cells, n = block.n_rows
        cdef const double* moment
        cdef double mean, y, right_weight = totals[0] - split.left[0]
        cdef uint8_t bin
        cdef bint goes_left

        for i in range(n):
            moment = block.moments + i * n_cells
            bin = block.columns[i]
            goes_left = bin <= split.bin
            if bin == MISSING_BIN:
                goes_left = split.missing_left
            loss[i] = 0.0
            for k in range(1, n_cells):
                if goes_left:
                    mean = split.left[k] / split.left[0]
                else:
                    mean = (totals[k] - split.left[k]) / right_weight
                y = moment[k] / moment[0]
                if self.poisson:
                    loss[i] += mean - y * log(mean)
                else:
                    loss[i] += (y - mean) * (y - mean)
            loss[i] /= self.n_outputs
        if weight != NULL:
            for i in range(n):
                weight[i] = block.moments[i * n_cells]


cdef inline double ylogy(double total, double weight) noexcept nogil:
    """``S log(S / W)``, the part of the Poisson deviance that depends on the split."""
    return total * log(total / weight) if total > 0.0 else 0.0


cdef inline void add_moments(
    const double* moments, Py_ssize_t n_cells, bint poisson, double* totals
) noexcept nogil:
    """Add a row to the totals of a node."""
    cdef Py_ssize_t k

    totals[0] += moments[0]
    for k in range(1, n_cells):
        totals[k] += moments[k]
        if poisson:
            totals[n_cells] += ylogy(moments[k], moments[0])
        else:
            totals[n_cells] += moments[k] * moments[k] / moments[0]


cdef inline void part_two(
    const FewRows* few, const int32_t* features, Py_ssize_t n_features, uint8_t* varies,
    Split* best,
) noexcept nogil:
    """Part two rows: any feature that varies does it, and the first one is taken."""
    cdef const double* moments = few.moments
    cdef Py_ssize_t j
    cdef uint8_t one, two

    for j in range(n_features):
        one = few.rows[0][features[j]]
        two = few.rows[1][features[j]]
        varies[j] = one != two
        if varies[j] and best.feature < 0:
            best.score = (
                moments[1] * moments[1] / moments[0]
                + moments[3] * moments[3] / moments[2]
            )
            best.feature = features[j]
            best.bin = min(one, two)
            best.next_bin = max(one, two)
            best.missing_left = False
            best.has_missing = best.next_bin == MISSING_BIN


cdef inline void take_split(
    const LaneSplits* splits, Py_ssize_t lane, int32_t feature, int missing_left,
    Split* best,
) noexcept nogil:
    """Replace the best split if that of a lane is better."""
    cdef double score = splits.scores[lane]

    if splits.last[lane] < 0 or not score - TIE * fabs(score) > best.score:
        return
    best.score = score
    best.feature = feature
    best.bin = splits.last[lane] - missing_left
    best.next_bin = splits.next[lane] - missing_left
    best.missing_left = missing_left
    best.has_missing = missing_left or splits.missing[lane]


# -- filling --------------------------------------------------------------------------


cdef inline_void fill_rows(
    const int width,
    const bint sparse,
    double* cells,
    uint8_t* marks,
    const Block* block,
    const uint32_t* ids,
    Py_ssize_t n,
    const int32_t* features,
) noexcept nogil:
    """Add rows of one output to the histograms of `width` features."""
    cdef Py_ssize_t i, id, bin, n_ahead = 0 if block.columns == NULL else n - ROWS_AHEAD
    cdef const uint8_t* rows = block.rows
    cdef const double* moments = block.moments
    cdef Py_ssize_t stride = block.stride
    cdef Py_ssize_t offsets[8]
    cdef int j
    cdef const uint8_t* row
    cdef double* cell
    cdef double weight, moment

    # A byte stored, such as a mark, may change anything but local variables.
    for j in range(width):
        offsets[j] = features[j]
    for i in range(n):
        if i < n_ahead:
            prefetch(rows + <Py_ssize_t> ids[i + ROWS_AHEAD] * stride)
            prefetch(moments + 2 * <Py_ssize_t> ids[i + ROWS_AHEAD])
        id = ids[i]
        row = rows + id * stride
        weight = moments[2 * id]
        moment = moments[2 * id + 1]
        for j in range(width):
            bin = row[offsets[j]]
            cell = cells + 2 * (j * N_SLOTS + bin)
            cell[0] += weight
            cell[1] += moment
            if sparse:
                marks[j * N_SLOTS + bin] = MARK


cdef inline_void fill_width(
    const int width,
    double* cells,
    uint8_t* marks,
    const Block* block,
    const uint32_t* ids,
    Py_ssize_t n,
    const int32_t* features,
) noexcept nogil:
    """Add rows of one output, noting the bins that they are in or not."""
    if marks != NULL:
        fill_rows(width, True, cells, marks, block, ids, n, features)
    else:
        fill_rows(width, False, cells, NULL, block, ids, n, features)


cdef void fill_group(
    double* cells,
    uint8_t* marks,
    const Block* block,
    const uint32_t* ids,
    Py_ssize_t n,
    const int32_t* features,
    Py_ssize_t n_features,
) noexcept nogil:
    """Add rows of one output to the histograms of up to MAX_GROUP features."""
    if n_features == 1:
        fill_width(1, cells, marks, block, ids, n, features)
    elif n_features == 2:
        fill_width(2, cells, marks, block, ids, n, features)
    elif n_features == 3:
        fill_width(3, cells, marks, block, ids, n, features)
    elif n_features == 4:
        fill_width(4, cells, marks, block, ids, n, features)
    elif n_features == 5:
        fill_width(5, cells, marks, block, ids, n, features)
    elif n_features == 6:
        fill_width(6, cells, marks, block, ids, n, features)
    elif n_features == 7:
        fill_width(7, cells, marks, block, ids, n, features)
    else:
        fill_width(8, cells, marks, block, ids, n, features)


cdef void fill_outputs(
    double* cells,
    uint8_t* marks,
    Py_ssize_t n_cells,
    const Block* block,
    const uint32_t* ids,
    Py_ssize_t n,
    int32_t feature,
) noexcept nogil:
    """Add rows of several outputs to the histogram of one feature."""
    cdef Py_ssize_t i, k
    cdef uint32_t bin

    for i in range(n):
        bin = block.rows[<Py_ssize_t> ids[i] * block.stride + feature]
        for k in range(n_cells):
            cells[bin * n_cells + k] += block.moments[<Py_ssize_t> ids[i] * n_cells + k]
        if marks != NULL:
            marks[bin] = MARK


cdef void divide_rows(
    const Block* block, const uint32_t* ids, Py_ssize_t n, int32_t feature,
    int32_t last, Py_ssize_t n_cells, double* left,
) noexcept nogil:
    """Sum the moments of the rows that go left at a cut."""
    cdef Py_ssize_t i, k, stride = 0
    cdef const uint8_t* bins = bins_of(block, feature, &stride)
    cdef const double* moment
    cdef double weight = 0.0, total = 0.0
    cdef bint goes_left

    for i in range(n):
        goes_left = bins[<Py_ssize_t> ids[i] * stride] <= last
        moment = block.moments + <Py_ssize_t> ids[i] * n_cells
        weight += moment[0] if goes_left else 0.0
        total += moment[1] if goes_left else 0.0
        for k in range(2, n_cells):
            left[k] += moment[k] if goes_left else 0.0
    left[0] = weight
    left[1] = total


# -- scanning -------------------------------------------------------------------------

cdef struct Scan:
    # One search along a histogram.
    Py_ssize_t n_cells
    bint poisson
    const double* totals        # of the node
    double* left                # totals left of the threshold
    const Limits* limits
    int8_t constraint
    const uint64_t* allowed     # bins after which may be split (NULL: all)
    const uint32_t* sizes       # rows in each bin (NULL: not wanted)
    uint64_t bins[4]            # bins to look at
    int32_t feature
    bint varies                 # out: whether two bins are occupied


cdef inline double poisson_score(
    Py_ssize_t n_cells, const double* left, const double* totals
) noexcept nogil:
    """Score of a split; a child whose y are all zero has no valid mean."""
    cdef double right, score = 0.0
    cdef Py_ssize_t k

    for k in range(1, n_cells):
        right = totals[k] - left[k]
        if left[k] <= 0.0 or right <= 1e-12 * totals[k]:
            return -INFINITY
        score += ylogy(left[k], left[0]) + ylogy(right, totals[0] - left[0])
    return score


cdef inline_void scan_side(
    const bint simple,
    double* cells,
    double* left,
    Scan* scan,
    bint missing_left,
    bint has_missing,
    bint clear,
    Split* best,
) noexcept nogil:
    """Try every threshold with the missing values on one side.

    `simple` says that there is one output and the criterion is the squared error.
    """
    cdef Py_ssize_t k, n_left = 0, n_cells = 2 if simple else scan.n_cells
    cdef const double* totals = scan.totals
    cdef double* cell
    cdef double score, right, right_weight, best_score = best.score
    cdef uint64_t bits
    cdef int word, bin, previous = -1

    for k in range(n_cells):
        left[k] = cells[MISSING_BIN * n_cells + k] if missing_left else 0.0
    if missing_left and scan.sizes != NULL:
        n_left = scan.sizes[MISSING_BIN]
    for word in range(5):
        if word < 4:
            bits = scan.bins[word]
            if word == 3:
                bits &= ~((<uint64_t> 1) << 63)
        else:
            # Last of all, missing values alone on the right.
            bits = 1 if has_missing and not missing_left and previous >= 0 else 0
        while bits:
            bin = 64 * word + lowest_bit(bits) if word < 4 else MISSING_BIN
            bits &= bits - 1
            cell = cells + bin * n_cells
            if cell[0] == 0.0:
                continue
            if previous >= 0:
                scan.varies = True
                right_weight = totals[0] - left[0]
                if simple:
                    right = totals[1] - left[1]
                    score = (
                        left[1] * left[1] * right_weight + right * right * left[0]
                    ) / (left[0] * right_weight)
                elif scan.poisson:
                    score = poisson_score(n_cells, left, totals)
                else:
                    score = 0.0
                    for k in range(1, n_cells):
                        right = totals[k] - left[k]
                        score += left[k] * left[k] / left[0]
                        score += right * right / right_weight
                if (
                    score - TIE * fabs(score) > best_score
                    and right_weight > 0.0
                    and (
                        scan.allowed == NULL
                        or (scan.allowed[previous >> 6] >> (previous & 63)) & 1
                    )
                    and is_allowed(
                        scan.limits, scan.constraint, left[0], right_weight, n_left,
                        left[1] / left[0], (totals[1] - left[1]) / right_weight,
                    )
                ):
                    best_score = score
                    best.score = score
                    best.feature = scan.feature
                    best.bin = previous
                    best.next_bin = bin
                    best.missing_left = missing_left
                    best.has_missing = has_missing
                    for k in range(n_cells):
                        best.left[k] = left[k]
            if word == 4:
                break
            for k in range(n_cells):
                left[k] += cell[k]
                if clear:
                    cell[k] = 0.0
            if scan.sizes != NULL:
                n_left += scan.sizes[bin]
            previous = bin


cdef void scan_cells(
    double* cells, Scan* scan, bint missing_left, bint has_missing, bint clear,
    Split* best,
) noexcept nogil:
    """Scan with the simple case, which is nearly all cases, compiled on its own."""
    cdef double left[2]

    if scan.n_cells == 2 and not scan.poisson:
        scan_side(
            True, cells, left, scan, missing_left, has_missing, clear, best
        )
    else:
        scan_side(
            False, cells, scan.left, scan, missing_left, has_missing, clear, best
        )
