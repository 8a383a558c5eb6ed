"""Rough inner products with all rows, each with a bound of its error.

The search wants the few largest products and drops the rest by their bounds. A softmax
wants a little of all of them. What the bytes say of a product is its bound without the
terms that make it one: see ``_prepare``, which also says what these terms are. They
bound the absolute value of what is left out, so they hold on both sides.
"""

import numpy as np

from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport INFINITY, fabs
from libc.string cimport memset

from ._exact cimport KERNELS
from ._prepare cimport Query, free_query, new_query, prepare
from ._segment cimport SKB_BLOCK, SKB_RESIDUAL, SKB_SIZE, Rows, Segment

cdef enum:
    # Blocks of rows that a thread takes at a time.
    PART = 64

# Of the terms of a product: what single precision loses in their sum.
cdef double ROUNDINGS = 2.0 ** -20
# Squares of larger queries may overflow.
cdef double MOST_SQUARES = 1e290


cdef int _prepare_scores(
    Query* query, const Rows* rows, float* factors
) noexcept nogil:
    """Have kernels return products instead of bounds; return 2 if there are none.

    The factors of residual and size, and the constant, are what a product may be off.
    """
    cdef double squares = 0.0, unit, error
    cdef Py_ssize_t j

    for j in range(rows.n_features):
        squares += query.values[j] * query.values[j]
    if not squares < MOST_SQUARES:
        return 2
    prepare(query, rows, False)
    if query.is_blind:
        return 2
    # Powers of two: nothing is rounded.
    unit = query.own_unit * rows.unit
    error = query.full.constant * unit
    error += ROUNDINGS * fabs(query.shift * query.own_unit)
    factors[0] = <float> (query.full.residual * unit * (1.0 + ROUNDINGS))
    factors[1] = <float> (query.full.size * unit * (1.0 + ROUNDINGS))
    factors[2] = <float> (error * (1.0 + ROUNDINGS))
    query.full.unit = <float> (query.full.unit * unit)
    query.full.bias = <float> (query.full.bias * unit)
    query.full.constant = <float> (query.shift * query.own_unit)
    query.full.residual = query.full.size = 0.0
    if (
        fabs(query.full.unit) < INFINITY and fabs(query.full.bias) < INFINITY
        and fabs(query.full.constant) < INFINITY and factors[0] < INFINITY
        and factors[1] < INFINITY and factors[2] < INFINITY
    ):
        return 0
    return 2


cdef void _scan_part(
    const Rows* rows, const Query* query, Py_ssize_t part, const float* factors,
    float* scores, float* errors,
) noexcept nogil:
    """Write scores and errors of the rows of some blocks."""
    cdef Py_ssize_t n_blocks = (rows.n - 1) // SKB_BLOCK + 1, row, block, lane
    cdef Py_ssize_t first = part * PART, last = min(n_blocks, first + PART)
    cdef const float* stats

    if not rows.by_row:
        KERNELS.scan_one(
            rows.codes + first * SKB_BLOCK * rows.width,
            rows.stats + first * SKB_BLOCK * rows.n_stats, last - first, &query.full,
            scores + first * SKB_BLOCK,
        )
    for block in range(first, last):
        stats = rows.stats + block * SKB_BLOCK * rows.n_stats
        for lane in range(SKB_BLOCK):
            row = block * SKB_BLOCK + lane
            if rows.by_row:
                scores[row] = KERNELS.scan_row(
                    rows.codes + row * rows.width, stats + lane, &query.full
                )
            errors[row] = factors[0] * stats[SKB_RESIDUAL * SKB_BLOCK + lane]
            errors[row] += factors[1] * stats[SKB_SIZE * SKB_BLOCK + lane] + factors[2]


def rough_scores(Segment segment, const floating[::1] values, int n_threads):
    """Compute the inner products of a query with all rows from their bytes.

    Parameters
    ----------
    segment : Segment
        The rows, of metric "inner_product".
    values : ndarray of shape (n_features,)
        The query.
    n_threads : int
        Number of threads.

    Returns
    -------
    scores : ndarray of float32 of shape (n_rows,)
        The products; NaN for rows that bytes cannot hold.
    errors : ndarray of float32 of shape (n_rows,)
        How far off they can be at most.

    Raises
    ------
    ArithmeticError
        If the query is not finite, or single precision cannot hold its products.
    """
    cdef const Rows* rows = &segment.data
    cdef Py_ssize_t part, j, n_parts, n_blocks = (rows.n - 1) // SKB_BLOCK + 1
    cdef Query query
    cdef float[3] factors
    cdef int result
    scores = np.empty(n_blocks * SKB_BLOCK, dtype=np.float32)
    errors = np.empty(n_blocks * SKB_BLOCK, dtype=np.float32)
    cdef float[::1] out_scores = scores, out_errors = errors

    if values.shape[0] != rows.n_features:
        raise ValueError("The query has other features than the rows.")
    n_parts = (n_blocks - 1) // PART + 1
    memset(&query, 0, sizeof(query))
    query.own = -1
    with nogil:
        result = new_query(&query, rows.n_features, rows.width)
        if not result:
            for j in range(rows.n_features):
                query.values[j] = values[j]
            result = _prepare_scores(&query, rows, factors)
        if not result:
            for part in prange(n_parts, num_threads=n_threads, schedule="static"):
                _scan_part(
                    rows, &query, part, factors, &out_scores[0], &out_errors[0]
                )
        free_query(&query)
    if result == 1:
        raise MemoryError()
    if result == 2:
        raise ArithmeticError("the query is not finite, or too large")
    return scores[: rows.n], errors[: rows.n]
