"""The search for one query, without the interpreter."""

from cython cimport floating
from libc.math cimport INFINITY, fabs, sqrt
from libc.stdlib cimport free

from sklearn_bandit._core.memory cimport allocate
from sklearn_bandit.bandit._arms cimport kth_smallest

from ._coordinate_sample cimport bound_by_norms, search_sample
from ._direct_sampling cimport search_references
from ._exact_products cimport exact_products, sort_best, support_products
from ._survivors cimport GIVEN_UP, OPEN, Outcome, free_survivors, new_survivors

cdef enum:
    ORDERED_LIMIT = 16      # up to this k the best are kept in order while scanning

# Between these products of norms no partial sum over- or underflows, in the two types
# of scores.
cdef double LOWEST_SINGLE = 1e-25
cdef double HIGHEST_SINGLE = 1e37
cdef double LOWEST_DOUBLE = 1e-280
cdef double HIGHEST_DOUBLE = 1e307


cdef void _split_query(
    const CoordinateSample* sample,
    const double* stats,
    const double* coefs,
    SampleQuery* own,
) noexcept nogil:
    """Split the norm of a query: what the components hold, and what they leave."""
    cdef Py_ssize_t c
    cdef double explained = 0.0

    own.norm = stats[3]
    own.residual_norm = own.norm
    own.coefs = coefs
    if sample.n_components > 0:
        for c in range(sample.n_components):
            explained += coefs[c] * coefs[c]
        # As for the atoms: rounding of the coefficients must not hide a residual.
        own.residual_norm = sqrt(
            max(own.norm * own.norm - explained, 0.0)
            + 4.0 * sample.rounding * own.norm * own.norm
        )


cdef void _start(const Task* task, Survivors* survivors) noexcept nogil:
    """Make all atoms survivors."""
    cdef Py_ssize_t i

    survivors.n_left = task.n_slots
    survivors.n_multiplied = 0
    survivors.n_filled = 0
    for i in range(task.n_slots):
        survivors.slots[i] = task.slots[i]


cdef void _write(
    Survivors* survivors, Py_ssize_t n, Py_ssize_t k, Best best
) noexcept nogil:
    """Write the best k of n atoms, in order; their products are in `mean`."""
    cdef Py_ssize_t i

    sort_best(survivors.mean, survivors.slots, n, k)
    for i in range(k):
        best.slots[i] = survivors.slots[i]
        best.products[i] = survivors.mean[i]


cdef Py_ssize_t _finish(
    const Task* task, const floating* query, Survivors* survivors, Best best
) noexcept nogil:
    """Compute the survivors exactly and write the best k; return the products."""
    exact_products(
        &task.rows, query, survivors.slots, survivors.n_left, survivors.mean
    )
    _write(survivors, survivors.n_left, task.k, best)
    return survivors.n_left * task.rows.n_features


cdef bint _conclude(
    const Task* task,
    const floating* query,
    Outcome outcome,
    Survivors* survivors,
    Best best,
) noexcept nogil:
    """Count and finish, unless the query is left to BLAS; return whether it is."""
    best.count[0] = survivors.n_multiplied
    if outcome == GIVEN_UP:
        return True
    best.count[0] += _finish(task, query, survivors, best)
    return False


cdef unsigned char search_query(
    const SampleSearch* search,
    const floating* query,
    const double* stats,
    const double* coefs,
    Survivors* survivors,
    Best best,
) noexcept nogil:
    """Search for one query; return 1 if it is left to BLAS."""
    cdef const Task* task = &search.task
    cdef SampleQuery own = search.common
    cdef Outcome outcome = OPEN
    cdef Py_ssize_t d = task.rows.n_features

    if survivors == NULL:
        return 1
    _start(task, survivors)
    survivors.n_multiplied = search.sample.n_components * d
    _split_query(search.sample, stats, coefs, &own)
    bound_by_norms(search.sample, &own, survivors)
    if survivors.n_left * d <= survivors.n_multiplied:
        outcome = OPEN
    elif survivors.n_left > own.k and own.samples:
        outcome = search_sample(search.sample, &own, query, survivors)
        if outcome == OPEN and search.has_blocks:
            if survivors.n_left * d > survivors.n_multiplied:
                _search_blocks(search, query, stats[3], survivors)
    elif own.give_up_fraction < INFINITY and survivors.n_left > own.k:
        if survivors.n_left > own.give_up_fraction * task.n_slots:
            outcome = GIVEN_UP
    return _conclude(task, query, outcome, survivors, best)


cdef void _search_blocks(
    const SampleSearch* search,
    const floating* query,
    double norm,
    Survivors* survivors,
) noexcept nogil:
    """Go on with blocks of the atoms where the coordinate sample does not decide."""
    cdef References blocks = search.blocks

    blocks.energy = norm * norm / blocks.n_total
    search_references(&search.task.rows, query, &blocks, survivors)


cdef bint search_query_references(
    const Task* task,
    const References* references,
    const floating* query,
    Survivors* survivors,
    Best best,
) noexcept nogil:
    """Search for one query by sampling references; return 1 if it is left to BLAS."""
    cdef Outcome outcome

    if survivors == NULL:
        return True
    _start(task, survivors)
    outcome = search_references(&task.rows, query, references, survivors)
    return _conclude(task, query, outcome, survivors, best)


cdef int search_query_support(
    const Task* task, const floating* query, Py_ssize_t n_support, Best best
) noexcept nogil:
    """Exact search for a sparse query, from its non-zero entries."""
    cdef Survivors* survivors = new_survivors(task.n_slots, 0, 0)
    cdef floating* values = <floating*> allocate(n_support, sizeof(floating))
    cdef Py_ssize_t* support = <Py_ssize_t*> allocate(n_support, sizeof(Py_ssize_t))
    cdef Py_ssize_t j, n = 0
    cdef bint enough = survivors != NULL and values != NULL and support != NULL

    if enough:
        for j in range(task.rows.n_features):
            if query[j] != 0:
                values[n] = query[j]
                support[n] = j
                n += 1
        _start(task, survivors)
        support_products(
            &task.rows, values, support, n, survivors.slots, task.n_slots,
            survivors.mean,
        )
        _write(survivors, task.n_slots, task.k, best)
        best.count[0] = n * task.n_slots
    free(values)
    free(support)
    free_survivors(survivors)
    return not enough


cdef int pick_for_query(
    const Task* task,
    const floating* query,
    double norm,
    const floating* scores,
    Survivors* survivors,
    Best best,
) noexcept nogil:
    """Choose by scores that are right up to rounding; return 1 without memory."""
    cdef Py_ssize_t i, slot, n = task.n_slots, n_left = 0
    cdef double threshold, slack, radius, size, largest = 0.0
    cdef bint is_reliable = True

    if survivors == NULL:
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
    best.count[0] += n * task.rows.n_features
    if not is_reliable:
        # Scores that over- or underflowed say nothing: all are computed again.
        _start(task, survivors)
        best.count[0] += _finish(task, query, survivors, best)
        return 0
    threshold = _score_threshold(task, slack, scores, survivors.scratch)
    for i in range(n):
        slot = task.slots[i]
        # Hardly any score is high enough for its own radius to matter.
        if scores[slot] + radius < threshold:
            continue
        if task.norms == NULL or not (
            scores[slot] + slack * task.norms[slot] < threshold
        ):
            survivors.slots[n_left] = slot
            n_left += 1
    survivors.n_left = n_left
    best.count[0] += _finish(task, query, survivors, best)
    return 0


cdef double _score_threshold(
    const Task* task, double slack, const floating* scores, double* scratch
) noexcept nogil:
    """The k-th largest lower bound of the scores.

    A small number of the largest is kept in order: most scores are below the last one.
    """
    cdef Py_ssize_t i, j, slot, n_kept = 0, n = task.n_slots, k = task.k
    cdef double low, last = -INFINITY

    for i in range(n):
        slot = task.slots[i]
        if k <= ORDERED_LIMIT and scores[slot] <= last:
            continue
        low = scores[slot] - slack * (1.0 if task.norms == NULL else task.norms[slot])
        if k > ORDERED_LIMIT:
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
    return -kth_smallest(scratch, n, k) if k > ORDERED_LIMIT else last


cdef int search_query_buckets(
    const SampleSearch* search,
    const floating* query,
    const double* stats,
    const double* coefs,
    const Py_ssize_t* order,
    Py_ssize_t bucket_size,
    Best best,
) noexcept nogil:
    """Search bucket by bucket, by decreasing norm; return 1 without memory.

    Each bucket competes with the best found so far. An inner product is at most the
    product of the norms, so the search ends at the first bucket whose norms are too
    small.
    """
    cdef const Task* task = &search.task
    cdef SampleQuery own = search.common
    cdef Py_ssize_t i, j, n_new, first = 0, n_best = 0
    cdef Py_ssize_t n = task.n_slots, d = task.rows.n_features
    cdef Survivors* survivors

    bucket_size = min(bucket_size, n)
    survivors = new_survivors(bucket_size + task.k, search.sample.n_coordinates, 0)
    if survivors == NULL:
        return 1
    _split_query(search.sample, stats, coefs, &own)
    survivors.n_filled = 0
    best.count[0] = search.sample.n_components * d
    while first < n:
        if n_best == task.k and (
            (1.0 + task.rounding) * own.norm * task.norms[order[first]]
            < best.products[n_best - 1]
        ):
            break
        survivors.n_multiplied = 0
        n_new = min(bucket_size, n - first)
        for i in range(n_new):
            survivors.slots[i] = order[first + i]
        first += n_new
        for i in range(n_best):
            survivors.slots[n_new + i] = best.slots[i]
        survivors.n_left = n_new + n_best
        own.k = min(task.k, survivors.n_left)
        bound_by_norms(search.sample, &own, survivors)
        if survivors.n_left > own.k and own.samples:
            search_sample(search.sample, &own, query, survivors)
        best.count[0] += survivors.n_multiplied
        # Products of the best so far are known already.
        n_new = 0
        for i in range(survivors.n_left):
            for j in range(n_best):
                if survivors.slots[i] == best.slots[j]:
                    break
            else:
                survivors.slots[n_new] = survivors.slots[i]
                n_new += 1
        exact_products(&task.rows, query, survivors.slots, n_new, survivors.mean)
        best.count[0] += n_new * d
        for j in range(n_best):
            survivors.slots[n_new + j] = best.slots[j]
            survivors.mean[n_new + j] = best.products[j]
        n_new += n_best
        n_best = min(task.k, n_new)
        _write(survivors, n_new, n_best, best)
    free_survivors(survivors)
    return 0
