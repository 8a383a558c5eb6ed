"""Search by sampling from the atoms themselves, without a head.

A unit is what is sampled: a block of neighbouring coordinates (one or a few cache
lines, which cost hardly more than a single coordinate of it) or a single coordinate
chosen by the size of the query's entries. All units seen are kept, one row a survivor,
so that the pivot may change after every round: the differences are summed anew, which
costs little beside reading the atoms.
"""

from cython cimport floating
from libc.math cimport INFINITY, isfinite, sqrt
from libc.stdlib cimport free
from libc.string cimport memmove

from sklearn_bandit._core.memory cimport allocate, times
from sklearn_bandit._core.simd cimport prefetch, simd_void
from sklearn_bandit.bandit._radii cimport (
    bernstein_radius,
    effective_size,
    hoeffding_radius,
    tabled_paired_radius,
    tabled_quantile,
)

from ._exact_products cimport Rows, row
from ._survivors cimport (
    DECIDED,
    HOPELESS,
    OPEN,
    choose_pivot,
    drop,
    estimate_spread,
    predicted_work,
    share_quantiles,
    within,
)

# Entries are kept in single precision; what their squares may be off by, with room.
cdef double ORDERED_ROUNDING = 1e-6

cdef enum:
    CACHE_LINE = 64


cdef Outcome search_units(
    const Rows* rows, const floating* query, const Units* units, Survivors* alive
) noexcept nogil:
    """Sample rounds of doubling size until k atoms are left or it does not pay."""
    cdef Py_ssize_t n_used = 0, n_next, n_atoms = alive.n_alive, i, k = units.k
    cdef Py_ssize_t d = rows.n_features
    cdef float* values = NULL
    cdef float* longer
    cdef Outcome outcome = DECIDED

    share_quantiles(alive, units.share)
    for i in range(n_atoms):
        alive.base[i] = 0.0
    while alive.n_alive > k:
        n_next = units.n_first if n_used == 0 else 2 * n_used
        if n_next > units.n_units:
            outcome = OPEN
            break
        if n_used > 0 and units.give_up_share < INFINITY:
            if alive.n_alive * d <= alive.n_multiplied:
                outcome = OPEN
                break
            if _predicted(units, n_used, d, alive) > units.give_up_share * n_atoms * d:
                outcome = HOPELESS
                break
        longer = <float*> allocate(alive.n_alive, times(n_next, sizeof(float)))
        if longer == NULL:
            outcome = HOPELESS
            break
        for i in range(alive.n_alive):
            if n_used > 0:
                memmove(
                    longer + i * n_next, values + i * n_used, n_used * sizeof(float)
                )
        if units.sampling == BLOCKS:
            _pull_blocks(
                rows, query, units, n_used, n_next, alive.slots, alive.n_alive, longer
            )
        else:
            for i in range(alive.n_alive):
                _pull(
                    row(rows, alive.slots[i], <floating*> NULL), units, n_used, n_next,
                    longer + i * n_next,
                )
        alive.n_multiplied += alive.n_alive * (n_next - n_used) * units.length
        free(values)
        values = longer
        n_used = n_next

        if not _means(units, values, n_used, query, alive):
            # Atoms out of the range of single precision have no sampled means.
            outcome = HOPELESS
            break
        choose_pivot(alive, k)
        if units.sampling == ORDERED:
            # Nothing is random: bounds hold with certainty, whichever are asked for.
            _ordered_radii(units, values, n_used, query, d, alive)
        elif units.radius != PAIRED:
            _rigorous_radii(units, values, n_used, alive)
        else:
            _paired_radii(units, values, n_used, query, d, alive)
            if n_used == units.n_first:
                estimate_spread(alive, n_used, units.n_total, 2.0)
        drop(alive, k)
        for i in range(alive.n_alive):
            if alive.kept[i] != i:
                memmove(
                    values + i * n_used, values + alive.kept[i] * n_used,
                    n_used * sizeof(float),
                )
        if alive.n_alive > k and units.epsilon > 0.0:
            if within(alive, k, units.epsilon):
                break
    free(values)
    return outcome


cdef double _predicted(
    const Units* units, Py_ssize_t n_used, Py_ssize_t d, Survivors* alive
) noexcept nogil:
    """Products needed to finish; predicted for unordered samples and paired radii."""
    cdef double n_total = units.n_total

    if units.sampling == ORDERED or units.radius != PAIRED:
        return 0.0
    if n_total == INFINITY:
        n_total = d
    return units.length * predicted_work(
        alive, units.k, tabled_quantile(&alive.quantiles, n_used - 1.0), n_used,
        n_total, units.n_units, units.epsilon,
    )


cdef simd_void _pull_blocks(
    const Rows* rows,
    const floating* query,
    const Units* units,
    Py_ssize_t first,
    Py_ssize_t last,
    const Py_ssize_t* slots,
    Py_ssize_t n,
    float* values,
) noexcept nogil:
    """Rewards of all survivors on some blocks, one row of `last` values a survivor.

    Blocks lie far apart in memory: while an atom's are multiplied, those of the next
    one are on their way.
    """
    cdef Py_ssize_t i, u, j, start, length, offset
    cdef floating total
    cdef const floating* atom
    cdef const floating* next_atom

    for i in range(n):
        atom = row(rows, slots[i], <floating*> NULL)
        next_atom = row(rows, slots[min(i + 1, n - 1)], <floating*> NULL)
        for u in range(first, last):
            start = units.starts[u]
            length = min(units.length, rows.n_features - start)
            offset = 0
            while offset < <Py_ssize_t> (length * sizeof(floating)):
                prefetch(<const char*> (next_atom + start) + offset)
                offset += CACHE_LINE
            total = 0
            for j in range(start, start + length):
                total += query[j] * atom[j]
            values[i * last + u] = total


cdef void _pull(
    const floating* atom,
    const Units* units,
    Py_ssize_t first,
    Py_ssize_t last,
    float* values,
) noexcept nogil:
    """Rewards of one atom on single coordinates (its own entries if ordered)."""
    cdef Py_ssize_t u

    if units.sampling == WEIGHTED:
        for u in range(first, last):
            values[u] = <float> (units.weights[u] * atom[units.starts[u]])
    else:
        for u in range(first, last):
            values[u] = atom[units.starts[u]]


cdef bint _means(
    const Units* units,
    const float* values,
    Py_ssize_t n_used,
    const floating* query,
    Survivors* alive,
) noexcept nogil:
    """Negative mean reward; for ordered units, negative product so far.

    False if one of them is not finite.
    """
    cdef Py_ssize_t i, u
    cdef double total
    cdef const float* own

    for i in range(alive.n_alive):
        own = values + i * n_used
        total = 0.0
        if units.sampling == ORDERED:
            for u in range(n_used):
                total += <double> query[units.starts[u]] * <double> own[u]
            alive.mean[i] = -total
        else:
            for u in range(n_used):
                total += own[u]
            alive.mean[i] = -total / n_used
        if not isfinite(total):
            return False
    return True


cdef void _paired_radii(
    const Units* units,
    const float* values,
    Py_ssize_t n_used,
    const floating* query,
    Py_ssize_t d,
    Survivors* alive,
) noexcept nogil:
    """Student-t radii of the differences to the pivot, by the effective sample size.

    The variance is inflated by how much less of the query the sampled blocks hold than
    the others, as far as its squares tell.
    """
    cdef Py_ssize_t i, j, u, start
    cdef double sum_2, sum_4, energy = 0.0, inflation = 1.0
    cdef const float* pivot = values + alive.pivot * n_used

    if units.sampling == BLOCKS:
        for u in range(n_used):
            start = units.starts[u]
            for j in range(start, min(start + units.length, d)):
                energy += <double> query[j] * <double> query[j]
        inflation = INFINITY
        if energy > 0.0:
            inflation = max(1.0, units.energy * n_used / energy)
    for i in range(alive.n_alive):
        _powers(pivot, values + i * n_used, alive.mean[i], n_used, &sum_2, &sum_4)
        alive.variance[i] = inflation * sum_2 / (n_used - 1)
        # An atom that differs nowhere in the sample may do so elsewhere.
        alive.radius[i] = INFINITY
        if sum_2 > 0.0:
            alive.radius[i] = tabled_paired_radius(
                &alive.quantiles, alive.variance[i], n_used,
                effective_size(sum_2, sum_4), units.n_total,
            )
    alive.mean[alive.pivot] = 0.0
    alive.radius[alive.pivot] = 0.0


cdef simd_void _powers(
    const float* pivot,
    const float* own,
    double centre,
    Py_ssize_t n,
    double* sum_2,
    double* sum_4,
) noexcept nogil:
    """Sums of the second and fourth powers of centred differences to the pivot."""
    cdef Py_ssize_t u
    cdef double gap, square, total_2 = 0.0, total_4 = 0.0

    for u in range(n):
        gap = <double> pivot[u] - <double> own[u] - centre
        square = gap * gap
        total_2 += square
        total_4 += square * square
    sum_2[0] = total_2
    sum_4[0] = total_4


cdef void _ordered_radii(
    const Units* units,
    const float* values,
    Py_ssize_t n_used,
    const floating* query,
    Py_ssize_t d,
    Survivors* alive,
) noexcept nogil:
    """Bounds on what is left where the query's largest entries have been used up.

    By Cauchy and Schwarz, the product over the other coordinates is at most the product
    of the two norms there. An atom's norm there is its norm less what was seen.
    """
    cdef Py_ssize_t i, u
    cdef double entry, rest_2 = 0.0, norm_2, seen_2
    cdef const float* own

    for u in range(n_used, d):
        entry = query[units.starts[u]]
        rest_2 += entry * entry
    for i in range(alive.n_alive):
        own = values + i * n_used
        seen_2 = 0.0
        for u in range(n_used):
            seen_2 += <double> own[u] * <double> own[u]
        norm_2 = units.norms[alive.slots[i]] ** 2
        alive.radius[i] = sqrt(
            rest_2 * (max(norm_2 - seen_2, 0.0) + ORDERED_ROUNDING * norm_2)
        )
    alive.pivot = -1


cdef void _rigorous_radii(
    const Units* units, const float* values, Py_ssize_t n_used, Survivors* alive
) noexcept nogil:
    """Radii that hold for any data, of each atom's own mean: rewards are bounded."""
    cdef Py_ssize_t i, u
    cdef double reward_range, mean, gap, sum_2
    cdef const float* own

    for i in range(alive.n_alive):
        reward_range = 2.0 * units.reach * units.largest[alive.slots[i]]
        if units.radius == HOEFFDING:
            alive.radius[i] = hoeffding_radius(
                reward_range / 2.0, n_used, units.share, units.n_total
            )
            continue
        own = values + i * n_used
        mean = 0.0
        for u in range(n_used):
            mean += own[u]
        mean /= n_used
        sum_2 = 0.0
        for u in range(n_used):
            gap = own[u] - mean
            sum_2 += gap * gap
        alive.radius[i] = bernstein_radius(
            sum_2 / (n_used - 1), reward_range, n_used, units.share, units.n_total
        )
    alive.pivot = -1
