"""Search by sampling from the atoms themselves, without a coordinate sample.

A reference is a block of neighbouring coordinates (one or a few cache lines, which cost
little more than one of their coordinates), or a single coordinate that is chosen by the
size of the query's entry. The products on all references sampled so far are kept, one
row a survivor. So the leader may change after every round: the differences are summed
anew, which costs little compared with reading the atoms.
"""

from cython cimport floating
from libc.math cimport INFINITY, isfinite, sqrt
from libc.stdlib cimport free
from libc.string cimport memmove

from sklearn_bandit._core.memory cimport CACHE_LINE, allocate, times
from sklearn_bandit._core.simd cimport prefetch, simd_void
from sklearn_bandit.bandit._moments cimport centred_powers, paired_powers
from sklearn_bandit.bandit._quantiles cimport tabled_quantile
from sklearn_bandit.bandit._radii cimport (
    bernstein_radius,
    effective_size,
    hoeffding_radius,
    tabled_paired_radius,
)

from ._exact_products cimport Rows, row
from ._survivors cimport (
    DECIDED,
    GIVEN_UP,
    OPEN,
    choose_leader,
    drop,
    estimate_spread,
    predicted_work,
    set_quantiles,
    within,
)

# Entries are kept in single precision. This bounds the relative error of their squares.
cdef double ORDERED_ROUNDING = 1e-6

cdef Outcome search_references(
    const Rows* rows,
    const floating* query,
    const References* references,
    Survivors* survivors,
) noexcept nogil:
    """Sample in rounds of doubling size until k atoms are left or it does not pay."""
    cdef Py_ssize_t n_used = 0, n_next, n_atoms = survivors.n_left, i, k = references.k
    cdef Py_ssize_t d = rows.n_features
    cdef double budget = references.give_up_fraction * n_atoms * d
    cdef float* values = NULL
    cdef float* longer
    cdef Outcome outcome = DECIDED

    set_quantiles(survivors, references.arm_delta)
    for i in range(n_atoms):
        survivors.known[i] = 0.0
    while survivors.n_left > k:
        n_next = references.n_first if n_used == 0 else 2 * n_used
        if n_next > references.n_references:
            outcome = OPEN
            break
        if n_used > 0 and references.give_up_fraction < INFINITY:
            if survivors.n_left * d <= survivors.n_multiplied:
                outcome = OPEN
                break
            if _predicted(references, n_used, d, survivors) > budget:
                outcome = GIVEN_UP
                break
        longer = <float*> allocate(survivors.n_left, times(n_next, sizeof(float)))
        if longer == NULL:
            outcome = GIVEN_UP
            break
        for i in range(survivors.n_left):
            if n_used > 0:
                memmove(
                    longer + i * n_next, values + i * n_used, n_used * sizeof(float)
                )
        if references.sampling == BLOCKS:
            _pull_blocks(
                rows, query, references, n_used, n_next, survivors.slots,
                survivors.n_left, longer,
            )
        else:
            for i in range(survivors.n_left):
                _pull(
                    row(rows, survivors.slots[i], <floating*> NULL), references,
                    n_used, n_next, longer + i * n_next,
                )
        survivors.n_multiplied += (
            survivors.n_left * (n_next - n_used) * references.length
        )
        free(values)
        values = longer
        n_used = n_next

        if not _means(references, values, n_used, query, survivors):
            # Atoms out of the range of single precision have no sampled means.
            outcome = GIVEN_UP
            break
        choose_leader(survivors, k)
        if references.sampling == ORDERED:
            # Nothing is random: these bounds hold with certainty, whatever the radius.
            _ordered_radii(references, values, n_used, query, d, survivors)
        elif references.radius != PAIRED:
            _rigorous_radii(references, values, n_used, survivors)
        else:
            _paired_radii(references, values, n_used, query, d, survivors)
            if n_used == references.n_first:
                estimate_spread(survivors, n_used, references.n_total, 2.0)
        drop(survivors, k)
        for i in range(survivors.n_left):
            if survivors.kept[i] != i:
                memmove(
                    values + i * n_used, values + survivors.kept[i] * n_used,
                    n_used * sizeof(float),
                )
        if survivors.n_left > k and references.epsilon > 0.0:
            if within(survivors, k, references.epsilon):
                break
    free(values)
    return outcome


cdef double _predicted(
    const References* references, Py_ssize_t n_used, Py_ssize_t d, Survivors* survivors
) noexcept nogil:
    """How many products it takes to finish; zero where there is no prediction."""
    cdef double n_total = references.n_total

    if references.sampling == ORDERED or references.radius != PAIRED:
        return 0.0
    if n_total == INFINITY:
        n_total = d
    return references.length * predicted_work(
        survivors, references.k, tabled_quantile(&survivors.quantiles, n_used - 1.0),
        n_used, n_total, references.n_references, references.epsilon,
    )


cdef simd_void _pull_blocks(
    const Rows* rows,
    const floating* query,
    const References* references,
    Py_ssize_t first,
    Py_ssize_t last,
    const Py_ssize_t* slots,
    Py_ssize_t n,
    float* values,
) noexcept nogil:
    """Products of all survivors on some blocks, one row of `last` values a survivor.

    Blocks lie far apart in memory: those of the next atom are prefetched while the
    ones of this atom are multiplied.
    """
    cdef Py_ssize_t i, u, j, start, length, offset
    cdef floating total
    cdef const floating* atom
    cdef const floating* next_atom

    for i in range(n):
        atom = row(rows, slots[i], <floating*> NULL)
        next_atom = row(rows, slots[min(i + 1, n - 1)], <floating*> NULL)
        for u in range(first, last):
            start = references.starts[u]
            length = min(references.length, rows.n_features - start)
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
    const References* references,
    Py_ssize_t first,
    Py_ssize_t last,
    float* values,
) noexcept nogil:
    """Products of one atom on single coordinates (its own entries if ordered)."""
    cdef Py_ssize_t u

    if references.sampling == WEIGHTED:
        for u in range(first, last):
            values[u] = <float> (references.weights[u] * atom[references.starts[u]])
    else:
        for u in range(first, last):
            values[u] = atom[references.starts[u]]


cdef bint _means(
    const References* references,
    const float* values,
    Py_ssize_t n_used,
    const floating* query,
    Survivors* survivors,
) noexcept nogil:
    """Mean costs; for ordered references, minus the products so far.

    Returns False if one of them is not finite.
    """
    cdef Py_ssize_t i, u
    cdef double total
    cdef const float* own

    for i in range(survivors.n_left):
        own = values + i * n_used
        total = 0.0
        if references.sampling == ORDERED:
            for u in range(n_used):
                total += <double> query[references.starts[u]] * <double> own[u]
            survivors.mean[i] = -total
        else:
            for u in range(n_used):
                total += own[u]
            survivors.mean[i] = -total / n_used
        if not isfinite(total):
            return False
    return True


cdef void _paired_radii(
    const References* references,
    const float* values,
    Py_ssize_t n_used,
    const floating* query,
    Py_ssize_t d,
    Survivors* survivors,
) noexcept nogil:
    """Student-t radii of the differences to the leader, by the effective sample size.

    The variance is inflated where the sampled blocks hold less of the query's squared
    norm than the others. Where the norms are known it is at least what they make it if
    large entries of the query and of an atom meet as often as chance has it: the
    difference of two atoms is not shorter than the difference of their norms.
    """
    cdef Py_ssize_t i, j, u, start
    cdef double longer, least
    cdef double energy = 0.0, inflation = 1.0
    cdef double sums[2]
    cdef const float* leader = values + survivors.leader * n_used

    if references.sampling == BLOCKS:
        for u in range(n_used):
            start = references.starts[u]
            for j in range(start, min(start + references.length, d)):
                energy += <double> query[j] * <double> query[j]
        inflation = INFINITY
        if energy > 0.0:
            inflation = max(1.0, references.energy * n_used / energy)
    for i in range(survivors.n_left):
        paired_powers(leader, values + i * n_used, survivors.mean[i], n_used, sums)
        survivors.variance[i] = inflation * sums[0] / (n_used - 1)
        if references.norms != NULL:
            longer = references.norms[survivors.slots[i]]
            longer -= references.norms[survivors.slots[survivors.leader]]
            least = references.energy * longer * longer / d - survivors.mean[i] ** 2
            survivors.variance[i] = max(survivors.variance[i], least)
        # An atom that equals the leader on the sample may differ elsewhere.
        survivors.radius[i] = INFINITY
        if sums[0] > 0.0:
            survivors.radius[i] = tabled_paired_radius(
                &survivors.quantiles, survivors.variance[i], n_used,
                effective_size(sums[0], sums[1]), references.n_total,
            )
    survivors.mean[survivors.leader] = 0.0
    survivors.radius[survivors.leader] = 0.0


cdef void _ordered_radii(
    const References* references,
    const float* values,
    Py_ssize_t n_used,
    const floating* query,
    Py_ssize_t d,
    Survivors* survivors,
) noexcept nogil:
    """Bounds on the product over the coordinates that have not been sampled.

    By Cauchy and Schwarz it is at most the product of the two norms there. The square
    of an atom's norm there is that of its norm, less the squares seen so far.
    """
    cdef Py_ssize_t i, u
    cdef double entry, rest_2 = 0.0, norm_2, seen_2
    cdef const float* own

    for u in range(n_used, d):
        entry = query[references.starts[u]]
        rest_2 += entry * entry
    for i in range(survivors.n_left):
        own = values + i * n_used
        seen_2 = 0.0
        for u in range(n_used):
            seen_2 += <double> own[u] * <double> own[u]
        norm_2 = references.norms[survivors.slots[i]] ** 2
        survivors.radius[i] = sqrt(
            rest_2 * (max(norm_2 - seen_2, 0.0) + ORDERED_ROUNDING * norm_2)
        )
    survivors.leader = -1


cdef void _rigorous_radii(
    const References* references,
    const float* values,
    Py_ssize_t n_used,
    Survivors* survivors,
) noexcept nogil:
    """Radii of each atom's own mean that hold for any data: costs are bounded."""
    cdef Py_ssize_t i, u
    cdef double reward_range, mean
    cdef double sums[2]
    cdef const float* own

    for i in range(survivors.n_left):
        reward_range = 2.0 * references.reach * references.largest[survivors.slots[i]]
        if references.radius == HOEFFDING:
            survivors.radius[i] = hoeffding_radius(
                reward_range / 2.0, n_used, references.arm_delta, references.n_total
            )
            continue
        own = values + i * n_used
        mean = 0.0
        for u in range(n_used):
            mean += own[u]
        mean /= n_used
        centred_powers(own, mean, n_used, sums)
        survivors.radius[i] = bernstein_radius(
            sums[0] / (n_used - 1), reward_range, n_used, references.arm_delta,
            references.n_total,
        )
    survivors.leader = -1
