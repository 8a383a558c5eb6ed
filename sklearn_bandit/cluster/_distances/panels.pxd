"""Sums of differences over a transposed panel of rows: see ``panels.pyx``."""

from cython cimport floating

cdef enum:
    # Rows of a transposed panel; two others share its loads, which makes eight float32
    # sums of AVX2 width.
    PANEL = 32


cdef void transpose_rows(
    const floating* rows,
    Py_ssize_t n,                   # at most PANEL; the last one is repeated
    Py_ssize_t d,
    floating* panel,                # d x PANEL
) noexcept nogil

cdef void panel_absolute(
    const floating* panel,
    const floating* x,              # two other rows
    const floating* y,
    Py_ssize_t d,
    floating* out_x,                # PANEL distances of each
    floating* out_y,
) noexcept nogil

cdef void panel_squares(
    const floating* panel,
    const floating* x,
    const floating* y,
    Py_ssize_t d,
    floating* out_x,
    floating* out_y,
) noexcept nogil
