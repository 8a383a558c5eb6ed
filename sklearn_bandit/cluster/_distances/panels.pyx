"""Sums of differences over a transposed panel of rows.

The features of a panel are outermost, so that one instruction serves several rows.
"""

from cython cimport floating
from libc.math cimport fabs, fabsf

from sklearn_bandit._core.simd cimport inline_void, simd_void


cdef void transpose_rows(
    const floating* rows, Py_ssize_t n, Py_ssize_t d, floating* panel
) noexcept nogil:
    """Rows to a panel, features outermost; a panel that is not full repeats a row."""
    cdef Py_ssize_t i, t
    cdef const floating* x
    for i in range(PANEL):
        x = rows + min(i, n - 1) * d
        for t in range(d):
            panel[t * PANEL + i] = x[t]


cdef inline_void _sum_gaps(
    const bint is_absolute,
    const floating* panel,
    const floating* x,
    const floating* y,
    Py_ssize_t d,
    floating* out_x,
    floating* out_y,
) noexcept nogil:
    """Sums of the absolute or squared differences of a panel's rows to two others."""
    cdef floating[PANEL] sum_x
    cdef floating[PANEL] sum_y
    cdef Py_ssize_t i, t
    cdef floating u, v, gap_x, gap_y
    cdef const floating* column
    for i in range(PANEL):
        sum_x[i] = 0.0
        sum_y[i] = 0.0
    for t in range(d):
        u = x[t]
        v = y[t]
        column = panel + t * PANEL
        for i in range(PANEL):
            gap_x = column[i] - u
            gap_y = column[i] - v
            if not is_absolute:
                sum_x[i] += gap_x * gap_x
                sum_y[i] += gap_y * gap_y
            elif floating is float:
                sum_x[i] += fabsf(gap_x)
                sum_y[i] += fabsf(gap_y)
            else:
                sum_x[i] += fabs(gap_x)
                sum_y[i] += fabs(gap_y)
    for i in range(PANEL):
        out_x[i] = sum_x[i]
        out_y[i] = sum_y[i]


cdef simd_void _absolute(
    const floating* panel,
    const floating* x,
    const floating* y,
    Py_ssize_t d,
    floating* out_x,
    floating* out_y,
) noexcept nogil:
    _sum_gaps(True, panel, x, y, d, out_x, out_y)


cdef simd_void _squares(
    const floating* panel,
    const floating* x,
    const floating* y,
    Py_ssize_t d,
    floating* out_x,
    floating* out_y,
) noexcept nogil:
    _sum_gaps(False, panel, x, y, d, out_x, out_y)


cdef void panel_absolute(
    const floating* panel,
    const floating* x,
    const floating* y,
    Py_ssize_t d,
    floating* out_x,
    floating* out_y,
) noexcept nogil:
    """Sums of absolute differences of a panel's rows to two others."""
    _absolute(panel, x, y, d, out_x, out_y)


cdef void panel_squares(
    const floating* panel,
    const floating* x,
    const floating* y,
    Py_ssize_t d,
    floating* out_x,
    floating* out_y,
) noexcept nogil:
    """Sums of squared differences of a panel's rows to two others."""
    _squares(panel, x, y, d, out_x, out_y)
