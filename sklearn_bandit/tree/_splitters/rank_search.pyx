"""The best split of a feature between any two of its values.

Most bins need not be looked into. What goes left of a threshold within a bin is what is
before the bin and some of its rows. Of all sets of rows in the bin none has a better
score than a bound that follows from the bin's totals; only where this exceeds the best
score so far are the rows sorted by the ranks of their values and tried one by one. The
result is the best of all thresholds, as by sorting the node's rows, for about the price
of a histogram.

The bounds. With the weight W and the totals T of the node, what goes left has the
weight w and the sums s, and ``d = s - w T / W``. The squared error decreases by
``W / (w (W - w))`` times the sum of ``d**2`` over outputs; so does the Gini impurity,
with classes for outputs. Within a bin d is at most what it is before the bin and all
deviations above the mean in it, and at least what it is with all those below;
``w (W - w)`` is smallest at one end of the bin. Entropy: class by class the score is
convex in what goes left, so it is largest with all or none of the class, but for a term
in w that is bounded by its tangent. For the Poisson deviance there is no bound: all
rows are sorted.
"""

cimport cython
from libc.math cimport INFINITY, fabs, log2
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from sklearn_bandit._core.memory cimport allocate, times
from sklearn_bandit._core.radix_sort cimport sort_upper_half
from sklearn_bandit.tree._common cimport (
    MISSING_BIN,
    N_SLOTS,
    bins_of,
    ranks_of,
    sample_of,
)
from sklearn_bandit.tree._criteria.histograms cimport is_allowed
from sklearn_bandit.tree._criteria.scores cimport (
    TIE,
    entropy_score,
    gini_score,
    mean_score,
    poisson_score,
    xlogx,
)
from sklearn_bandit.tree._data.value_ranks cimport holds_several

cdef enum:
    # With fewer rows the logarithms of the bounds take longer than to sort.
    BOUNDED_ROWS = 2048

# What rounding may take from a bound, relatively.
cdef double BOUND_ROUNDING = 1e-9


@cython.final
cdef class RankSearch:
    """Find splits between any two values.

    Parameters
    ----------
    ranks : ValueRanks
        Ranks of the values in all samples.
    criterion : Criterion
        What to predict.
    impurity : str
        The impurity, by scikit-learn's name.
    n_rows : int
        Rows of the largest node.
    """

    def __init__(self, ValueRanks ranks, Criterion criterion, impurity, n_rows):
        self.ranks = ranks
        self.criterion = criterion
        self.impurity = {
            "gini": GINI,
            "entropy": ENTROPY,
            "log_loss": ENTROPY,
            "poisson": POISSON,
            "absolute_error": ABSOLUTE_ERROR,
        }.get(impurity, SQUARED_ERROR)
        if self.impurity == ABSOLUTE_ERROR:
            return
        self.n_outputs = criterion.n_outputs
        self.n_cells = criterion.n_channels
        if self.impurity in (SQUARED_ERROR, POISSON):
            self.n_cells = 1 + self.n_outputs
        self.width = self.n_cells
        if self.impurity == SQUARED_ERROR:
            self.width += self.n_outputs
        self.cells = <double*> allocate(times(N_SLOTS, self.width), sizeof(double))
        self.before = <double*> allocate(times(N_SLOTS, self.width), sizeof(double))
        self.sums = <double*> allocate(self.n_cells, sizeof(double))
        self.keys = <uint32_t*> allocate(n_rows, sizeof(uint32_t))
        self.spare = <uint32_t*> allocate(n_rows, sizeof(uint32_t))
        if (
            self.cells == NULL or self.before == NULL or self.sums == NULL
            or self.keys == NULL or self.spare == NULL
        ):
            raise MemoryError

    def __dealloc__(self):
        free(self.cells)
        free(self.before)
        free(self.sums)
        free(self.keys)
        free(self.spare)

    cdef bint search(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, int32_t feature,
        const double* totals, const Limits* limits, int8_t constraint, Split* best,
    ) noexcept nogil:
        """Replace `best` if the feature has a better split; whether it varies."""
        cdef bint by_rank = ranks_of(block, feature) != NULL, varies
        cdef RankTask task
        cdef const int32_t* last
        cdef int missing_left, n_sides, i
        cdef int32_t bin
        cdef Py_ssize_t n_keys = 0

        task.feature = feature
        task.totals = totals
        task.limits = limits
        task.constraint = constraint
        self.fill(block, ids, n, feature, totals)
        self.sum_bins()
        n_sides = 2 if self.sizes[MISSING_BIN] and self.n_occupied else 1
        varies = self.n_occupied + (n_sides > 1) > 1
        for missing_left in range(n_sides):
            self.try_bins(&task, by_rank, missing_left, best)
        if not by_rank:
            return varies
        last = &self.ranks.last[self.ranks.columns[feature], 0]
        for i in range(self.n_occupied):
            bin = self.occupied[i]
            self.is_open[bin] = 0
            if self.sizes[bin] == 1 or not holds_several(last, bin):
                continue
            for missing_left in range(n_sides):
                # Whether it varies at all has to be seen in a bin that is alone.
                if (
                    not varies
                    or self.impurity == POISSON
                    or (self.impurity == ENTROPY and n < BOUNDED_ROWS)
                    or self.bound(bin, missing_left, totals) > best.score
                ):
                    self.is_open[bin] |= 1 << missing_left
            if self.is_open[bin]:
                n_keys += self.sizes[bin]
        if n_keys == 0:
            return varies
        n_keys = self.list_open(block, ids, n, feature)
        for missing_left in range(n_sides):
            self.try_ranks(block, ids, n_keys, &task, missing_left, best)
        return varies or self.keys[0] >> 16 != self.keys[n_keys - 1] >> 16

    # -- bins ----

    cdef void fill(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, int32_t feature,
        const double* totals,
    ) noexcept nogil:
        """Sum up what is in each bin."""
        cdef Py_ssize_t i, k, stride = 0, width = self.width, n_outputs = self.n_outputs
        cdef const uint8_t* bins = bins_of(block, feature, &stride)
        cdef const double* moments
        cdef double* cell
        cdef double deviation, weight, mean
        cdef uint8_t bin

        memset(self.cells, 0, N_SLOTS * width * sizeof(double))
        memset(self.sizes, 0, sizeof(self.sizes))
        self.weight = self.criterion.weight(totals)
        self.centre = self.criterion.score(totals)
        if block.moments == NULL:
            for i in range(n):
                bin = bins[<Py_ssize_t> ids[i] * stride]
                self.sizes[bin] += 1
                cell = self.cells + bin * width
                if block.counts != NULL:
                    weight = block.counts[ids[i]]
                else:
                    weight = block.weights[ids[i]]
                for k in range(n_outputs):
                    cell[block.labels[ids[i] * n_outputs + k]] += weight
            return
        if n_outputs == 1 and self.impurity == SQUARED_ERROR:
            mean = totals[1] / totals[0]
            for i in range(n):
                bin = bins[<Py_ssize_t> ids[i] * stride]
                self.sizes[bin] += 1
                cell = self.cells + 3 * bin
                moments = block.moments + 2 * <Py_ssize_t> ids[i]
                cell[0] += moments[0]
                cell[1] += moments[1]
                deviation = moments[1] - mean * moments[0]
                cell[2] += max(deviation, 0.0)
            return
        for i in range(n):
            bin = bins[<Py_ssize_t> ids[i] * stride]
            self.sizes[bin] += 1
            cell = self.cells + bin * width
            moments = block.moments + self.n_cells * <Py_ssize_t> ids[i]
            for k in range(self.n_cells):
                cell[k] += moments[k]
            if self.impurity == SQUARED_ERROR:
                for k in range(1, self.n_cells):
                    deviation = moments[k] - totals[k] / totals[0] * moments[0]
                    cell[n_outputs + k] += max(deviation, 0.0)

    cdef void sum_bins(self) noexcept nogil:
        """List the occupied bins, and sum up what is before each."""
        cdef Py_ssize_t k, n_cells = self.n_cells
        cdef double* sums = self.sums
        cdef uint32_t n_rows = 0
        cdef double before = 0.0
        cdef int bin

        memset(sums, 0, n_cells * sizeof(double))
        self.n_occupied = 0
        for bin in range(N_SLOTS):
            if self.sizes[bin] == 0:
                continue
            self.weights[bin] = self.weigh(self.cells + bin * self.width)
            if bin == MISSING_BIN:
                break
            self.occupied[self.n_occupied] = bin
            self.n_occupied += 1
            self.weights_before[bin] = before
            before += self.weights[bin]
            self.sizes_before[bin] = n_rows
            memcpy(self.before + bin * n_cells, sums, n_cells * sizeof(double))
            n_rows += self.sizes[bin]
            for k in range(n_cells):
                sums[k] += self.cells[bin * self.width + k]

    cdef inline double weigh(self, const double* sums) noexcept nogil:
        """Weight of what was summed up: every output has the same."""
        cdef double weight = 0.0
        cdef Py_ssize_t k

        if self.impurity == SQUARED_ERROR or self.impurity == POISSON:
            return sums[0]
        for k in range(self.n_cells):
            weight += sums[k]
        return weight / self.n_outputs

    cdef void try_bins(
        self, const RankTask* task, bint by_rank, bint missing_left, Split* best
    ) noexcept nogil:
        """Try the thresholds between bins."""
        cdef const double* totals = task.totals
        cdef Py_ssize_t k
        cdef const double* cell
        cdef Side side
        cdef int32_t bin, i, next

        if self.n_occupied == 0:
            return
        self.start(self.occupied[0], missing_left, totals, &side)
        for i in range(self.n_occupied):
            bin = self.occupied[i]
            next = MISSING_BIN
            if i + 1 < self.n_occupied:
                next = self.occupied[i + 1]
            elif missing_left or self.sizes[MISSING_BIN] == 0:
                # Missing values alone are tried on the right only.
                break
            cell = self.cells + bin * self.width
            for k in range(self.n_cells):
                side.sums[k] += cell[k]
            side.n_rows += self.sizes[bin]
            side.weight += self.weights[bin]
            self.measure(totals, &side)
            if self.take(task, &side, missing_left, best):
                best.rank = -1
                if by_rank:
                    best.rank = self.ranks.last[self.ranks.columns[task.feature], bin]
                best.bin = bin
                best.next_bin = next

    # -- what goes left ----

    cdef void start(
        self, int32_t bin, bint missing_left, const double* totals, Side* side
    ) noexcept nogil:
        """What is before a bin; `measure` is still to come for classes."""
        cdef Py_ssize_t k

        side.sums = self.sums
        side.n_rows = self.sizes_before[bin]
        side.weight = self.weights_before[bin]
        memcpy(
            side.sums, self.before + bin * self.n_cells, self.n_cells * sizeof(double)
        )
        if missing_left:
            side.n_rows += self.sizes[MISSING_BIN]
            side.weight += self.weights[MISSING_BIN]
            for k in range(self.n_cells):
                side.sums[k] += self.cells[MISSING_BIN * self.width + k]

    cdef void measure(self, const double* totals, Side* side) noexcept nogil:
        """Set, of classes, what the score is made of."""
        cdef Py_ssize_t k
        cdef double right

        side.left = 0.0
        side.right = 0.0
        if self.impurity == SQUARED_ERROR or self.impurity == POISSON:
            return
        for k in range(self.n_cells):
            right = max(totals[k] - side.sums[k], 0.0)
            if self.impurity == GINI:
                side.left += side.sums[k] * side.sums[k]
                side.right += right * right
            else:
                side.left += xlogx(side.sums[k])
                side.right += xlogx(right)

    cdef void add(
        self, const Block* block, uint32_t id, const double* totals, Side* side
    ) noexcept nogil:
        """Move a row to the left."""
        cdef Py_ssize_t k, label
        cdef const double* moments
        cdef double weight, left, right

        side.n_rows += 1
        if block.moments != NULL:
            moments = block.moments + self.n_cells * <Py_ssize_t> id
            for k in range(self.n_cells):
                side.sums[k] += moments[k]
            side.weight = side.sums[0]
            return
        weight = block.counts[id] if block.counts != NULL else block.weights[id]
        side.weight += weight
        for k in range(self.n_outputs):
            label = block.labels[id * self.n_outputs + k]
            left = side.sums[label]
            right = totals[label] - left
            side.sums[label] = left + weight
            if self.impurity == GINI:
                side.left += weight * (2.0 * left + weight)
                side.right -= weight * (2.0 * right - weight)
            else:
                side.left += xlogx(left + weight) - xlogx(left)
                side.right += xlogx(max(right - weight, 0.0)) - xlogx(right)

    cdef double score(self, const double* totals, const Side* side) noexcept nogil:
        """Score of a split, as `Criterion.score` has it."""
        cdef double score = 0.0, right_weight = self.weight - side.weight
        cdef Py_ssize_t k

        if self.impurity == GINI:
            return gini_score(side.left, side.right, side.weight, right_weight)
        if self.impurity == ENTROPY:
            return entropy_score(
                side.left, side.right, side.weight, right_weight, self.n_outputs
            )
        if self.impurity == POISSON:
            return poisson_score(self.n_cells, side.sums, totals)
        for k in range(1, self.n_cells):
            score += mean_score(
                side.sums[k], totals[k] - side.sums[k], side.weight, right_weight
            )
        return score

    cdef inline bint take(
        self, const RankTask* task, const Side* side, bint missing_left, Split* best
    ) noexcept nogil:
        """Take over a better split that is allowed, but for its bins."""
        cdef const double* totals = task.totals
        cdef double score = self.score(totals, side), right = self.weight - side.weight
        cdef double value, right_value
        cdef int first = 1 if self.impurity >= SQUARED_ERROR else 0

        if not score - TIE * fabs(score) > best.score or not right > 0.0:
            return False
        value = side.sums[first] / side.weight
        right_value = (totals[first] - side.sums[first]) / right
        if not is_allowed(
            task.limits, task.constraint, side.weight, right, side.n_rows, value,
            right_value,
        ):
            return False
        best.score = score
        best.feature = task.feature
        best.missing_left = missing_left
        best.has_missing = self.sizes[MISSING_BIN] > 0
        memcpy(best.left, side.sums, self.n_cells * sizeof(double))
        return True

    # -- ranks ----

    cdef double bound(
        self, int32_t bin, bint missing_left, const double* totals
    ) noexcept nogil:
        """No threshold within a bin has a larger score."""
        cdef const double* cell = self.cells + bin * self.width
        cdef const double* sums = self.before + bin * self.n_cells
        cdef double start = self.weights_before[bin], weight = self.weights[bin]
        cdef double end, mean, above, below, bound = 0.0, slope, products
        cdef Py_ssize_t k, first
        cdef Side side

        if missing_left:
            self.start(bin, True, totals, &side)
            sums = side.sums
            start = side.weight
        end = start + weight
        products = min(start * (self.weight - start), end * (self.weight - end))
        if not products > 0.0:
            return INFINITY
        if self.impurity == ENTROPY:
            # The tangent, at the beginning of the bin, of the term in the weight.
            slope = log2(start / (self.weight - start))
            for k in range(self.n_cells):
                end = sums[k] + cell[k]
                bound += max(
                    xlogx(sums[k]) + xlogx(max(totals[k] - sums[k], 0.0)),
                    xlogx(end) + xlogx(max(totals[k] - end, 0.0)) - slope * cell[k],
                )
            bound -= self.n_outputs * (xlogx(start) + xlogx(self.weight - start))
            return bound + BOUND_ROUNDING * fabs(bound)
        first = 1 if self.impurity == SQUARED_ERROR else 0
        for k in range(first, self.n_cells):
            mean = totals[k] / self.weight
            above = sums[k] - mean * start
            if first:
                below = above + cell[k] - mean * weight - cell[self.n_outputs + k]
                above += cell[self.n_outputs + k]
            else:
                below = above - mean * (weight - cell[k])
                above += (1.0 - mean) * cell[k]
            bound += max(above * above, below * below)
        bound = self.centre + bound * (self.weight / products)
        return bound + BOUND_ROUNDING * fabs(bound)

    cdef Py_ssize_t list_open(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, int32_t feature
    ) noexcept nogil:
        """List the rows of all open bins in the order of their ranks."""
        cdef const uint16_t* ranks = ranks_of(block, feature)
        cdef Py_ssize_t i, n_keys = 0, stride = 0
        cdef const uint8_t* bins = bins_of(block, feature, &stride)
        cdef uint32_t* sorted_keys

        self.is_open[MISSING_BIN] = 0
        for i in range(n):
            if self.is_open[bins[<Py_ssize_t> ids[i] * stride]]:
                self.keys[n_keys] = (
                    <uint32_t> ranks[sample_of(block, ids[i])] << 16 | <uint32_t> i
                )
                n_keys += 1
        sorted_keys = sort_upper_half(self.keys, self.spare, n_keys)
        if sorted_keys != self.keys:
            self.spare = self.keys
            self.keys = sorted_keys
        return n_keys

    cdef void try_ranks(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n_keys,
        const RankTask* task, bint missing_left, Split* best,
    ) noexcept nogil:
        """Try the thresholds within open bins."""
        cdef const double* totals = task.totals
        cdef int32_t feature = task.feature
        cdef const int32_t* last = &self.ranks.last[self.ranks.columns[feature], 0]
        cdef Py_ssize_t i = 0, stride = 0
        cdef const uint8_t* bins = bins_of(block, feature, &stride)
        cdef uint32_t rank, next, end
        cdef int32_t bin
        cdef Side side

        while i < n_keys:
            bin = bins[<Py_ssize_t> ids[self.keys[i] & 0xFFFF] * stride]
            end = <uint32_t> last[bin]
            if not (self.is_open[bin] >> missing_left) & 1:
                while i < n_keys and self.keys[i] >> 16 <= end:
                    i += 1
                continue
            self.start(bin, missing_left, totals, &side)
            self.measure(totals, &side)
            rank = self.keys[i] >> 16
            while True:
                self.add(block, ids[self.keys[i] & 0xFFFF], totals, &side)
                i += 1
                if i == n_keys:
                    break
                next = self.keys[i] >> 16
                if next > end:
                    break
                if next != rank and self.take(task, &side, missing_left, best):
                    best.rank = <int32_t> rank
                    best.bin = bin
                    best.next_bin = bin
                rank = next
