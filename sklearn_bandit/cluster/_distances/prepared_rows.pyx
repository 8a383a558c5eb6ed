"""Copies of the data as the kernels of distances read them."""

import numpy as np

from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport sqrt


def prepare_rows(
    const floating[:, ::1] X,
    const Py_ssize_t[::1] order,
    const double[::1] centre,
    double scale,
    bint normalise,
    prepared,
    int n_threads,
):
    """Copy rows in a given order, centred, scaled and, for the cosine, normalised.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The data.
    order : ndarray
        Rows to copy.
    centre : ndarray of shape (n_features,)
        Subtracted from every row.
    scale : float
        Multiplies every row, after centring.
    normalise : bool
        Divide each row by its norm; zero rows stay zero.
    prepared : dtype
        float32 or float64.
    n_threads : int
        OpenMP threads.

    Returns
    -------
    rows : ndarray of shape (len(order), n_features)
        The copy.
    squares : ndarray of shape (len(order),)
        Its squared norms.
    """
    cdef float[:, ::1] rows_32
    cdef double[:, ::1] rows_64
    cdef float[::1] squares_32
    cdef double[::1] squares_64
    cdef Py_ssize_t i, n = order.shape[0], d = X.shape[1]

    rows = np.empty((n, d), dtype=prepared)
    squares = np.empty(n, dtype=prepared)
    if rows.dtype == np.float32:
        rows_32 = rows
        squares_32 = squares
        for i in prange(n, nogil=True, schedule="static", num_threads=n_threads):
            _prepare(
                &X[order[i], 0], &centre[0], scale, normalise, d, &rows_32[i, 0],
                &squares_32[i],
            )
    else:
        rows_64 = rows
        squares_64 = squares
        for i in prange(n, nogil=True, schedule="static", num_threads=n_threads):
            _prepare(
                &X[order[i], 0], &centre[0], scale, normalise, d, &rows_64[i, 0],
                &squares_64[i],
            )
    return rows, squares


ctypedef fused prepared_type:
    float
    double


cdef inline void _prepare(
    const floating* x,
    const double* centre,
    double scale,
    bint normalise,
    Py_ssize_t d,
    prepared_type* out,
    prepared_type* square,
) noexcept nogil:
    cdef Py_ssize_t t
    cdef double value, total = 0.0

    for t in range(d):
        value = (x[t] - centre[t]) * scale
        out[t] = <prepared_type> value
        total += value * value
    if normalise and total > 0.0:
        value = 1.0 / sqrt(total)
        for t in range(d):
            out[t] = <prepared_type> (((x[t] - centre[t]) * scale) * value)
        total = 1.0
    square[0] = <prepared_type> total
