"""The atoms that a search has not dropped yet, and the memory for them."""

from libc.math cimport INFINITY, log, sqrt
from libc.stdlib cimport free

from sklearn_bandit._core.memory cimport allocate
from sklearn_bandit.bandit._arms cimport eliminate, kth_smallest
from sklearn_bandit.bandit._quantiles cimport start_quantiles


cdef Survivors* new_survivors(
    Py_ssize_t n_atoms, Py_ssize_t n_coordinates, Py_ssize_t n_components
) noexcept nogil:
    """Room for a search over `n_atoms`; NULL if there is no memory."""
    # An atom has five doubles, two integers, three floats. Components and coordinates
    # get as many, so that `allocate` checks the only product that can overflow.
    cdef Survivors* survivors = <Survivors*> allocate(1, sizeof(Survivors))
    cdef double* doubles = <double*> allocate(
        n_atoms + n_components, 5 * sizeof(double)
    )
    cdef Py_ssize_t* integers = <Py_ssize_t*> allocate(n_atoms, 2 * sizeof(Py_ssize_t))
    cdef float* floats = <float*> allocate(
        n_atoms + n_coordinates, 3 * sizeof(float)
    )

    if survivors == NULL or doubles == NULL or integers == NULL or floats == NULL:
        free(survivors)
        free(doubles)
        free(integers)
        free(floats)
        return NULL
    survivors.n_left = n_atoms
    survivors.leader = -1
    survivors.n_multiplied = 0
    survivors.mean = doubles
    survivors.radius = doubles + n_atoms
    survivors.scratch = doubles + 2 * n_atoms
    survivors.known = doubles + 3 * n_atoms
    survivors.variance = doubles + 4 * n_atoms
    survivors.coefs = doubles + 5 * n_atoms
    survivors.slots = integers
    survivors.kept = integers + n_atoms
    survivors.total = floats
    survivors.square = floats + n_atoms
    survivors.energy = floats + 2 * n_atoms
    survivors.residual = floats + 3 * n_atoms
    start_quantiles(&survivors.quantiles, 0.0)
    return survivors


cdef void free_survivors(Survivors* survivors) noexcept nogil:
    if survivors != NULL:
        free(survivors.mean)
        free(survivors.slots)
        free(survivors.total)
        free(survivors)


cdef class SurvivorsPool:
    """Memory for single queries that is kept for the next ones.

    Several threads may use a pool at the same time.
    """

    def __cinit__(self):
        self.n_spare = 0

    def __dealloc__(self):
        cdef int i

        for i in range(self.n_spare):
            free_survivors(self.spare[i])

    cdef Survivors* take(
        self, Py_ssize_t n_atoms, Py_ssize_t n_coordinates, Py_ssize_t n_components
    ) except NULL:
        """Memory that nothing else uses; the sizes must be the same in all calls.

        The quantiles of the last search are still in it. The caller gives it back.
        """
        cdef Survivors* survivors = NULL

        with self.lock:
            if self.n_spare > 0:
                self.n_spare -= 1
                survivors = self.spare[self.n_spare]
        if survivors == NULL:
            survivors = new_survivors(n_atoms, n_coordinates, n_components)
        if survivors == NULL:
            raise MemoryError("No memory to search.")
        return survivors

    cdef void give_back(self, Survivors* survivors) noexcept:
        """Keep the memory for another query, if there is room for it."""
        with self.lock:
            if self.n_spare < MAX_SPARE:
                self.spare[self.n_spare] = survivors
                self.n_spare += 1
                survivors = NULL
        free_survivors(survivors)


cdef void set_quantiles(Survivors* survivors, double arm_delta) noexcept nogil:
    """Set the error probability; the quantiles are kept if it is the same as before."""
    if survivors.quantiles.delta != arm_delta:
        start_quantiles(&survivors.quantiles, arm_delta)


cdef void choose_leader(Survivors* survivors, Py_ssize_t k) noexcept nogil:
    """Make the k-th best atom the leader and all means relative to it."""
    cdef Py_ssize_t i, n = survivors.n_left
    cdef double threshold

    for i in range(n):
        survivors.scratch[i] = survivors.mean[i]
    threshold = kth_smallest(survivors.scratch, n, min(k, n))
    survivors.leader = 0
    for i in range(n):
        if survivors.mean[i] == threshold:
            survivors.leader = i
            break
    for i in range(n):
        survivors.mean[i] -= threshold


cdef void drop(Survivors* survivors, Py_ssize_t k) noexcept nogil:
    """Drop the atoms that cannot be among the best k, by their means and radii."""
    cdef Py_ssize_t i, old, n_left

    n_left = eliminate(
        survivors.mean, survivors.radius, survivors.slots, survivors.n_left, k,
        &survivors.leader, survivors.kept, survivors.scratch,
    )
    if n_left < survivors.n_left:
        for i in range(n_left):
            old = survivors.kept[i]
            survivors.known[i] = survivors.known[old]
            survivors.variance[i] = survivors.variance[old]
            survivors.total[i] = survivors.total[old]
            survivors.square[i] = survivors.square[old]
            survivors.energy[i] = survivors.energy[old]
    survivors.n_left = n_left


cdef bint within(Survivors* survivors, Py_ssize_t k, double epsilon) noexcept nogil:
    """Keep the best k by their means if no other can be better by more than epsilon."""
    cdef Py_ssize_t i, n_left = 0, n_equal
    cdef double threshold, highest = -INFINITY, lowest = INFINITY

    for i in range(survivors.n_left):
        survivors.scratch[i] = survivors.mean[i]
    threshold = kth_smallest(survivors.scratch, survivors.n_left, k)
    # Only some of the atoms that tie at the threshold are among the k: the first ones.
    n_equal = k
    for i in range(survivors.n_left):
        if survivors.mean[i] < threshold:
            n_equal -= 1
    for i in range(survivors.n_left):
        if survivors.mean[i] < threshold or (
            survivors.mean[i] == threshold and n_equal > 0
        ):
            n_equal -= survivors.mean[i] == threshold
            highest = max(highest, survivors.mean[i] + survivors.radius[i])
            survivors.kept[n_left] = i
            n_left += 1
        else:
            lowest = min(lowest, survivors.mean[i] - survivors.radius[i])
    if not highest - lowest <= epsilon:
        return False
    for i in range(n_left):
        survivors.slots[i] = survivors.slots[survivors.kept[i]]
    survivors.n_left = n_left
    return True


cdef void estimate_spread(
    Survivors* survivors, double n_used, double n_total, double n_errors
) noexcept nogil:
    """Estimate how much of the sampled means' spread is real, before any is dropped.

    `n_errors` is the number of means whose errors a variance holds: 1, or 2 for
    differences.
    """
    cdef Py_ssize_t i, n = survivors.n_left
    cdef double sampled, total = 0.0, total_2 = 0.0, noise = 0.0

    for i in range(n):
        sampled = survivors.mean[i] - survivors.known[i]
        total += sampled
        total_2 += sampled * sampled
        noise += survivors.variance[i]
    survivors.noise = noise / (n_errors * n)
    survivors.spread = total_2 / n - (total / n) * (total / n)
    survivors.spread -= survivors.noise * (1.0 / n_used - 1.0 / n_total)
    survivors.spread = max(survivors.spread, 0.0)
    survivors.chance_lead = sqrt(2.0 * log(n))


cdef Shrinkage shrinkage(
    const Survivors* survivors, double n_used, double n_total
) noexcept nogil:
    """How much of a sampled difference to the leader is real, after `n_used` samples.

    James and Stein: of the spread of the sampled means only what exceeds their sampling
    error is real. That assumes atoms that are all alike. Where one atom is far ahead of
    many that tie, as the right class of an output layer is, there is hardly any
    spread. But if it leads the others, on average, by more than the best of as many
    equal ones would by chance, the lead is real, up to one standard error.
    """
    cdef Py_ssize_t i, n = survivors.n_left
    cdef Shrinkage shrink
    cdef double noise = survivors.noise * (1.0 / n_used - 1.0 / n_total)
    cdef double lead = 0.0, own = survivors.known[survivors.leader]

    for i in range(n):
        lead += survivors.mean[i] - (survivors.known[i] - own)
    shrink.fraction = 0.0
    if survivors.spread > 0.0:
        shrink.fraction = survivors.spread / (survivors.spread + noise)
    shrink.error = sqrt(max(noise, 0.0))
    if lead <= n * survivors.chance_lead * shrink.error:
        shrink.error = INFINITY
    return shrink


cdef double predicted_work(
    Survivors* survivors,
    Py_ssize_t k,
    double quantile,
    double n_used,
    double n_total,
    double n_limit,
    double epsilon,
) noexcept nogil:
    """How many products it takes to finish the search by sampling.

    An atom whose gap is g is dropped as soon as
    ``quantile * sd * sqrt(1/n - 1/n_total) < g``, which gives its n. One that needs
    more than `n_limit` samples is computed exactly. The
    sampled part of a gap is shrunk first, see `shrinkage`. If nothing of it is real,
    and nothing is known without sampling, sampling does not end the search.
    """
    cdef Py_ssize_t i, n = survivors.n_left
    cdef Shrinkage shrink = shrinkage(survivors, n_used, n_total)
    cdef double threshold, known, gap, work = 0.0

    for i in range(n):
        known = survivors.known[i] - survivors.known[survivors.leader]
        survivors.scratch[i] = known + real_part(shrink, survivors.mean[i] - known)
    threshold = kth_smallest(survivors.scratch, n, min(k, n)) - epsilon
    for i in range(n):
        known = survivors.known[i] - survivors.known[survivors.leader]
        gap = known + real_part(shrink, survivors.mean[i] - known) - threshold
        work += needed_work(
            gap, survivors.variance[i], quantile, n_used, n_total, n_limit
        )
    return work
