"""A query as the kernels take it: see ``_prepare.pyx``."""

from libc.stdint cimport int8_t

from ._segment cimport QueryBytes, Rows

# A query and what bounds need of it.
cdef struct Query:
    double* values              # n_features; under "cosine" of norm about one
    double* centred             # n_features, in units
    double* rotated             # its head
    double* given               # room for `values` in the type of the rows
    int8_t* coded               # bytes of `full`, then of `head`
    QueryBytes full
    QueryBytes head
    double squares              # of `centred`
    double head_squares         # of `rotated`
    double shift                # inner product with the centre
    double own_unit             # a power of two, about the norm of the query
    double own_squares          # of `values`
    float tail                  # factor of the tails
    bint has_no_bounds          # bounds cannot be computed: every row is
    bint is_alone               # one byte is too coarse: not searched with others
    bint is_loose               # two would be, too
    Py_ssize_t own              # position that is not an answer, or -1

cdef int new_query(Query* query, Py_ssize_t d, Py_ssize_t width) noexcept nogil
cdef void free_query(Query* query) noexcept nogil
cdef void prepare(Query* query, const Rows* rows, bint one_byte) noexcept nogil
cdef float threshold_of(
    const Query* query, const Rows* rows, double key, bint in_head
) noexcept nogil
