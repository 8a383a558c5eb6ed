"""Atoms and signals at random rows: see ``_row_sample.pyx``."""

from libc.stdint cimport uint64_t

cdef enum:
    MAX_PORTIONS = 40


cdef struct Portion:
    # The rows that one round of an elimination adds.
    Py_ssize_t size
    Py_ssize_t* rows
    double* values                  # one row of `size` a column, where known
    double* residual                # of the signal, in the present elimination
    unsigned char* is_known         # one flag a column


cdef class RowSample:
    cdef Portion portions[MAX_PORTIONS]
    cdef Py_ssize_t n_portions
    cdef Py_ssize_t n_rows          # of all portions together
    cdef readonly Py_ssize_t n_samples
    cdef readonly Py_ssize_t n_atoms
    cdef Py_ssize_t n_columns
    cdef const void* atoms
    cdef const void* signals
    cdef bint is_double
    cdef readonly bint is_finite    # whether all entries read so far are
    cdef uint64_t state             # of the random numbers
    cdef tuple owners               # keeps what the pointers point into

    cdef int draw(self, Py_ssize_t n_portions) except -1
    cdef void _draw_rows(self, Portion* portion) noexcept nogil
    cdef void read(self, Py_ssize_t p, Py_ssize_t column) noexcept nogil
    cdef double product(
        self, Py_ssize_t column, Py_ssize_t other, Py_ssize_t n_portions
    ) noexcept nogil
    cdef double mean(self, Py_ssize_t column, Py_ssize_t n_portions) noexcept nogil


cdef Py_ssize_t first_rows(Py_ssize_t n_portions) noexcept nogil    # of this number
cdef Py_ssize_t portions_within(Py_ssize_t n_rows) noexcept nogil
cdef Py_ssize_t portions_for(Py_ssize_t n_rows) noexcept nogil
cdef void add_products(
    const double* column, const double* other, Py_ssize_t n, double* total
) noexcept nogil
