"""All queries of a call, shared out among threads.

Every query is searched as if it were alone: what is found for it depends neither on the
others nor on the number of threads. Only whether it is searched at all may depend on
the others: see `N_PILOTS`.
"""

from cython cimport floating
from cython.parallel cimport parallel, prange
from libc.math cimport INFINITY

from ._answer cimport best_of
from ._description cimport N_STATS
from ._query cimport (
    pick_for_query,
    search_query,
    search_query_buckets,
    search_query_support,
)
from ._survivors cimport Survivors, free_survivors, new_survivors

# In a large batch one thread searches for a small number of queries first. If it gives
# all of these up, the others go to BLAS without a search: BLAS computes all together.
cdef Py_ssize_t N_PILOTS = 8
cdef Py_ssize_t MIN_PILOTED = 64


cdef void search_all(
    const SampleSearch* search,
    const floating* queries,
    const Batch* batch,
    unsigned char* given_up,
) noexcept nogil:
    """Search for every query."""
    cdef Py_ssize_t i, pilot, n_pilots = 0, n_given_up = 0, stride = 1
    cdef Py_ssize_t n_coordinates = search.sample.n_coordinates
    cdef Survivors* survivors = NULL

    if batch.n_queries >= MIN_PILOTED and search.common.give_up_fraction < INFINITY:
        n_pilots = N_PILOTS
        stride = batch.n_queries // N_PILOTS
        survivors = new_survivors(search.task.n_slots, n_coordinates, 0)
        for pilot in range(n_pilots):
            i = pilot * stride
            given_up[i] = _search_at(search, queries, batch, i, survivors)
            n_given_up += given_up[i]
        free_survivors(survivors)
        if n_given_up == n_pilots:
            for i in range(batch.n_queries):
                if not _is_pilot(i, n_pilots, stride):
                    given_up[i] = 1
                    batch.first.count[i] = (
                        search.sample.n_components * search.sample.n_features
                    )
            return
    with parallel(num_threads=batch.n_threads):
        survivors = new_survivors(search.task.n_slots, n_coordinates, 0)
        for i in prange(batch.n_queries, schedule="dynamic"):
            if not _is_pilot(i, n_pilots, stride):
                given_up[i] = _search_at(search, queries, batch, i, survivors)
        free_survivors(survivors)


cdef inline unsigned char _search_at(
    const SampleSearch* search,
    const floating* queries,
    const Batch* batch,
    Py_ssize_t i,
    Survivors* survivors,
) noexcept nogil:
    """Search for query i; return 1 if it is left to BLAS."""
    return search_query(
        search, queries + i * search.sample.n_features, batch.stats + i * N_STATS,
        batch.coefs + i * search.sample.n_components, survivors,
        best_of(batch.first, search.task.k, i),
    )


cdef inline bint _is_pilot(
    Py_ssize_t i, Py_ssize_t n_pilots, Py_ssize_t stride
) noexcept nogil:
    return i % stride == 0 and i < n_pilots * stride


cdef int search_all_buckets(
    const SampleSearch* search,
    const floating* queries,
    const Batch* batch,
    const Py_ssize_t* order,
    Py_ssize_t bucket_size,
) noexcept nogil:
    """Search for every query in buckets; return how many found no memory."""
    cdef Py_ssize_t i, d = search.sample.n_features, r = search.sample.n_components
    cdef int n_failed = 0

    for i in prange(
        batch.n_queries, schedule="dynamic", num_threads=batch.n_threads
    ):
        n_failed += search_query_buckets(
            search, queries + i * d, batch.stats + i * N_STATS, batch.coefs + i * r,
            order, bucket_size, best_of(batch.first, search.task.k, i),
        )
    return n_failed


cdef int search_all_supports(
    const Task* task, const floating* queries, const Batch* batch
) noexcept nogil:
    """Search exactly for sparse queries; return how many found no memory."""
    cdef Py_ssize_t i, d = task.rows.n_features
    cdef int n_failed = 0

    for i in prange(
        batch.n_queries, schedule="dynamic", num_threads=batch.n_threads
    ):
        n_failed += search_query_support(
            task, queries + i * d, <Py_ssize_t> batch.stats[i * N_STATS + 1],
            best_of(batch.first, task.k, i),
        )
    return n_failed


cdef int pick_all(
    const Task* task,
    const floating* queries,
    const Batch* batch,
    const floating* scores,
    Py_ssize_t n_scores,
) noexcept nogil:
    """Choose by scores for every query; return how many found no memory."""
    cdef Py_ssize_t i, d = task.rows.n_features
    cdef Survivors* survivors = NULL
    cdef int n_failed = 0

    with parallel(num_threads=batch.n_threads):
        survivors = new_survivors(task.n_slots, 0, 0)
        for i in prange(batch.n_queries):
            n_failed += pick_for_query(
                task, queries + i * d, batch.stats[i * N_STATS + 3],
                scores + i * n_scores, survivors, best_of(batch.first, task.k, i),
            )
        free_survivors(survivors)
    return n_failed
