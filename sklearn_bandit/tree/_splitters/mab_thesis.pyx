"""MABSplit by the rule of the thesis, for comparison with ``mab.pyx``.

One arm per feature *and* threshold (thesis, section 3.4 and appendix): a histogram of
the rows sampled so far gives each arm a plug-in estimate of the impurity of its
children, with a standard error by the delta method. An arm falls when its interval lies
above that of another. What is left when the sample is as large as the node is compared
on all rows.

The delta method's variance is that of the loss of a row under the split: with q the
class shares of the row's child, ``sum(q^2) - 2 q[y]`` for the Gini impurity,
``-log2(q[y])`` for entropy, ``(y - mean)^2`` for the squared error.
"""

import numpy as np

from libc.math cimport INFINITY, log2
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from sklearn_bandit._core.random cimport random_unit
from sklearn_bandit.bandit._radii cimport normal_radius, split_delta
from sklearn_bandit.tree._bin_sets cimport N_WORDS, add_bin
from sklearn_bandit.tree._common cimport N_SLOTS, Block, Limits, Split

from .exact cimport FOUND, NOTHING, OUT_OF_BUDGET, SAMPLED, Outcome, Splitter

cdef enum:
    # Power sums of a regression target: weight, y, y^2, y^3, y^4.
    N_POWERS = 5


cdef class ThesisSplitter(Splitter):
    """Best split of a node by the thesis's successive elimination.

    Parameters
    ----------
    settings : SplitSettings
        As for `Splitter`; there is one output.
    has_missing : ndarray of shape (n_features,), uint8
        Features with missing values; these go right.
    n_classes : int
        Number of classes, or 0 for regression.
    entropy : bool
        Entropy instead of the Gini impurity.
    delta : float
        Error probability of one search.
    batch_size : int
        Rows of each batch; nodes with fewer than two batches are searched exactly.
    """

    cdef const uint8_t[::1] has_missing
    cdef double delta
    cdef Py_ssize_t batch_size
    cdef Py_ssize_t n_classes
    cdef bint entropy
    cdef Py_ssize_t n_stats             # numbers in a cell
    cdef Py_ssize_t n_drawn             # features in the present search
    cdef int32_t[::1] drawn
    cdef Py_ssize_t[::1] slots          # of the features that still have arms
    cdef readonly double[:, :, ::1] cells   # feature drawn, bin, statistic
    cdef uint8_t[:, ::1] survivors          # arms: feature drawn, last bin on the left
    cdef double[:, ::1] mean
    cdef double[:, ::1] radius
    cdef double[::1] left
    cdef double[::1] total
    cdef double weight                  # of the sample, and of its squares
    cdef double squared_weight

    def __init__(
        self, settings, *, has_missing, n_classes, entropy, delta, batch_size
    ):
        Splitter.__init__(self, settings)
        n_slots = min(self.max_features, self.n_features)
        self.has_missing = has_missing
        self.n_classes = n_classes
        self.entropy = entropy
        self.delta = delta
        self.batch_size = batch_size
        self.n_stats = n_classes if n_classes else N_POWERS
        self.drawn = np.empty(n_slots, dtype=np.int32)
        self.slots = np.empty(n_slots, dtype=np.intp)
        self.cells = np.empty((n_slots, N_SLOTS, self.n_stats))
        self.survivors = np.empty((n_slots, N_SLOTS), dtype=np.uint8)
        self.mean = np.empty((n_slots, N_SLOTS))
        self.radius = np.empty((n_slots, N_SLOTS))
        self.left = np.empty(self.n_stats)
        self.total = np.empty(self.n_stats)

    cdef Outcome search(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits, Py_ssize_t* n_constant, Split* best,
    ) noexcept nogil:
        cdef Py_ssize_t n_used = 0, n_new, n_arms, n_survivors, n_round = 0
        cdef Py_ssize_t n_rounds = n // self.batch_size + 1

        if n < 2 * self.batch_size or limits.monotonic:
            return self.search_exactly(block, ids, n, totals, limits, n_constant, best)
        n_arms = self.start(n_constant[0])
        n_survivors = n_arms
        while n_used < n and n_survivors > 1:
            n_new = min(self.batch_size, n - n_used)
            if not self.can_pay(n_new * self.count_features()):
                if n_used == 0:
                    return OUT_OF_BUDGET
                return self.take_best(best)
            self.add_batch(block, ids, n, n_new)
            n_used += n_new
            n_round += 1
            n_survivors = self.eliminate(
                split_delta(self.delta, n_arms, n_round, n_rounds)
            )
        if n_survivors == 1:
            return self.take_best(best)
        return self.compare_exactly(block, ids, n, totals, limits, best)

    cdef Py_ssize_t start(self, Py_ssize_t n_constant) noexcept nogil:
        """Draw the features; all of their thresholds are arms."""
        cdef Py_ssize_t slot, n_survivors = 0
        cdef int bin

        self.n_drawn = min(self.max_features, self.n_features - n_constant)
        self.draw(n_constant, self.n_drawn)
        self.weight = 0.0
        self.squared_weight = 0.0
        for slot in range(self.n_drawn):
            self.drawn[slot] = self.features[n_constant + slot]
            memset(
                &self.cells[slot, 0, 0], 0, N_SLOTS * self.n_stats * sizeof(double)
            )
            memset(&self.survivors[slot, 0], 0, N_SLOTS)
            # A single arm is taken without a sample.
            memset(&self.mean[slot, 0], 0, N_SLOTS * sizeof(double))
            for bin in range(self.n_bins[self.drawn[slot]] - 1):
                self.survivors[slot, bin] = True
                n_survivors += 1
        return n_survivors

    cdef bint survives(self, Py_ssize_t slot) noexcept nogil:
        """Whether any threshold of a feature is still an arm."""
        cdef int bin

        for bin in range(self.n_bins[self.drawn[slot]] - 1):
            if self.survivors[slot, bin]:
                return True
        return False

    cdef Py_ssize_t count_features(self) noexcept nogil:
        """Count the features with arms, and list their slots."""
        cdef Py_ssize_t slot, n_features = 0

        for slot in range(self.n_drawn):
            if self.survives(slot):
                self.slots[n_features] = slot
                n_features += 1
        return n_features

    cdef void add_batch(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, Py_ssize_t n_new
    ) noexcept nogil:
        """Sample rows, one out of each of as many equal stretches, and insert them.

        Only into histograms of features with arms: these are what is paid for.
        """
        cdef double step = <double> n / n_new, weight, y
        cdef double* cell
        cdef const uint8_t* row
        cdef Py_ssize_t i, k, slot, place, n_features = self.count_features()
        cdef uint32_t id

        for i in range(n_new):
            place = <Py_ssize_t> ((i + random_unit(&self.random)) * step)
            id = ids[min(place, n - 1)]
            row = block.rows + <Py_ssize_t> id * block.stride
            if self.n_classes == 0:
                weight = block.moments[2 * <Py_ssize_t> id]
                y = block.moments[2 * <Py_ssize_t> id + 1] / weight
            else:
                weight = (
                    block.weights[id] if block.counts == NULL else block.counts[id]
                )
                y = 0.0
            self.weight += weight
            self.squared_weight += weight * weight
            for k in range(n_features):
                slot = self.slots[k]
                cell = &self.cells[slot, row[self.drawn[slot]], 0]
                if self.n_classes:
                    cell[block.labels[id]] += weight
                else:
                    cell[0] += weight
                    cell[1] += weight * y
                    cell[2] += weight * y * y
                    cell[3] += weight * y * y * y
                    cell[4] += weight * y * y * y * y

    cdef Py_ssize_t eliminate(self, double share) noexcept nogil:
        """Estimate every arm, drop the worse ones; returns how many are left."""
        cdef double size = self.weight * self.weight / self.squared_weight
        cdef double first, second, bound = INFINITY
        cdef Py_ssize_t slot, k, n_survivors = 0
        cdef int bin

        for slot in range(self.n_drawn):
            if not self.survives(slot):
                continue
            for k in range(self.n_stats):
                self.total[k] = 0.0
                self.left[k] = 0.0
                for bin in range(N_SLOTS):
                    self.total[k] += self.cells[slot, bin, k]
            for bin in range(self.n_bins[self.drawn[slot]] - 1):
                for k in range(self.n_stats):
                    self.left[k] += self.cells[slot, bin, k]
                if not self.survivors[slot, bin]:
                    continue
                first = 0.0
                second = 0.0
                self.add_side(&self.left[0], NULL, &first, &second)
                self.add_side(&self.total[0], &self.left[0], &first, &second)
                self.mean[slot, bin] = first
                self.radius[slot, bin] = normal_radius(
                    max(second - first * first, 0.0), size, share
                )
                bound = min(bound, first + self.radius[slot, bin])
        for slot in range(self.n_drawn):
            for bin in range(self.n_bins[self.drawn[slot]] - 1):
                if not self.survivors[slot, bin]:
                    continue
                if self.mean[slot, bin] - self.radius[slot, bin] > bound:
                    self.survivors[slot, bin] = False
                else:
                    n_survivors += 1
        return n_survivors

    cdef void add_side(
        self, const double* stats, const double* less, double* first, double* second
    ) noexcept nogil:
        """Add a child's part of the mean loss and of the mean squared loss.

        The child has the statistics `stats`, less those in `less` if given.
        """
        cdef double weight = 0.0, share, q, total, mean
        cdef double squares = 0.0, cubes = 0.0
        cdef double power[N_POWERS]
        cdef Py_ssize_t k

        for k in range(self.n_stats if self.n_classes else 1):
            weight += stats[k] - (less[k] if less != NULL else 0.0)
        if weight <= 0.0:
            return
        share = weight / self.weight
        if self.n_classes == 0:
            for k in range(N_POWERS):
                power[k] = (stats[k] - (less[k] if less != NULL else 0.0)) / weight
            mean = power[1]
            squares = power[2] - mean * mean
            cubes = (
                power[4] - 4.0 * mean * power[3] + 6.0 * mean * mean * power[2]
                - 3.0 * mean * mean * mean * mean
            )
            first[0] += share * squares
            second[0] += share * max(cubes, squares * squares)
            return
        for k in range(self.n_stats):
            total = stats[k] - (less[k] if less != NULL else 0.0)
            q = total / weight
            if self.entropy:
                if q > 0.0:
                    squares -= q * log2(q)
                    cubes += q * log2(q) * log2(q)
            else:
                squares += q * q
                cubes += q * q * q
        if self.entropy:
            first[0] += share * squares
            second[0] += share * cubes
        else:
            # Losses up to the constant 1 of the Gini impurity.
            first[0] -= share * squares
            second[0] += share * (4.0 * cubes - 3.0 * squares * squares)

    cdef Outcome take_best(self, Split* best) noexcept nogil:
        """Return the arm with the smallest estimate."""
        cdef Py_ssize_t slot
        cdef double mean = INFINITY
        cdef int bin

        best.feature = -1
        for slot in range(self.n_drawn):
            for bin in range(self.n_bins[self.drawn[slot]] - 1):
                if self.survivors[slot, bin] and self.mean[slot, bin] < mean:
                    mean = self.mean[slot, bin]
                    best.feature = self.drawn[slot]
                    best.bin = bin
        if best.feature < 0:
            return NOTHING
        best.score = -mean
        best.next_bin = best.bin + 1
        best.has_missing = self.has_missing[best.feature]
        best.missing_left = False
        self.n_sampled_nodes += 1
        return SAMPLED

    cdef Outcome compare_exactly(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits, Split* best,
    ) noexcept nogil:
        """Decide between the arms that are left on all rows."""
        cdef uint64_t allowed[N_WORDS]
        cdef Py_ssize_t slot
        cdef int bin

        if not self.can_pay(n * self.count_features()):
            return self.take_best(best)
        best.feature = -1
        best.score = -INFINITY
        for slot in range(self.n_drawn):
            if not self.survives(slot):
                continue
            memset(allowed, 0, sizeof(allowed))
            for bin in range(self.n_bins[self.drawn[slot]] - 1):
                if self.survivors[slot, bin]:
                    add_bin(allowed, bin)
            self.histograms.fill(block, ids, n, &self.drawn[slot], 1, 0, 0)
            self.scan_allowed(
                0, self.drawn[slot], 0, totals, limits, allowed, True, best
            )
        return NOTHING if best.feature < 0 else FOUND
