"""The search of a segment: scan its codes, select rows by their bounds, compute these.

One query at a time is scanned with two bytes a feature. Several go through the blocks
together, with one byte each, so that codes are read once for many queries.
"""

from libc.float cimport FLT_MAX
from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t
from libc.stdlib cimport free, qsort

from ..._core.memory cimport allocate
from ..._core.simd cimport prefetch, prefetch_l2
from ._constants cimport SKB_BLOCK, SKB_GROUP
from ._encode cimport MANHATTAN
from ._exact cimport KERNELS, compute_row, compute_all, row_of
from ._float_scan cimport scan_floats
from ._found cimport Found, Neighbour, worst_key
from ._prepare cimport Query, threshold_of
from ._segment cimport SKB_SIZE, QueryBytes, Rows

cdef enum:
    # Rows whose bounds are kept at a time for one query: half a megabyte.
    SPAN = 1 << 17
    # Bounds among which the largest are looked for at a time.
    CHUNK = 4096
    # Blocks from all over the segment that give a batch its first threshold.
    SEED_BLOCKS = 64
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
    # If more than one of this number of rows reaches the threshold, all are read.
    LOOSE_FACTOR = 8
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
    scratch.places = <int32_t*> allocate(n, sizeof(int32_t))
    scratch.candidates = <Candidate*> allocate(n, sizeof(Candidate))
    return (
        scratch.bounds == NULL or scratch.places == NULL or scratch.candidates == NULL
    )


cdef void free_scratch(Scratch* scratch) noexcept nogil:
    """Give the memory back."""
    free(scratch.bounds)
    free(scratch.places)
    free(scratch.candidates)


# -- from bounds to neighbours --------------------------------------------------------


cdef Py_ssize_t _largest(
    float* bounds, Py_ssize_t n, Py_ssize_t k, int32_t* places, Candidate* best
) noexcept nogil:
    """Put the k largest bounds into a heap; return how many there are."""
    cdef Py_ssize_t chunk, start, i, n_best = 0, n_places, place, child
    cdef float least = -FLT_MAX
    cdef Candidate new

    for chunk in range((n + CHUNK - 1) // CHUNK):
        start = chunk * CHUNK
        n_places = KERNELS.select(
            bounds + start, NULL, min(n - start, CHUNK), 0.0, least, places
        )
        for i in range(n_places):
            new.place = <int32_t> start + places[i]
            new.bound = bounds[new.place]
            if n_best < k:
                place = n_best
                n_best += 1
                while place > 0 and best[(place - 1) // 2].bound > new.bound:
                    best[place] = best[(place - 1) // 2]
                    place = (place - 1) // 2
                best[place] = new
            elif new.bound > best[0].bound:
                place = 0
                while True:
                    child = 2 * place + 1
                    if child >= k:
                        break
                    if child + 1 < k and best[child + 1].bound < best[child].bound:
                        child += 1
                    if best[child].bound >= new.bound:
                        break
                    best[place] = best[child]
                    place = child
                best[place] = new
        if n_best == k:
            least = best[0].bound
    return n_best


cdef int _by_bound(const void* a, const void* b) noexcept nogil:
    cdef float x = (<const Candidate*> a).bound, y = (<const Candidate*> b).bound

    return 1 if x < y else -1 if x > y else 0


cdef void _settle(
    const Rows* rows, const Query* query, Py_ssize_t start, Py_ssize_t n,
    Scratch* scratch, Found* found,
) noexcept nogil:
    """Compute the rows from `start` on whose bounds reach the threshold."""
    cdef Candidate* candidates = scratch.candidates
    cdef Py_ssize_t i, n_found, n_kept = 0, place
    cdef bint has_head = rows.head.codes != NULL
    cdef const float* tails = rows.head.tails + start if query.tail > 0.0 else NULL
    cdef float threshold, bound
    cdef double key

    if found.k and found.n < found.k and found.limit == INFINITY:
        # The most promising first: they give the threshold for the others.
        n_found = _largest(
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


cdef void search_one(
    const Rows* rows, const Query* query, Scratch* scratch, Found* found
) noexcept nogil:
    """Search a segment for one query, prepared with two bytes a feature."""
    cdef bint has_head = rows.head.codes != NULL
    cdef const uint8_t* codes = rows.head.codes if has_head else rows.codes
    cdef const float* stats = rows.head.stats if has_head else rows.stats
    cdef Py_ssize_t width = rows.head.width if has_head else rows.width
    cdef Py_ssize_t span, start, n, n_blocks

    if query.has_no_bounds:
        compute_all(rows, query, found)
        return
    for span in range((rows.n + SPAN - 1) // SPAN):
        start = span * SPAN
        n = min(rows.n - start, SPAN)
        n_blocks = (n + SKB_BLOCK - 1) // SKB_BLOCK
        if rows.metric == MANHATTAN:
            KERNELS.scan_differences(
                codes + start * width, stats + start * rows.n_stats, n_blocks,
                &query.full, scratch.bounds,
            )
        else:
            KERNELS.scan_one(
                codes + start * width, stats + start * rows.n_stats, n_blocks,
                &query.head if has_head else &query.full, scratch.bounds,
            )
        _settle(rows, query, start, n, scratch, found)


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


cdef void _scan_group(
    const Group* group, Py_ssize_t first, Py_ssize_t n_queries, Py_ssize_t block,
    Py_ssize_t n_blocks, Py_ssize_t place,
) noexcept nogil:
    """Write the bounds of blocks, from a place on, for up to SKB_GROUP queries."""
    cdef QueryBytes[SKB_GROUP] query_bytes
    cdef Py_ssize_t i, own
    cdef bint has_head = group.rows.head.codes != NULL

    for i in range(SKB_GROUP):
        own = first + min(i, n_queries - 1)
        query_bytes[i] = (
            group.queries[own].head if has_head else group.queries[own].full
        )
    KERNELS.scan_group(
        group.codes + block * SKB_BLOCK * group.width,
        group.stats + block * SKB_BLOCK * group.rows.n_stats, n_blocks,
        query_bytes, group.scratch.bounds + place * SKB_BLOCK, group.stride,
    )


cdef inline Py_ssize_t _seed_row(const Rows* rows, Py_ssize_t place) noexcept nogil:
    """Return the row at a place of the seeds' bounds."""
    cdef Py_ssize_t block = place // SKB_BLOCK * (rows.n // SKB_BLOCK) // SEED_BLOCKS

    return block * SKB_BLOCK + place % SKB_BLOCK


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
    cdef Py_ssize_t n = SEED_BLOCKS * SKB_BLOCK, n_reached, n_ruled_out = 0, i
    cdef float size

    if rows.head.codes != NULL:
        return False
    n_reached = KERNELS.select(bounds, NULL, n, 0.0, threshold, places)
    if ALONE_FACTOR * n_reached <= n:
        return False
    if MANY_FACTOR * n_reached > n:
        group.queries[number].is_loose = True
        return True
    for i in range(n_reached):
        size = _stats_of(rows, _seed_row(rows, places[i]))[SKB_SIZE * SKB_BLOCK]
        n_ruled_out += bounds[places[i]] - query.full.size * size < threshold
    return ALONE_FACTOR * n_ruled_out > n


cdef void _seed(
    const Group* group, Py_ssize_t first, Py_ssize_t n_queries
) noexcept nogil:
    """Give each query a limit: its k-th distance among rows from everywhere.

    A query whose single byte a feature tells too few of these rows apart is to be
    searched alone.
    """
    cdef const Rows* rows = group.rows
    cdef Py_ssize_t n_blocks = rows.n // SKB_BLOCK, n = SEED_BLOCKS * SKB_BLOCK
    cdef Py_ssize_t i, j, place, k = group.found[first].k
    cdef Candidate* best = group.scratch.candidates
    cdef Found seeds
    cdef float* bounds

    if k == 0 or 4 * k > n or n_blocks < 2 * SEED_BLOCKS:
        return
    for i in range(SEED_BLOCKS):
        _scan_group(group, first, n_queries, i * n_blocks // SEED_BLOCKS, 1, i)
    seeds.rows = <Neighbour*> allocate(k, sizeof(Neighbour))
    if seeds.rows == NULL:
        return
    for i in range(n_queries):
        bounds = group.scratch.bounds + i * group.stride
        seeds.k = k
        seeds.n = 0
        seeds.limit = INFINITY
        for j in range(_largest(bounds, n, k, group.scratch.places, best)):
            place = _seed_row(rows, best[j].place)
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
    Found* found,
) noexcept nogil:
    """Search a segment for queries that were prepared with one byte a feature.

    Those that are marked to be alone afterwards are not searched for.
    """
    cdef bint has_head = rows.head.codes != NULL
    cdef Group group
    cdef Py_ssize_t span, i_group, first, i, start, n, n_span, m
    cdef Py_ssize_t n_groups = (n_queries + SKB_GROUP - 1) // SKB_GROUP
    cdef Scratch own = scratch[0]

    group.rows = rows
    group.codes = rows.head.codes if has_head else rows.codes
    group.stats = rows.head.stats if has_head else rows.stats
    group.width = rows.head.width if has_head else rows.width
    group.queries = queries
    group.found = found
    group.scratch = scratch
    group.stride = SEED_BLOCKS * SKB_BLOCK
    n_span = SPAN_BYTES // (SKB_BLOCK * group.width)
    n_span = max(min(n_span, <Py_ssize_t> SEED_BLOCKS), 1)
    for i_group in range(n_groups):
        first = i_group * SKB_GROUP
        if found[first].n == 0:
            _seed(&group, first, min(n_queries - first, <Py_ssize_t> SKB_GROUP))
    n_span *= SKB_BLOCK
    for span in range((rows.n + n_span - 1) // n_span):
        start = span * n_span
        n = min(rows.n - start, n_span)
        for i_group in range(n_groups):
            first = i_group * SKB_GROUP
            m = min(n_queries - first, <Py_ssize_t> SKB_GROUP)
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
                _settle(rows, &queries[first + i], start, n, &own, &found[first + i])
