"""The search for one query; see ``_query.pyx``."""

from cython cimport floating

from ._coordinate_sample cimport Head, HeadQuery
from ._direct_sampling cimport Units
from ._exact_products cimport Rows
from ._survivors cimport Survivors

cdef enum:
    N_STATS = 4     # of a query: bad or not, non-zero entries, largest entry, norm


cdef struct Task:
    # What all queries of a call have in common.
    Rows rows
    const Py_ssize_t* slots         # of the atoms to search
    Py_ssize_t n_slots
    const double* norms             # of the atoms, or NULL
    double largest_norm             # of these
    double rounding
    Py_ssize_t k


cdef void describe_query(
    const floating* query,
    Py_ssize_t d,
    const floating* components,     # one a row, the constant one first
    Py_ssize_t n_components,
    double few,                     # non-zero entries are not counted beyond
    double* stats,                  # written: see N_STATS
    double* coefs,                  # written: inner products with the components
) noexcept nogil

cdef unsigned char search_query(
    const Task* task,
    const Head* head,
    const HeadQuery* common,        # what all queries have in common
    const floating* query,
    const double* stats,            # from `describe_query`
    const double* coefs,            # from `describe_query`
    const Units* tail,              # what to go on with after the head, or NULL
    Survivors* alive,               # memory to work in
    Py_ssize_t* slots,              # written: the best k
    double* products,               # written: their inner products
    Py_ssize_t* count,              # written: multiplications
) noexcept nogil

cdef int search_query_buckets(
    const Task* task,
    const Head* head,
    const HeadQuery* common,
    const floating* query,
    const double* stats,
    const double* coefs,
    const Py_ssize_t* order,        # slots by decreasing norm
    Py_ssize_t bucket_size,
    Py_ssize_t* slots,
    double* products,
    Py_ssize_t* count,
) noexcept nogil

cdef int search_query_support(
    const Task* task,
    const floating* query,
    Py_ssize_t n_support,
    Py_ssize_t* slots,
    double* products,
    Py_ssize_t* count,
) noexcept nogil

cdef bint search_query_units(
    const Task* task,
    const Units* units,
    const floating* query,
    Survivors* alive,               # memory to work in
    Py_ssize_t* slots,
    double* products,
    Py_ssize_t* count,
) noexcept nogil

cdef int pick_for_query(
    const Task* task,
    const floating* query,
    double norm,
    const floating* scores,         # from BLAS, one a slot
    Survivors* alive,               # memory to work in
    Py_ssize_t* slots,
    double* products,
    Py_ssize_t* count,              # added to
) noexcept nogil
