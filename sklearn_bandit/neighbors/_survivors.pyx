"""The atoms that a search has not dropped yet."""

from libc.math cimport INFINITY
from libc.stdlib cimport free

from sklearn_bandit._core.memory cimport allocate
from sklearn_bandit.bandit._arms cimport eliminate, kth_smallest
from sklearn_bandit.bandit._radii cimport start_quantiles


cdef Survivors* new_survivors(
    Py_ssize_t n_atoms, Py_ssize_t n_coordinates, Py_ssize_t n_components
) noexcept nogil:
    """Room for a search over `n_atoms`; NULL if there is no memory."""
    # Of doubles, five for each atom; of integers and floats, two. Components and
    # coordinates get as many, so that no sum of products has to be checked.
    cdef Survivors* alive = <Survivors*> allocate(1, sizeof(Survivors))
    cdef double* doubles = <double*> allocate(
        n_atoms + n_components, 5 * sizeof(double)
    )
    cdef Py_ssize_t* integers = <Py_ssize_t*> allocate(n_atoms, 2 * sizeof(Py_ssize_t))
    cdef float* floats = <float*> allocate(
        n_atoms + n_coordinates, 2 * sizeof(float)
    )

    if alive == NULL or doubles == NULL or integers == NULL or floats == NULL:
        free(alive)
        free(doubles)
        free(integers)
        free(floats)
        return NULL
    alive.n_alive = n_atoms
    alive.pivot = -1
    alive.n_multiplied = 0
    alive.mean = doubles
    alive.radius = doubles + n_atoms
    alive.scratch = doubles + 2 * n_atoms
    alive.base = doubles + 3 * n_atoms
    alive.variance = doubles + 4 * n_atoms
    alive.coefs = doubles + 5 * n_atoms
    alive.slots = integers
    alive.kept = integers + n_atoms
    alive.total = floats
    alive.square = floats + n_atoms
    alive.residual = floats + 2 * n_atoms
    start_quantiles(&alive.quantiles, 0.0)
    return alive


cdef void free_survivors(Survivors* alive) noexcept nogil:
    if alive != NULL:
        free(alive.mean)
        free(alive.slots)
        free(alive.total)
        free(alive)


cdef void share_quantiles(Survivors* alive, double share) noexcept nogil:
    """Have quantiles of this error probability; those of the last search may do."""
    if alive.quantiles.delta != share:
        start_quantiles(&alive.quantiles, share)


cdef void choose_pivot(Survivors* alive, Py_ssize_t k) noexcept nogil:
    """Make the k-th best atom the pivot and all means relative to it."""
    cdef Py_ssize_t i, n = alive.n_alive
    cdef double bar

    for i in range(n):
        alive.scratch[i] = alive.mean[i]
    bar = kth_smallest(alive.scratch, n, min(k, n))
    alive.pivot = 0
    for i in range(n):
        if alive.mean[i] == bar:
            alive.pivot = i
            break
    for i in range(n):
        alive.mean[i] -= bar


cdef void drop(Survivors* alive, Py_ssize_t k) noexcept nogil:
    """Drop what cannot be among the best k by its mean and radius."""
    cdef Py_ssize_t i, old, n_left

    n_left = eliminate(
        alive.mean, alive.radius, alive.slots, alive.n_alive, k, &alive.pivot,
        alive.kept, alive.scratch,
    )
    if n_left < alive.n_alive:
        for i in range(n_left):
            old = alive.kept[i]
            alive.base[i] = alive.base[old]
            alive.variance[i] = alive.variance[old]
            alive.total[i] = alive.total[old]
            alive.square[i] = alive.square[old]
    alive.n_alive = n_left


cdef bint within(Survivors* alive, Py_ssize_t k, double epsilon) noexcept nogil:
    """Keep the best k by their means if no other can be better by more than epsilon."""
    cdef Py_ssize_t i, n_left = 0, n_equal
    cdef double bar, highest = -INFINITY, lowest = INFINITY

    for i in range(alive.n_alive):
        alive.scratch[i] = alive.mean[i]
    bar = kth_smallest(alive.scratch, alive.n_alive, k)
    # Of the atoms that tie at the bar only as many belong as there is room for.
    n_equal = k
    for i in range(alive.n_alive):
        if alive.mean[i] < bar:
            n_equal -= 1
    for i in range(alive.n_alive):
        if alive.mean[i] < bar or (alive.mean[i] == bar and n_equal > 0):
            n_equal -= alive.mean[i] == bar
            highest = max(highest, alive.mean[i] + alive.radius[i])
            alive.kept[n_left] = i
            n_left += 1
        else:
            lowest = min(lowest, alive.mean[i] - alive.radius[i])
    if not highest - lowest <= epsilon:
        return False
    for i in range(n_left):
        alive.slots[i] = alive.slots[alive.kept[i]]
    alive.n_alive = n_left
    return True


cdef void estimate_spread(
    Survivors* alive, double n_used, double n_total, double n_errors
) noexcept nogil:
    """Estimate how much of the sampled means' spread is real, before any is dropped.

    `n_errors` is how many means' errors a variance holds: 1, or 2 for differences.
    """
    cdef Py_ssize_t i, n = alive.n_alive
    cdef double sampled, total = 0.0, total_2 = 0.0, noise = 0.0

    for i in range(n):
        sampled = alive.mean[i] - alive.base[i]
        total += sampled
        total_2 += sampled * sampled
        noise += alive.variance[i]
    alive.noise = noise / (n_errors * n)
    alive.spread = total_2 / n - (total / n) * (total / n)
    alive.spread -= alive.noise * (1.0 / n_used - 1.0 / n_total)
    alive.spread = max(alive.spread, 0.0)


cdef double real_share(
    const Survivors* alive, double n_used, double n_total
) noexcept nogil:
    """The share of a sampled difference that is real, after so many samples."""
    if alive.spread <= 0.0:
        return 0.0
    return alive.spread / (
        alive.spread + alive.noise * (1.0 / n_used - 1.0 / n_total)
    )


cdef double predicted_work(
    Survivors* alive,
    Py_ssize_t k,
    double quantile,
    double n_used,
    double n_total,
    double n_limit,
    double epsilon,
) noexcept nogil:
    """Products that finishing the search by sampling would take.

    An atom whose gap is g falls when ``quantile * sd * sqrt(1/n - 1/n_total) < g``,
    which gives its n; one that needs more than `n_limit` is computed exactly. The
    sampled part of a gap is shrunk first (James and Stein): of the spread of the
    sampled means only what exceeds their sampling error is real. If nothing does, and
    nothing is known without sampling, the search will not end by it.
    """
    cdef Py_ssize_t i, n = alive.n_alive
    cdef double shrink = real_share(alive, n_used, n_total)
    cdef double bar, known, gap, work = 0.0

    for i in range(n):
        known = alive.base[i] - alive.base[alive.pivot]
        alive.scratch[i] = known + shrink * (alive.mean[i] - known)
    bar = kth_smallest(alive.scratch, n, min(k, n)) - epsilon
    for i in range(n):
        known = alive.base[i] - alive.base[alive.pivot]
        gap = known + shrink * (alive.mean[i] - known) - bar
        work += needed_work(
            gap, alive.variance[i], quantile, n_used, n_total, n_limit
        )
    return work
