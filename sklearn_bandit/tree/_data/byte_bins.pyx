"""Bytes that are their own bins.

A matrix of bytes, such as an image in each row, needs no edges and no table: a value is
the number of its bin. Only the two largest share one, for 255 is what is missing.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport uint8_t, uint32_t

from sklearn_bandit._core.matrix cimport UINT8, MatrixView
from sklearn_bandit._core.openmp cimport thread_num
from sklearn_bandit._core.simd cimport simd_void
from sklearn_bandit._core.transpose cimport transpose
from sklearn_bandit.tree._common cimport MISSING_BIN, N_SLOTS

cdef enum:
    LARGEST = MISSING_BIN - 1   # bin
    TASK_ROWS = 1024
    # Rows transposed at a time: a cache line of every column.
    LINE_ROWS = 64
    # Bins for each value that occurs: histograms of more would be mostly empty.
    BINS_PER_VALUE = 4


def are_spread(MatrixView X, const uint32_t[:] rows):
    """Whether a matrix holds bytes, row by row, that fill much of their range.

    Parameters
    ----------
    X : MatrixView
        The matrix.
    rows : ndarray of uint32
        The rows to check.

    Returns
    -------
    bool
    """
    cdef Py_ssize_t n_columns = X.matrix.n_columns, i, j
    cdef const uint8_t* row
    cdef uint8_t[:, ::1] present

    if X.matrix.type != UINT8 or X.matrix.column_stride != 1:
        return False
    present = np.zeros((n_columns, N_SLOTS), dtype=np.uint8)
    for i in range(rows.shape[0]):
        row = <const uint8_t*> X.matrix.data + rows[i] * X.matrix.row_stride
        for j in range(n_columns):
            present[j, row[j]] = True
    places = np.arange(1, N_SLOTS + 1) * np.asarray(present)
    n_bins = places.max(axis=1).sum()
    return bool(n_bins <= BINS_PER_VALUE * np.count_nonzero(present))


def keep_bytes(
    MatrixView X, uint8_t[:, :] rows, uint8_t[:, :] columns, int n_threads
):
    """Write bytes as bins.

    Parameters
    ----------
    X : MatrixView
        The bytes, row by row.
    rows : ndarray of uint8 of shape (n_samples, n_features)
        The output, row by row.
    columns : ndarray of uint8 of shape (n_features, n_samples)
        The output, column by column.
    n_threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    n_bins, has_missing, low, high, n_distinct, has_infinite : ndarray
        As `Binner.bins` returns them.
    """
    cdef Py_ssize_t n = X.matrix.n_rows, n_columns = X.matrix.n_columns, task
    cdef Py_ssize_t n_tasks = (n + TASK_ROWS - 1) // TASK_ROWS
    cdef uint8_t[:, ::1] largest = np.zeros((n_threads, n_columns), dtype=np.uint8)

    for task in prange(
        n_tasks, nogil=True, schedule="dynamic", num_threads=n_threads
    ):
        _keep_rows(
            X, task * TASK_ROWS, min((task + 1) * TASK_ROWS, n),
            &largest[thread_num(), 0], rows, columns,
        )
    top = np.asarray(largest).max(axis=0)
    n_bins = np.minimum(top, LARGEST).astype(np.int32) + 1
    values = np.arange(MISSING_BIN, dtype=np.float64)
    low = np.where(values < n_bins[:, None], values, 0.0)
    high = low.copy()
    high[top == MISSING_BIN, LARGEST] = MISSING_BIN
    nothing = np.zeros(n_columns, dtype=np.uint8)
    return n_bins, nothing, low, high, n_bins.copy(), nothing.copy()


cdef void _keep_rows(
    MatrixView X, Py_ssize_t start, Py_ssize_t end, uint8_t* largest,
    uint8_t[:, :] rows, uint8_t[:, :] columns,
) noexcept nogil:
    """Copy some rows, and transpose them while they are in the cache."""
    cdef Py_ssize_t i, n

    while start < end:
        n = min(<Py_ssize_t> LINE_ROWS, end - start)
        for i in range(start, start + n):
            copy_bytes(
                <const uint8_t*> X.matrix.data + i * X.matrix.row_stride,
                X.matrix.n_columns, &rows[i, 0], largest,
            )
        transpose(
            &rows[start, 0], rows.strides[0], n, X.matrix.n_columns, &columns[0, start],
            columns.strides[0],
        )
        start += n


cdef simd_void copy_bytes(
    const uint8_t* values, Py_ssize_t n, uint8_t* bins, uint8_t* largest
) noexcept nogil:
    """Copy a row, and note the largest value of each column."""
    cdef Py_ssize_t j

    for j in range(n):
        largest[j] = max(largest[j], values[j])
        bins[j] = min(values[j], <uint8_t> LARGEST)
