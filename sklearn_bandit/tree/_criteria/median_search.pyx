"""The search for splits by the absolute error.

The loss of a child is not a function of sums, so there are no histograms. For each
feature the rows are put in the order of their bins (or of the ranks of their values)
and swept from both sides; a Fenwick tree over the ranks of y gives the median, and the
absolute deviations from it, after every bin. With several outputs this is done for
each, and the deviations are added up. Rows whose value is missing come last, then
first, so that they are tried on either side.
"""

from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from sklearn_bandit._core.memory cimport allocate, allocate_zeros, times
from sklearn_bandit.tree._bin_sets cimport N_WORDS, add_bin, has_bin
from sklearn_bandit.tree._common cimport (
    MISSING_BIN,
    MISSING_RANK,
    Block,
    ScanRequest,
    Split,
    ranks_of,
    sample_of,
    set_split,
)

from .absolute_error cimport Pair, sort_by_output
from .base cimport Criterion
from .histograms cimport Histograms, is_allowed

cdef enum:
    MISSING_KEY = -1    # of a row whose value is missing, where these come first
    SIGNAL_ROWS = 10000     # of a node in which interrupts are checked for

# Losses that differ by less, relative to the node's, are tied.
cdef double LOSS_TIE = 1e-12


cdef class MedianSearch(Histograms):
    """Rows of a node, sorted by one feature after the other.

    Parameters
    ----------
    criterion, n_slots, n_bins
        As for `Histograms`. Rows are counted in any case.
    n_rows : int
        Samples in the tree.
    """

    cdef Py_ssize_t n_rows                  # samples in the tree
    cdef Py_ssize_t n_outputs
    cdef const Block* block                 # rows of the node that is searched
    cdef const uint32_t* ids
    cdef Py_ssize_t n
    cdef Py_ssize_t width                   # numbers in the moments of a row
    cdef Pair* pairs                        # rows in the order of y, for each output
    cdef uint32_t* rank                     # rank of each row's y, for each output
    cdef uint32_t* order                    # rows in the order of their keys,
    cdef int32_t* keys                      # which are bins or ranks, ascending
    cdef uint32_t* scratch                  # for sorting
    cdef double* tree_weight                # Fenwick trees over the ranks
    cdef double* tree_sum
    cdef double* loss                       # of a split after each place in the order,
    cdef double* left_weight                # over all outputs; weight on its left
    cdef double* left_median                # and medians on both sides, of the last
    cdef double* right_median               # output

    def __init__(self, Criterion criterion, n_slots, n_bins, size_t n_rows):
        cdef size_t n = n_rows

        Histograms.__init__(self, criterion, n_slots, n_bins, False)
        self.n_rows = n_rows
        self.n_outputs = criterion.n_outputs
        self.width = 1 + self.n_outputs
        self.pairs = <Pair*> allocate(times(self.n_outputs, n), sizeof(Pair))
        self.rank = <uint32_t*> allocate(times(self.n_outputs, n), sizeof(uint32_t))
        self.order = <uint32_t*> allocate(n, sizeof(uint32_t))
        self.keys = <int32_t*> allocate(n, sizeof(int32_t))
        self.scratch = <uint32_t*> allocate(n, sizeof(uint32_t))
        self.tree_weight = <double*> allocate(n + 1, sizeof(double))
        self.tree_sum = <double*> allocate(n + 1, sizeof(double))
        self.loss = <double*> allocate(n, sizeof(double))
        self.left_weight = <double*> allocate(n, sizeof(double))
        self.left_median = <double*> allocate_zeros(n, sizeof(double))
        self.right_median = <double*> allocate_zeros(n, sizeof(double))
        if (
            self.pairs == NULL or self.rank == NULL or self.order == NULL
            or self.keys == NULL or self.scratch == NULL
            or self.tree_weight == NULL or self.tree_sum == NULL
            or self.loss == NULL or self.left_weight == NULL
            or self.left_median == NULL or self.right_median == NULL
        ):
            raise MemoryError

    def __dealloc__(self):
        free(self.pairs)
        free(self.rank)
        free(self.order)
        free(self.keys)
        free(self.scratch)
        free(self.tree_weight)
        free(self.tree_sum)
        free(self.loss)
        free(self.left_weight)
        free(self.left_median)
        free(self.right_median)

    cdef void fill(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_features, Py_ssize_t slot, int kind,
    ) noexcept nogil:
        """Remember the rows, in the order of y; each scan orders them by a feature."""
        cdef Py_ssize_t i, k

        self.block = block
        self.ids = ids
        self.n = n
        # The last output to be sorted is the first: it stays in front.
        for k in range(self.n_outputs - 1, -1, -1):
            sort_by_output(block, ids, n, self.width, k + 1, self.pairs)
            for i in range(n):
                self.rank[k * self.n_rows + self.pairs[i].place] = <uint32_t> i
            if k:
                memcpy(self.pairs + k * self.n_rows, self.pairs, n * sizeof(Pair))

    cdef bint scan(
        self, Py_ssize_t slot, int kind, const ScanRequest* request, Split* best
    ) noexcept nogil:
        cdef bint by_rank, has_missing
        cdef int32_t missing

        # A feature takes microseconds a row: interrupts are checked for before each.
        if self.n > SIGNAL_ROWS and self.interrupts.look():
            return False
        by_rank = self.order_by(request.feature)
        missing = MISSING_RANK if by_rank else MISSING_BIN
        has_missing = self.keys[self.n - 1] == missing
        if self.keys[0] == self.keys[self.n - 1]:
            return False
        self.scan_order(request, by_rank, False, has_missing, best)
        if has_missing and self.move_missing(missing):
            self.scan_order(request, by_rank, True, True, best)
        return True

    cdef void scan_order(
        self, const ScanRequest* request, bint by_rank, bint missing_left,
        bint has_missing, Split* best,
    ) noexcept nogil:
        """Try all thresholds of the present order, which has the missing values on one
        side."""
        cdef const double* totals = request.totals
        cdef const uint64_t* allowed = request.allowed
        cdef double tie = LOSS_TIE * totals[self.width]
        cdef Py_ssize_t i, k
        cdef int32_t key

        for i in range(self.n):
            self.loss[i] = 0.0
        for k in range(self.n_outputs):
            self.sweep(k, request.limits.monotonic and request.constraint != 0)
        for i in range(self.n - 1):
            key = self.keys[i]
            # Missing values alone on the left are the same split as alone on the right.
            if key == self.keys[i + 1] or key == MISSING_KEY:
                continue
            if allowed != NULL and not has_bin(allowed, key):
                continue
            if -self.loss[i] > best.score + tie and is_allowed(
                request.limits, request.constraint, self.left_weight[i],
                totals[0] - self.left_weight[i], i + 1, self.left_median[i],
                self.right_median[i],
            ):
                set_split(
                    best, request.feature, key, self.keys[i + 1], missing_left,
                    has_missing, -self.loss[i],
                )
                best.rank = key if by_rank else -1

    cdef bint order_by(self, int32_t feature) noexcept nogil:
        """Put the rows in the order of their values; whether the keys are ranks."""
        cdef const uint16_t* ranks = ranks_of(self.block, feature)
        cdef const uint8_t* bins = self.block.rows + feature
        cdef Py_ssize_t stride = self.block.stride, i

        for i in range(self.n):
            self.order[i] = <uint32_t> i
        if ranks == NULL:
            for i in range(self.n):
                self.keys[i] = bins[self.ids[i] * stride]
            self.sort_digit(0)
        else:
            for i in range(self.n):
                self.keys[i] = ranks[sample_of(self.block, self.ids[i])]
            self.sort_digit(0)
            self.sort_digit(8)
        # The keys so far are those of the places, not in order.
        for i in range(self.n):
            self.scratch[i] = <uint32_t> self.keys[self.order[i]]
        for i in range(self.n):
            self.keys[i] = <int32_t> self.scratch[i]
        return ranks != NULL

    cdef void sort_digit(self, int shift) noexcept nogil:
        """Sort the order by eight bits of the keys; equal ones stay as they were."""
        cdef uint32_t starts[257]
        cdef Py_ssize_t i
        cdef int32_t digit

        memset(starts, 0, sizeof(starts))
        for i in range(self.n):
            starts[((self.keys[i] >> shift) & 255) + 1] += 1
        for i in range(1, 256):
            starts[i] += starts[i - 1]
        for i in range(self.n):
            digit = (self.keys[self.order[i]] >> shift) & 255
            self.scratch[starts[digit]] = self.order[i]
            starts[digit] += 1
        memcpy(self.order, self.scratch, self.n * sizeof(uint32_t))

    cdef bint move_missing(self, int32_t missing) noexcept nogil:
        """Bring the missing values from the end to the front; whether others differ."""
        cdef Py_ssize_t n_present = self.n, n_missing, i

        while n_present and self.keys[n_present - 1] == missing:
            n_present -= 1
        if n_present == 0 or self.keys[0] == self.keys[n_present - 1]:
            return False
        n_missing = self.n - n_present
        memcpy(self.scratch, self.order + n_present, n_missing * sizeof(uint32_t))
        for i in range(n_present - 1, -1, -1):
            self.order[n_missing + i] = self.order[i]
            self.keys[n_missing + i] = self.keys[i]
        memcpy(self.order, self.scratch, n_missing * sizeof(uint32_t))
        for i in range(n_missing):
            self.keys[i] = MISSING_KEY
        return True

    cdef void sweep(self, Py_ssize_t output, bint compared) noexcept nogil:
        """Add the deviations in one output, on both sides of every threshold.

        The medians themselves are found only if they are to be compared.
        """
        cdef double weight = 0.0
        cdef Py_ssize_t i

        self.empty()
        for i in range(self.n - 1):
            weight += self.add(self.order[i], output)
            if self.keys[i] != self.keys[i + 1]:
                self.left_weight[i] = weight
                self.loss[i] += self.find_loss(
                    output, weight, &self.left_median[i] if compared else NULL
                )
        self.empty()
        weight = 0.0
        for i in range(self.n - 2, -1, -1):
            weight += self.add(self.order[i + 1], output)
            if self.keys[i] != self.keys[i + 1]:
                self.loss[i] += self.find_loss(
                    output, weight, &self.right_median[i] if compared else NULL
                )

    cdef void find_occupied(
        self, Py_ssize_t slot, int kind, int32_t feature, uint64_t* out
    ) noexcept nogil:
        cdef const uint8_t* bins = self.block.rows + feature
        cdef Py_ssize_t i

        memset(out, 0, N_WORDS * sizeof(uint64_t))
        for i in range(self.n):
            add_bin(out, bins[self.ids[i] * self.block.stride])

    # -- Fenwick trees ----

    cdef void empty(self) noexcept nogil:
        memset(self.tree_weight, 0, (self.n + 1) * sizeof(double))
        memset(self.tree_sum, 0, (self.n + 1) * sizeof(double))

    cdef double add(self, uint32_t place, Py_ssize_t output) noexcept nogil:
        """Add a row; returns its weight."""
        cdef const double* moment = (
            self.block.moments + self.width * <Py_ssize_t> self.ids[place]
        )
        cdef double weight = moment[0], product = moment[0] * moment[output + 1]
        cdef Py_ssize_t i = self.rank[output * self.n_rows + place] + 1

        while i <= self.n:
            self.tree_weight[i] += weight
            self.tree_sum[i] += product
            i += i & -i
        return weight

    cdef double find_loss(
        self, Py_ssize_t output, double weight, double* median
    ) noexcept nogil:
        """Sum of the deviations of the rows added from their median, and the median.

        Between two values the sum is the same. The median, if it is asked for, is then
        their middle, as in `summarise`.
        """
        cdef const Pair* pairs = self.pairs + output * self.n_rows
        cdef double below = 0.0, sum_below = 0.0, total = 0.0, half = 0.5 * weight
        cdef double weight_up_to = 0.0, sum_up_to = 0.0, y
        cdef Py_ssize_t i, k = self.n

        i = min(self.find(half, False, &below, &sum_below), self.n - 1)
        y = pairs[i].y
        while k:
            total += self.tree_sum[k]
            k -= k & -k
        if median != NULL:
            k = self.find(half, True, &weight_up_to, &sum_up_to)
            # By rounding there may be nothing beyond.
            median[0] = y if k == self.n else 0.5 * (y + pairs[k].y)
        return y * below - sum_below + (total - sum_below) - y * (weight - below)

    cdef Py_ssize_t find(
        self, double weight, bint beyond, double* below, double* sum_below
    ) noexcept nogil:
        """The first rank up to which the rows added have at least this weight, or more
        than it if `beyond`; and what is below it."""
        cdef Py_ssize_t i = 0, step = 1
        cdef double next

        while 2 * step <= self.n:
            step *= 2
        while step:
            if i + step <= self.n:
                next = below[0] + self.tree_weight[i + step]
                if next < weight or (beyond and next == weight):
                    i += step
                    below[0] = next
                    sum_below[0] += self.tree_sum[i]
            step //= 2
        return i
