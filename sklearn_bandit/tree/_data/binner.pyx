"""Quantile bins: find the edges on a sample, then assign every value to its bin.

A feature with at most `max_bins` distinct values has one bin a value (it is *exact*).
Any other is cut so that its bins hold about equally many of the sampled values, a value
that alone fills a bin getting a bin of its own. The bin of x is the number of edges
below x, and that of a missing value is `MISSING_BIN`.

An edge is the middle between two neighbours in the sample, the last of its bin and the
first of the next. These two are all that is kept of the values: the middle between the
last of one bin and the first of any later one is at or between the edges that part
them, so as a threshold it divides all samples as their bins do, not only the sampled.

Values are assigned by a look-up table, see ``_core/bin_lookup.pyx``.

Values that an exact feature's sample missed are collected on the way. If all its values
still fit, the feature is assigned a second time; otherwise it is no longer exact.

Values that differ by hardly more than rounding are one to scikit-learn. A feature that
seems to have no others is told from the sample, and the rows that were not sampled are
asked when they are assigned.

Bytes (uint8 and bool) need no sample: they are all counted, and their table has a cell
for each value.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from sklearn_bandit._core.bin_lookup cimport (
    EDGE_ROOM,
    TABLE_ROWS,
    BinLookup,
    Seen,
    compare_values,
    look_up,
    set_lookup,
)
from sklearn_bandit._core.matrix cimport (
    FEATURE_THRESHOLD,
    UINT8,
    Matrix,
    MatrixView,
    Tile,
    gather_column,
    load_tile,
)
from sklearn_bandit._core.memory cimport CACHE_LINE as LINE_BYTES
from sklearn_bandit._core.memory cimport allocate_zeros
from sklearn_bandit._core.openmp cimport thread_num
from sklearn_bandit._core.transpose cimport transpose
from sklearn_bandit.tree._common cimport MISSING_BIN as MISSING
from sklearn_bandit.tree._common cimport N_SLOTS

from .byte_tiles cimport TILE_COLUMNS, TILE_ROWS, count_bytes, load_bytes
from .missed_values cimport MissedValues
from .quantiles cimport count_runs, cut, hardly_vary, sort_values

# For Python.
MISSING_BIN = MISSING
MAX_BINS = MISSING
CACHE_LINE = LINE_BYTES

cdef enum:
    # Features whose tables (about 6 KB each) stay in the second-level cache together:
    # all tiles of these are filled before the next rows.
    TOGETHER = 96
    # Neighbouring columns for which sampled rows are read at once: a cache line.
    GATHER_COLUMNS = 16


cdef struct Output:
    # Where bins are written: row by row and column by column.
    uint8_t* rows
    Py_ssize_t row_stride       # from a row to the next
    Py_ssize_t width            # bytes of a row, with the padding behind the features
    uint8_t* columns
    Py_ssize_t column_stride    # from a column to the next


cdef class Binner:
    """Bin edges of some features, and what was seen while assigning values to bins.

    Parameters
    ----------
    n_features : int
        Number of features.
    max_bins : int
        Bins a feature may have, from 2 to 255, missing values not counted.
    n_threads : int
        Threads that find edges and assign values.
    """

    cdef Py_ssize_t n_features
    cdef Py_ssize_t max_bins
    cdef int n_threads
    cdef float[:, ::1] edges        # padded with infinity
    cdef int32_t[::1] n_edges
    cdef int32_t[::1] n_distinct    # values in the sample
    cdef uint8_t[::1] is_exact      # one bin a value
    cdef float[:, ::1] low          # smallest and largest sampled value in each bin
    cdef float[:, ::1] high
    cdef BinLookup* lookups         # of each feature
    cdef uint8_t[::1] may_be_constant   # the sampled values hardly vary
    # What each thread has seen:
    cdef uint8_t[:, ::1] any_missing
    cdef uint8_t[:, ::1] any_infinite
    cdef MissedValues missed        # that the sample of an exact feature missed
    cdef float[:, ::1] smallest     # values of the features that may be constant
    cdef float[:, ::1] largest

    def __cinit__(self, Py_ssize_t n_features, Py_ssize_t max_bins, int n_threads):
        if not 2 <= max_bins <= MAX_BINS:
            raise ValueError(f"max_bins must be from 2 to {MAX_BINS}, got {max_bins}.")
        self.n_features = n_features
        self.max_bins = max_bins
        self.n_threads = n_threads
        self.edges = np.full((n_features, EDGE_ROOM), np.inf, dtype=np.float32)
        self.n_edges = np.zeros(n_features, dtype=np.int32)
        self.n_distinct = np.zeros(n_features, dtype=np.int32)
        self.is_exact = np.zeros(n_features, dtype=np.uint8)
        self.low = np.zeros((n_features, N_SLOTS), dtype=np.float32)
        self.high = np.zeros((n_features, N_SLOTS), dtype=np.float32)
        self.may_be_constant = np.zeros(n_features, dtype=np.uint8)
        self.lookups = <BinLookup*> allocate_zeros(n_features, sizeof(BinLookup))
        if self.lookups == NULL:
            raise MemoryError
        seen = (n_threads, n_features)
        self.any_missing = np.zeros(seen, dtype=np.uint8)
        self.any_infinite = np.zeros(seen, dtype=np.uint8)
        self.missed = MissedValues(n_features, n_threads)
        self.smallest = np.full(seen, np.inf, dtype=np.float32)
        self.largest = np.full(seen, -np.inf, dtype=np.float32)

    def __dealloc__(self):
        free(self.lookups)

    def find_edges(
        self, MatrixView X, const uint32_t[::1] rows, bint is_sample=False
    ):
        """Find the edges of all features from some rows.

        Parameters
        ----------
        X : MatrixView
            The matrix to sample.
        rows : ndarray of uint32
            The rows to use.
        is_sample : bool, default=False
            Whether there are other rows. Then values that hardly differ from each other
            are kept apart, for one that was not sampled may differ more, until
            `merge_constant` is called.
        """
        cdef Py_ssize_t n = rows.shape[0], group, start, end, n_kept, j, i
        cdef Py_ssize_t n_groups = (
            (self.n_features + GATHER_COLUMNS - 1) // GATHER_COLUMNS
        )
        cdef int thread
        cdef float[:, :, ::1] sample = np.empty(
            (self.n_threads, GATHER_COLUMNS, n), dtype=np.float32
        )
        cdef uint32_t[:, :, ::1] keys = np.empty(
            (self.n_threads, 2, n), dtype=np.uint32
        )

        for group in prange(
            n_groups, nogil=True, schedule="dynamic", num_threads=self.n_threads
        ):
            thread = thread_num()
            start = group * GATHER_COLUMNS
            end = min(start + GATHER_COLUMNS, self.n_features)
            i = 0
            while i < n:
                for j in range(start, end):
                    gather_column(
                        &X.matrix, j, &rows[i], min(TILE_ROWS, n - i),
                        &sample[thread, j - start, i],
                    )
                i = i + TILE_ROWS
            for j in range(start, end):
                n_kept = sort_values(
                    &sample[thread, j - start, 0], n, &keys[thread, 0, 0],
                    &keys[thread, 1, 0],
                )
                n_kept = count_runs(
                    &sample[thread, j - start, 0], n_kept, &keys[thread, 0, 0]
                )
                self._set_edges(
                    j, &sample[thread, j - start, 0], &keys[thread, 0, 0], n_kept,
                    is_sample,
                )

    def find_byte_edges(self, MatrixView X):
        """Find the edges of all features of a matrix of bytes, from all its rows.

        Parameters
        ----------
        X : MatrixView
            The matrix, of uint8 or bool.
        """
        cdef Py_ssize_t n = X.matrix.n_rows, task, feature, value, n_distinct
        cdef Py_ssize_t n_tasks = (n + TABLE_ROWS - 1) // TABLE_ROWS
        cdef uint32_t[:, :, ::1] counts = np.zeros(
            (self.n_threads, self.n_features, N_SLOTS), dtype=np.uint32
        )
        cdef const uint32_t[:, ::1] total
        cdef float[N_SLOTS] values
        cdef uint32_t[N_SLOTS] present

        for task in prange(
            n_tasks, nogil=True, schedule="dynamic", num_threads=self.n_threads
        ):
            count_bytes(
                &X.matrix, task * TABLE_ROWS, min((task + 1) * TABLE_ROWS, n),
                &counts[thread_num(), 0, 0],
            )
        total = np.asarray(counts).sum(axis=0, dtype=np.uint32)
        for feature in range(self.n_features):
            n_distinct = 0
            for value in range(N_SLOTS):
                if total[feature, value]:
                    values[n_distinct] = value
                    present[n_distinct] = total[feature, value]
                    n_distinct += 1
            self._set_edges(feature, values, present, n_distinct, False, True)
            self.is_exact[feature] = False  # no value can be missed

    def assign(
        self,
        MatrixView X,
        const Py_ssize_t[::1] features,
        uint8_t[:, :] rows,
        uint8_t[:, :] columns,
        const uint32_t[::1] ids=None,
    ):
        """Write the bins of a matrix, of a chunk of its rows or of some rows.

        Parameters
        ----------
        X : MatrixView
            The values.
        features : ndarray of intp
            The features to assign.
        rows : ndarray of uint8 of shape (n_samples, n_features or more)
            The output, row by row; what is behind the features is zero and stays so.
        columns : ndarray of uint8 of shape (n_features, n_samples)
            The output, column by column.
        ids : ndarray of uint32 of shape (n_samples,), default=None
            The rows to assign; None for all.
        """
        cdef Py_ssize_t n = X.matrix.n_rows if ids is None else ids.shape[0]
        cdef Py_ssize_t n_tasks = (n + TABLE_ROWS - 1) // TABLE_ROWS, task, start, end
        cdef const uint32_t* first = NULL if ids is None or n == 0 else &ids[0]
        cdef Output out

        if n == 0:
            return
        out.rows = &rows[0, 0]
        out.row_stride = rows.strides[0]
        out.width = rows.shape[1]
        out.columns = &columns[0, 0]
        out.column_stride = columns.strides[0]
        for task in prange(
            n_tasks, nogil=True, schedule="dynamic", num_threads=self.n_threads
        ):
            start = task * TABLE_ROWS
            end = min(start + TABLE_ROWS, n)
            self._assign_rows(&X.matrix, features, start, end, first, &out)

    def add_missed(self):
        """Give the values that samples missed their own bins where these suffice.

        Returns
        -------
        features : ndarray of intp
            Features whose bins have changed and are to be assigned again.
        """
        changed = []
        n_distinct = np.asarray(self.n_distinct)
        for feature in self.missed.features():
            known = np.asarray(self.low)[feature, : n_distinct[feature]]
            known = self.missed.add_to(feature, known, self.max_bins)
            if known is not None:
                changed.append(feature)
                self._set_values(feature, known)
        return np.asarray(changed, dtype=np.intp)

    def merge_constant(self, uint8_t[:, :] rows, uint8_t[:, :] columns):
        """Give each feature whose values hardly vary, in all rows, a single bin.

        Parameters
        ----------
        rows, columns : ndarray of uint8
            The bins of all rows, as `assign` has written them.
        """
        cdef Py_ssize_t feature, last

        smallest = np.asarray(self.smallest).min(axis=0)
        largest = np.asarray(self.largest).max(axis=0)
        for feature in np.flatnonzero(self.may_be_constant):
            low, high = smallest[feature], largest[feature]
            last = self.n_edges[feature]
            # The sampled values have no gap between them. What is next to these, or
            # among them, makes none.
            if (
                low < self.low[feature, 0] - FEATURE_THRESHOLD
                or high > self.high[feature, last] + FEATURE_THRESHOLD
            ):
                continue
            bins = np.asarray(columns)[feature]
            bins[bins != MISSING_BIN] = 0
            np.asarray(rows)[:, feature] = bins
            self.n_edges[feature] = 0
            self.n_distinct[feature] = 1
            self.low[feature, :] = 0.0
            self.high[feature, :] = 0.0
            self.low[feature, 0] = low
            self.high[feature, 0] = high

    def bins(self):
        """Return what is known of the bins after all values are assigned.

        Returns
        -------
        n_bins : ndarray of int32 of shape (n_features,)
            Number of bins, missing values not counted.
        has_missing : ndarray of uint8 of shape (n_features,)
            Whether there are missing values.
        low, high : ndarray of float64 of shape (n_features, 255)
            Smallest and largest sampled value in each bin; 0 where there is none.
        n_distinct : ndarray of int32 of shape (n_features,)
            Number of distinct values in the sample that the edges are from.
        has_infinite : ndarray of uint8 of shape (n_features,)
            Whether there are infinite values.
        """
        return (
            (np.asarray(self.n_edges) + 1).astype(np.int32),
            np.asarray(self.any_missing).max(axis=0),
            np.asarray(self.low)[:, :MAX_BINS].astype(np.float64),
            np.asarray(self.high)[:, :MAX_BINS].astype(np.float64),
            np.asarray(self.n_distinct),
            np.asarray(self.any_infinite).max(axis=0),
        )

    def _set_values(self, Py_ssize_t feature, const float[::1] values):
        """One bin for each of some sorted distinct values."""
        cdef uint32_t[::1] counts = np.ones(values.shape[0], dtype=np.uint32)
        self._set_edges(feature, &values[0], &counts[0], values.shape[0], True)
        self.missed.forget(feature)

    cdef void _set_edges(
        self,
        Py_ssize_t feature,
        const float* values,
        const uint32_t* counts,
        Py_ssize_t n,
        bint is_sample,
        bint unit_cells=False,
    ) noexcept nogil:
        """Edges and look-up table of a feature from its n distinct values."""
        cdef float* edges = &self.edges[feature, 0]
        cdef Py_ssize_t n_edges, i, bin_ = 0
        cdef bint is_one = hardly_vary(values, n)

        self.n_distinct[feature] = n
        self.is_exact[feature] = n <= self.max_bins
        self.may_be_constant[feature] = is_sample and is_one
        if is_one and not is_sample:
            self.is_exact[feature] = False
            n_edges = 0
        else:
            n_edges = cut(values, counts, n, self.max_bins, edges)
        self.n_edges[feature] = n_edges
        for i in range(n):
            if bin_ < n_edges and values[i] > edges[bin_]:
                bin_ += 1
                self.low[feature, bin_] = values[i]
            elif i == 0:
                self.low[feature, 0] = values[0]
            self.high[feature, bin_] = values[i]
        if n_edges > 0:
            set_lookup(&self.lookups[feature], edges, n_edges, unit_cells)

    cdef void _assign_rows(
        self,
        const Matrix* X,
        const Py_ssize_t[::1] features,
        Py_ssize_t start,
        Py_ssize_t end,
        const uint32_t* ids,
        const Output* out,
    ) noexcept nogil:
        """Bins of the rows of one task, in tiles of a few rows and features."""
        cdef Py_ssize_t first = 0, last, group, m, n_fetched
        cdef Tile tile

        tile.ids = ids
        while first < features.shape[0]:
            last = min(first + TOGETHER, features.shape[0])
            tile.start = start
            while tile.start < end:
                tile.n = min(<Py_ssize_t>TILE_ROWS, end - tile.start)
                group = first
                while group < last:
                    # Neighbours, as they all are unless some are assigned anew.
                    m = 1
                    while (
                        m < TILE_COLUMNS
                        and group + m < last
                        and features[group + m] == features[group] + m
                    ):
                        m += 1
                    tile.column = features[group]
                    tile.n_columns = m
                    # With the first tile, all that these are read from is fetched.
                    n_fetched = 0
                    if group == first:
                        n_fetched = features[last - 1] + 1 - features[first]
                    tile.n_fetched = min(n_fetched, <Py_ssize_t>TOGETHER)
                    self._assign_tile(X, &tile, out)
                    group += m
                tile.start += tile.n
            first = last

    cdef void _assign_tile(
        self, const Matrix* X, const Tile* tile, const Output* out
    ) noexcept nogil:
        """Bins of some rows of neighbouring features."""
        cdef float[TILE_COLUMNS * TILE_ROWS] values
        cdef uint8_t[TILE_COLUMNS * TILE_ROWS] all_bins
        cdef const uint8_t* table
        cdef uint8_t* bins
        cdef Py_ssize_t first = tile.column, m = tile.n_columns, n = tile.n, j, k
        cdef bint are_bytes = X.type == UINT8 and tile.ids == NULL

        if are_bytes:
            load_bytes(X, tile, all_bins)
        else:
            load_tile(X, tile, values, TILE_ROWS)
        for j in range(m):
            bins = all_bins + j * TILE_ROWS
            if are_bytes:
                table = self.lookups[first + j].table
                for k in range(n):
                    bins[k] = table[bins[k]]
            else:
                self._assign_block(first + j, values + j * TILE_ROWS, n, bins)
            memcpy(out.columns + (first + j) * out.column_stride + tile.start, bins, n)
        # Eight columns are transposed faster than the few that are left over.
        while m % 8 and first + m >= self.n_features and first + m < out.width:
            memset(all_bins + m * TILE_ROWS, 0, TILE_ROWS)
            m += 1
        transpose(
            all_bins, TILE_ROWS, m, n, out.rows + tile.start * out.row_stride + first,
            out.row_stride,
        )

    cdef void _assign_block(
        self, Py_ssize_t feature, const float* values, Py_ssize_t n, uint8_t* bins
    ) noexcept nogil:
        """Bins of a few values of one feature."""
        cdef int thread = thread_num()
        cdef const float* known = &self.low[feature, 0]
        cdef Py_ssize_t i, room = self.max_bins - self.n_edges[feature] - 1
        cdef Seen seen

        if self.n_edges[feature] <= 1:
            compare_values(
                values, n, self.edges[feature, 0], known[0],
                known[self.n_edges[feature]], bins, &seen,
            )
        else:
            look_up(
                &self.lookups[feature], &self.edges[feature, 0], values, n, bins, &seen
            )
            seen.missed = False
            if self.is_exact[feature]:
                for i in range(n):
                    seen.missed |= values[i] != known[bins[i]]
        if seen.missing:
            self.any_missing[thread, feature] = True
            for i in range(n):
                if values[i] != values[i]:
                    bins[i] = MISSING
        if seen.infinite:
            self.any_infinite[thread, feature] = True
        if seen.missed and self.is_exact[feature]:
            for i in range(n):
                if bins[i] != MISSING and values[i] != known[bins[i]]:
                    self.missed.note(thread, feature, values[i], room)
        if self.may_be_constant[feature]:
            for i in range(n):
                if values[i] < self.smallest[thread, feature]:
                    self.smallest[thread, feature] = values[i]
                if values[i] > self.largest[thread, feature]:
                    self.largest[thread, feature] = values[i]
