"""Rows of distances: one arm, all samples, in the precision of the data.

They come from the differences, without BLAS, whose rounding depends on what else is in
the product: a row is the same whichever others are asked for with it, and the distance
of x and y is that of y and x. Nothing cancels: a sum of d squared or absolute
differences has a relative error below ``(d + 2) * eps``, and equal rows have none. SIMD
runs over a transposed panel of samples or, for samples of many features, over the
features.
"""

import numpy as np

from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport fabs, fabsf, sqrt, sqrtf
from libc.string cimport memcpy

from sklearn_bandit._core.openmp cimport thread_num
from sklearn_bandit._core.simd cimport inline_void, simd_void

from .metrics cimport COSINE, EUCLIDEAN, MANHATTAN
from .panels cimport PANEL, panel_absolute, panel_squares, transpose_rows

cdef enum:
    # From this number of features on, rows are summed along the features: no panel has
    # to be transposed, which takes far longer than the sums of a few arms. Four arms
    # share the loads of a row, with as many partial sums each.
    LONG_ROWS = 256
    LANES = 16
    QUAD = 4


def fill_rows(
    const floating[:, ::1] X,
    const floating[::1] squares,
    int kind,
    const floating[:, ::1] arms,
    const floating[::1] arm_squares,
    floating[:, :] out,
    int n_threads,
):
    """Distances of each of `arms` to the rows of X, in the precision of X.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows; normalised for the cosine.
    squares : ndarray of shape (n_samples,)
        Cosine: their squared norms, of which those of zeros are 0. Not read otherwise.
    kind : int
        One of `KINDS`.
    arms : ndarray of shape (n_arms, n_features)
        Other rows.
    arm_squares : ndarray of shape (n_arms,)
        As `squares`.
    out : ndarray of shape (n_arms, n_rows)
        Written: the distances to the first `n_rows` rows of X. Its rows are contiguous.
    n_threads : int
        OpenMP threads.
    """
    cdef Py_ssize_t n = out.shape[1], d = X.shape[1], p
    cdef Py_ssize_t n_panels = (n + PANEL - 1) // PANEL
    dtype = np.float32 if floating is float else np.float64
    # The last arm is repeated to a multiple of four.
    cdef Py_ssize_t n_padded = (arms.shape[0] + QUAD - 1) // QUAD * QUAD
    padded = np.minimum(np.arange(n_padded), arms.shape[0] - 1)
    cdef floating[:, ::1] gathered = np.asarray(arms)[padded]
    # Of each thread: the distances of four arms to a panel, and the panel.
    cdef floating[:, ::1] scratch = np.empty(
        (n_threads, QUAD * PANEL + (PANEL * d if d < LONG_ROWS else 0)), dtype=dtype
    )

    for p in prange(n_panels, nogil=True, schedule="dynamic", num_threads=n_threads):
        _fill_panel(
            X, squares, kind, gathered, arm_squares, p, &scratch[thread_num(), 0], out
        )


cdef void _fill_panel(
    const floating[:, ::1] X,
    const floating[::1] squares,
    int kind,
    floating[:, ::1] arms,
    const floating[::1] arm_squares,
    Py_ssize_t p,
    floating* found,
    floating[:, :] out,
) noexcept nogil:
    """Distances of all arms to one panel of samples."""
    cdef Py_ssize_t d = X.shape[1], n_arms = out.shape[0], a, i, j
    cdef Py_ssize_t start = p * PANEL, width = min(PANEL, out.shape[1] - start)
    cdef floating* panel = found + QUAD * PANEL

    if d < LONG_ROWS:
        transpose_rows(&X[start, 0], width, d, panel)
    for a in range(0, n_arms, 4):
        if d >= LONG_ROWS:
            for j in range(width):
                if kind == MANHATTAN:
                    _row_absolute(&X[start + j, 0], &arms[a, 0], d, found + j)
                else:
                    _row_squares(&X[start + j, 0], &arms[a, 0], d, found + j)
        else:
            for i in range(0, QUAD, 2):
                if kind == MANHATTAN:
                    panel_absolute(
                        panel, &arms[a + i, 0], &arms[a + i + 1, 0], d,
                        found + i * PANEL, found + (i + 1) * PANEL,
                    )
                else:
                    panel_squares(
                        panel, &arms[a + i, 0], &arms[a + i + 1, 0], d,
                        found + i * PANEL, found + (i + 1) * PANEL,
                    )
        if kind == EUCLIDEAN:
            _panel_roots(found, width)
        for i in range(min(QUAD, n_arms - a)):
            if kind == COSINE:
                for j in range(width):
                    found[i * PANEL + j] *= 0.5
                    if squares[start + j] == 0 or arm_squares[a + i] == 0:
                        found[i * PANEL + j] = 1.0
            memcpy(&out[a + i, start], found + i * PANEL, width * sizeof(floating))


cdef simd_void _panel_roots(floating* found, Py_ssize_t width) noexcept nogil:
    """Square roots of the distances of four arms to some samples."""
    cdef Py_ssize_t i, j
    for i in range(QUAD):
        for j in range(width):
            if floating is float:
                found[i * PANEL + j] = sqrtf(found[i * PANEL + j])
            else:
                found[i * PANEL + j] = sqrt(found[i * PANEL + j])


cdef inline floating _size(const bint is_absolute, floating gap) noexcept nogil:
    """A difference without its sign, or its square."""
    if not is_absolute:
        return gap * gap
    return fabsf(gap) if floating is float else fabs(gap)


cdef inline_void _sum_gaps(
    const bint is_absolute,
    const floating* x,
    const floating* arms,
    Py_ssize_t d,
    floating* out,
) noexcept nogil:
    """Sums of absolute or squared differences of a long row to four others."""
    cdef floating[LANES] sum_0
    cdef floating[LANES] sum_1
    cdef floating[LANES] sum_2
    cdef floating[LANES] sum_3
    cdef Py_ssize_t i, t, part, n_whole = d // LANES
    cdef floating gap
    for i in range(LANES):
        sum_0[i] = 0.0
        sum_1[i] = 0.0
        sum_2[i] = 0.0
        sum_3[i] = 0.0
    for part in range(n_whole):
        t = part * LANES
        for i in range(LANES):
            gap = x[t + i] - arms[t + i]
            sum_0[i] += _size(is_absolute, gap)
            gap = x[t + i] - arms[d + t + i]
            sum_1[i] += _size(is_absolute, gap)
            gap = x[t + i] - arms[2 * d + t + i]
            sum_2[i] += _size(is_absolute, gap)
            gap = x[t + i] - arms[3 * d + t + i]
            sum_3[i] += _size(is_absolute, gap)
    for i in range(d - n_whole * LANES):
        t = n_whole * LANES + i
        gap = x[t] - arms[t]
        sum_0[i] += _size(is_absolute, gap)
        gap = x[t] - arms[d + t]
        sum_1[i] += _size(is_absolute, gap)
        gap = x[t] - arms[2 * d + t]
        sum_2[i] += _size(is_absolute, gap)
        gap = x[t] - arms[3 * d + t]
        sum_3[i] += _size(is_absolute, gap)
    _add_up(sum_0, sum_1, sum_2, sum_3, out)


cdef simd_void _row_squares(
    const floating* x, const floating* arms, Py_ssize_t d, floating* out
) noexcept nogil:
    _sum_gaps(False, x, arms, d, out)


cdef simd_void _row_absolute(
    const floating* x, const floating* arms, Py_ssize_t d, floating* out
) noexcept nogil:
    _sum_gaps(True, x, arms, d, out)


cdef inline void _add_up(
    const floating* sum_0,
    const floating* sum_1,
    const floating* sum_2,
    const floating* sum_3,
    floating* out,
) noexcept nogil:
    """Totals of the partial sums of four arms, a panel apart."""
    cdef Py_ssize_t i
    cdef floating total_0 = 0.0, total_1 = 0.0, total_2 = 0.0, total_3 = 0.0
    for i in range(LANES):
        total_0 += sum_0[i]
        total_1 += sum_1[i]
        total_2 += sum_2[i]
        total_3 += sum_3[i]
    out[0] = total_0
    out[PANEL] = total_1
    out[2 * PANEL] = total_2
    out[3 * PANEL] = total_3
