"""Arms: moments of paired differences, and elimination of what cannot be best.

An arm falls when its lower bound is above the k-th smallest upper bound, all bounds
relative to the same leader: then k arms are better than it, as surely as the radii
hold. Pruning against the *estimated* k-th best would be unsound: that arm's own error
is not in the bound. The leader is kept by identity, never by comparing its bounds,
which rounding could turn against it.
"""

import numpy as np

from libc.math cimport INFINITY, fabs, isinf, sqrt

from ._moments cimport add_moments
from ._quantiles cimport Quantiles, start_quantiles
from ._radii cimport (
    bernstein_radius,
    effective_size,
    hoeffding_radius,
    needed_samples,
    normal_radius,
    tabled_paired_radius,
)


# An effective size is stable if a batch leaves at least this share of it, per
# reference. Of 20,000 samples of 128 references, .04% of normal differences, 11% of
# exponential ones and 16% of Student's with three degrees of freedom are not.
cdef double STABLE_SIZE = 0.5

# Up to this k values are kept in order during one scan.
cdef Py_ssize_t SCAN_LIMIT = 16


cdef double kth_smallest(double* values, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
    """The k-th smallest of n values (k from 1); reorders them.

    A few are kept in order while scanning, which hardly ever moves one; more are found
    by quickselect.
    """
    cdef Py_ssize_t low = 0, high = n - 1, i, j
    cdef double middle, swap

    if k <= SCAN_LIMIT:
        for i in range(1, n):
            swap = values[i]
            j = min(i, k)
            if j == k and not swap < values[k - 1]:
                continue
            if j == k:
                j -= 1
                values[i] = values[j]
            while j > 0 and swap < values[j - 1]:
                values[j] = values[j - 1]
                j -= 1
            values[j] = swap
        return values[k - 1]
    k -= 1
    while low < high:
        middle = values[(low + high) // 2]
        i = low
        j = high
        while i <= j:
            while values[i] < middle:
                i += 1
            while values[j] > middle:
                j -= 1
            if i <= j:
                swap = values[i]
                values[i] = values[j]
                values[j] = swap
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


cdef Py_ssize_t eliminate(
    double* mean,
    double* radius,
    Py_ssize_t* ids,
    Py_ssize_t n_survivors,
    Py_ssize_t k,
    Py_ssize_t* leader,
    Py_ssize_t* kept,
    double* scratch,
) noexcept nogil:
    """Drop the arms that cannot be among the best k; return how many are left.

    At least k survive: the k arms with the smallest upper bounds have lower bounds
    below the k-th of them.
    """
    cdef Py_ssize_t i, n_left = 0, old_leader = leader[0]
    cdef double threshold = INFINITY

    if n_survivors > k:
        for i in range(n_survivors):
            scratch[i] = mean[i] + radius[i]
        threshold = kth_smallest(scratch, n_survivors, k)

    for i in range(n_survivors):
        if i == old_leader:
            leader[0] = n_left
        elif mean[i] - radius[i] > threshold:
            continue
        mean[n_left] = mean[i]
        radius[n_left] = radius[i]
        ids[n_left] = ids[i]
        if kept != NULL:
            kept[n_left] = i
        n_left += 1
    return n_left


cdef class Arms:
    """The arms of one search, and what its samples say of them.

    All survivors see the same references. With paired radii the arms are compared with
    the leader, the k-th best so far, by the differences of their costs; when the leader
    changes the differences to the new one are summed anew over the batches kept, so
    that differences to two leaders never mix.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    paired : bool
        Compare differences to a leader rather than marginal means.
    """

    def __cinit__(self, Py_ssize_t n_arms, bint paired):
        self.n_arms = n_arms
        self.n_survivors = n_arms
        self.n_used = 0
        self._ids = np.arange(n_arms, dtype=np.intp)
        self._kept = np.empty(n_arms, dtype=np.intp)
        self._leader = -1
        self._total = np.zeros(n_arms)
        self._mean = np.zeros(n_arms)
        self._radius = np.full(n_arms, np.inf)
        self._shift = np.zeros(n_arms)
        self._moments = np.zeros((n_arms, 3))
        self._size_before = np.zeros(n_arms)
        self._n_before = 0.0
        self._n_summed = 0.0
        self._scratch = np.empty(n_arms)
        self._paired = paired
        self._batches = []

    @property
    def ids(self):
        """Survivors, in increasing order."""
        return np.asarray(self._ids[: self.n_survivors]).copy()

    @property
    def means(self):
        """Mean cost of each survivor on the references used."""
        return np.asarray(self._total[: self.n_survivors]) / self.n_used + self._origin

    @property
    def gaps(self):
        """Mean difference of each survivor to the leader, or its mean if not paired."""
        return np.asarray(self._mean[: self.n_survivors]).copy()

    @property
    def radii(self):
        """Confidence radius of each survivor's gap."""
        return np.asarray(self._radius[: self.n_survivors]).copy()

    def add(self, const double[:, ::1] costs, Py_ssize_t k):
        """Take a batch of costs, one row a survivor, and choose the leader.

        Parameters
        ----------
        costs : ndarray of shape (n_survivors, n_batch)
            Costs of the survivors on the same new references.
        k : int
            The leader is the k-th best arm so far.
        """
        cdef Py_ssize_t leader, first, i, j
        cdef double total

        if costs.shape[0] != self.n_survivors:
            raise ValueError(
                f"Expected the costs of {self.n_survivors} arms, got {costs.shape[0]}."
            )
        if self.n_used == 0:
            self._origin = costs[0, 0]
        with nogil:
            for i in range(self.n_survivors):
                total = 0.0
                for j in range(costs.shape[1]):
                    total += costs[i, j] - self._origin
                self._total[i] += total
            leader = self._kth_best(k)
        self.n_used += costs.shape[1]

        if self._paired:
            self._batches.append(np.asarray(costs))
        if self._leader >= 0 and (not self._paired or leader == self._leader):
            self._leader = leader
            self._add(costs, 0, costs.shape[1])
            return
        self._leader = leader
        batches = self._batches if self._paired else [costs]
        self._start_moments(batches[0])
        for i, batch in enumerate(batches):
            first = 0
            if i == 0:
                # By halves, to tell whether its effective size is stable.
                first = batch.shape[1] // 2
                self._add(batch, 0, first)
            self._add(batch, first, batch.shape[1])

    def update_radii(
        self,
        str radius,
        double delta,
        double n_total,
        const double[::1] sigma=None,
        double cost_range=0.0,
    ):
        """Compute the gap and the radius of every survivor.

        Parameters
        ----------
        radius : {"paired", "normal", "bernstein", "hoeffding"}
            Which radius.
        delta : float
            Error probability for one arm in this round.
        n_total : float
            References that exist, or infinity.
        sigma : ndarray of shape (n_arms,), default=None
            Scale of each arm's costs, for "hoeffding".
        cost_range : float, default=0.0
            Length of an interval that holds every cost, for "bernstein"; for "paired",
            0 if it is not known.
        """
        cdef Py_ssize_t i
        cdef double n = self.n_used, centre, variance
        cdef double[:, ::1] moments = self._moments
        cdef Quantiles quantiles

        start_quantiles(&quantiles, delta)
        for i in range(self.n_survivors):
            centre = moments[i, 0] / n
            self._mean[i] = self._shift[i] + centre
            variance = max(moments[i, 1] - n * centre * centre, 0.0) / max(n - 1.0, 1.0)
            if radius == "hoeffding":
                self._radius[i] = hoeffding_radius(
                    sigma[self._ids[i]], n, delta, n_total
                )
            elif radius == "bernstein":
                self._radius[i] = bernstein_radius(
                    variance, cost_range, n, delta, n_total
                )
            elif radius == "normal":
                self._radius[i] = normal_radius(variance, n, delta, n_total)
            elif i == self._leader:
                self._mean[i] = 0.0
                self._radius[i] = 0.0
            elif cost_range > 0.0:
                # The range of differences. A reach that follows their mean would be
                # shorter, but bets must not depend on what they are made on.
                self._radius[i] = bernstein_radius(
                    variance, 2.0 * cost_range, n, delta, n_total
                )
            else:
                self._radius[i] = tabled_paired_radius(
                    &quantiles, variance, n, self._stable_size(i), n_total
                )

    def predicted_pulls(self, Py_ssize_t k, double tol, double n_total):
        """Pulls that it takes to tell the survivors from the k-th best.

        A radius shrinks as the root of the number of references, and to nothing when
        all have been used.

        Parameters
        ----------
        k : int
            Number of arms wanted.
        tol : float
            What is within this of the k-th best need not be told from it.
        n_total : float
            References that exist.

        Returns
        -------
        float
            Pulls of all survivors from the first reference on.
        """
        cdef Py_ssize_t i
        cdef double threshold, unseen = 1.0 / self.n_used - 1.0 / n_total, total = 0.0

        if unseen <= 0.0:
            return 1.0 * self.n_survivors * n_total
        for i in range(self.n_survivors):
            self._scratch[i] = self._mean[i]
        threshold = kth_smallest(
            &self._scratch[0], self.n_survivors, min(k, self.n_survivors)
        )
        for i in range(self.n_survivors):
            if isinf(self._radius[i]):
                total += n_total
            elif self._radius[i] > 0.0:
                total += needed_samples(
                    fabs(self._mean[i] - threshold) + tol,
                    self._radius[i] / sqrt(unseen), n_total,
                )
            else:
                total += self.n_used
        return total

    def eliminate(self, Py_ssize_t k):
        """Drop the arms that cannot be among the best k.

        Parameters
        ----------
        k : int
            Number of arms wanted.

        Returns
        -------
        kept : ndarray
            Positions of the survivors among those before.
        """
        cdef Py_ssize_t n_before = self.n_survivors

        self.n_survivors = eliminate(
            &self._mean[0], &self._radius[0], &self._ids[0], n_before, k, &self._leader,
            &self._kept[0], &self._scratch[0],
        )
        return self._compact(n_before)

    def keep(self, const Py_ssize_t[::1] ids):
        """Drop all arms but these.

        Parameters
        ----------
        ids : ndarray
            Survivors to keep, in increasing order.
        """
        cdef Py_ssize_t i, old, n_before = self.n_survivors, leader = -1
        cdef const Py_ssize_t[::1] places = np.searchsorted(self.ids, ids)

        for i in range(len(places)):
            old = places[i]
            if old == self._leader:
                leader = i
            self._mean[i] = self._mean[old]
            self._radius[i] = self._radius[old]
            self._ids[i] = self._ids[old]
            self._kept[i] = old
        self._leader = leader
        self.n_survivors = len(places)
        self._compact(n_before)

    def keep_best(self, Py_ssize_t n):
        """Drop all arms but those with the n smallest means so far; ties by index.

        Parameters
        ----------
        n : int
            Number of arms to keep.
        """
        ids = self.ids
        order = np.lexsort((ids, np.asarray(self._total[: self.n_survivors])))
        self.keep(np.sort(ids[order[:n]]))

    cdef object _compact(self, Py_ssize_t n_before):
        """Move the survivors' entries together; return their old positions."""
        cdef Py_ssize_t i, old

        for i in range(self.n_survivors):
            old = self._kept[i]
            self._total[i] = self._total[old]
            self._shift[i] = self._shift[old]
            self._size_before[i] = self._size_before[old]
            self._moments[i] = self._moments[old]
        kept = np.asarray(self._kept[: self.n_survivors]).copy()
        if self.n_survivors < n_before:
            self._batches = [batch[kept] for batch in self._batches]
        return kept

    cdef void _add(
        self, const double[:, ::1] costs, Py_ssize_t first, Py_ssize_t last
    ) noexcept nogil:
        """Add columns of a batch to the moments, relative to the present leader."""
        cdef Py_ssize_t i
        cdef const double* leader_costs = NULL

        if first == last:
            return
        if self._paired:
            leader_costs = &costs[self._leader, first]
        self._n_before = self._n_summed
        self._n_summed += last - first
        for i in range(self.n_survivors):
            self._size_before[i] = effective_size(
                self._moments[i, 1], self._moments[i, 2]
            )
            add_moments(
                &costs[i, first], leader_costs, last - first, self._shift[i],
                &self._moments[i, 0],
            )

    cdef void _start_moments(self, const double[:, ::1] costs) noexcept nogil:
        """Clear the moments, to be taken about the first batch's mean."""
        cdef Py_ssize_t i, j
        cdef double total

        self._n_summed = 0.0
        for i in range(self.n_survivors):
            total = 0.0
            for j in range(costs.shape[1]):
                total += costs[i, j]
                if self._paired:
                    total -= costs[self._leader, j]
            self._shift[i] = total / costs.shape[1]
            self._moments[i, 0] = 0.0
            self._moments[i, 1] = 0.0
            self._moments[i, 2] = 0.0

    cdef double _stable_size(self, Py_ssize_t i) noexcept nogil:
        """Effective size of a survivor's differences; 0 if the last batch shrank it.

        Large differences that are new to the last batch say that there may be more of
        them than either batch has seen.
        """
        cdef double size = effective_size(self._moments[i, 1], self._moments[i, 2])

        if size * self._n_before < STABLE_SIZE * self._size_before[i] * self._n_summed:
            return 0.0
        return size

    cdef Py_ssize_t _kth_best(self, Py_ssize_t k) noexcept nogil:
        """Position of the k-th smallest total; the present leader wins a tie."""
        cdef Py_ssize_t i
        cdef double threshold

        if self.n_survivors < k:
            k = self.n_survivors
        for i in range(self.n_survivors):
            self._scratch[i] = self._total[i]
        threshold = kth_smallest(&self._scratch[0], self.n_survivors, k)
        if self._leader >= 0 and self._total[self._leader] == threshold:
            return self._leader
        for i in range(self.n_survivors):
            if self._total[i] == threshold:
                return i
        return 0  # not reached: the threshold is one of the totals
