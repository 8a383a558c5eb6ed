"""Regression by medians: the absolute error.

The loss of a child is not a function of sums, so there are no histograms. For each
feature the rows are put in the order of their bins and swept from both sides; a Fenwick
tree over the ranks of y gives the median, and the absolute deviations from it, after
every bin.
"""

from libc.math cimport fabs
from libc.stdint cimport int8_t, int32_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memset

from ._data cimport MAX_GROUP, N_LEVELS, Block, Limits, Split
from ._target cimport Target, is_allowed


cdef struct Pair:
    double y
    uint32_t place


cdef class MedianTarget(Target):
    """Real targets of one output with weights, predicted by their median.

    Totals of a node are its weight, its median and the sum of absolute deviations from
    it. In a block, the moments of a row are its weight and y.

    Parameters
    ----------
    moments : ndarray of shape (n_samples, 2), float64
        Weight and y of each sample.
    n_rows : int
        Samples in the tree.
    """

    cdef const double[:, ::1] moments
    cdef Py_ssize_t n_rows
    cdef double* copied[N_LEVELS]
    cdef int32_t slot_features[MAX_GROUP]
    cdef const Block* block                 # rows of the node that is searched
    cdef const uint32_t* ids
    cdef Py_ssize_t n
    cdef Pair* pairs                        # rows in the order of y
    cdef uint32_t* rank                     # rank of each row's y
    cdef uint32_t* order                    # rows in the order of their bins
    cdef double* tree_weight                # Fenwick trees over the ranks
    cdef double* tree_sum
    cdef double* loss                       # of the rows up to each place in the order
    cdef double* median

    def __init__(self, moments, n_rows):
        self.moments = moments
        self.n_rows = n_rows
        self.n_outputs = 1
        self.n_channels = 3
        self.n_values = 1
        self.has_losses = False
        self.keeps_left = False

    def __dealloc__(self):
        for level in range(N_LEVELS):
            free(self.copied[level])
        free(self.pairs)
        free(self.rank)
        free(self.order)
        free(self.tree_weight)
        free(self.tree_sum)
        free(self.loss)
        free(self.median)

    cdef int reserve(self, Py_ssize_t n_slots, bint count_rows) except -1:
        Target.reserve(self, n_slots, False)
        self.pairs = <Pair*> malloc(self.n_rows * sizeof(Pair))
        self.rank = <uint32_t*> malloc(self.n_rows * sizeof(uint32_t))
        self.order = <uint32_t*> malloc(self.n_rows * sizeof(uint32_t))
        self.tree_weight = <double*> calloc(self.n_rows + 1, sizeof(double))
        self.tree_sum = <double*> calloc(self.n_rows + 1, sizeof(double))
        self.loss = <double*> malloc(self.n_rows * sizeof(double))
        self.median = <double*> malloc(self.n_rows * sizeof(double))
        if (
            self.pairs == NULL or self.rank == NULL or self.order == NULL
            or self.tree_weight == NULL or self.tree_sum == NULL
            or self.loss == NULL or self.median == NULL
        ):
            raise MemoryError
        return 0

    cdef int reserve_copy(self, Py_ssize_t level, Py_ssize_t n_rows) except -1:
        self.copied[level] = <double*> malloc(2 * n_rows * sizeof(double))
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
        cdef Py_ssize_t i

        for i in range(n):
            self.copied[level][2 * (first + i)] = source.moments[2 * ids[i]]
            self.copied[level][2 * (first + i) + 1] = source.moments[2 * ids[i] + 1]
        copy.moments = self.copied[level]

    # -- nodes ----

    cdef void summarise(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, double* totals
    ) noexcept nogil:
        cdef double half, below = 0.0, weight
        cdef Py_ssize_t i

        self.sort(block, ids, n)
        totals[0] = 0.0
        for i in range(n):
            totals[0] += block.moments[2 * ids[i]]
        half = 0.5 * totals[0]
        totals[1] = self.pairs[n - 1].y
        for i in range(n):
            weight = block.moments[2 * ids[self.pairs[i].place]]
            if below + weight > half or i == n - 1:
                totals[1] = self.pairs[i].y
                break
            below += weight
            if below == half:
                totals[1] = 0.5 * (self.pairs[i].y + self.pairs[i + 1].y)
                break
        totals[2] = 0.0
        for i in range(n):
            totals[2] += block.moments[2 * ids[i]] * fabs(
                block.moments[2 * ids[i] + 1] - totals[1]
            )

    cdef void sort(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n
    ) noexcept nogil:
        """Put rows in the order of y."""
        cdef Py_ssize_t i

        for i in range(n):
            self.pairs[i].y = block.moments[2 * ids[i] + 1]
            self.pairs[i].place = <uint32_t> i
        qsort(self.pairs, n, sizeof(Pair), &compare_pairs)

    cdef double weight(self, const double* totals) noexcept nogil:
        return totals[0]

    cdef double score(self, const double* totals) noexcept nogil:
        return -totals[2]

    cdef double impurity(self, const double* totals) noexcept nogil:
        return totals[2] / totals[0]

    cdef double middle(self, const double* left, const double* right) noexcept nogil:
        return 0.5 * (left[1] + right[1])

    cdef void value(
        self, const double* totals, double lower, double upper, double* out
    ) noexcept nogil:
        out[0] = min(max(totals[1], lower), upper)

    # -- search ----

    cdef void fill(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_features, Py_ssize_t slot, int kind,
    ) noexcept nogil:
        """Remember the rows, in the order of y; each scan orders them by a feature."""
        cdef Py_ssize_t i

        self.block = block
        self.ids = ids
        self.n = n
        for i in range(n_features):
            self.slot_features[slot + i] = features[i]
        self.sort(block, ids, n)
        for i in range(n):
            self.rank[self.pairs[i].place] = <uint32_t> i

    cdef bint scan(
        self, Py_ssize_t slot, int32_t feature, int kind, int32_t n_bins,
        const double* totals, const Limits* limits, int8_t constraint,
        const uint64_t* allowed, bint clear, Split* best,
    ) noexcept nogil:
        cdef const uint8_t* bins = self.block.rows + feature
        cdef Py_ssize_t stride = self.block.stride, n = self.n, i
        cdef uint32_t starts[257]
        cdef uint8_t bin, next_bin
        cdef double weight, left, score, right_loss, right_median
        cdef bint varies = False

        memset(starts, 0, sizeof(starts))
        for i in range(n):
            starts[bins[self.ids[i] * stride] + 1] += 1
        for i in range(1, 256):
            starts[i] += starts[i - 1]
        for i in range(n):
            bin = bins[self.ids[i] * stride]
            self.order[starts[bin]] = <uint32_t> i
            starts[bin] += 1

        self.empty()
        left = 0.0
        for i in range(n - 1):
            left += self.add(self.order[i])
            if (
                bins[self.ids[self.order[i]] * stride]
                != bins[self.ids[self.order[i + 1]] * stride]
            ):
                self.find_median(left, &self.median[i], &self.loss[i])
        self.empty()
        weight = 0.0
        for i in range(n - 1, 0, -1):
            weight += self.add(self.order[i])
            bin = bins[self.ids[self.order[i - 1]] * stride]
            next_bin = bins[self.ids[self.order[i]] * stride]
            if bin == next_bin:
                continue
            varies = True
            if allowed != NULL and not (allowed[bin >> 6] >> (bin & 63)) & 1:
                continue
            self.find_median(weight, &right_median, &right_loss)
            score = -self.loss[i - 1] - right_loss
            if score > best.score + 1e-12 * totals[2] and is_allowed(
                limits, constraint, totals[0] - weight, weight, i,
                self.median[i - 1], right_median,
            ):
                best.score = score
                best.feature = feature
                best.bin = bin
                best.next_bin = next_bin
                best.missing_left = False
                best.has_missing = False
        return varies

    cdef void find_occupied(
        self, Py_ssize_t slot, int kind, int32_t n_bins, uint64_t* out
    ) noexcept nogil:
        cdef const uint8_t* bins = self.block.rows + self.slot_features[slot]
        cdef uint8_t bin
        cdef Py_ssize_t i

        memset(out, 0, 4 * sizeof(uint64_t))
        for i in range(self.n):
            bin = bins[self.ids[i] * self.block.stride]
            out[bin >> 6] |= (<uint64_t> 1) << (bin & 63)

    # -- Fenwick trees ----

    cdef void empty(self) noexcept nogil:
        memset(self.tree_weight, 0, (self.n + 1) * sizeof(double))
        memset(self.tree_sum, 0, (self.n + 1) * sizeof(double))

    cdef double add(self, uint32_t place) noexcept nogil:
        """Add a row; returns its weight."""
        cdef double weight = self.block.moments[2 * self.ids[place]]
        cdef double product = weight * self.block.moments[2 * self.ids[place] + 1]
        cdef Py_ssize_t i = self.rank[place] + 1

        while i <= self.n:
            self.tree_weight[i] += weight
            self.tree_sum[i] += product
            i += i & -i
        return weight

    cdef void find_median(
        self, double weight, double* median, double* loss
    ) noexcept nogil:
        """Median of the rows added, and the sum of their deviations from it."""
        cdef Py_ssize_t i = 0, step = 1
        cdef double below = 0.0, sum_below = 0.0, total = 0.0

        while 2 * step <= self.n:
            step *= 2
        while step:
            if i + step <= self.n and below + self.tree_weight[i + step] < 0.5 * weight:
                i += step
                below += self.tree_weight[i]
                sum_below += self.tree_sum[i]
            step //= 2
        median[0] = self.pairs[min(i, self.n - 1)].y
        i = self.n
        while i:
            total += self.tree_sum[i]
            i -= i & -i
        loss[0] = (
            median[0] * below - sum_below
            + (total - sum_below) - median[0] * (weight - below)
        )


cdef int compare_pairs(const void* a, const void* b) noexcept nogil:
    cdef double x = (<const Pair*> a).y, y = (<const Pair*> b).y

    return (x > y) - (x < y)
