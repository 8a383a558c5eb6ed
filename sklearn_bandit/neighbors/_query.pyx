"""The search for one query, without the interpreter."""

from cython cimport floating
from libc.math cimport INFINITY, fabs, sqrt
from libc.stdlib cimport free

from sklearn_bandit._core.memory cimport allocate
from sklearn_bandit._core.simd cimport simd_void
from sklearn_bandit.bandit._arms cimport kth_smallest

from ._coordinate_sample cimport bound_by_norms, search_head
from ._direct_sampling cimport search_units
from ._exact_products cimport exact_products, sort_best, support_products
from ._survivors cimport HOPELESS, OPEN, Outcome, free_survivors, new_survivors

cdef enum:
    STATS_BLOCK = 512       # entries that stay in the first-level cache
    BAR_LIMIT = 16          # up to so many are kept in order while scanning
    N_LANES = 64            # of the largest entry: so many vectorise, fewer do not

# Products of norms between which no sum over- or underflows on its way, in the types of
# scores.
cdef double LOWEST_SINGLE = 1e-25
cdef double HIGHEST_SINGLE = 1e37
cdef double LOWEST_DOUBLE = 1e-280
cdef double HIGHEST_DOUBLE = 1e307


cdef void describe_query(
    const floating* query,
    Py_ssize_t d,
    const floating* components,
    Py_ssize_t n_components,
    double few,
    double* stats,
    double* coefs,
) noexcept nogil:
    """Look at all entries of a query once."""
    _describe(query, d, components, n_components, few, stats, coefs)


cdef simd_void _describe(
    const floating* query,
    Py_ssize_t d,
    const floating* components,
    Py_ssize_t n_components,
    double few,
    double* stats,
    double* coefs,
) noexcept nogil:
    """Whether an entry is NaN or infinite, non-zero entries, largest entry and norm.

    And what the components hold of it: one pass over memory, in blocks that stay in the
    cache for several simple loops; mixed into one, they do not vectorise. The first
    component is constant and need not be read.
    """
    cdef Py_ssize_t i, j, c, n, first = 0, n_nonzero = 0
    cdef int n_block
    cdef floating largest[N_LANES]
    cdef floating size, total
    cdef double sum_2 = 0.0
    cdef const floating* other

    for i in range(N_LANES):
        largest[i] = 0
    for c in range(n_components):
        coefs[c] = 0.0
    while first < d:
        n = min(STATS_BLOCK, d - first)
        for j in range(n):
            sum_2 += <double> query[j] * <double> query[j]
        for j in range(n // N_LANES):
            for i in range(N_LANES):
                size = query[j * N_LANES + i]
                size = size if size >= 0 else -size
                largest[i] = size if size > largest[i] else largest[i]
        for j in range(n - n % N_LANES, n):
            size = query[j] if query[j] >= 0 else -query[j]
            largest[0] = size if size > largest[0] else largest[0]
        if n_nonzero <= few:
            n_block = 0
            for j in range(n):
                n_block += query[j] != 0
            n_nonzero += n_block
        if n_components > 0:
            total = 0
            for j in range(n):
                total += query[j]
            coefs[0] += total
        for c in range(1, n_components):
            other = components + c * d + first
            total = 0
            for j in range(n):
                total += query[j] * other[j]
            coefs[c] += total
        query += n
        first += n
    if n_components > 0:
        coefs[0] *= components[0]
    for i in range(1, N_LANES):
        largest[0] = largest[i] if largest[i] > largest[0] else largest[0]
    # A square of a finite double may overflow, too: the caller looks again.
    stats[0] = not sum_2 < INFINITY
    stats[1] = n_nonzero
    stats[2] = largest[0]
    stats[3] = sqrt(sum_2)


cdef void _split_query(
    const Head* head, const double* stats, const double* coefs, HeadQuery* own
) noexcept nogil:
    """What the components hold of a query, and what they leave."""
    cdef Py_ssize_t c
    cdef double explained = 0.0

    own.norm = stats[3]
    own.residual_norm = own.norm
    own.coefs = coefs
    if head.n_components > 0:
        for c in range(head.n_components):
            explained += coefs[c] * coefs[c]
        # As for the atoms: rounding of the coefficients must not hide a residual.
        own.residual_norm = sqrt(
            max(own.norm * own.norm - explained, 0.0)
            + 4.0 * head.rounding * own.norm * own.norm
        )


cdef unsigned char search_query(
    const Task* task,
    const Head* head,
    const HeadQuery* common,
    const floating* query,
    const double* stats,
    const double* coefs,
    const Units* tail,
    Survivors* alive,
    Py_ssize_t* slots,
    double* products,
    Py_ssize_t* count,
) noexcept nogil:
    """Search for one query; return 1 if it is left to BLAS."""
    cdef HeadQuery own = common[0]
    cdef Outcome outcome = OPEN
    cdef Py_ssize_t i

    if alive == NULL:
        return 1
    alive.n_alive = task.n_slots
    alive.n_multiplied = head.n_components * task.rows.n_features
    alive.n_filled = 0
    for i in range(task.n_slots):
        alive.slots[i] = task.slots[i]
    _split_query(head, stats, coefs, &own)
    bound_by_norms(head, &own, alive)
    if alive.n_alive * task.rows.n_features <= alive.n_multiplied:
        outcome = OPEN
    elif alive.n_alive > own.k and own.samples:
        outcome = search_head(head, &own, query, alive)
        if outcome == OPEN and tail != NULL:
            if alive.n_alive * task.rows.n_features > alive.n_multiplied:
                _search_tail(task, query, tail, stats, alive)
    elif own.give_up_share < INFINITY and alive.n_alive > own.k:
        if alive.n_alive > own.give_up_share * task.n_slots:
            outcome = HOPELESS
    count[0] = alive.n_multiplied
    if outcome != HOPELESS:
        count[0] += _finish(task, query, alive, slots, products)
    return outcome == HOPELESS


cdef void _search_tail(
    const Task* task,
    const floating* query,
    const Units* tail,
    const double* stats,
    Survivors* alive,
) noexcept nogil:
    """Go on with blocks of the atoms themselves where the head did not decide."""
    cdef Units units = tail[0]

    units.energy = stats[3] * stats[3] / units.n_total
    search_units(&task.rows, query, &units, alive)


cdef Py_ssize_t _finish(
    const Task* task,
    const floating* query,
    Survivors* alive,
    Py_ssize_t* slots,
    double* products,
) noexcept nogil:
    """Exact products of the survivors, the best k in order; return how many."""
    cdef Py_ssize_t i

    exact_products(&task.rows, query, alive.slots, alive.n_alive, alive.mean)
    sort_best(alive.mean, alive.slots, alive.n_alive, task.k)
    for i in range(task.k):
        slots[i] = alive.slots[i]
        products[i] = alive.mean[i]
    return alive.n_alive * task.rows.n_features


cdef int search_query_support(
    const Task* task,
    const floating* query,
    Py_ssize_t n_support,
    Py_ssize_t* slots,
    double* products,
    Py_ssize_t* count,
) noexcept nogil:
    """Exact search for a sparse query, from its non-zero entries."""
    cdef Survivors* alive = new_survivors(task.n_slots, 0, 0)
    cdef floating* values = <floating*> allocate(n_support, sizeof(floating))
    cdef Py_ssize_t* support = <Py_ssize_t*> allocate(n_support, sizeof(Py_ssize_t))
    cdef Py_ssize_t i, j, n = 0
    cdef bint enough = alive != NULL and values != NULL and support != NULL

    if enough:
        for j in range(task.rows.n_features):
            if query[j] != 0:
                values[n] = query[j]
                support[n] = j
                n += 1
        for i in range(task.n_slots):
            alive.slots[i] = task.slots[i]
        support_products(
            &task.rows, values, support, n, alive.slots, task.n_slots, alive.mean
        )
        sort_best(alive.mean, alive.slots, task.n_slots, task.k)
        for i in range(task.k):
            slots[i] = alive.slots[i]
            products[i] = alive.mean[i]
        count[0] = n * task.n_slots
    free(values)
    free(support)
    free_survivors(alive)
    return not enough


cdef bint search_query_units(
    const Task* task,
    const Units* units,
    const floating* query,
    Survivors* alive,
    Py_ssize_t* slots,
    double* products,
    Py_ssize_t* count,
) noexcept nogil:
    """Search for one query by sampling units; return whether it is left to BLAS."""
    cdef Py_ssize_t i
    cdef Outcome outcome

    if alive == NULL:
        return True
    alive.n_alive = task.n_slots
    alive.n_multiplied = 0
    for i in range(task.n_slots):
        alive.slots[i] = task.slots[i]
    outcome = search_units(&task.rows, query, units, alive)
    count[0] = alive.n_multiplied
    if outcome != HOPELESS:
        count[0] += _finish(task, query, alive, slots, products)
    return outcome == HOPELESS


cdef int pick_for_query(
    const Task* task,
    const floating* query,
    double norm,
    const floating* scores,
    Survivors* alive,
    Py_ssize_t* slots,
    double* products,
    Py_ssize_t* count,
) noexcept nogil:
    """Choose among scores that are right up to rounding; return 1 without memory."""
    cdef Py_ssize_t i, slot, n = task.n_slots, n_left = 0
    cdef double bar, slack, radius, size, largest = 0.0
    cdef bint is_reliable = True

    if alive == NULL:
        return 1
    if task.norms == NULL:
        # Norms are not known without a pass over the atoms: the scores stand in.
        for i in range(n):
            size = fabs(scores[task.slots[i]])
            largest = max(largest, size)
            is_reliable &= size < INFINITY
        slack = task.rounding * largest
        radius = slack
    else:
        largest = norm * task.largest_norm
        slack = task.rounding * norm
        radius = slack * task.largest_norm
    if floating is float:
        is_reliable &= LOWEST_SINGLE < largest < HIGHEST_SINGLE
    else:
        is_reliable &= LOWEST_DOUBLE < largest < HIGHEST_DOUBLE
    if not is_reliable:
        # Scores that over- or underflowed say nothing: all are computed again.
        for i in range(n):
            alive.slots[i] = task.slots[i]
        alive.n_alive = n
        count[0] += 2 * n * task.rows.n_features
        _finish(task, query, alive, slots, products)
        return 0
    bar = _score_bar(task, slack, scores, alive.scratch)
    for i in range(n):
        slot = task.slots[i]
        # Hardly any score is high enough for its own radius to matter.
        if scores[slot] + radius < bar:
            continue
        if task.norms == NULL or not scores[slot] + slack * task.norms[slot] < bar:
            alive.slots[n_left] = slot
            n_left += 1
    alive.n_alive = n_left
    count[0] += n * task.rows.n_features + _finish(task, query, alive, slots, products)
    return 0


cdef double _score_bar(
    const Task* task, double slack, const floating* scores, double* scratch
) noexcept nogil:
    """The k-th largest of what the scores are at least.

    A few are kept in order while scanning: most scores are below the last of these.
    """
    cdef Py_ssize_t i, j, slot, n_kept = 0, n = task.n_slots, k = task.k
    cdef double low, last = -INFINITY

    for i in range(n):
        slot = task.slots[i]
        if k <= BAR_LIMIT and scores[slot] <= last:
            continue
        low = scores[slot] - slack * (1.0 if task.norms == NULL else task.norms[slot])
        if k > BAR_LIMIT:
            scratch[i] = -low
            continue
        j = min(n_kept, k - 1)
        if n_kept == k and not low > scratch[j]:
            continue
        while j > 0 and low > scratch[j - 1]:
            scratch[j] = scratch[j - 1]
            j -= 1
        scratch[j] = low
        n_kept = min(n_kept + 1, k)
        if n_kept == k:
            last = scratch[k - 1]
    return -kth_smallest(scratch, n, k) if k > BAR_LIMIT else last


cdef int search_query_buckets(
    const Task* task,
    const Head* head,
    const HeadQuery* common,
    const floating* query,
    const double* stats,
    const double* coefs,
    const Py_ssize_t* order,
    Py_ssize_t bucket_size,
    Py_ssize_t* slots,
    double* products,
    Py_ssize_t* count,
) noexcept nogil:
    """Search bucket by bucket, by decreasing norm; return 1 without memory.

    Each bucket competes with the best found so far. No atom's product exceeds the
    product of the norms, so the search ends with the bucket whose largest is below.
    """
    cdef HeadQuery own = common[0]
    cdef Py_ssize_t i, j, n_new, first = 0, n_best = 0
    cdef Py_ssize_t n = task.n_slots, d = task.rows.n_features
    cdef Survivors* alive

    bucket_size = min(bucket_size, n)
    alive = new_survivors(bucket_size + task.k, head.n_coordinates, 0)
    if alive == NULL:
        return 1
    _split_query(head, stats, coefs, &own)
    alive.n_filled = 0
    count[0] = head.n_components * d
    while first < n:
        if n_best == task.k and (
            (1.0 + task.rounding) * own.norm * task.norms[order[first]]
            < products[n_best - 1]
        ):
            break
        alive.n_multiplied = 0
        n_new = min(bucket_size, n - first)
        for i in range(n_new):
            alive.slots[i] = order[first + i]
        first += n_new
        for i in range(n_best):
            alive.slots[n_new + i] = slots[i]
        alive.n_alive = n_new + n_best
        own.k = min(task.k, alive.n_alive)
        bound_by_norms(head, &own, alive)
        if alive.n_alive > own.k and own.samples:
            search_head(head, &own, query, alive)
        count[0] += alive.n_multiplied
        # Products of the best so far are known already.
        n_new = 0
        for i in range(alive.n_alive):
            for j in range(n_best):
                if alive.slots[i] == slots[j]:
                    break
            else:
                alive.slots[n_new] = alive.slots[i]
                n_new += 1
        exact_products(&task.rows, query, alive.slots, n_new, alive.mean)
        count[0] += n_new * d
        for j in range(n_best):
            alive.slots[n_new + j] = slots[j]
            alive.mean[n_new + j] = products[j]
        n_new += n_best
        n_best = min(task.k, n_new)
        sort_best(alive.mean, alive.slots, n_new, n_best)
        for i in range(n_best):
            slots[i] = alive.slots[i]
            products[i] = alive.mean[i]
    free_survivors(alive)
    return 0
