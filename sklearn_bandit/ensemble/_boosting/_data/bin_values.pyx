"""Assign values to bins between given thresholds.

The bin of x is the number of thresholds below x, looked up in a table (see
``_core/bin_lookup.pyx``). The thresholds are scikit-learn's, in double precision, and
so is the comparison.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int8_t, int16_t, int32_t, uint8_t, uint16_t, uint32_t
from libc.stdlib cimport free

from sklearn_bandit._core.bin_lookup cimport (
    EDGE_ROOM,
    MAX_LOOKED_UP,
    TABLE_ROWS,
    BinLookup,
    Seen,
    look_up,
    set_lookup,
)
from sklearn_bandit._core.memory cimport allocate_zeros
from sklearn_bandit._core.openmp cimport thread_num

cdef enum:
    # Values, cells and bins of this number of rows stay in the first-level cache.
    BLOCK_ROWS = MAX_LOOKED_UP
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
    cdef BinLookup* lookups             # of each feature

    def __cinit__(self, thresholds, const uint8_t[::1] is_categorical, int missing_bin):
        cdef Py_ssize_t feature, n

        self.n_features = len(thresholds)
        self.missing_bin = missing_bin
        self.is_categorical = is_categorical
        self.thresholds = np.full((self.n_features, EDGE_ROOM), np.inf)
        self.lookups = <BinLookup*> allocate_zeros(self.n_features, sizeof(BinLookup))
        if self.lookups == NULL:
            raise MemoryError
        for feature in range(self.n_features):
            n = len(thresholds[feature])
            if n > 0:
                np.asarray(self.thresholds)[feature, :n] = thresholds[feature]
                set_lookup(
                    &self.lookups[feature], &self.thresholds[feature, 0], n, False
                )

    def __dealloc__(self):
        free(self.lookups)

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
        cdef Py_ssize_t n_tasks = (n + TABLE_ROWS - 1) // TABLE_ROWS
        n_threads = max(1, min(n_threads, n_tasks))
        cdef uint8_t[:, ::1] missing = np.zeros(
            (n_threads, self.n_features), dtype=np.uint8
        )

        for task in prange(
            n_tasks, nogil=True, schedule="dynamic", num_threads=n_threads
        ):
            self._assign_rows(
                X, rows, task * TABLE_ROWS, min((task + 1) * TABLE_ROWS, n), columns,
                &missing[thread_num(), 0],
            )
        np.asarray(has_missing)[:] = np.asarray(missing).max(axis=0)

    cdef void _assign_rows(
        self, const Value[:, :] X, const uint32_t[::1] rows, Py_ssize_t start,
        Py_ssize_t end, uint8_t[:, :] columns, uint8_t* missing,
    ) noexcept nogil:
        """Bins of the rows of one task, in tiles of a few rows and features."""
        cdef double[BLOCK_ROWS] values
        cdef Py_ssize_t group = 0, feature, i, k, n
        cdef uint8_t* bins
        cdef Seen seen

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
                    look_up(
                        &self.lookups[feature], &self.thresholds[feature, 0], values, n,
                        bins, &seen,
                    )
                    if self.is_categorical[feature]:
                        for k in range(n):
                            seen.missing |= values[k] < 0.0
                    if seen.missing:
                        missing[feature] = True
                        for k in range(n):
                            if values[k] != values[k] or (
                                self.is_categorical[feature] and values[k] < 0.0
                            ):
                                bins[k] = self.missing_bin
                i += n
            group += GROUP
