"""Exact distances, and the kernels in use: see ``_exact.pyx``."""

from ._found cimport Found
from ._prepare cimport Query
from ._segment cimport Kernels, Rows

cdef const Kernels* KERNELS     # of the instruction set in use


cdef inline const char* row_of(const Rows* rows, Py_ssize_t i) noexcept nogil:
    """The values of row i."""
    return <const char*> rows.rows + i * rows.n_features * (
        8 if rows.is_double else 4
    )


cdef bint is_present(const Rows* rows, Py_ssize_t i) noexcept nogil

cdef void compute_row(
    const Rows* rows, const Query* query, Py_ssize_t i, Found* found
) noexcept nogil

cdef void compute_all(
    const Rows* rows, const Query* query, Found* found
) noexcept nogil
