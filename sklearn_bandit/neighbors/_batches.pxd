"""All queries of a call, shared out among threads: see ``_batches.pyx``."""

from cython cimport floating

from ._coordinate_sample cimport Head, HeadQuery
from ._direct_sampling cimport Units
from ._query cimport Task

cdef void describe_all(
    const floating* rows,
    Py_ssize_t n_rows,
    const Head* head,
    Py_ssize_t n_components,
    double few,
    int n_threads,
    double* stats,
    double* coefs,
) noexcept nogil

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
) noexcept nogil

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
) noexcept nogil

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
) noexcept nogil
