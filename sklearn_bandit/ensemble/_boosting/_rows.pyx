"""Write the rows of a matrix of bins as lists of cells, group by group.

The matrix is column-major. It is read in blocks of rows that stay in the cache while
the lists of the block are written.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t
from libc.stdlib cimport calloc, free

cdef enum:
    BLOCK_ROWS = 512


cdef inline uint16_t _cell(
    uint8_t bin_, uint8_t missing_bin, int32_t missing_cell, Py_ssize_t first
) noexcept nogil:
    """Cell of a bin, counted from the first cell of the group."""
    return <uint16_t> (first + (missing_cell if bin_ == missing_bin else bin_))


cdef class Rows:
    """The rows of a matrix of bins, group by group.

    Parameters
    ----------
    layout : Layout
        Groups and cells.
    columns : ndarray of uint8 of shape (n_features, n_samples)
        The matrix.
    n_threads : int
        Threads to use.
    """

    def __cinit__(self, layout, const uint8_t[:, :] columns, int n_threads):
        self.n_samples = columns.shape[1]
        self.n_groups = len(layout.groups)
        self.groups = <GroupRows*> calloc(max(self.n_groups, 1), sizeof(GroupRows))
        if self.groups == NULL:
            raise MemoryError()
        self.arrays = [None] * self.n_groups
        self.layout = layout
        self.n_threads = n_threads
        self.write(columns)

    def __dealloc__(self):
        free(self.groups)

    def write(self, const uint8_t[:, :] columns):
        """Write other rows, as many as there are, in place of those written before.

        Parameters
        ----------
        columns : ndarray of uint8 of shape (n_features, n_samples)
            Their bins.
        """
        cdef Py_ssize_t g

        if columns.shape[1] != self.n_samples:
            raise ValueError(f"Expected {self.n_samples} rows.")
        for g in range(self.n_groups):
            self._write_group(g, self.layout, columns, self.n_threads)

    def _write_group(
        self, Py_ssize_t g, layout, const uint8_t[:, :] columns, int n_threads
    ):
        group = layout.groups[g]
        cdef const Py_ssize_t[::1] features = group.features
        cdef const int32_t[::1] missing_cell = layout.n_bins
        cdef const int32_t[::1] frequent = layout.frequent_cell
        cdef const int64_t[::1] first = layout.first_cell - group.first_cell
        cdef uint8_t missing_bin = layout.missing_bin
        cdef Py_ssize_t n = self.n_samples, width = features.shape[0], task
        cdef Py_ssize_t n_tasks = (n + BLOCK_ROWS - 1) // BLOCK_ROWS
        cdef uint16_t[::1] cells
        cdef int64_t[::1] starts
        cdef const uint8_t[:, :] bins = columns

        n_threads = max(1, min(n_threads, n_tasks))
        self.groups[g].first_cell = group.first_cell
        self.groups[g].n_cells = group.n_cells
        if not group.is_sparse:
            if self.arrays[g] is None:
                self.arrays[g] = np.empty(max(n * width, 1), dtype=np.uint16)
            cells = self.arrays[g]
            for task in prange(n_tasks, nogil=True, num_threads=n_threads):
                _write_dense(
                    bins, features, first, missing_cell, missing_bin, task * BLOCK_ROWS,
                    min((task + 1) * BLOCK_ROWS, n), cells,
                )
            self.groups[g].width = width
            self.groups[g].starts = NULL
        else:
            starts = np.zeros(n + 1, dtype=np.int64)
            for task in prange(n_tasks, nogil=True, num_threads=n_threads):
                _count_sparse(
                    bins, features, frequent, missing_cell, missing_bin,
                    task * BLOCK_ROWS, min((task + 1) * BLOCK_ROWS, n), starts,
                )
            np.cumsum(starts, out=starts.base)
            cells = np.empty(max(starts[n], 1), dtype=np.uint16)
            for task in prange(n_tasks, nogil=True, num_threads=n_threads):
                _write_sparse(
                    bins, features, first, frequent, missing_cell, missing_bin,
                    task * BLOCK_ROWS, min((task + 1) * BLOCK_ROWS, n), starts, cells,
                )
            self.groups[g].width = starts[n] // max(n, 1) + 1
            self.groups[g].starts = &starts[0]
            self.arrays[g] = (cells.base, starts.base)
        self.groups[g].cells = &cells[0]


cdef void _write_dense(
    const uint8_t[:, :] bins,
    const Py_ssize_t[::1] features,
    const int64_t[::1] first,
    const int32_t[::1] missing_cell,
    uint8_t missing_bin,
    Py_ssize_t start,
    Py_ssize_t end,
    uint16_t[::1] cells,
) noexcept nogil:
    cdef Py_ssize_t width = features.shape[0], j, i, feature

    for j in range(width):
        feature = features[j]
        for i in range(start, end):
            cells[i * width + j] = _cell(
                bins[feature, i], missing_bin, missing_cell[feature], first[feature]
            )


cdef void _count_sparse(
    const uint8_t[:, :] bins,
    const Py_ssize_t[::1] features,
    const int32_t[::1] frequent,
    const int32_t[::1] missing_cell,
    uint8_t missing_bin,
    Py_ssize_t start,
    Py_ssize_t end,
    int64_t[::1] starts,
) noexcept nogil:
    """Length of the list of row i, as starts[i + 1]."""
    cdef Py_ssize_t j, i, feature

    for j in range(features.shape[0]):
        feature = features[j]
        for i in range(start, end):
            starts[i + 1] += frequent[feature] != _cell(
                bins[feature, i], missing_bin, missing_cell[feature], 0
            )


cdef void _write_sparse(
    const uint8_t[:, :] bins,
    const Py_ssize_t[::1] features,
    const int64_t[::1] first,
    const int32_t[::1] frequent,
    const int32_t[::1] missing_cell,
    uint8_t missing_bin,
    Py_ssize_t start,
    Py_ssize_t end,
    const int64_t[::1] starts,
    uint16_t[::1] cells,
) noexcept nogil:
    cdef int64_t[BLOCK_ROWS] place
    cdef Py_ssize_t j, i, feature
    cdef uint16_t cell

    for i in range(start, end):
        place[i - start] = starts[i]
    for j in range(features.shape[0]):
        feature = features[j]
        for i in range(start, end):
            cell = _cell(bins[feature, i], missing_bin, missing_cell[feature], 0)
            if cell != frequent[feature]:
                cells[place[i - start]] = <uint16_t> (first[feature] + cell)
                place[i - start] += 1
