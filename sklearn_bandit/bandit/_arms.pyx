"""Arms: moments of paired differences, and elimination of what cannot be best.

An arm falls when its lower bound is above the k-th smallest upper bound, all bounds
relative to the same pivot: then k arms are better than it, as surely as the radii hold.
Pruning against the *estimated* k-th best would be unsound: that arm's own error is not
in the bound. The pivot is kept by identity, never by comparing its bounds, which
rounding could turn against it.
"""

import numpy as np

from libc.math cimport INFINITY

from ._radii cimport (
    Quantiles,
    bernstein_radius,
    effective_size,
    hoeffding_radius,
    normal_radius,
    start_quantiles,
    tabled_paired_radius,
)


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
    Py_ssize_t n_alive,
    Py_ssize_t k,
    Py_ssize_t* pivot,
    Py_ssize_t* kept,
    double* scratch,
) noexcept nogil:
    """Drop the arms that cannot be among the best k; return how many are left.

    At least k survive: the k arms with the smallest upper bounds have lower bounds
    below the k-th of them.
    """
    cdef Py_ssize_t i, n_left = 0, old_pivot = pivot[0]
    cdef double bar = INFINITY

    if n_alive > k:
        for i in range(n_alive):
            scratch[i] = mean[i] + radius[i]
        bar = kth_smallest(scratch, n_alive, k)

    for i in range(n_alive):
        if i == old_pivot:
            pivot[0] = n_left
        elif mean[i] - radius[i] > bar:
            continue
        mean[n_left] = mean[i]
        radius[n_left] = radius[i]
        ids[n_left] = ids[i]
        if kept != NULL:
            kept[n_left] = i
        n_left += 1
    return n_left


cdef void add_moments(
    const double* rewards,
    const double* baseline,
    Py_ssize_t n_batch,
    double shift,
    double* sums,
) noexcept nogil:
    """Add one arm's batch to the sums of the powers of its (paired) rewards."""
    cdef Py_ssize_t j
    cdef double d, square, sum_1 = 0.0, sum_2 = 0.0, sum_4 = 0.0

    for j in range(n_batch):
        d = rewards[j] - shift
        if baseline != NULL:
            d -= baseline[j]
        square = d * d
        sum_1 += d
        sum_2 += square
        sum_4 += square * square
    sums[0] += sum_1
    sums[1] += sum_2
    sums[2] += sum_4


cdef class Arms:
    """The arms of one search, and what its samples say of them.

    All survivors see the same references. With paired radii the arms are compared with
    the pivot, the k-th best so far, by the differences of their rewards; when the pivot
    changes the differences to the new one are summed anew over the batches kept, so
    that two baselines never mix.

    Parameters
    ----------
    n_arms : int
        Number of arms.
    paired : bool
        Compare differences to a pivot rather than marginal means.
    """

    def __cinit__(self, Py_ssize_t n_arms, bint paired):
        self.n_arms = n_arms
        self.n_alive = n_arms
        self.n_used = 0
        self._ids = np.arange(n_arms, dtype=np.intp)
        self._kept = np.empty(n_arms, dtype=np.intp)
        self._pivot = -1
        self._total = np.zeros(n_arms)
        self._mean = np.zeros(n_arms)
        self._radius = np.full(n_arms, np.inf)
        self._shift = np.zeros(n_arms)
        self._moments = np.zeros((n_arms, 3))
        self._scratch = np.empty(n_arms)
        self._paired = paired
        self._batches = []

    @property
    def ids(self):
        """Survivors, in increasing order."""
        return np.asarray(self._ids[: self.n_alive]).copy()

    @property
    def means(self):
        """Mean reward of each survivor on the references used."""
        return np.asarray(self._total[: self.n_alive]) / self.n_used + self._origin

    @property
    def gaps(self):
        """Mean difference of each survivor to the pivot, or its mean if not paired."""
        return np.asarray(self._mean[: self.n_alive]).copy()

    @property
    def radii(self):
        """Confidence radius of each survivor's gap."""
        return np.asarray(self._radius[: self.n_alive]).copy()

    def add(self, const double[:, ::1] rewards, Py_ssize_t k):
        """Take a batch of rewards, one row a survivor, and choose the pivot.

        Parameters
        ----------
        rewards : ndarray of shape (n_alive, n_batch)
            Rewards of the survivors on the same new references.
        k : int
            The pivot is the k-th best arm so far.
        """
        cdef Py_ssize_t pivot, i, j
        cdef double total

        if rewards.shape[0] != self.n_alive:
            raise ValueError(
                f"Expected the rewards of {self.n_alive} arms, got {rewards.shape[0]}."
            )
        if self.n_used == 0:
            self._origin = rewards[0, 0]
        with nogil:
            for i in range(self.n_alive):
                total = 0.0
                for j in range(rewards.shape[1]):
                    total += rewards[i, j] - self._origin
                self._total[i] += total
            pivot = self._kth_best(k)
        self.n_used += rewards.shape[1]

        if self._paired:
            self._batches.append(np.asarray(rewards))
        if self._pivot >= 0 and (not self._paired or pivot == self._pivot):
            self._pivot = pivot
            self._add(rewards)
            return
        self._pivot = pivot
        batches = self._batches if self._paired else [rewards]
        self._start_moments(batches[0])
        for batch in batches:
            self._add(batch)

    def update_radii(
        self,
        str radius,
        double delta,
        double n_total,
        double sigma,
        double reward_range,
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
        sigma, reward_range : float
            Scale of a reward ("hoeffding"), length of its interval ("bernstein").
        """
        cdef Py_ssize_t i
        cdef double n = self.n_used, centre, variance, size
        cdef double[:, ::1] moments = self._moments
        cdef Quantiles quantiles

        start_quantiles(&quantiles, delta)
        for i in range(self.n_alive):
            centre = moments[i, 0] / n
            self._mean[i] = self._shift[i] + centre
            variance = max(moments[i, 1] - n * centre * centre, 0.0) / max(n - 1.0, 1.0)
            if radius == "hoeffding":
                self._radius[i] = hoeffding_radius(sigma, n, delta, n_total)
            elif radius == "bernstein":
                self._radius[i] = bernstein_radius(
                    variance, reward_range, n, delta, n_total
                )
            elif radius == "normal":
                self._radius[i] = normal_radius(variance, n, delta, n_total)
            elif i == self._pivot:
                self._mean[i] = 0.0
                self._radius[i] = 0.0
            else:
                size = effective_size(moments[i, 1], moments[i, 2])
                self._radius[i] = tabled_paired_radius(
                    &quantiles, variance, n, size, n_total
                )

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
        cdef Py_ssize_t i, old, n_before = self.n_alive

        self.n_alive = eliminate(
            &self._mean[0], &self._radius[0], &self._ids[0], n_before, k, &self._pivot,
            &self._kept[0], &self._scratch[0],
        )
        for i in range(self.n_alive):
            old = self._kept[i]
            self._total[i] = self._total[old]
            self._shift[i] = self._shift[old]
            self._moments[i] = self._moments[old]
        kept = np.asarray(self._kept[: self.n_alive]).copy()
        if self.n_alive < n_before:
            self._batches = [batch[kept] for batch in self._batches]
        return kept

    cdef void _add(self, const double[:, ::1] rewards) noexcept nogil:
        """Add a batch to the moments, relative to the present pivot."""
        cdef Py_ssize_t i
        cdef const double* baseline = &rewards[self._pivot, 0] if self._paired else NULL

        for i in range(self.n_alive):
            add_moments(
                &rewards[i, 0], baseline, rewards.shape[1], self._shift[i],
                &self._moments[i, 0],
            )

    cdef void _start_moments(self, const double[:, ::1] rewards) noexcept nogil:
        """Clear the moments, to be taken about the first batch's mean."""
        cdef Py_ssize_t i, j
        cdef double total

        for i in range(self.n_alive):
            total = 0.0
            for j in range(rewards.shape[1]):
                total += rewards[i, j]
                if self._paired:
                    total -= rewards[self._pivot, j]
            self._shift[i] = total / rewards.shape[1]
            self._moments[i, 0] = 0.0
            self._moments[i, 1] = 0.0
            self._moments[i, 2] = 0.0

    cdef Py_ssize_t _kth_best(self, Py_ssize_t k) noexcept nogil:
        """Position of the k-th smallest total; the present pivot wins a tie."""
        cdef Py_ssize_t i
        cdef double bar

        if self.n_alive < k:
            k = self.n_alive
        for i in range(self.n_alive):
            self._scratch[i] = self._total[i]
        bar = kth_smallest(&self._scratch[0], self.n_alive, k)
        if self._pivot >= 0 and self._total[self._pivot] == bar:
            return self._pivot
        for i in range(self.n_alive):
            if self._total[i] == bar:
                return i
        return 0  # not reached: the bar is one of the totals
