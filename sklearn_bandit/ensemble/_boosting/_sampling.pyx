"""Draw the rows of a tree and copy them together.

One row is drawn out of each of equally long stretches: without replacement, and in the
order of memory. Which one is a hash of the seed and the stretch, so that any number of
threads draws the same rows.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from sklearn_bandit._simd cimport prefetch
from sklearn_bandit._random cimport random_below

cdef enum:
    # Rows that are copied to a buffer and transposed from there.
    TILE_ROWS = 64
    TASK_ROWS = 4096
    # How many rows ahead memory is fetched.
    AHEAD = 32
    # Bytes of a row that are copied at a time.
    TILE_COLUMNS = 64


def draw_rows(Py_ssize_t n_samples, Py_ssize_t n_drawn, uint64_t seed):
    """Draw rows, one out of each of equally long stretches.

    Parameters
    ----------
    n_samples : int
        Number of rows to draw from.
    n_drawn : int
        Number of rows to draw, at most `n_samples`.
    seed : int
        What the draw depends on.

    Returns
    -------
    ndarray of uint32 of shape (n_drawn,)
        The rows, ascending.
    """
    cdef uint32_t[::1] rows = np.empty(n_drawn, dtype=np.uint32)
    cdef Py_ssize_t i, start, stop
    cdef uint64_t state

    with nogil:
        for i in range(n_drawn):
            start = i * n_samples // n_drawn
            stop = (i + 1) * n_samples // n_drawn
            state = seed ^ (<uint64_t> i * <uint64_t> 0xD1342543DE82EF95)
            rows[i] = <uint32_t> (start + random_below(&state, stop - start))
    return np.asarray(rows)


def copy_rows(
    const uint8_t[:, ::1] matrix, const uint32_t[::1] rows, uint8_t[:, ::1] columns,
    int n_threads,
):
    """Copy some rows of a row-major matrix into the columns of a column-major one.

    Parameters
    ----------
    matrix : ndarray of uint8 of shape (n_samples, n_features)
        The matrix.
    rows : ndarray of uint32 of shape (n_drawn,)
        The rows to copy.
    columns : ndarray of uint8 of shape (n_features, n_drawn)
        The output.
    n_threads : int
        Threads to use.
    """
    cdef Py_ssize_t n = rows.shape[0], task
    cdef Py_ssize_t n_tasks = (n + TASK_ROWS - 1) // TASK_ROWS

    for task in prange(n_tasks, nogil=True, num_threads=n_threads):
        _copy_task(
            matrix, rows, columns, task * TASK_ROWS, min((task + 1) * TASK_ROWS, n)
        )


cdef void _copy_task(
    const uint8_t[:, ::1] matrix, const uint32_t[::1] rows, uint8_t[:, ::1] columns,
    Py_ssize_t start, Py_ssize_t stop
) noexcept nogil:
    """Copy the rows of one task, tile by tile."""
    cdef uint8_t[TILE_ROWS][TILE_COLUMNS] tile
    cdef Py_ssize_t n_columns = matrix.shape[1], first, width, i, j, k, n
    cdef uint8_t* out

    i = start
    while i < stop:
        n = min(TILE_ROWS, stop - i)
        first = 0
        while first < n_columns:
            width = min(TILE_COLUMNS, n_columns - first)
            for k in range(n):
                if i + k + AHEAD < stop:
                    prefetch(&matrix[rows[i + k + AHEAD], first])
                memcpy(tile[k], &matrix[rows[i + k], first], width)
            for j in range(width):
                out = &columns[first + j, i]
                for k in range(n):
                    out[k] = tile[k][j]
            first += width
        i += n
