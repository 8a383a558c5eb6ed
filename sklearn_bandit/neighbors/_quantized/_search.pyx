"""The search: queries shared out among threads, each through all segments.

What is returned does not depend on how the search went.
"""

import numpy as np

from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport int64_t
from libc.stdlib cimport free

from ..._core.memory cimport allocate, allocate_zeros
from ._constants cimport MOST_SQUARES, SKB_GROUP
from ._encode cimport COSINE, MANHATTAN
from ._exact cimport KERNELS
from ._found cimport Found, Neighbour, sort_found
from ._prepare cimport Query, free_query, new_query, prepare
from ._products cimport search_by_products
from ._scan cimport (
    LEAST_TOGETHER,
    Scratch,
    free_scratch,
    new_scratch,
    search_one,
    search_together,
)
from ._segment cimport Rows, Segment

# Queries of a thread at a time, a multiple of SKB_GROUP.
cdef enum:
    MOST_TOGETHER = 120


cdef struct Task:
    Rows* segments
    Py_ssize_t n_segments
    Py_ssize_t n_features
    Py_ssize_t width            # the largest number of codes of a row
    Py_ssize_t most_rows        # of a segment
    const int64_t* own          # positions not to return, or NULL


cdef void _prepare(Query* query, const Rows* rows, bint one_byte) noexcept nogil:
    """Prepare a query; its squares are added in the order of those of rows."""
    cdef double[2] sums

    prepare(query, rows, one_byte)
    if rows.metric == COSINE:
        KERNELS.products[1](query.values, query.values, rows.n_features, sums)
        query.own_squares = sums[1]


cdef int _search_finely(
    const Rows* rows, Query* queries, Py_ssize_t n, Scratch* scratch, Found* found
) noexcept nogil:
    """Search for queries that need two bytes, together; return 1 without memory.

    They are no longer alone afterwards. If there are few of them, nothing is done.
    """
    cdef Py_ssize_t i, n_fine = 0
    cdef Query* fine
    cdef Found* own

    for i in range(n):
        n_fine += queries[i].is_alone and not queries[i].is_loose
    if n_fine < LEAST_TOGETHER:
        return 0
    fine = <Query*> allocate(n_fine, sizeof(Query))
    own = <Found*> allocate(n_fine, sizeof(Found))
    if fine != NULL and own != NULL:
        n_fine = 0
        for i in range(n):
            if queries[i].is_alone and not queries[i].is_loose:
                _prepare(&queries[i], rows, False)
                fine[n_fine] = queries[i]
                own[n_fine] = found[i]
                # What `_prepare` has unset says below whose these are.
                queries[i].is_alone = True
                n_fine += 1
        search_together(rows, fine, n_fine, scratch, own, True)
        n_fine = 0
        for i in range(n):
            if queries[i].is_alone and not queries[i].is_loose:
                found[i] = own[n_fine]
                queries[i].is_alone = False
                n_fine += 1
    i = fine == NULL or own == NULL
    free(fine)
    free(own)
    return i


cdef int _search_some(
    const Task* task, const floating* values, Py_ssize_t start, Py_ssize_t n,
    Found* found,
) noexcept nogil:
    """Search for the queries from `start` on; return 1 without memory, 2 if bad."""
    cdef Py_ssize_t i, j, s, d = task.n_features, n_together = 0
    cdef Query* queries = <Query*> allocate_zeros(n, sizeof(Query))
    cdef Scratch scratch
    cdef double squares
    cdef int result = new_scratch(&scratch, task.most_rows, n >= LEAST_TOGETHER)

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
                if queries[i].has_no_bounds:
                    n_together = 0
                    break
        if n_together:
            search_together(
                &task.segments[s], queries, n, &scratch, &found[start], False
            )
            result |= _search_finely(
                &task.segments[s], queries, n, &scratch, &found[start]
            )
            search_by_products(&task.segments[s], queries, n, &found[start])
        for i in range(n):
            if n_together and not queries[i].is_alone:
                continue
            _prepare(&queries[i], &task.segments[s], False)
            search_one(&task.segments[s], &queries[i], &scratch, &found[start + i])
    if queries != NULL:
        for i in range(n):
            free_query(&queries[i])
    free(queries)
    free_scratch(&scratch)
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
