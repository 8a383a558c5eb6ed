"""The search of a segment: scan its codes, select rows by their bounds, compute these.

One query at a time is scanned with two bytes a feature. Several go through the blocks
together, with one byte each, so that codes are read once for many queries. Those for
which that is too coarse do the same with two bytes. A sample of the blocks shows which
these are, and whose bounds are too loose in any case: for them the rows are read.
"""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport free, qsort
from libc.string cimport memcpy

from ..._core.memory cimport allocate
from ..._core.simd cimport prefetch, prefetch_l2
from ._candidates cimport Candidate, largest
from ._constants cimport LEAST_FACTOR, SKB_BLOCK, SKB_GROUP, SKB_HIGH_STEP
from ._encode cimport MANHATTAN
from ._exact cimport KERNELS, compute_row, compute_all, row_of
from ._float_scan cimport scan_floats
from ._found cimport Found, Neighbour, worst_key
from ._prepare cimport Query, threshold_of
from ._segment cimport SKB_SIZE, QueryBytes, Rows

cdef enum:
    # Rows whose bounds are kept at a time for one query: half a megabyte.
    SPAN = 1 << 17
    # Blocks from all over the segment that give a first threshold, at most; and one of
    # this many of them for a batch (whose seeds are scanned again) and for one query.
    SEED_BLOCKS = 64
    BATCH_SEED_FACTOR = 4
    ONE_SEED_FACTOR = 16
    # Few rows give a batch a threshold only if they are wide: with 2,000 rows of 64
    # features seeds take half as long again, with 5,000 of 4,096 they save a tenth.
    # Nothing between was tried.
    WIDE = 1024
    # Fewer blocks say too little.
    LEAST_SEED_BLOCKS = 4
    # If two bytes would rule out more than one of this number of rows, they are better:
    # a scan by them takes about as long as to compute one row of 32 (100 features).
    # Other numbers were not tried.
    ALONE_FACTOR = 32
    # If more than one of this number of rows reaches the threshold, putting those of
    # each span in order takes longest; a query that is alone has too many at a time for
    # that. Other numbers were not tried.
    MANY_FACTOR = 4
    # Codes that a batch goes over for one group of queries after the other. They and
    # the next ones should stay in a second-level cache of half a megabyte. Other sizes
    # were not tried.
    SPAN_BYTES = 1 << 18
    # More candidates than this are not put in order.
    MOST_SORTED = 256
    # If more than one of this number of rows reaches the threshold, all rows are read:
    # one that is somewhere in memory takes some ten times as long as one in order.
    LOOSE_FACTOR = 8
    # The same for seeds, whose threshold is higher than the last one.
    LOOSE_SEEDS_FACTOR = 2
    # How many rows ahead of its use a row is asked for, and how many bytes of it.
    N_AHEAD = 4
    FETCHED_BYTES = 1024


cdef int new_scratch(
    Scratch* scratch, Py_ssize_t most_rows, bint is_batch
) noexcept nogil:
    """Take memory; return 1 if there is none."""
    cdef Py_ssize_t n = min((most_rows + SKB_BLOCK) // SKB_BLOCK * SKB_BLOCK, SPAN)
    cdef Py_ssize_t n_batch = SEED_BLOCKS * SKB_BLOCK

    n = max(n, n_batch)
    scratch.bounds = <float*> allocate(
        max(n, n_batch * SKB_GROUP if is_batch else 0), sizeof(float)
    )
    scratch.sample = <float*> allocate(n_batch, sizeof(float))
    scratch.places = <int32_t*> allocate(n, sizeof(int32_t))
    scratch.candidates = <Candidate*> allocate(n, sizeof(Candidate))
    return (
        scratch.bounds == NULL or scratch.sample == NULL or scratch.places == NULL
        or scratch.candidates == NULL
    )


cdef void free_scratch(Scratch* scratch) noexcept nogil:
    """Give the memory back."""
    free(scratch.bounds)
    free(scratch.sample)
    free(scratch.places)
    free(scratch.candidates)


# -- from bounds to neighbours --------------------------------------------------------


cdef int _by_bound(const void* a, const void* b) noexcept nogil:
    cdef float x = (<const Candidate*> a).bound, y = (<const Candidate*> b).bound

    return 1 if x < y else -1 if x > y else 0


cdef void _settle(
    const Rows* rows, const Query* query, Py_ssize_t start, Py_ssize_t n,
    Scratch* scratch, Found* found, bint is_first,
) noexcept nogil:
    """Compute the rows from `start` on whose bounds reach the threshold.

    If these are the first, the most promising are computed before the others.
    """
    cdef Candidate* candidates = scratch.candidates
    cdef Py_ssize_t i, n_found, n_kept = 0, place
    cdef bint has_head = rows.head.codes != NULL
    cdef const float* tails = rows.head.tails + start if query.tail > 0.0 else NULL
    cdef float threshold, bound
    cdef double key

    if found.k and found.limit == INFINITY and (is_first or found.n < found.k):
        # They give the threshold for the others.
        n_found = largest(
            scratch.bounds, n, min(found.k, n), scratch.places, candidates
        )
        for i in range(n_found):
            scratch.bounds[candidates[i].place] = -INFINITY
            compute_row(rows, query, start + candidates[i].place, found)
    key = worst_key(found)
    n_found = KERNELS.select(
        scratch.bounds, tails, n, query.tail, threshold_of(query, rows, key, has_head),
        scratch.places,
    )
    threshold = threshold_of(query, rows, key, False)
    for i in range(n_found):
        place = scratch.places[i]
        if has_head:
            if i + 8 < n_found:
                prefetch(
                    rows.codes + (start + scratch.places[i + 8]) * rows.width
                )
            bound = KERNELS.scan_row(
                rows.codes + (start + place) * rows.width,
                _stats_of(rows, start + place), &query.full,
            )
            if not bound >= threshold:
                continue
        else:
            bound = scratch.bounds[place]
        candidates[n_kept].bound = bound
        candidates[n_kept].place = <int32_t> place
        n_kept += 1
    if LOOSE_FACTOR * n_kept > n and scan_floats(
        rows, query, scratch.bounds, start, n, found
    ):
        return
    if 1 < n_kept <= MOST_SORTED:
        qsort(candidates, n_kept, sizeof(Candidate), &_by_bound)
    for i in range(n_kept):
        if i + N_AHEAD < n_kept:
            _fetch_row(rows, start + candidates[i + N_AHEAD].place)
        if candidates[i].bound < threshold:
            continue
        compute_row(rows, query, start + candidates[i].place, found)
        if worst_key(found) < key:
            key = worst_key(found)
            threshold = threshold_of(query, rows, key, False)


cdef inline void _fetch_row(const Rows* rows, Py_ssize_t i) noexcept nogil:
    cdef const char* row = row_of(rows, i)
    cdef Py_ssize_t size = rows.n_features * (8 if rows.is_double else 4), offset

    for offset in range(0, min(size, <Py_ssize_t> FETCHED_BYTES), 64):
        prefetch(row + offset)


cdef inline const float* _stats_of(const Rows* rows, Py_ssize_t i) noexcept nogil:
    return rows.stats + (i // SKB_BLOCK) * rows.n_stats * SKB_BLOCK + i % SKB_BLOCK


cdef void _scan_one(
    const Rows* rows, const Query* query, Py_ssize_t block, Py_ssize_t n_blocks,
    float* bounds,
) noexcept nogil:
    """Write the bounds of blocks of a segment for one query."""
    cdef bint has_head = rows.head.codes != NULL
    cdef const uint8_t* codes = rows.head.codes if has_head else rows.codes
    cdef const float* stats = rows.head.stats if has_head else rows.stats
    cdef Py_ssize_t width = rows.head.width if has_head else rows.width

    codes += block * SKB_BLOCK * width
    stats += block * SKB_BLOCK * rows.n_stats
    if rows.metric == MANHATTAN:
        KERNELS.scan_differences(codes, stats, n_blocks, &query.full, bounds)
    else:
        KERNELS.scan_one(
            codes, stats, n_blocks, &query.head if has_head else &query.full, bounds
        )


cdef inline Py_ssize_t _n_seed_blocks(
    Py_ssize_t n_blocks, Py_ssize_t factor, Py_ssize_t k
) noexcept nogil:
    """Return how many blocks give a threshold; 0 if they would be too few."""
    cdef Py_ssize_t n_seeds = min(n_blocks // factor, <Py_ssize_t> SEED_BLOCKS)

    if k == 0 or n_seeds < LEAST_SEED_BLOCKS or 4 * k > n_seeds * SKB_BLOCK:
        return 0
    return n_seeds


cdef inline Py_ssize_t _seed_row(
    Py_ssize_t place, Py_ssize_t n_blocks, Py_ssize_t n_seeds
) noexcept nogil:
    """Return the row at a place of the seeds' bounds."""
    return (
        place // SKB_BLOCK * n_blocks // n_seeds * SKB_BLOCK + place % SKB_BLOCK
    )


cdef bint _is_loose(
    const Rows* rows, const Query* query, Py_ssize_t n_blocks, Py_ssize_t n_seeds,
    Scratch* scratch, Found* found,
) noexcept nogil:
    """Scan blocks from everywhere; return whether many of their rows are near enough.

    Their bounds stay, but for the most promising, which are found.
    """
    cdef Py_ssize_t n = n_seeds * SKB_BLOCK, i, n_found, block
    cdef Candidate* best = scratch.candidates
    cdef float threshold

    for i in range(n_seeds):
        block = i * n_blocks // n_seeds
        _scan_one(rows, query, block, 1, scratch.sample + i * SKB_BLOCK)
        memcpy(
            scratch.bounds + block * SKB_BLOCK, scratch.sample + i * SKB_BLOCK,
            SKB_BLOCK * sizeof(float),
        )
    n_found = largest(scratch.sample, n, found.k, scratch.places, best)
    for i in range(n_found):
        block = _seed_row(best[i].place, n_blocks, n_seeds)
        scratch.bounds[block] = -INFINITY
        compute_row(rows, query, block, found)
    if found.n < found.k:
        # Rows were removed, or the query is one of them.
        return False
    threshold = threshold_of(query, rows, worst_key(found), False)
    n_found = KERNELS.select(scratch.sample, NULL, n, 0.0, threshold, scratch.places)
    return LOOSE_SEEDS_FACTOR * n_found > n


cdef void search_one(
    const Rows* rows, const Query* query, Scratch* scratch, Found* found
) noexcept nogil:
    """Search a segment for one query, prepared with two bytes a feature."""
    cdef Py_ssize_t span, start, n, n_blocks, n_seeds, i, block, end
    cdef double limit = found.limit

    if query.has_no_bounds:
        compute_all(rows, query, found)
        return
    for span in range((rows.n + SPAN - 1) // SPAN):
        start = span * SPAN
        n = min(rows.n - start, SPAN)
        n_blocks = (n + SKB_BLOCK - 1) // SKB_BLOCK
        n_seeds = 0
        if found.n == 0 and rows.head.codes == NULL and limit == INFINITY:
            # Whole blocks only: what is beyond the rows is no seed.
            n_seeds = _n_seed_blocks(n // SKB_BLOCK, ONE_SEED_FACTOR, found.k)
        if n_seeds == 0:
            _scan_one(
                rows, query, start // SKB_BLOCK, n_blocks, scratch.bounds
            )
        else:
            # Only in the first span: something is found afterwards.
            if _is_loose(rows, query, n // SKB_BLOCK, n_seeds, scratch, found):
                found.limit = worst_key(found)
                found.n = 0
                if scan_floats(rows, query, NULL, 0, rows.n, found):
                    return
                found.limit = limit
                compute_all(rows, query, found)
                return
            for i in range(n_seeds):
                block = i * (n // SKB_BLOCK) // n_seeds + 1
                end = (i + 1) * (n // SKB_BLOCK) // n_seeds
                if i == n_seeds - 1:
                    end = n_blocks
                _scan_one(
                    rows, query, block, end - block, scratch.bounds + block * SKB_BLOCK
                )
        _settle(rows, query, start, n, scratch, found, n_seeds > 0)


# -- several queries together ---------------------------------------------------------


cdef struct Group:
    const Rows* rows
    const uint8_t* codes
    const float* stats
    Py_ssize_t width
    Query* queries
    Found* found
    Scratch* scratch            # bounds have room for SKB_GROUP spans
    Py_ssize_t stride           # of the bounds of one query
    Py_ssize_t n_seeds          # blocks that give the first thresholds
    bint has_two_bytes          # half as many queries at a time, with two bytes each


cdef void _scan_group(
    const Group* group, Py_ssize_t first, Py_ssize_t n_queries, Py_ssize_t block,
    Py_ssize_t n_blocks, Py_ssize_t place,
) noexcept nogil:
    """Write the bounds of blocks, from a place on, for the queries of a group.

    With two bytes a feature the low bytes are queries of their own, whose bounds have
    only the product. Infinite residuals must stay so in both.
    """
    cdef QueryBytes[SKB_GROUP] query_bytes
    cdef Py_ssize_t i, j, own, size = SKB_GROUP // 2
    cdef bint has_head = group.rows.head.codes != NULL
    cdef float* bounds = group.scratch.bounds + place * SKB_BLOCK
    cdef float* low_bounds
    cdef QueryBytes* low

    for i in range(size if group.has_two_bytes else SKB_GROUP):
        own = first + min(i, n_queries - 1)
        query_bytes[i] = (
            group.queries[own].head if has_head else group.queries[own].full
        )
        if group.has_two_bytes:
            low = &query_bytes[size + i]
            low[0] = query_bytes[i]
            query_bytes[i].unit *= SKB_HIGH_STEP
            low.high, low.sum_high = low.low, low.sum_low
            low.bias = low.size = low.constant = 0.0
            low.residual = <float> LEAST_FACTOR
    KERNELS.scan_group(
        group.codes + block * SKB_BLOCK * group.width,
        group.stats + block * SKB_BLOCK * group.rows.n_stats, n_blocks,
        query_bytes, bounds, group.stride,
    )
    if group.has_two_bytes:
        low_bounds = bounds + size * group.stride
        for i in range(n_queries):
            for j in range(n_blocks * SKB_BLOCK):
                bounds[i * group.stride + j] += low_bounds[i * group.stride + j]


cdef bint _is_coarse(
    const Group* group, Py_ssize_t number, const float* bounds
) noexcept nogil:
    """Whether two bytes would rule out many of the seeds that one byte does not.

    Or whether the order in which these are computed costs more than it saves.
    """
    cdef const Rows* rows = group.rows
    cdef const Query* query = &group.queries[number]
    cdef float threshold = threshold_of(query, rows, group.found[number].limit, False)
    cdef int32_t* places = group.scratch.places
    cdef Py_ssize_t n = group.n_seeds * SKB_BLOCK, n_reached, n_ruled_out = 0, i, row
    cdef float size

    if rows.head.codes != NULL:
        return False
    n_reached = KERNELS.select(bounds, NULL, n, 0.0, threshold, places)
    if ALONE_FACTOR * n_reached <= n:
        return False
    for i in range(n_reached):
        row = _seed_row(places[i], rows.n // SKB_BLOCK, group.n_seeds)
        size = _stats_of(rows, row)[SKB_SIZE * SKB_BLOCK]
        n_ruled_out += bounds[places[i]] - query.full.size * size < threshold
    if MANY_FACTOR * (n_reached - n_ruled_out) > n:
        group.queries[number].is_loose = True
        return True
    return ALONE_FACTOR * n_ruled_out > n


cdef void _seed(
    const Group* group, Py_ssize_t first, Py_ssize_t n_queries
) noexcept nogil:
    """Give each query a limit: its k-th distance among rows from everywhere.

    A query whose single byte a feature tells too few of these rows apart is to be
    searched alone.
    """
    cdef const Rows* rows = group.rows
    cdef Py_ssize_t n_blocks = rows.n // SKB_BLOCK, n = group.n_seeds * SKB_BLOCK
    cdef Py_ssize_t i, j, place, k = group.found[first].k
    cdef Candidate* best = group.scratch.candidates
    cdef Found seeds
    cdef float* bounds

    for i in range(group.n_seeds):
        _scan_group(group, first, n_queries, i * n_blocks // group.n_seeds, 1, i)
    seeds.rows = <Neighbour*> allocate(k, sizeof(Neighbour))
    if seeds.rows == NULL:
        return
    for i in range(n_queries):
        bounds = group.scratch.bounds + i * group.stride
        seeds.k = k
        seeds.n = 0
        seeds.limit = INFINITY
        for j in range(largest(bounds, n, k, group.scratch.places, best)):
            place = _seed_row(best[j].place, n_blocks, group.n_seeds)
            compute_row(rows, &group.queries[first + i], place, &seeds)
        if seeds.n == k:
            group.found[first + i].limit = min(
                group.found[first + i].limit, worst_key(&seeds)
            )
        group.queries[first + i].is_alone = _is_coarse(group, first + i, bounds)
    free(seeds.rows)


cdef void _fetch_ahead(
    const Group* group, Py_ssize_t start, Py_ssize_t n, Py_ssize_t part,
    Py_ssize_t n_parts,
) noexcept nogil:
    """Prefetch one part of the codes of the next n rows."""
    cdef Py_ssize_t size = max(min(group.rows.n - start, n), 0) * group.width, offset
    cdef const uint8_t* codes = group.codes + start * group.width

    for offset in range(part * size // n_parts, (part + 1) * size // n_parts, 64):
        prefetch_l2(codes + offset)


cdef bint _are_alone(const Query* queries, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i

    for i in range(n):
        if not queries[i].is_alone:
            return False
    return True


cdef void search_together(
    const Rows* rows, Query* queries, Py_ssize_t n_queries, Scratch* scratch,
    Found* found, bint has_two_bytes,
) noexcept nogil:
    """Search a segment for queries that were prepared with one byte a feature, or two.

    Of those with one byte, those that are marked to be alone afterwards are not
    searched for.
    """
    cdef bint has_head = rows.head.codes != NULL
    cdef Group group
    cdef Py_ssize_t span, i_group, first, i, start, n, n_span, m
    cdef Py_ssize_t size = SKB_GROUP // 2 if has_two_bytes else SKB_GROUP
    cdef Py_ssize_t n_groups = (n_queries + size - 1) // size
    cdef Scratch own = scratch[0]

    group.rows = rows
    group.codes = rows.head.codes if has_head else rows.codes
    group.stats = rows.head.stats if has_head else rows.stats
    group.width = rows.head.width if has_head else rows.width
    group.queries = queries
    group.found = found
    group.scratch = scratch
    group.stride = SEED_BLOCKS * SKB_BLOCK
    group.has_two_bytes = has_two_bytes
    group.n_seeds = 0
    if not has_two_bytes and (
        rows.n >= 2 * SEED_BLOCKS * SKB_BLOCK or rows.n_features >= WIDE
    ):
        group.n_seeds = _n_seed_blocks(
            rows.n // SKB_BLOCK, BATCH_SEED_FACTOR, found[0].k
        )
    n_span = SPAN_BYTES // (SKB_BLOCK * group.width)
    n_span = max(min(n_span, <Py_ssize_t> SEED_BLOCKS), 1)
    for i_group in range(n_groups):
        first = i_group * size
        if group.n_seeds and found[first].n == 0:
            _seed(&group, first, min(n_queries - first, size))
    n_span *= SKB_BLOCK
    for span in range((rows.n + n_span - 1) // n_span):
        start = span * n_span
        n = min(rows.n - start, n_span)
        for i_group in range(n_groups):
            first = i_group * size
            m = min(n_queries - first, size)
            if _are_alone(queries + first, m):
                continue
            _fetch_ahead(&group, start + n, n_span, i_group, n_groups)
            _scan_group(
                &group, first, m, start // SKB_BLOCK, (n + SKB_BLOCK - 1) // SKB_BLOCK,
                0,
            )
            for i in range(m):
                if queries[first + i].is_alone:
                    continue
                own.bounds = scratch.bounds + i * group.stride
                _settle(
                    rows, &queries[first + i], start, n, &own, &found[first + i], False
                )
