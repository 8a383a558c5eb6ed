"""Distances between rows of one dense array: matrix products with a fused finish, l1.

Two shapes are computed. *Tiles* hold the distances of many arms (candidate medoids) to a
block of references, in float32, reference-major inside a tile of `ARM_TILE` arms: the
searches then run SIMD over arms, reading memory in order. *Rows* hold the distances of one
arm to all samples, in the precision of the data.

Euclidean distances come from ``|x|^2 + |y|^2 - 2 x.y``, which cancels for near pairs: the
rows are centred beforehand, and a pair whose squared distance is below `GUARD` times
``|x|^2 + |y|^2`` is computed again from the differences, so that equal rows are at distance
exactly zero. BLAS runs on one thread inside each OpenMP thread.
"""

import numpy as np

from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport fabs, sqrt
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport dgemm, sgemm

from sklearn_bandit._openmp cimport thread_num
from sklearn_bandit._simd cimport simd_void

from ._restrict cimport restrict_const_float, restrict_float

cdef extern from "math.h" nogil:
    float sqrtf(float)
    float fabsf(float)


# Arms in a tile: a block of 512 x 512 keeps BLAS near its peak (100 references, the
# thesis's batch, reach two thirds of it) and one reference's row is 2 KB.
ARM_TILE = 512
cdef enum:
    TILE = 512
    # Edges of a product take other code paths in BLAS, which round differently. Widths
    # are padded to a multiple of this, so that a distance is the same in whatever
    # company it is computed.
    PAD = 32
    ROW_PAD = 8
    # References in one product of `fill_rows`.
    ROW_BLOCK = 512
    # Arms of a transposed l1 panel; two references share its loads, which makes eight
    # sums of AVX2 width.
    PANEL = 32

KINDS = {"sqeuclidean": 0, "euclidean": 1, "cosine": 2, "manhattan": 3}
cdef enum:
    SQEUCLIDEAN = 0
    EUCLIDEAN = 1
    COSINE = 2
    MANHATTAN = 3

# Below these shares of |x|^2 + |y|^2 a squared distance has lost too many digits.
cdef float GUARD_32 = 1e-3
cdef double GUARD_64 = 1e-7


def fill_tiles(
    const float[:, ::1] X,
    const float[::1] squares,
    int kind,
    const Py_ssize_t[::1] arms,
    Py_ssize_t start,
    Py_ssize_t stop,
    float[:, :, ::1] out,
    int n_threads,
):
    """Distances of `arms` to the references ``start:stop``.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centred (Euclidean) or normalised (cosine) rows.
    squares : ndarray of shape (n_samples,)
        Squared norms of the rows.
    kind : int
        One of `KINDS`.
    arms : ndarray
        Rows of X.
    start, stop : int
        The references are these rows of X.
    out : ndarray of shape (ceil(len(arms) / ARM_TILE), stop - start, ARM_TILE)
        Written; what is beyond the last arm is set to zero.
    n_threads : int
        OpenMP threads.
    """
    cdef Py_ssize_t n_tiles = out.shape[0], n_arms = arms.shape[0], d = X.shape[1]
    cdef Py_ssize_t t
    cdef float[:, :, ::1] gathered = np.empty((n_threads, TILE, d), dtype=np.float32)
    cdef float[:, ::1] norms = np.zeros((n_threads, TILE), dtype=np.float32)
    cdef float[:, ::1] panels = np.empty(
        (n_threads, PANEL * d if kind == MANHATTAN else 1), dtype=np.float32
    )

    if n_tiles == 0 or stop <= start:
        return
    for t in prange(n_tiles, nogil=True, schedule="dynamic", num_threads=n_threads):
        _tile(
            X, squares, kind, arms, t * TILE, min(TILE, n_arms - t * TILE), start, stop,
            &out[t, 0, 0], &gathered[thread_num(), 0, 0], &norms[thread_num(), 0],
            &panels[thread_num(), 0],
        )


cdef void _tile(
    const float[:, ::1] X,
    const float[::1] squares,
    int kind,
    const Py_ssize_t[::1] arms,
    Py_ssize_t first,
    Py_ssize_t width,
    Py_ssize_t start,
    Py_ssize_t stop,
    float* out,
    float* gathered,
    float* norms,
    float* panel,
) noexcept nogil:
    cdef Py_ssize_t d = X.shape[1], i, j
    cdef int w = width, padded = min(TILE, (w + PAD - 1) // PAD * PAD)
    cdef int m = stop - start, depth = d, ld = TILE
    cdef float one = 1.0, zero = 0.0
    cdef float* row

    for i in range(padded):
        # The padding repeats an arm: any finite numbers will do.
        j = arms[first + min(i, width - 1)]
        memcpy(gathered + i * d, &X[j, 0], d * sizeof(float))
        norms[i] = squares[j]
    if kind == MANHATTAN:
        _manhattan_tile(gathered, padded, &X[start, 0], m, d, panel, out)
    else:
        # Column-major BLAS sees the tile as (arms, references).
        sgemm(
            "T", "N", &padded, &m, &depth, &one, gathered, &depth,
            <float*> &X[start, 0], &depth, &zero, out, &ld,
        )
        for j in range(m):
            row = out + j * TILE
            _finish_tile_row(
                row, norms, squares[start + j], w, kind, &X[start + j, 0], gathered, d
            )
    for j in range(m):
        row = out + j * TILE
        for i in range(w, TILE):
            row[i] = 0.0
    for i in range(w):
        j = arms[first + i] - start
        if 0 <= j < m:
            out[j * TILE + i] = 0.0


cdef void _finish_tile_row(
    float* row,
    const float* norms,
    float square,
    int w,
    int kind,
    const float* x,
    const float* gathered,
    Py_ssize_t d,
) noexcept nogil:
    """Turn products into distances, and mend those that cancelled."""
    cdef int i
    cdef float low = 0.0, bar, exact

    if kind == COSINE:
        _finish_cosine(row, w, &low)
    else:
        _finish_euclidean(row, norms, square, w, &low)
    if low > 0.0:
        for i in range(w):
            bar = GUARD_32 if kind == COSINE else GUARD_32 * (square + norms[i])
            if row[i] < bar:
                exact = 0.0
                _square_difference(x, gathered + i * d, d, &exact)
                row[i] = 0.5 * exact if kind == COSINE else exact
    if kind == EUCLIDEAN:
        _square_roots(row, w)


cdef simd_void _finish_euclidean(
    restrict_float row, restrict_const_float norms, float square, int w, float* low
) noexcept nogil:
    cdef int i
    cdef float total, value, n_low = 0.0
    for i in range(w):
        total = square + norms[i]
        value = total - 2.0 * row[i]
        n_low += 1.0 if value < GUARD_32 * total else 0.0
        row[i] = value if value > 0.0 else 0.0
    low[0] = n_low


cdef simd_void _finish_cosine(restrict_float row, int w, float* low) noexcept nogil:
    cdef int i
    cdef float value, n_low = 0.0
    for i in range(w):
        value = 1.0 - row[i]
        n_low += 1.0 if value < GUARD_32 else 0.0
        row[i] = value if value > 0.0 else 0.0
    low[0] = n_low


cdef simd_void _square_roots(restrict_float row, int w) noexcept nogil:
    cdef int i
    for i in range(w):
        row[i] = sqrtf(row[i])


cdef simd_void _square_difference(
    restrict_const_float x, restrict_const_float y, Py_ssize_t d, float* out
) noexcept nogil:
    cdef Py_ssize_t t
    cdef float gap, total = 0.0
    for t in range(d):
        gap = x[t] - y[t]
        total += gap * gap
    out[0] = total


cdef void _manhattan_tile(
    const float* arms,
    int n_arms,
    const float* references,
    int m,
    Py_ssize_t d,
    float* panel,
    float* out,
) noexcept nogil:
    """Sums of absolute differences, 32 arms at a time with the features outermost."""
    cdef Py_ssize_t i, j, p, q, t
    cdef const float* x
    for q in range(n_arms // PANEL):
        p = q * PANEL
        for i in range(PANEL):
            x = arms + (p + i) * d
            for t in range(d):
                panel[t * PANEL + i] = x[t]
        for j in range(0, m - 1, 2):
            _manhattan_pair(
                panel, references + j * d, references + (j + 1) * d, d,
                out + j * TILE + p, out + (j + 1) * TILE + p,
            )
        if m % 2:
            j = m - 1
            _manhattan_pair(
                panel, references + j * d, references + j * d, d,
                out + j * TILE + p, out + j * TILE + p,
            )


cdef simd_void _manhattan_pair(
    const float* panel,
    const float* x,
    const float* y,
    Py_ssize_t d,
    float* out_x,
    float* out_y,
) noexcept nogil:
    cdef float[PANEL] sum_x
    cdef float[PANEL] sum_y
    cdef Py_ssize_t i, t
    cdef float u, v
    cdef const float* column
    for i in range(PANEL):
        sum_x[i] = 0.0
        sum_y[i] = 0.0
    for t in range(d):
        u = x[t]
        v = y[t]
        column = panel + t * PANEL
        for i in range(PANEL):
            sum_x[i] += fabsf(column[i] - u)
            sum_y[i] += fabsf(column[i] - v)
    for i in range(PANEL):
        out_x[i] = sum_x[i]
        out_y[i] = sum_y[i]


def fill_rows(
    const floating[:, ::1] X,
    const floating[::1] squares,
    int kind,
    const Py_ssize_t[::1] arms,
    floating[:, ::1] out,
    int n_threads,
):
    """Distances of each of `arms` to all rows of X, in the precision of X.

    Parameters
    ----------
    X, squares, kind, arms, n_threads
        As in `fill_tiles`.
    out : ndarray of shape (len(arms), n_samples)
        Written.
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], n_arms = arms.shape[0]
    cdef Py_ssize_t n_blocks = (n + ROW_BLOCK - 1) // ROW_BLOCK, b
    cdef Py_ssize_t n_padded = (n_arms + ROW_PAD - 1) // ROW_PAD * ROW_PAD
    dtype = np.float32 if floating is float else np.float64
    order = np.asarray(arms)[np.minimum(np.arange(n_padded), n_arms - 1)]
    cdef floating[:, ::1] gathered = np.asarray(X)[order]
    cdef floating[:, :, ::1] products = np.empty(
        (n_threads, n_padded, ROW_BLOCK), dtype=dtype
    )

    for b in prange(n_blocks, nogil=True, schedule="dynamic", num_threads=n_threads):
        _row_block(
            X, squares, kind, arms, gathered, b * ROW_BLOCK,
            min(ROW_BLOCK, n - b * ROW_BLOCK), &products[thread_num(), 0, 0], out,
        )


cdef void _row_block(
    const floating[:, ::1] X,
    const floating[::1] squares,
    int kind,
    const Py_ssize_t[::1] arms,
    floating[:, ::1] gathered,
    Py_ssize_t start,
    Py_ssize_t width,
    floating* products,
    floating[:, ::1] out,
) noexcept nogil:
    cdef Py_ssize_t d = X.shape[1], n_arms = arms.shape[0], i, j
    cdef int m = width, w = gathered.shape[0], depth = d, ld = ROW_BLOCK
    cdef floating one = 1.0, zero = 0.0, total, value, bar
    cdef floating guard = GUARD_32 if floating is float else GUARD_64

    if kind != MANHATTAN:
        if floating is float:
            sgemm(
                "T", "N", &m, &w, &depth, &one, <float*> &X[start, 0], &depth,
                &gathered[0, 0], &depth, &zero, products, &ld,
            )
        else:
            dgemm(
                "T", "N", &m, &w, &depth, &one, <double*> &X[start, 0], &depth,
                &gathered[0, 0], &depth, &zero, products, &ld,
            )
    for i in range(n_arms):
        for j in range(width):
            if kind == MANHATTAN:
                value = _manhattan(&X[start + j, 0], &gathered[i, 0], d)
            elif kind == COSINE:
                value = 1.0 - products[i * ROW_BLOCK + j]
                if value < guard:
                    value = 0.5 * _sum_of_squares(&X[start + j, 0], &gathered[i, 0], d)
            else:
                total = squares[start + j] + squares[arms[i]]
                value = total - 2.0 * products[i * ROW_BLOCK + j]
                if value < guard * total:
                    value = _sum_of_squares(&X[start + j, 0], &gathered[i, 0], d)
                if kind == EUCLIDEAN:
                    value = sqrt(value)
            out[i, start + j] = value
        if start <= arms[i] < start + width:
            out[i, arms[i]] = 0.0


cdef inline floating _sum_of_squares(
    const floating* x, const floating* y, Py_ssize_t d
) noexcept nogil:
    cdef Py_ssize_t t
    cdef floating total = 0.0
    for t in range(d):
        total += (x[t] - y[t]) * (x[t] - y[t])
    return total


cdef inline floating _manhattan(
    const floating* x, const floating* y, Py_ssize_t d
) noexcept nogil:
    cdef floating total = 0.0
    if floating is float:
        _manhattan_32(x, y, d, &total)
    else:
        _manhattan_64(x, y, d, &total)
    return total


cdef simd_void _manhattan_32(
    const float* x, const float* y, Py_ssize_t d, float* out
) noexcept nogil:
    cdef Py_ssize_t t
    cdef float total = 0.0
    for t in range(d):
        total += fabsf(x[t] - y[t])
    out[0] = total


cdef simd_void _manhattan_64(
    const double* x, const double* y, Py_ssize_t d, double* out
) noexcept nogil:
    cdef Py_ssize_t t
    cdef double total = 0.0
    for t in range(d):
        total += fabs(x[t] - y[t])
    out[0] = total


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
