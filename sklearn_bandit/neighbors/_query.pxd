"""The search for one query; see ``_query.pyx``."""

from cython cimport floating

from ._answer cimport Best
from ._coordinate_sample cimport CoordinateSample, SampleQuery
from ._direct_sampling cimport References
from ._exact_products cimport Rows
from ._survivors cimport Survivors


cdef struct Task:
    # What all queries of a call have in common.
    Rows rows
    const Py_ssize_t* slots         # of the atoms to search
    Py_ssize_t n_slots
    const double* norms             # of the atoms, or NULL
    double largest_norm             # of these
    double rounding                 # relative error of a BLAS product
    Py_ssize_t k


cdef struct SampleSearch:
    # The same, for a search in the coordinate sample.
    Task task
    const CoordinateSample* sample
    SampleQuery common
    References blocks               # of the atoms, to go on with after the sample
    bint has_blocks


cdef unsigned char search_query(
    const SampleSearch* search,
    const floating* query,
    const double* stats,            # from `describe_vector`
    const double* coefs,            # from `describe_vector`
    Survivors* survivors,           # memory to work in
    Best best,
) noexcept nogil

cdef int search_query_buckets(
    const SampleSearch* search,
    const floating* query,
    const double* stats,
    const double* coefs,
    const Py_ssize_t* order,        # slots by decreasing norm
    Py_ssize_t bucket_size,
    Best best,
) noexcept nogil

cdef int search_query_support(
    const Task* task, const floating* query, Py_ssize_t n_support, Best best
) noexcept nogil

cdef bint search_query_references(
    const Task* task,
    const References* references,
    const floating* query,
    Survivors* survivors,           # memory to work in
    Best best,
) noexcept nogil

cdef int pick_for_query(
    const Task* task,
    const floating* query,
    double norm,
    const floating* scores,         # from BLAS, one a slot
    Survivors* survivors,           # memory to work in
    Best best,                      # the count is added to
) noexcept nogil
