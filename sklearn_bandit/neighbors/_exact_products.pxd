"""Leaf kernels over rows of atoms, for the searches; see ``_exact_products.pyx``."""

from cython cimport floating


cdef struct Rows:
    # Atoms live in slots. The first slots are rows of the array that was fitted, which
    # is never copied; the others are rows of a buffer that grows with `partial_fit`.
    const void* first
    const void* second
    Py_ssize_t n_first
    Py_ssize_t n_features


cdef inline const floating* row(
    const Rows* rows, Py_ssize_t slot, floating* like
) noexcept nogil:
    """The atom in a slot; `like` only says which of the two types it has."""
    if slot < rows.n_first:
        return <const floating*> rows.first + slot * rows.n_features
    return <const floating*> rows.second + (slot - rows.n_first) * rows.n_features


cdef void exact_products(
    const Rows* rows,
    const floating* query,
    const Py_ssize_t* slots,        # which atoms
    Py_ssize_t n_slots,
    double* products,               # written: inner products, accumulated in double
) noexcept nogil

cdef void support_products(
    const Rows* rows,
    const floating* values,         # non-zero entries of a sparse query
    const Py_ssize_t* support,      # and where they are
    Py_ssize_t n_support,
    const Py_ssize_t* slots,
    Py_ssize_t n_slots,
    double* products,
) noexcept nogil

cdef void sort_best(
    double* products,               # sorted: the k largest first, in descending order
    Py_ssize_t* slots,              # ties in increasing order
    Py_ssize_t n,
    Py_ssize_t k,
) noexcept nogil
