"""Histograms of class weights, for the Gini impurity and entropy.

Unweighted samples, bootstrap counts included, are counted in integers: smaller
histograms, and sums that do not depend on their order. In nodes of little weight these
have 16 bits and the scan multiplies 32-bit integers, twice to four times as many at
once as doubles. Real weights are summed in double.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from sklearn_bandit._core.memory cimport allocate_zeros, times
from sklearn_bandit._core.simd cimport add_where_8
from sklearn_bandit.tree._bin_sets cimport (
    N_WORDS,
    drop_bin,
    first_bins,
    has_bin,
    read_marks,
    take_bin,
)
from sklearn_bandit.tree._common cimport (
    MAX_GROUP,
    MISSING_BIN,
    N_SLOTS,
    SMALL,
    SPARSE,
    Block,
    Cut,
    Limits,
    ScanRequest,
    Split,
    bins_of,
)

from .base cimport Criterion
from .class_fill cimport Filling, fill_group
from .class_scan cimport Scan, cell_t, scan_cells, sum_t
from .gini_scan cimport GINI_WEIGHT, scan_gini
from .gini_small_nodes cimport MAX_COMPARED, FewRows, load_few, search_few
from .histograms cimport Histograms
from .scores cimport entropy_score, gini_score, xlogx

cdef enum:
    # Marking a bin takes one store: with more rows than there are bins it still pays.
    SPARSE_ROWS = 2048
    # A larger weight, squared, does not fit 32 bits.
    SMALL_WEIGHT = 46340
    # Rows whose bins are gathered before they are compared with random thresholds.
    DIVIDED_ROWS = 64

# Random thresholds whose scores differ by rounding alone are tied: the first feature
# drawn keeps the lead, whether one output is searched or several copies of it.
cdef double CUT_TIE = 1e-14


cdef class ClassHistograms(Histograms):
    """Class weights in each bin.

    Parameters
    ----------
    criterion, n_slots, n_bins, count_rows
        As for `Histograms`.
    entropy : bool
        Entropy instead of the Gini impurity.
    max_count : int
        The largest weight if all are integers, else 0.
    """

    cdef Py_ssize_t n_channels          # classes of all outputs
    cdef Py_ssize_t n_outputs
    cdef bint entropy
    cdef bint integral
    cdef Py_ssize_t max_count
    cdef Py_ssize_t n_cells             # numbers in a cell: the classes, padded
    cdef void* cells
    cdef uint8_t* marks                 # of the bins that sparse histograms touch
    cdef double* running                # sums of a scan: room for 3 n_cells
    cdef double* divided                # scratch: MAX_GROUP numbers a class
    cdef FewRows few                    # the tiny node that was loaded

    def __init__(
        self, Criterion criterion, n_slots, n_bins, count_rows, entropy, max_count
    ):
        Histograms.__init__(self, criterion, n_slots, n_bins, count_rows)
        self.n_channels = criterion.n_channels
        self.n_outputs = criterion.n_outputs
        self.entropy = entropy
        self.integral = max_count > 0
        self.max_count = max_count
        self.divides = self.n_outputs == 1
        self.tie = CUT_TIE
        self.sparse_rows = SPARSE_ROWS
        has_squares = self.integral and self.n_outputs == 1 and not entropy
        self.tiny_rows = MAX_COMPARED if has_squares else 0
        self.n_cells = 2
        while self.n_cells < min(self.n_channels, 16):
            self.n_cells *= 2
        if self.n_channels > 16:
            self.n_cells = self.n_channels
        self.cells = allocate_zeros(
            n_slots, times(self.n_cells, N_SLOTS * self.cell_size(0))
        )
        self.marks = <uint8_t*> allocate_zeros(n_slots, N_SLOTS)
        self.running = <double*> allocate_zeros(self.n_cells, 3 * sizeof(double))
        self.divided = <double*> allocate_zeros(
            self.n_channels, MAX_GROUP * sizeof(double)
        )
        if (
            self.cells == NULL
            or self.marks == NULL
            or self.running == NULL
            or self.divided == NULL
        ):
            raise MemoryError

    def __dealloc__(self):
        free(self.cells)
        free(self.marks)
        free(self.running)
        free(self.divided)

    cdef Py_ssize_t cell_size(self, int kind) noexcept nogil:
        """Bytes of one number in a cell."""
        if kind & SMALL:
            return sizeof(uint16_t)
        return sizeof(int32_t) if self.integral else sizeof(double)

    cdef void* slot_cells(self, Py_ssize_t slot, int kind) noexcept nogil:
        """The cells of a histogram; short ones lie closer together."""
        cdef Py_ssize_t size = N_SLOTS * self.n_cells * self.cell_size(kind)

        return <uint8_t*> self.cells + slot * size

    cdef bint is_small(self, const double* totals) noexcept nogil:
        return (
            self.integral
            and self.n_outputs == 1
            and self.criterion.weight(totals) <= SMALL_WEIGHT
        )

    cdef bint is_small_sample(self, Py_ssize_t n) noexcept nogil:
        return (
            self.integral
            and self.n_outputs == 1
            and n * self.max_count <= SMALL_WEIGHT
        )

    # -- one histogram ----

    cdef void fill(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_features, Py_ssize_t slot, int kind,
    ) noexcept nogil:
        cdef void* cells = self.slot_cells(slot, kind)
        cdef Filling filling

        filling.marks = self.marks + slot * N_SLOTS if kind & SPARSE else NULL
        filling.n_cells = self.n_cells
        filling.n_outputs = self.n_outputs
        filling.block = block
        filling.ids = ids
        filling.n = n
        filling.features = features
        filling.n_features = n_features
        if kind & SMALL:
            fill_group[uint16_t](<uint16_t*> cells, &filling)
        elif self.integral:
            fill_group[int32_t](<int32_t*> cells, &filling)
        else:
            fill_group[double](<double*> cells, &filling)
        if self.sizes != NULL:
            self.count_rows(block, ids, n, features, n_features, slot)

    cdef bint scan(
        self, Py_ssize_t slot, int kind, const ScanRequest* request, Split* best
    ) noexcept nogil:
        cdef void* cells = self.slot_cells(slot, kind)
        cdef uint8_t bins[N_SLOTS + 8]
        cdef Scan scan

        if kind & SPARSE:
            read_marks(self.marks + slot * N_SLOTS, request.clear, scan.bins)
        else:
            first_bins(self.n_bins[request.feature], scan.bins)
        if (
            kind & SMALL
            and request.clear
            and request.allowed == NULL
            and self.is_plain(request.totals, request.limits)
            and not self.has_missing(<const uint16_t*> cells, scan.bins)
        ):
            return scan_gini(
                <uint16_t*> cells, self.n_cells, bins, list_bins(scan.bins, bins),
                request.totals, self.n_channels, request.feature, best,
            )
        scan.n_channels = self.n_channels
        scan.n_cells = self.n_cells
        scan.n_outputs = self.n_outputs
        scan.entropy = self.entropy
        scan.totals = request.totals
        scan.weight = self.criterion.weight(request.totals)
        scan.limits = request.limits
        scan.constraint = request.constraint
        scan.allowed = request.allowed
        scan.tie = 0.0 if request.allowed == NULL else self.tie
        scan.clear = request.clear
        scan.feature = request.feature
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
            and self.criterion.weight(totals) <= GINI_WEIGHT
        )

    cdef bint has_missing(
        self, const uint16_t* cells, uint64_t* bins
    ) noexcept nogil:
        """Whether a bitmap of bins has rows in the missing one; if not, take it out."""
        cdef Py_ssize_t k

        if has_bin(bins, MISSING_BIN):
            for k in range(self.n_channels):
                if cells[MISSING_BIN * self.n_cells + k]:
                    return True
            drop_bin(bins, MISSING_BIN)
        return False

    cdef void find_occupied(
        self, Py_ssize_t slot, int kind, int32_t feature, uint64_t* out
    ) noexcept nogil:
        cdef void* cells = self.slot_cells(slot, kind)

        if kind & SPARSE:
            read_marks(self.marks + slot * N_SLOTS, False, out)
            return
        first_bins(self.n_bins[feature], out)
        if kind & SMALL:
            drop_empty[uint16_t](<uint16_t*> cells, self.n_cells, out)
        elif self.integral:
            drop_empty[int32_t](<int32_t*> cells, self.n_cells, out)
        else:
            drop_empty[double](<double*> cells, self.n_cells, out)

    cdef void clear(self, Py_ssize_t slot, int kind) noexcept nogil:
        Histograms.clear(self, slot, kind)
        memset(self.marks + slot * N_SLOTS, 0, N_SLOTS)
        memset(
            self.slot_cells(slot, kind), 0,
            N_SLOTS * self.n_cells * self.cell_size(kind),
        )

    cdef void subtract(self, Py_ssize_t part, Py_ssize_t whole) noexcept nogil:
        cdef const int32_t* less = <const int32_t*> self.slot_cells(part, 0)
        cdef int32_t* cells = <int32_t*> self.slot_cells(whole, 0)
        cdef Py_ssize_t i

        Histograms.subtract(self, part, whole)
        for i in range(N_SLOTS * self.n_cells):
            cells[i] -= less[i]

    cdef uint8_t* find_cells(self, Py_ssize_t slot) noexcept nogil:
        return <uint8_t*> self.slot_cells(slot, 0)

    cdef Py_ssize_t histogram_bytes(self) noexcept nogil:
        return N_SLOTS * self.n_cells * self.cell_size(0)

    # -- random thresholds ----

    cdef void divide(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, Cut* cuts,
        Py_ssize_t n_cuts, const double* totals,
    ) noexcept nogil:
        cdef Py_ssize_t j, k, n_channels = self.n_channels
        cdef double* lefts = &self.lefts[0, 0]
        cdef int32_t* counts = <int32_t*> self.divided
        cdef uint16_t* shorts = <uint16_t*> self.divided

        if block.columns == NULL and self.is_small(totals):
            memset(shorts, 0, 2 * n_channels * MAX_GROUP * sizeof(uint16_t))
            divide_group(block, ids, n, cuts, n_cuts, shorts)
            for j in range(n_cuts):
                for k in range(n_channels):
                    lefts[j * n_channels + k] = (
                        shorts[2 * k * MAX_GROUP + j]
                        + shorts[(2 * k + 1) * MAX_GROUP + j]
                    )
        elif self.integral:
            for j in range(n_cuts):
                memset(counts, 0, n_channels * sizeof(int32_t))
                divide_rows(block, ids, n, &cuts[j], counts)
                for k in range(n_channels):
                    lefts[j * n_channels + k] = counts[k]
        else:
            memset(lefts, 0, n_cuts * n_channels * sizeof(double))
            for j in range(n_cuts):
                divide_rows(block, ids, n, &cuts[j], lefts + j * n_channels)
        for j in range(n_cuts):
            cuts[j].score = self.score_division(lefts + j * n_channels, totals)
            if self.sizes != NULL:
                self.count_left(block, ids, n, &cuts[j])

    cdef double score_division(
        self, const double* left, const double* totals
    ) noexcept nogil:
        """Score of a split of one output from the class weights on the left."""
        cdef double weight, right_weight, left_score = 0.0, right_score = 0.0
        cdef Py_ssize_t k

        weight = self.criterion.weight(left)
        right_weight = self.criterion.weight(totals) - weight
        if self.entropy:
            for k in range(self.n_channels):
                left_score += xlogx(left[k])
                right_score += xlogx(totals[k] - left[k])
            return entropy_score(left_score, right_score, weight, right_weight, 1)
        for k in range(self.n_channels):
            left_score += left[k] * left[k]
            right_score += (totals[k] - left[k]) * (totals[k] - left[k])
        return gini_score(left_score, right_score, weight, right_weight)

    # -- tiny nodes ----

    cdef void load_tiny(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits,
    ) noexcept nogil:
        self.tiny_limits = limits
        load_few(
            block, ids, n, totals, self.n_channels, <int64_t*> self.divided, &self.few
        )

    cdef int search_tiny(
        self, const int32_t* features, Py_ssize_t n_features, uint8_t* varies,
        Split* best,
    ) noexcept nogil:
        cdef int found

        if self.few.n == 0:
            return -1
        found = search_few(
            &self.few, features[0], self.tiny_limits, self.n_channels, best
        )
        varies[0] = found > 0
        return found


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

    `bins` has room for eight more: eight are written for each byte of the bitmap.
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

    for word in range(N_WORDS):
        bits = bins[word]
        while bits:
            bin = take_bin(&bits, word)
            total = 0
            for k in range(n_cells):
                total += cells[bin * n_cells + k]
            if total == 0:
                drop_bin(bins, bin)


cdef void divide_rows(
    const Block* block, const uint32_t* ids, Py_ssize_t n, const Cut* cut, sum_t* left
) noexcept nogil:
    """Sum the class weights of the rows that go left at a cut."""
    cdef Py_ssize_t i, stride = 0
    cdef const uint8_t* bins = bins_of(block, cut.feature, &stride)
    cdef int32_t last = cut.last
    cdef bint goes_left

    for i in range(n):
        goes_left = bins[<Py_ssize_t> ids[i] * stride] <= last
        if sum_t is double:
            left[block.labels[ids[i]]] += block.weights[ids[i]] if goes_left else 0.0
        else:
            left[block.labels[ids[i]]] += block.counts[ids[i]] if goes_left else 0


cdef void divide_group(
    const Block* block, const uint32_t* ids, Py_ssize_t n, const Cut* cuts,
    Py_ssize_t n_cuts, uint16_t* left,
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
        chosen[j] = cuts[min(j, n_cuts - 1)].feature
        last[j] = <uint8_t> cuts[min(j, n_cuts - 1)].last
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
