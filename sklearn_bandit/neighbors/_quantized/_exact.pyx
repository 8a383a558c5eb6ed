"""Exact distances of rows to a query, and the choice of the kernels.

What is returned is computed from the rows themselves in double precision by
``exact.h``, and does not depend on the instruction set.
"""

from libc.math cimport INFINITY, sqrt

from ._constants cimport LARGE, LEAST_SQUARES, SKB_BLOCK, enlarge
from ._encode cimport EUCLIDEAN, INNER_PRODUCT, MANHATTAN
from ._found cimport Found, push
from ._prepare cimport Query
from ._segment cimport SKB_RESIDUAL, Rows, kernels_of

VARIANTS = ("avx512", "avx2", "portable")
KERNELS = NULL


def available_variants():
    """Return the instruction sets that the processor has kernels for, best first."""
    return [name for name in VARIANTS if kernels_of(name.encode()) != NULL]


def use_variant(name=None):
    """Use the kernels of an instruction set from now on, for tests and benchmarks.

    Parameters
    ----------
    name : str, default=None
        One of `available_variants`; None for the best.

    Returns
    -------
    str
        The name.
    """
    global KERNELS
    name = available_variants()[0] if name is None else name
    kernels = kernels_of(name.encode())
    if kernels == NULL:
        raise ValueError(f"There are no kernels for {name!r}.")
    KERNELS = kernels
    return name


use_variant()


cdef inline double _value(
    const Rows* rows, const char* row, Py_ssize_t j
) noexcept nogil:
    return (<const double*> row)[j] if rows.is_double else (<const float*> row)[j]


cdef double key_of(const Rows* rows, const Query* query, Py_ssize_t i) noexcept nogil:
    """Return the distance of row i, or minus its inner product."""
    cdef const char* row = row_of(rows, i)
    cdef Py_ssize_t d = rows.n_features, j
    cdef double[2] sums
    cdef double value

    if rows.metric == MANHATTAN:
        KERNELS.absolutes[rows.is_double](row, query.values, d, sums)
        return sums[0]
    if rows.metric == EUCLIDEAN:
        KERNELS.squares[rows.is_double](row, query.values, d, sums)
        if sums[0] >= LEAST_SQUARES:
            return sqrt(sums[0])
        sums[0] = 0.0
        for j in range(d):
            value = enlarge(_value(rows, row, j) - query.values[j])
            sums[0] += value * value
        return sqrt(sums[0]) / LARGE
    KERNELS.products[rows.is_double](row, query.values, d, sums)
    if rows.metric == INNER_PRODUCT:
        return -sums[0]
    if sums[1] < LEAST_SQUARES:
        sums[0] = sums[1] = 0.0
        for j in range(d):
            value = enlarge(_value(rows, row, j))
            sums[0] += value * query.values[j]
            sums[1] += value * value
    if sums[1] <= 0.0 or query.own_squares <= 0.0:
        return 1.0
    # Of equal vectors this is exactly 0.
    value = 1.0 - sums[0] / sqrt(sums[1] * query.own_squares)
    return min(max(value, 0.0), 2.0)


cdef void compute_row(
    const Rows* rows, const Query* query, Py_ssize_t i, Found* found
) noexcept nogil:
    """Compute row i and add it to what was found."""
    if rows.first + i != query.own:
        push(found, key_of(rows, query, i), rows.first + i)


cdef bint is_present(const Rows* rows, Py_ssize_t i) noexcept nogil:
    """Return whether row i has not been removed."""
    cdef Py_ssize_t offset = (i // SKB_BLOCK) * rows.n_stats * SKB_BLOCK

    if rows.metric != MANHATTAN:
        offset += SKB_RESIDUAL * SKB_BLOCK
    return rows.stats[offset + i % SKB_BLOCK] > -INFINITY


cdef void compute_all(
    const Rows* rows, const Query* query, Found* found
) noexcept nogil:
    cdef Py_ssize_t i

    for i in range(rows.n):
        if is_present(rows, i):
            compute_row(rows, query, i, found)
