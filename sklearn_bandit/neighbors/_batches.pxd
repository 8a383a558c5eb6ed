"""All queries of a call, shared out among threads: see ``_batches.pyx``."""

from cython cimport floating

from ._answer cimport Best
from ._query cimport SampleSearch, Task


cdef struct Batch:
    # The queries of a call, except for their entries.
    Py_ssize_t n_queries
    int n_threads
    const double* stats         # one row of N_STATS a query
    const double* coefs         # one row a query, of all components; NULL without
    Best first                  # where the result for the first query is written


cdef void search_all(
    const SampleSearch* search,
    const floating* queries,
    const Batch* batch,
    unsigned char* given_up,    # written: one flag a query
) noexcept nogil

cdef int search_all_buckets(
    const SampleSearch* search,
    const floating* queries,
    const Batch* batch,
    const Py_ssize_t* order,    # slots by decreasing norm
    Py_ssize_t bucket_size,
) noexcept nogil

cdef int search_all_supports(
    const Task* task, const floating* queries, const Batch* batch
) noexcept nogil

cdef int pick_all(
    const Task* task,
    const floating* queries,
    const Batch* batch,
    const floating* scores,     # one row a query
    Py_ssize_t n_scores,        # of a row: one a slot, removed ones included
) noexcept nogil
