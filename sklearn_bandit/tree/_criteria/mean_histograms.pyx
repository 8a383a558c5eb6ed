"""Histograms of weights and sums, for the squared error and the Poisson deviance.

A cell holds the weight of its rows and, for each output, the weighted sum of y.
"""

from libc.math cimport fabs
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memset

from sklearn_bandit._core.memory cimport allocate_zeros, times
from sklearn_bandit._core.simd cimport inline_void, prefetch
from sklearn_bandit.tree._bin_sets cimport (
    N_WORDS,
    drop_bin,
    first_bins,
    read_marks,
    take_bin,
)
from sklearn_bandit.tree._common cimport (
    MARK,
    MISSING_BIN,
    N_SLOTS,
    ROWS_AHEAD,
    SPARSE,
    Block,
    Cut,
    Limits,
    ScanRequest,
    Split,
    bins_of,
    set_split,
)

from .base cimport Criterion
from .histograms cimport Histograms
from .mean_scan cimport Scan, scan_cells
from .mean_small_nodes cimport (
    MAX_SORTED,
    N_LANES,
    FewRows,
    LaneSplits,
    Sorted,
    sorted_for,
)
from .scores cimport TIE, squares_score
from .squared_error_scan cimport scan_means

# Weights of tiny nodes whose products neither vanish nor overflow.
cdef double SMALLEST_TINY = 1e-30
cdef double LARGEST_TINY = 1e30


cdef class MeanHistograms(Histograms):
    """Weights and weighted sums of y in each bin.

    Parameters
    ----------
    criterion, n_slots, n_bins, count_rows
        As for `Histograms`.
    poisson : bool
        Half Poisson deviance instead of the squared error.
    """

    cdef bint poisson
    cdef Py_ssize_t n_cells                 # numbers in a cell
    cdef double* cells
    cdef uint8_t* marks                     # of the bins that sparse histograms touch
    cdef double* running                    # totals left of a threshold
    cdef FewRows few                        # the rows of a tiny node
    cdef Sorted sorted                      # the kernel for their number

    def __init__(self, Criterion criterion, n_slots, n_bins, count_rows, poisson):
        Histograms.__init__(self, criterion, n_slots, n_bins, count_rows)
        self.poisson = poisson
        self.n_cells = 1 + criterion.n_outputs
        self.divides = not poisson
        self.tie = TIE
        self.tiny_rows = MAX_SORTED if self.n_cells == 2 and not poisson else 0
        self.tiny_group = N_LANES
        self.cells = <double*> allocate_zeros(
            n_slots, times(self.n_cells, N_SLOTS * sizeof(double))
        )
        self.marks = <uint8_t*> allocate_zeros(n_slots, N_SLOTS)
        self.running = <double*> allocate_zeros(self.n_cells, 2 * sizeof(double))
        if self.cells == NULL or self.marks == NULL or self.running == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.cells)
        free(self.marks)
        free(self.running)

    # -- one histogram ----

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
        self, Py_ssize_t slot, int kind, const ScanRequest* request, Split* best
    ) noexcept nogil:
        cdef double* cells = self.cells + slot * N_SLOTS * self.n_cells
        cdef double* missing = cells + MISSING_BIN * self.n_cells
        cdef const Limits* limits = request.limits
        cdef bint clear = request.clear
        cdef Scan scan

        scan.n_cells = self.n_cells
        scan.poisson = self.poisson
        scan.tie = TIE
        scan.totals = request.totals
        scan.left = self.running
        scan.limits = limits
        scan.constraint = request.constraint
        scan.allowed = request.allowed
        scan.sizes = NULL if self.sizes == NULL else self.sizes + slot * N_SLOTS
        scan.feature = request.feature
        scan.varies = False
        if kind & SPARSE:
            read_marks(self.marks + slot * N_SLOTS, clear, scan.bins)
        else:
            first_bins(self.n_bins[request.feature], scan.bins)
        if (
            self.n_cells == 2
            and not self.poisson
            and self.sizes == NULL
            and scan.allowed == NULL
            and not limits.monotonic
            and limits.min_weight_leaf <= 0.0
        ):
            return scan_means(
                cells, scan.bins, scan.totals, scan.feature, TIE, clear, best
            )
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
        self, Py_ssize_t slot, int kind, int32_t feature, uint64_t* out
    ) noexcept nogil:
        cdef int word, bin
        cdef uint64_t bits

        if kind & SPARSE:
            read_marks(self.marks + slot * N_SLOTS, False, out)
            return
        first_bins(self.n_bins[feature], out)
        for word in range(N_WORDS):
            bits = out[word]
            while bits:
                bin = take_bin(&bits, word)
                if self.cells[(slot * N_SLOTS + bin) * self.n_cells] == 0.0:
                    drop_bin(out, bin)

    cdef void clear(self, Py_ssize_t slot, int kind) noexcept nogil:
        Histograms.clear(self, slot, kind)
        memset(self.marks + slot * N_SLOTS, 0, N_SLOTS)
        memset(
            self.cells + slot * N_SLOTS * self.n_cells, 0,
            N_SLOTS * self.n_cells * sizeof(double),
        )

    cdef void subtract(self, Py_ssize_t part, Py_ssize_t whole) noexcept nogil:
        cdef Py_ssize_t i, size = N_SLOTS * self.n_cells

        Histograms.subtract(self, part, whole)
        for i in range(size):
            self.cells[whole * size + i] -= self.cells[part * size + i]

    cdef uint8_t* find_cells(self, Py_ssize_t slot) noexcept nogil:
        return <uint8_t*> (self.cells + slot * N_SLOTS * self.n_cells)

    cdef Py_ssize_t histogram_bytes(self) noexcept nogil:
        return N_SLOTS * self.n_cells * sizeof(double)

    # -- random thresholds ----

    cdef void divide(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, Cut* cuts,
        Py_ssize_t n_cuts, const double* totals,
    ) noexcept nogil:
        cdef double* left
        cdef Py_ssize_t j

        for j in range(n_cuts):
            left = &self.lefts[j, 0]
            memset(left, 0, self.n_cells * sizeof(double))
            divide_rows(block, ids, n, &cuts[j], self.n_cells, left)
            cuts[j].score = squares_score(self.n_cells, left, totals)
            if self.sizes != NULL:
                self.count_left(block, ids, n, &cuts[j])

    # -- tiny nodes ----

    cdef void load_tiny(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits,
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
        few.least_weight = max(limits.min_weight_leaf, SMALLEST_TINY * totals[0])
        few.least_rows = <int> min(limits.min_samples_leaf, n)
        self.tiny_limits = limits
        self.sorted = sorted_for(<int> n, block.stride == 16)

    cdef int search_tiny(
        self, const int32_t* features, Py_ssize_t n_features, uint8_t* varies,
        Split* best,
    ) noexcept nogil:
        cdef const FewRows* few = &self.few
        cdef LaneSplits right, left
        cdef bint any_missing = False
        cdef Py_ssize_t j

        # Scores are compared as fractions: products of four weights.
        if not SMALLEST_TINY < few.weight < LARGEST_TINY:
            return -1
        if (
            few.n == 2
            and few.least_rows <= 1
            and self.tiny_limits.min_weight_leaf <= 0.0
        ):
            separate_two(few, features, n_features, varies, best)
            return 1
        self.sorted(few, features, <int> n_features, 0, TIE, &right)
        for j in range(n_features):
            varies[j] = right.varies[j]
            any_missing |= right.missing[j]
        if any_missing:
            self.sorted(few, features, <int> n_features, 1, TIE, &left)
        # First with the missing values, if any, on the right, then on the left.
        for j in range(n_features):
            take_split(&right, j, features[j], 0, best)
            if right.missing[j]:
                take_split(&left, j, features[j], 1, best)
        return 1


cdef inline void separate_two(
    const FewRows* few, const int32_t* features, Py_ssize_t n_features, uint8_t* varies,
    Split* best,
) noexcept nogil:
    """Separate two rows: every feature that varies does, and the first is taken."""
    cdef const double* moments = few.moments
    cdef Py_ssize_t j
    cdef uint8_t one, two

    for j in range(n_features):
        one = few.rows[0][features[j]]
        two = few.rows[1][features[j]]
        varies[j] = one != two
        if varies[j] and best.feature < 0:
            set_split(
                best, features[j], min(one, two), max(one, two), False,
                max(one, two) == MISSING_BIN,
                moments[1] * moments[1] / moments[0]
                + moments[3] * moments[3] / moments[2],
            )


cdef inline void take_split(
    const LaneSplits* splits, Py_ssize_t lane, int32_t feature, int missing_left,
    Split* best,
) noexcept nogil:
    """Replace the best split if that of a lane is better."""
    cdef double score = splits.scores[lane]

    if splits.last[lane] < 0 or not score - TIE * fabs(score) > best.score:
        return
    set_split(
        best, feature, splits.last[lane] - missing_left,
        splits.next[lane] - missing_left, missing_left,
        missing_left or splits.missing[lane], score,
    )


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
    const Block* block, const uint32_t* ids, Py_ssize_t n, const Cut* cut,
    Py_ssize_t n_cells, double* left,
) noexcept nogil:
    """Sum the moments of the rows that go left at a cut."""
    cdef Py_ssize_t i, k, stride = 0
    cdef const uint8_t* bins = bins_of(block, cut.feature, &stride)
    cdef int32_t last = cut.last
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
