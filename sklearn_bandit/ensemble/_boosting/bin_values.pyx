"""Assign values to bins between given thresholds.

The bin of x is the number of thresholds below x. As in ``sklearn_bandit.tree`` a table
makes the search short: the range of the thresholds is cut into cells of equal width,
the table gives the number of thresholds before each cell, and a fixed number of
halvings, enough for the feature's fullest cell, does the rest without a branch. The
thresholds are scikit-learn's, in double precision, and so is the comparison.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int8_t, int16_t, int32_t, uint8_t, uint16_t, uint32_t

from sklearn_bandit._core.openmp cimport thread_num
from sklearn_bandit._core.simd cimport simd_void

cdef enum:
    N_CELLS = 1024
    MAX_THRESHOLDS = 255
    ROOM = 512              # the halvings may look 255 places beyond the last threshold
    # Values, cells and bins of so many rows stay in the first-level cache together.
    BLOCK_ROWS = 256
    # Rows of one task: tables are fetched once for so many rows.
    TASK_ROWS = 4096
    # Neighbouring columns of a row-major matrix that share a cache line.
    GROUP = 16

ctypedef fused Value:
    uint8_t
    int8_t
    int16_t
    uint16_t
    int32_t
    float
    double

READABLE = {np.dtype(code) for code in ("u1", "i1", "i2", "u2", "i4", "f4", "f8")}


cdef simd_void _find_cells(
    const double* values, Py_ssize_t n, double origin, double scale, int32_t* cells
) noexcept nogil:
    """Cell of each value; that of a missing value is any."""
    cdef Py_ssize_t i
    cdef double cell

    for i in range(n):
        cell = (values[i] - origin) * scale
        cell = cell if cell > 0.0 else 0.0
        cell = cell if cell < N_CELLS - 1 else N_CELLS - 1
        cells[i] = <int32_t> cell


cdef void _find_bins(
    const double* values, const int32_t* cells, Py_ssize_t n, const uint8_t* table,
    const double* thresholds, int n_halvings, uint8_t* bins
) noexcept nogil:
    """Number of thresholds below each value, from the number before its cell."""
    cdef Py_ssize_t i, bin_, half

    if n_halvings == 0:
        for i in range(n):
            bins[i] = table[cells[i]]
    elif n_halvings == 1:
        for i in range(n):
            bin_ = table[cells[i]]
            bins[i] = <uint8_t> (bin_ + (values[i] > thresholds[bin_]))
    else:
        for i in range(n):
            bin_ = table[cells[i]]
            half = 1 << (n_halvings - 1)
            while half:
                bin_ += half * (values[i] > thresholds[bin_ + half - 1])
                half >>= 1
            bins[i] = <uint8_t> bin_


cdef class BinAssigner:
    """Tables that put the values of each feature into bins.

    Parameters
    ----------
    thresholds : list of ndarray
        Increasing thresholds of each feature; of a categorical feature its categories,
        which are 0, 1, 2, ...
    is_categorical : ndarray of uint8 of shape (n_features,)
        Whether the feature is categorical: negative values are then missing.
    missing_bin : int
        The bin of missing values.
    """

    cdef Py_ssize_t n_features
    cdef uint8_t missing_bin
    cdef const uint8_t[::1] is_categorical
    cdef double[:, ::1] thresholds      # padded with infinity
    cdef double[::1] origin             # where the first cell starts
    cdef double[::1] scale              # cells per unit
    cdef uint8_t[:, ::1] table          # number of thresholds before each cell
    cdef uint8_t[::1] n_halvings        # that settle the fullest cell

    def __cinit__(self, thresholds, const uint8_t[::1] is_categorical, int missing_bin):
        cdef Py_ssize_t feature, i, before, n, fullest
        cdef int32_t[MAX_THRESHOLDS] cells
        cdef const double[::1] known

        self.n_features = len(thresholds)
        self.missing_bin = missing_bin
        self.is_categorical = is_categorical
        self.thresholds = np.full((self.n_features, ROOM), np.inf)
        self.origin = np.zeros(self.n_features)
        self.scale = np.zeros(self.n_features)
        self.table = np.zeros((self.n_features, N_CELLS), dtype=np.uint8)
        self.n_halvings = np.zeros(self.n_features, dtype=np.uint8)
        for feature in range(self.n_features):
            known = np.ascontiguousarray(thresholds[feature], dtype=np.float64)
            n = known.shape[0]
            if n == 0:
                continue
            self.thresholds[feature, :n] = known
            self.origin[feature] = known[0]
            if known[n - 1] > known[0]:
                self.scale[feature] = min(
                    (N_CELLS - 1) / (known[n - 1] - known[0]), 1e300
                )
            _find_cells(
                &known[0], n, self.origin[feature], self.scale[feature], cells
            )
            i = 0
            fullest = 0
            for cell in range(N_CELLS):
                self.table[feature, cell] = i
                before = i
                while i < n and cells[i] == cell:
                    i += 1
                fullest = max(fullest, i - before)
            while (1 << self.n_halvings[feature]) <= fullest:
                self.n_halvings[feature] += 1

    def assign(
        self, const Value[:, :] X, const uint32_t[::1] rows, uint8_t[:, :] columns,
        uint8_t[::1] has_missing, int n_threads,
    ):
        """Write the bins of rows of a matrix, column by column.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            The values, of any type in `READABLE` and any strides.
        rows : ndarray of uint32 of shape (n_rows,) or None
            The rows; None for all.
        columns : ndarray of uint8 of shape (n_features, n_rows)
            The output; the bins of a feature are contiguous.
        has_missing : ndarray of uint8 of shape (n_features,)
            Output: 1 where a feature has missing values.
        n_threads : int
            Threads to use.
        """
        cdef Py_ssize_t n = columns.shape[1], task
        cdef Py_ssize_t n_tasks = (n + TASK_ROWS - 1) // TASK_ROWS
        n_threads = max(1, min(n_threads, n_tasks))
        cdef uint8_t[:, ::1] missing = np.zeros(
            (n_threads, self.n_features), dtype=np.uint8
        )

        for task in prange(
            n_tasks, nogil=True, schedule="dynamic", num_threads=n_threads
        ):
            self._assign_rows(
                X, rows, task * TASK_ROWS, min((task + 1) * TASK_ROWS, n), columns,
                &missing[thread_num(), 0],
            )
        np.asarray(has_missing)[:] = np.asarray(missing).max(axis=0)

    cdef void _assign_rows(
        self, const Value[:, :] X, const uint32_t[::1] rows, Py_ssize_t start,
        Py_ssize_t end, uint8_t[:, :] columns, uint8_t* missing,
    ) noexcept nogil:
        """Bins of the rows of one task, in tiles of a few rows and features."""
        cdef double[BLOCK_ROWS] values
        cdef int32_t[BLOCK_ROWS] cells
        cdef Py_ssize_t group = 0, feature, i, k, n
        cdef uint8_t* bins
        cdef bint any_missing

        while group < self.n_features:
            i = start
            while i < end:
                n = min(BLOCK_ROWS, end - i)
                for feature in range(group, min(group + GROUP, self.n_features)):
                    bins = &columns[feature, i]
                    if rows is None:
                        for k in range(n):
                            values[k] = <double> X[i + k, feature]
                    else:
                        for k in range(n):
                            values[k] = <double> X[rows[i + k], feature]
                    _find_cells(
                        values, n, self.origin[feature], self.scale[feature], cells
                    )
                    _find_bins(
                        values, cells, n, &self.table[feature, 0],
                        &self.thresholds[feature, 0], self.n_halvings[feature], bins,
                    )
                    any_missing = False
                    if Value is float or Value is double:
                        for k in range(n):
                            any_missing |= values[k] != values[k]
                    if self.is_categorical[feature]:
                        for k in range(n):
                            any_missing |= values[k] < 0.0
                    if any_missing:
                        missing[feature] = True
                        for k in range(n):
                            if values[k] != values[k] or (
                                self.is_categorical[feature] and values[k] < 0.0
                            ):
                                bins[k] = self.missing_bin
                i += n
            group += GROUP
