"""All queries of a call, shared out among threads.

Every query is searched as if it were alone, so what is found for it depends neither on
the others nor on the number of threads. Only whether it is searched at all may depend
on the others: see `N_PILOTS`.
"""

from cython cimport floating
from cython.parallel cimport parallel, prange
from libc.math cimport INFINITY

from ._query cimport (
    N_STATS,
    describe_query,
    pick_for_query,
    search_query,
    search_query_buckets,
)
from ._survivors cimport Survivors, free_survivors, new_survivors

# In a large batch so many queries are searched first, by one thread: where all of these
# are hopeless, the others go to BLAS with them, which computes all together anyway.
cdef Py_ssize_t N_PILOTS = 8
cdef Py_ssize_t MIN_PILOTED = 64


cdef void describe_all(
    const floating* rows,
    Py_ssize_t n_rows,
    const Head* head,
    Py_ssize_t n_components,
    double few,
    int n_threads,
    double* stats,
    double* coefs,
) noexcept nogil:
    """Describe every row, with its coefficients on so many components."""
    cdef Py_ssize_t i, d = head.n_features
    cdef const floating* components = <const floating*> head.components

    if n_rows == 1:
        describe_query(rows, d, components, n_components, few, stats, coefs)
        return
    for i in prange(n_rows, num_threads=n_threads):
        describe_query(
            rows + i * d, d, components, n_components, few, stats + i * N_STATS,
            coefs + i * n_components,
        )


cdef void search_all(
    const Task* task,
    const Head* head,
    const HeadQuery* base,
    const floating* queries,
    Py_ssize_t n_queries,
    const double* stats,
    const double* coefs,
    const Units* tail,
    int n_threads,
    Py_ssize_t* slots,
    double* products,
    Py_ssize_t* counts,
    unsigned char* given_up,
) noexcept nogil:
    """Search for every query."""
    cdef Py_ssize_t i, pilot, d = head.n_features, r = head.n_components
    cdef Py_ssize_t n_pilots = 0, n_hopeless = 0, stride = 1
    cdef Survivors* alive = NULL

    if n_queries >= MIN_PILOTED and base.give_up_share < INFINITY:
        n_pilots = N_PILOTS
        stride = n_queries // N_PILOTS
        alive = new_survivors(task.n_slots, head.n_coordinates, 0)
        for pilot in range(n_pilots):
            i = pilot * stride
            given_up[i] = search_query(
                task, head, base, queries + i * d, stats + i * N_STATS, coefs + i * r,
                tail, alive, slots + i * task.k, products + i * task.k, counts + i,
            )
            n_hopeless += given_up[i]
        free_survivors(alive)
        if n_hopeless == n_pilots:
            for i in range(n_queries):
                if not _is_pilot(i, n_pilots, stride):
                    given_up[i] = 1
                    counts[i] = r * d
            return
    with parallel(num_threads=n_threads):
        alive = new_survivors(task.n_slots, head.n_coordinates, 0)
        for i in prange(n_queries, schedule="dynamic"):
            if not _is_pilot(i, n_pilots, stride):
                given_up[i] = search_query(
                    task, head, base, queries + i * d, stats + i * N_STATS,
                    coefs + i * r, tail, alive, slots + i * task.k,
                    products + i * task.k, counts + i,
                )
        free_survivors(alive)


cdef inline bint _is_pilot(
    Py_ssize_t i, Py_ssize_t n_pilots, Py_ssize_t stride
) noexcept nogil:
    return i % stride == 0 and i < n_pilots * stride


cdef int search_all_buckets(
    const Task* task,
    const Head* head,
    const HeadQuery* base,
    const floating* queries,
    Py_ssize_t n_queries,
    const double* stats,
    const double* coefs,
    const Py_ssize_t* order,
    Py_ssize_t bucket_size,
    int n_threads,
    Py_ssize_t* slots,
    double* products,
    Py_ssize_t* counts,
) noexcept nogil:
    """Search for every query in buckets; return how many found no memory."""
    cdef Py_ssize_t i, d = head.n_features, r = head.n_components
    cdef int n_failed = 0

    for i in prange(n_queries, schedule="dynamic", num_threads=n_threads):
        n_failed += search_query_buckets(
            task, head, base, queries + i * d, stats + i * N_STATS, coefs + i * r,
            order, bucket_size, slots + i * task.k, products + i * task.k, counts + i,
        )
    return n_failed


cdef int pick_all(
    const Task* task,
    const floating* queries,
    Py_ssize_t n_queries,
    const double* stats,
    const floating* scores,
    Py_ssize_t n_capacity,
    int n_threads,
    Py_ssize_t* slots,
    double* products,
    Py_ssize_t* counts,
) noexcept nogil:
    """Choose by scores for every query; return how many found no memory."""
    cdef Py_ssize_t i, d = task.rows.n_features
    cdef Survivors* alive = NULL
    cdef int n_failed = 0

    with parallel(num_threads=n_threads):
        alive = new_survivors(task.n_slots, 0, 0)
        for i in prange(n_queries):
            n_failed += pick_for_query(
                task, queries + i * d, stats[i * N_STATS + 3], scores + i * n_capacity,
                alive, slots + i * task.k, products + i * task.k, counts + i,
            )
        free_survivors(alive)
    return n_failed
