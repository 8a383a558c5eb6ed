"""The search: bounds of all rows from bytes, exact distances of those that may count.

One query at a time is scanned with two digits; several go through the blocks together,
with one digit each, so that codes are read once for many queries. What is returned is
computed from the rows themselves in double precision, and does not depend on how the
search went.
"""

import numpy as np

from cython cimport floating
from cython.parallel cimport prange
from libc.float cimport FLT_MAX
from libc.math cimport INFINITY, sqrt
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, qsort

from ..._core.memory cimport allocate, allocate_zeros
from ..._core.simd cimport prefetch, prefetch_l2
from ._encode cimport COSINE, EUCLIDEAN, INNER_PRODUCT, MANHATTAN
from ._found cimport Found, Neighbour, push, sort_found, worst_key
from ._prepare cimport Query, bar_of, free_query, new_query, prepare
from ._segment cimport (
    SKB_BLOCK,
    SKB_GROUP,
    SKB_RESIDUAL,
    Digits,
    Kernels,
    Rows,
    Segment,
    kernels_of,
)

cdef enum:
    # Rows whose bounds are kept at a time for one query: half a megabyte.
    SPAN = 1 << 17
    # Bounds among which the largest are looked for at a time.
    CHUNK = 4096
    # Blocks from all over the segment that give a batch its first bar.
    SEED_BLOCKS = 64
    # Codes that a batch goes over for one group of queries after the other. They and
    # the next ones should stay in a second-level cache of half a megabyte. Other sizes
    # were not tried.
    SPAN_BYTES = 1 << 18
    # Queries of a thread at a time, a multiple of SKB_GROUP.
    MOST_TOGETHER = 120
    # Fewer queries are searched one by one: a group is filled up otherwise.
    LEAST_TOGETHER = 4
    # More candidates than this are not put in order.
    MOST_SORTED = 4096

# Squares below these are computed again, of values times a large power of two.
cdef double LEAST_SQUARES = 1e-250, LARGE = 2.0 ** 600
# Squares of larger queries may overflow.
cdef double MOST_SQUARES = 1e290

VARIANTS = ("avx512", "avx2", "portable")
cdef const Kernels* KERNELS = NULL

# A row that may be an answer.
cdef struct Candidate:
    float bound
    int32_t place

# Memory of one thread.
cdef struct Scratch:
    float* bounds
    int32_t* places
    Candidate* candidates


def available_variants():
    """Return the instruction sets that the processor has kernels for, best first."""
    return [name for name in VARIANTS if kernels_of(name.encode()) != NULL]


def use_variant(name=None):
    """Use the kernels of an instruction set from now on, for tests and benchmarks.

    Parameters
    ----------
    name : str, default=None
        One of `available_variants`; None for the best.

    Returns
    -------
    str
        The name.
    """
    global KERNELS
    name = available_variants()[0] if name is None else name
    kernels = kernels_of(name.encode())
    if kernels == NULL:
        raise ValueError(f"There are no kernels for {name!r}.")
    KERNELS = kernels
    return name


def used_variant():
    """Return the name of the instruction set whose kernels are used."""
    return KERNELS.name.decode()


use_variant()


# -- exact distances ------------------------------------------------------------------


cdef inline const char* _row(const Rows* rows, Py_ssize_t i) noexcept nogil:
    return <const char*> rows.rows + i * rows.n_features * (
        8 if rows.is_double else 4
    )


cdef inline double _value(
    const Rows* rows, const char* row, Py_ssize_t j
) noexcept nogil:
    return (<const double*> row)[j] if rows.is_double else (<const float*> row)[j]


cdef double _key(const Rows* rows, const Query* query, Py_ssize_t i) noexcept nogil:
    """Return the distance of row i, or minus its inner product."""
    cdef const char* row = _row(rows, i)
    cdef Py_ssize_t d = rows.n_features, j
    cdef double[2] sums
    cdef double value

    if rows.metric == MANHATTAN:
        KERNELS.absolutes[rows.is_double](row, query.values, d, sums)
        return sums[0]
    if rows.metric == EUCLIDEAN:
        KERNELS.squares[rows.is_double](row, query.values, d, sums)
        if sums[0] >= LEAST_SQUARES:
            return sqrt(sums[0])
        sums[0] = 0.0
        for j in range(d):
            value = (_value(rows, row, j) - query.values[j]) * LARGE
            sums[0] += value * value
        return sqrt(sums[0]) / LARGE
    KERNELS.products[rows.is_double](row, query.values, d, sums)
    if rows.metric == INNER_PRODUCT:
        return -sums[0]
    if sums[1] < LEAST_SQUARES:
        sums[0] = sums[1] = 0.0
        for j in range(d):
            value = _value(rows, row, j) * LARGE
            sums[0] += value * query.values[j]
            sums[1] += value * value
    if sums[1] <= 0.0 or query.own_squares <= 0.0:
        return 1.0
    # Of equal vectors this is exactly 0.
    value = 1.0 - sums[0] / sqrt(sums[1] * query.own_squares)
    return min(max(value, 0.0), 2.0)


cdef inline void _look_at(
    const Rows* rows, const Query* query, Py_ssize_t i, Found* found
) noexcept nogil:
    """Compute row i and add it to what was found."""
    if rows.first + i != query.own:
        push(found, _key(rows, query, i), rows.first + i)


cdef inline bint _is_present(const Rows* rows, Py_ssize_t i) noexcept nogil:
    cdef Py_ssize_t offset = (i // SKB_BLOCK) * rows.n_stats * SKB_BLOCK

    if rows.n_stats > 1:
        offset += SKB_RESIDUAL * SKB_BLOCK
    return rows.stats[offset + i % SKB_BLOCK] > -INFINITY


cdef void _look_at_all(
    const Rows* rows, const Query* query, Found* found
) noexcept nogil:
    cdef Py_ssize_t i

    for i in range(rows.n):
        if _is_present(rows, i):
            _look_at(rows, query, i, found)


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
    """Look at the rows from `start` on whose bounds reach the bar."""
    cdef Candidate* candidates = scratch.candidates
    cdef Py_ssize_t i, n_found, n_kept = 0, place
    cdef bint has_head = rows.head.codes != NULL
    cdef const float* tails = rows.head.tails + start if query.tail > 0.0 else NULL
    cdef float bar, bound
    cdef double key

    if found.k and found.n < found.k and found.limit == INFINITY:
        # The most promising first: they give the bar for the others.
        n_found = _largest(
            scratch.bounds, n, min(found.k, n), scratch.places, candidates
        )
        for i in range(n_found):
            scratch.bounds[candidates[i].place] = -INFINITY
            _look_at(rows, query, start + candidates[i].place, found)
    key = worst_key(found)
    n_found = KERNELS.select(
        scratch.bounds, tails, n, query.tail, bar_of(query, rows, key, has_head),
        scratch.places,
    )
    bar = bar_of(query, rows, key, False)
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
            if not bound >= bar:
                continue
        else:
            bound = scratch.bounds[place]
        candidates[n_kept].bound = bound
        candidates[n_kept].place = <int32_t> place
        n_kept += 1
    if 1 < n_kept <= MOST_SORTED:
        qsort(candidates, n_kept, sizeof(Candidate), &_by_bound)
    for i in range(n_kept):
        if i + 2 < n_kept:
            prefetch(_row(rows, start + candidates[i + 2].place))
        if candidates[i].bound < bar:
            continue
        _look_at(rows, query, start + candidates[i].place, found)
        if worst_key(found) < key:
            key = worst_key(found)
            bar = bar_of(query, rows, key, False)


cdef inline const float* _stats_of(const Rows* rows, Py_ssize_t i) noexcept nogil:
    return rows.stats + (i // SKB_BLOCK) * rows.n_stats * SKB_BLOCK + i % SKB_BLOCK


cdef void _search_one(
    const Rows* rows, const Query* query, Scratch* scratch, Found* found
) noexcept nogil:
    """Search a segment for one query, prepared with two digits."""
    cdef bint has_head = rows.head.codes != NULL
    cdef const uint8_t* codes = rows.head.codes if has_head else rows.codes
    cdef const float* stats = rows.head.stats if has_head else rows.stats
    cdef Py_ssize_t width = rows.head.width if has_head else rows.width
    cdef Py_ssize_t span, start, n, n_blocks

    if query.is_blind:
        _look_at_all(rows, query, found)
        return
    for span in range((rows.n + SPAN - 1) // SPAN):
        start = span * SPAN
        n = min(rows.n - start, SPAN)
        n_blocks = (n + SKB_BLOCK - 1) // SKB_BLOCK
        if rows.metric == MANHATTAN:
            KERNELS.scan_differences(
                codes + start * width, stats + start, n_blocks, &query.full,
                scratch.bounds,
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
    cdef Digits[SKB_GROUP] digits
    cdef Py_ssize_t i, own
    cdef bint has_head = group.rows.head.codes != NULL

    for i in range(SKB_GROUP):
        own = first + min(i, n_queries - 1)
        digits[i] = group.queries[own].head if has_head else group.queries[own].full
    KERNELS.scan_group(
        group.codes + block * SKB_BLOCK * group.width,
        group.stats + block * SKB_BLOCK * group.rows.n_stats, n_blocks,
        digits, group.scratch.bounds + place * SKB_BLOCK, group.stride,
    )


cdef void _seed(
    const Group* group, Py_ssize_t first, Py_ssize_t n_queries
) noexcept nogil:
    """Give each query a limit: its k-th distance among rows from everywhere."""
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
            place = best[j].place // SKB_BLOCK * n_blocks // SEED_BLOCKS * SKB_BLOCK
            place += best[j].place % SKB_BLOCK
            _look_at(rows, &group.queries[first + i], place, &seeds)
        if seeds.n == k:
            group.found[first + i].limit = min(
                group.found[first + i].limit, worst_key(&seeds)
            )
    free(seeds.rows)


cdef void _fetch_ahead(
    const Group* group, Py_ssize_t start, Py_ssize_t n, Py_ssize_t part,
    Py_ssize_t n_parts,
) noexcept nogil:
    """Ask for one part of the codes of the next n rows: their turn comes soon."""
    cdef Py_ssize_t size = max(min(group.rows.n - start, n), 0) * group.width, offset
    cdef const uint8_t* codes = group.codes + start * group.width

    for offset in range(part * size // n_parts, (part + 1) * size // n_parts, 64):
        prefetch_l2(codes + offset)


cdef void _search_together(
    const Rows* rows, Query* queries, Py_ssize_t n_queries, Scratch* scratch,
    Found* found,
) noexcept nogil:
    """Search a segment for queries that were prepared with one digit."""
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
            _fetch_ahead(&group, start + n, n_span, i_group, n_groups)
            _scan_group(
                &group, first, m, start // SKB_BLOCK, (n + SKB_BLOCK - 1) // SKB_BLOCK,
                0,
            )
            for i in range(m):
                own.bounds = scratch.bounds + i * group.stride
                _settle(rows, &queries[first + i], start, n, &own, &found[first + i])


cdef struct Task:
    Rows* segments
    Py_ssize_t n_segments
    Py_ssize_t n_features
    Py_ssize_t width            # the largest number of codes of a row
    Py_ssize_t most_rows        # of a segment
    const int64_t* own          # positions not to return, or NULL


cdef int _new_scratch(Scratch* scratch, const Task* task, bint is_batch) noexcept nogil:
    """Take memory; return 1 if there is none."""
    cdef Py_ssize_t n = min((task.most_rows + SKB_BLOCK) // SKB_BLOCK * SKB_BLOCK, SPAN)
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


cdef void _prepare(Query* query, const Rows* rows, bint one_digit) noexcept nogil:
    """Prepare a query; its squares are added in the order of those of rows."""
    cdef double[2] sums

    prepare(query, rows, one_digit)
    if rows.metric == COSINE:
        KERNELS.products[1](query.values, query.values, rows.n_features, sums)
        query.own_squares = sums[1]


cdef int _search_some(
    const Task* task, const floating* values, Py_ssize_t start, Py_ssize_t n,
    Found* found,
) noexcept nogil:
    """Search for the queries from `start` on; return 1 without memory, 2 if bad."""
    cdef Py_ssize_t i, j, s, d = task.n_features, n_together = 0
    cdef Query* queries = <Query*> allocate_zeros(n, sizeof(Query))
    cdef Scratch scratch
    cdef double squares
    cdef int result = _new_scratch(&scratch, task, n >= LEAST_TOGETHER)

    result |= queries == NULL
    if not result:
        for i in range(n):
            result |= new_query(&queries[i], d, task.width)
    if not result:
        for i in range(n):
            queries[i].own = task.own[start + i] if task.own != NULL else -1
            squares = 0.0
            for j in range(d):
                queries[i].values[j] = values[(start + i) * d + j]
                squares += queries[i].values[j] * queries[i].values[j]
            if not squares < MOST_SQUARES:
                result = 2
                break
    for s in range(task.n_segments):
        if result:
            break
        n_together = 0
        if n >= LEAST_TOGETHER and task.segments[s].metric != MANHATTAN:
            n_together = n
            for i in range(n):
                _prepare(&queries[i], &task.segments[s], True)
                if queries[i].is_blind:
                    n_together = 0
                    break
        if n_together:
            _search_together(&task.segments[s], queries, n, &scratch, &found[start])
            continue
        for i in range(n):
            _prepare(&queries[i], &task.segments[s], False)
            _search_one(&task.segments[s], &queries[i], &scratch, &found[start + i])
    if queries != NULL:
        for i in range(n):
            free_query(&queries[i])
    free(queries)
    free(scratch.bounds)
    free(scratch.places)
    free(scratch.candidates)
    return result


cdef int _search_all(
    const Task* task, const floating* values, Py_ssize_t n_queries, Found* found,
    int n_threads,
) noexcept nogil:
    """Share the queries out; return 1 without memory, 2 if one of them is bad."""
    cdef Py_ssize_t part, n_parts, size, n_rounds
    cdef int n_failed = 0, n_bad = 0, result

    if n_queries == 1:
        return _search_some(task, values, 0, 1, found)
    # Equal parts, as many for each thread.
    n_rounds = (n_queries - 1) // (n_threads * MOST_TOGETHER) + 1
    size = (n_queries - 1) // (n_threads * n_rounds) + 1
    size = (size + SKB_GROUP - 1) // SKB_GROUP * SKB_GROUP
    n_parts = (n_queries - 1) // size + 1
    for part in prange(n_parts, num_threads=n_threads, schedule="dynamic"):
        result = _search_some(
            task, values, part * size, min(n_queries - part * size, size), found
        )
        n_failed += result == 1
        n_bad += result == 2
    return 1 if n_failed else 2 if n_bad else 0


cdef class Search:
    """Segments in which queries are answered.

    Parameters
    ----------
    segments : tuple of Segment
        At least one; in order of the positions of their rows.
    """

    cdef readonly tuple segments
    cdef Rows* data
    cdef Task task

    def __cinit__(self, tuple segments):
        cdef Py_ssize_t i
        cdef Segment segment

        self.segments = segments
        self.data = <Rows*> allocate(len(segments), sizeof(Rows))
        if self.data == NULL:
            raise MemoryError()
        self.task.width = self.task.most_rows = 0
        for i in range(len(segments)):
            segment = segments[i]
            self.data[i] = segment.data
            self.task.width = max(self.task.width, segment.data.width)
            self.task.most_rows = max(self.task.most_rows, segment.data.n)
            self.task.n_features = segment.data.n_features
        self.task.segments = self.data
        self.task.n_segments = len(segments)
        self.task.own = NULL

    def __dealloc__(self):
        free(self.data)

    def __reduce__(self):
        return Search, (self.segments,)

    def nearest(
        self,
        const floating[:, ::1] queries,
        Py_ssize_t k,
        const int64_t[::1] own,
        int n_threads,
    ):
        """Find the k rows with the smallest keys.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, n_features)
            The queries.
        k : int
            At most the number of rows that are present.
        own : ndarray of shape (n_queries,) or None
            Positions that are not answers.
        n_threads : int
            Number of threads.

        Returns
        -------
        keys : ndarray of shape (n_queries, k)
            Distances, or minus inner products, in ascending order.
        positions : ndarray of shape (n_queries, k)
            Positions of the rows; equal keys in ascending order.
        """
        cdef Py_ssize_t n = queries.shape[0], i, j
        cdef Task task = self.task
        cdef int result = 1
        keys = np.empty((n, k))
        positions = np.empty((n, k), dtype=np.int64)
        cdef double[:, ::1] out_keys = keys
        cdef int64_t[:, ::1] out_positions = positions
        cdef Found* found = <Found*> allocate_zeros(n, sizeof(Found))
        cdef Neighbour* rows = <Neighbour*> allocate(n * k, sizeof(Neighbour))

        task.own = &own[0] if own is not None else NULL
        with nogil:
            if found != NULL and rows != NULL:
                for i in range(n):
                    found[i].rows = rows + i * k
                    found[i].k = k
                    found[i].limit = INFINITY
                result = _search_all(&task, &queries[0, 0], n, found, n_threads)
            if result == 0:
                for i in range(n):
                    sort_found(&found[i], True)
                    for j in range(found[i].n):
                        out_keys[i, j] = found[i].rows[j].key
                        out_positions[i, j] = found[i].rows[j].position
            free(found)
            free(rows)
        _check(result)
        return keys, positions

    def within(
        self,
        const floating[:, ::1] queries,
        double limit,
        const int64_t[::1] own,
        bint by_key,
        int n_threads,
    ):
        """Find all rows whose keys are at most `limit`.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, n_features)
            The queries.
        limit : float
            The largest key.
        own : ndarray of shape (n_queries,) or None
            Positions that are not answers.
        by_key : bool
            Order by key; by position otherwise.
        n_threads : int
            Number of threads.

        Returns
        -------
        ends : ndarray of shape (n_queries + 1,)
            Where the rows of each query begin and end.
        keys, positions : ndarray of shape (ends[-1],)
            The rows.
        """
        cdef Py_ssize_t n = queries.shape[0], i, j, n_rows = 0
        cdef Task task = self.task
        cdef int result = 1
        ends = np.zeros(n + 1, dtype=np.int64)
        cdef int64_t[::1] out_ends = ends
        cdef double[::1] out_keys
        cdef int64_t[::1] out_positions
        cdef Found* found = <Found*> allocate_zeros(n, sizeof(Found))

        task.own = &own[0] if own is not None else NULL
        try:
            with nogil:
                if found != NULL:
                    for i in range(n):
                        found[i].limit = limit
                    result = _search_all(&task, &queries[0, 0], n, found, n_threads)
                    for i in range(n):
                        sort_found(&found[i], by_key)
                        n_rows += found[i].n
                        out_ends[i + 1] = n_rows
                        if found[i].has_failed:
                            result = 1
            _check(result)
            keys = np.empty(n_rows)
            positions = np.empty(n_rows, dtype=np.int64)
            out_keys, out_positions = keys, positions
            for i in range(n):
                for j in range(found[i].n):
                    out_keys[out_ends[i] + j] = found[i].rows[j].key
                    out_positions[out_ends[i] + j] = found[i].rows[j].position
        finally:
            if found != NULL:
                for i in range(n):
                    free(found[i].rows)
            free(found)
        return ends, keys, positions


cdef int _check(int result) except -1:
    if result == 1:
        raise MemoryError()
    if result == 2:
        raise ArithmeticError("queries are not finite, or too large")
    return 0
