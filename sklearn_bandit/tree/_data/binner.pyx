"""Quantile bins: find the edges on a sample, then assign every value to its bin.

A feature with at most `max_bins` distinct values has one bin a value (it is *exact*).
Any other is cut so that its bins hold about equally many of the sampled values, a value
that alone fills a bin getting a bin of its own. The bin of x is the number of edges
below x, and that of a missing value is `MISSING_BIN`.

An edge is the middle between two neighbours in the sample, the last of its bin and the
first of the next. These two are all that is kept of the values: the middle between the
last of one bin and the first of any later one is at or between the edges that part
them, so as a threshold it divides all samples as their bins do, not only the sampled.

Assignment is a search among up to 254 sorted edges, made short by a table: the range of
the edges is cut into `N_CELLS` cells of equal width, and the table gives the number of
edges before each cell. What is left are the edges inside the cell of x, at most one if
the values are spread evenly. A fixed number of halvings that suffices for the feature's
fullest cell settles it without a branch. Cells are computed by the same (monotone)
arithmetic for edges and for values, so rounding cannot put a value on the wrong side of
an edge.

Values that an exact feature's sample missed are collected on the way. If all its values
still fit, the feature is assigned a second time; otherwise it is no longer exact.

Bytes (uint8 and bool) need no sample: they are all counted, and their table has a cell
for each value.
"""

import numpy as np

from cython.parallel cimport prange
from libc.float cimport FLT_MAX
from libc.math cimport INFINITY, fabsf, nextafterf
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from sklearn_bandit._core.matrix cimport (
    FEATURE_THRESHOLD,
    UINT8,
    Matrix,
    MatrixView,
    gather_column,
    load_tile,
)
from sklearn_bandit._core.openmp cimport thread_num
from sklearn_bandit._core.simd cimport simd_void
from sklearn_bandit._core.transpose cimport transpose

MISSING_BIN = 255
MAX_BINS = 255

cdef enum:
    N_SLOTS = 256           # bins of a feature with the one for missing values
    MISSING = 255
    N_CELLS = 1024
    EDGE_ROOM = 512         # the halvings may look 255 places beyond the last edge
    # Rows whose values, bins and output lines stay in the first-level cache together.
    BLOCK_ROWS = 128
    # Features of a tile, and features whose tables (about 6 KB each) stay in the
    # second-level cache together: all tiles of these are filled before the next rows.
    GROUP = 32
    TOGETHER = 96
    # Rows of one task: tables are fetched once for so many rows.
    TASK_ROWS = 4096
    # Sampled rows are read for so many neighbouring columns at once: a cache line.
    GATHER_COLUMNS = 16
    # The sample is sorted by three digits of eleven bits.
    DIGIT_BITS = 11
    N_DIGITS = 3
    RADIX = 2048


cdef inline float _midpoint(float low, float high) noexcept nogil:
    """An edge with low <= edge < high: the last number not above their middle."""
    cdef double exact = <double>low / 2.0 + <double>high / 2.0
    cdef float middle = <float>exact

    if middle > exact:
        middle = nextafterf(middle, -INFINITY)
    return middle if low <= middle < high else low


cdef Py_ssize_t _count_runs(
    float* values, Py_ssize_t n, uint32_t* counts
) noexcept nogil:
    """Leave the distinct ones of sorted values, with their counts; return how many."""
    cdef Py_ssize_t i, n_distinct = 0

    for i in range(n):
        if i > 0 and values[i] == values[n_distinct - 1]:
            counts[n_distinct - 1] += 1
        else:
            values[n_distinct] = values[i]
            counts[n_distinct] = 1
            n_distinct += 1
    return n_distinct


cdef Py_ssize_t _sort(
    float* values, Py_ssize_t n, uint32_t* keys, uint32_t* scratch
) noexcept nogil:
    """Sort values in place by radix, NaN left out; return how many are left."""
    cdef uint32_t[N_DIGITS][RADIX] counts
    cdef uint32_t bits, key, start, count
    cdef uint32_t* swap
    cdef Py_ssize_t i, n_kept = 0
    cdef int digit, shift
    cdef bint is_sorted

    memset(counts, 0, sizeof(counts))
    for i in range(n):
        if values[i] != values[i]:
            continue
        memcpy(&bits, &values[i], sizeof(bits))
        if bits == 0x80000000U:  # -0 is 0
            bits = 0
        # Make the order of the keys that of the values: negative ones are reversed.
        key = ~bits if bits >> 31 else bits | 0x80000000U
        keys[n_kept] = key
        n_kept += 1
        for digit in range(N_DIGITS):
            counts[digit][(key >> (digit * DIGIT_BITS)) & (RADIX - 1)] += 1

    for digit in range(N_DIGITS):
        shift = digit * DIGIT_BITS
        is_sorted = (
            n_kept == 0 or counts[digit][(keys[0] >> shift) & (RADIX - 1)] == n_kept
        )
        if is_sorted:
            continue
        start = 0
        for i in range(RADIX):
            count = counts[digit][i]
            counts[digit][i] = start
            start += count
        for i in range(n_kept):
            key = (keys[i] >> shift) & (RADIX - 1)
            scratch[counts[digit][key]] = keys[i]
            counts[digit][key] += 1
        swap = keys
        keys = scratch
        scratch = swap

    for i in range(n_kept):
        key = keys[i]
        bits = key & 0x7FFFFFFFU if key >> 31 else ~key
        memcpy(&values[i], &bits, sizeof(bits))
    return n_kept


cdef bint _hardly_vary(const float* values, Py_ssize_t n) noexcept nogil:
    """Whether several sorted values are so close to each other that they are one."""
    cdef Py_ssize_t i

    for i in range(1, n):
        if values[i] > values[i - 1] + FEATURE_THRESHOLD:
            return False
    return n > 1


cdef Py_ssize_t _cut(
    const float* values, const uint32_t* counts, Py_ssize_t n, Py_ssize_t max_bins,
    float* edges
) noexcept nogil:
    """Cut distinct values into bins of about equal counts; return how many edges."""
    cdef Py_ssize_t i, n_edges = 0, bins_left = max_bins
    cdef double n_left = 0.0, in_bin = 0.0

    for i in range(n):
        n_left += counts[i]
    for i in range(n - 1):
        in_bin += counts[i]
        # Close the bin where its count is nearest to what is left for each bin, and
        # after every value once there are bins enough for all values to come.
        if bins_left > 1 and (
            n - 1 - i < bins_left
            or (in_bin + 0.5 * counts[i + 1]) * bins_left >= n_left
        ):
            edges[n_edges] = _midpoint(values[i], values[i + 1])
            n_edges += 1
            n_left -= in_bin
            bins_left -= 1
            in_bin = 0.0
    return n_edges


cdef simd_void _find_cells(
    const float* values, Py_ssize_t n, float origin, float scale, int32_t* cells,
    bint* any_missing, bint* any_infinite
) noexcept nogil:
    """Cell of each value; that of a missing value is any."""
    cdef Py_ssize_t i
    cdef float cell
    cdef int missing = 0, infinite = 0

    for i in range(n):
        cell = (values[i] - origin) * scale
        cell = cell if cell > 0.0 else 0.0
        cell = cell if cell < N_CELLS - 1 else N_CELLS - 1
        cells[i] = <int32_t>cell
        missing |= values[i] != values[i]
        infinite |= fabsf(values[i]) > FLT_MAX
    any_missing[0] = missing
    any_infinite[0] = infinite


cdef simd_void _compare(
    const float* values, Py_ssize_t n, float edge, float low, float high, uint8_t* bins,
    bint* any_missing, bint* any_infinite, bint* any_missed
) noexcept nogil:
    """Bins of a feature with one edge (or none) between two values: no table needed."""
    cdef Py_ssize_t i
    cdef float value
    cdef int missing = 0, infinite = 0, missed = 0

    for i in range(n):
        value = values[i]
        bins[i] = value > edge
        missing |= value != value
        infinite |= fabsf(value) > FLT_MAX
        missed |= (value != low) & (value != high)
    any_missing[0] = missing
    any_infinite[0] = infinite
    any_missed[0] = missed


cdef void _find_bins(
    const float* values, const int32_t* cells, Py_ssize_t n, const uint8_t* table,
    const float* edges, int n_halvings, uint8_t* bins
) noexcept nogil:
    """Number of edges below each value, from the number before its cell."""
    cdef Py_ssize_t i, bin_, half

    # One and two halvings, the rule for evenly spread values, without the inner loop.
    if n_halvings == 0:
        for i in range(n):
            bins[i] = table[cells[i]]
    elif n_halvings == 1:
        for i in range(n):
            bin_ = table[cells[i]]
            bins[i] = <uint8_t>(bin_ + (values[i] > edges[bin_]))
    elif n_halvings == 2:
        for i in range(n):
            bin_ = table[cells[i]]
            bin_ += 2 * (values[i] > edges[bin_ + 1])
            bins[i] = <uint8_t>(bin_ + (values[i] > edges[bin_]))
    else:
        for i in range(n):
            bin_ = table[cells[i]]
            half = 1 << (n_halvings - 1)
            while half:
                bin_ += half * (values[i] > edges[bin_ + half - 1])
                half >>= 1
            bins[i] = <uint8_t>bin_


cdef void _load_bytes(
    const Matrix* X, Py_ssize_t column, Py_ssize_t m, Py_ssize_t start, Py_ssize_t n,
    uint8_t* tile,
) noexcept nogil:
    """Read some rows of m neighbouring columns of bytes, column by column."""
    cdef const uint8_t* first = (
        <const uint8_t*>X.data + start * X.row_stride + column * X.column_stride
    )
    cdef Py_ssize_t i, j

    if X.column_stride == 1:
        transpose(first, X.row_stride, n, m, tile, BLOCK_ROWS)
        return
    for j in range(m):
        for i in range(n):
            tile[j * BLOCK_ROWS + i] = first[i * X.row_stride + j * X.column_stride]


cdef inline void _count_line(
    const uint8_t* values, Py_ssize_t n, uint32_t* counts
) noexcept nogil:
    """Count values, those that are repeated eight at a time.

    One by one, each of the same value would have to wait for the one before.
    """
    cdef uint64_t word
    cdef Py_ssize_t i, k = 0

    while k + 8 <= n:
        memcpy(&word, values + k, 8)
        if word == (word & 255) * 0x0101010101010101ULL:
            counts[values[k]] += 8
        else:
            for i in range(k, k + 8):
                counts[values[i]] += 1
        k += 8
    for i in range(k, n):
        counts[values[i]] += 1


cdef void _count_bytes(
    const Matrix* X, Py_ssize_t start, Py_ssize_t end, uint32_t* counts
) noexcept nogil:
    """Count the values of each column of some rows, in tiles as for the assignment."""
    cdef uint8_t[GROUP * BLOCK_ROWS] tile
    cdef Py_ssize_t group = 0, m, n, i, j

    while group < X.n_columns:
        m = min(<Py_ssize_t>GROUP, X.n_columns - group)
        i = start
        while i < end:
            n = min(<Py_ssize_t>BLOCK_ROWS, end - i)
            _load_bytes(X, group, m, i, n, tile)
            for j in range(m):
                _count_line(
                    tile + j * BLOCK_ROWS, n, counts + (group + j) * N_SLOTS
                )
            i += n
        group += m


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
    cdef float[::1] origin          # where the first cell starts
    cdef float[::1] scale           # cells per unit
    cdef uint8_t[:, ::1] table      # number of edges before each cell
    cdef uint8_t[::1] n_halvings    # that settle the fullest cell
    # What each thread has seen:
    cdef uint8_t[:, ::1] any_missing
    cdef uint8_t[:, ::1] any_infinite
    cdef float[:, :, ::1] missed    # values that the sample of an exact feature missed
    cdef int32_t[:, ::1] n_missed   # one more than there is room for: too many

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
        self.origin = np.zeros(n_features, dtype=np.float32)
        self.scale = np.zeros(n_features, dtype=np.float32)
        self.table = np.zeros((n_features, N_CELLS), dtype=np.uint8)
        self.n_halvings = np.zeros(n_features, dtype=np.uint8)
        seen = (n_threads, n_features)
        self.any_missing = np.zeros(seen, dtype=np.uint8)
        self.any_infinite = np.zeros(seen, dtype=np.uint8)
        self.missed = np.empty((*seen, N_SLOTS), dtype=np.float32)
        self.n_missed = np.zeros(seen, dtype=np.int32)

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
            are kept apart: one that was not sampled may differ more.
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
                        &X.matrix, j, &rows[i], min(BLOCK_ROWS, n - i),
                        &sample[thread, j - start, i],
                    )
                i = i + BLOCK_ROWS
            for j in range(start, end):
                n_kept = _sort(
                    &sample[thread, j - start, 0], n, &keys[thread, 0, 0],
                    &keys[thread, 1, 0],
                )
                n_kept = _count_runs(
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
        cdef Py_ssize_t n_tasks = (n + TASK_ROWS - 1) // TASK_ROWS
        cdef uint32_t[:, :, ::1] counts = np.zeros(
            (self.n_threads, self.n_features, N_SLOTS), dtype=np.uint32
        )
        cdef const uint32_t[:, ::1] total
        cdef float[N_SLOTS] values
        cdef uint32_t[N_SLOTS] present

        for task in prange(
            n_tasks, nogil=True, schedule="dynamic", num_threads=self.n_threads
        ):
            _count_bytes(
                &X.matrix, task * TASK_ROWS, min((task + 1) * TASK_ROWS, n),
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
        cdef Py_ssize_t n_tasks = (n + TASK_ROWS - 1) // TASK_ROWS, task, start, end
        cdef const uint32_t* first = NULL if ids is None or n == 0 else &ids[0]

        for task in prange(
            n_tasks, nogil=True, schedule="dynamic", num_threads=self.n_threads
        ):
            start = task * TASK_ROWS
            end = min(start + TASK_ROWS, n)
            self._assign_rows(&X.matrix, features, start, end, first, rows, columns)

    def add_missed(self):
        """Give the values that samples missed their own bins where these suffice.

        Returns
        -------
        features : ndarray of intp
            Features whose bins have changed and are to be assigned again.
        """
        changed = []
        n_missed = np.asarray(self.n_missed)
        for feature in np.flatnonzero(n_missed.any(axis=0)):
            known = self._known(feature)
            if n_missed[:, feature].max() <= self.max_bins - len(known):
                missed = [
                    np.asarray(self.missed)[thread, feature, :count]
                    for thread, count in enumerate(n_missed[:, feature])
                ]
                known = np.unique(np.concatenate([known, *missed]))
                if len(known) <= self.max_bins:
                    changed.append(feature)
                    self._set_values(feature, known)
        return np.asarray(changed, dtype=np.intp)

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

    def _known(self, Py_ssize_t feature):
        """Values of an exact feature."""
        return np.asarray(self.low)[feature, : self.n_distinct[feature]]

    def _set_values(self, Py_ssize_t feature, const float[::1] values):
        """One bin for each of some sorted distinct values."""
        cdef uint32_t[::1] counts = np.ones(values.shape[0], dtype=np.uint32)
        self._set_edges(feature, &values[0], &counts[0], values.shape[0], True)
        np.asarray(self.n_missed)[:, feature] = 0

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
        cdef Py_ssize_t n_edges, i, fullest = 0, before, bin_ = 0
        cdef int32_t[N_SLOTS] cells
        cdef bint unused, unused_too
        cdef int cell
        cdef float width

        self.n_distinct[feature] = n
        self.is_exact[feature] = n <= self.max_bins
        if not is_sample and _hardly_vary(values, n):
            self.is_exact[feature] = False
            n_edges = 0
        else:
            n_edges = _cut(values, counts, n, self.max_bins, edges)
        self.n_edges[feature] = n_edges
        for i in range(n):
            if bin_ < n_edges and values[i] > edges[bin_]:
                bin_ += 1
                self.low[feature, bin_] = values[i]
            elif i == 0:
                self.low[feature, 0] = values[0]
            self.high[feature, bin_] = values[i]
        self.n_halvings[feature] = 0
        if n_edges == 0:
            return

        width = edges[n_edges - 1] - edges[0]
        self.origin[feature] = edges[0]
        self.scale[feature] = 0.0
        if unit_cells:
            self.origin[feature] = 0.0
            self.scale[feature] = 1.0
        elif width > 0.0:
            self.scale[feature] = min((N_CELLS - 1) / width, FLT_MAX)
        _find_cells(
            edges, n_edges, self.origin[feature], self.scale[feature], cells, &unused,
            &unused_too,
        )
        i = 0
        for cell in range(N_CELLS):
            self.table[feature, cell] = i
            before = i
            while i < n_edges and cells[i] == cell:
                i += 1
            fullest = max(fullest, i - before)
        while (1 << self.n_halvings[feature]) <= fullest:
            self.n_halvings[feature] += 1

    cdef void _assign_rows(
        self,
        const Matrix* X,
        const Py_ssize_t[::1] features,
        Py_ssize_t start,
        Py_ssize_t end,
        const uint32_t* ids,
        uint8_t[:, :] rows,
        uint8_t[:, :] columns,
    ) noexcept nogil:
        """Bins of the rows of one task, in tiles of a few rows and features."""
        cdef Py_ssize_t first = 0, last, group, m, i, n, n_fetched

        while first < features.shape[0]:
            last = min(first + TOGETHER, features.shape[0])
            i = start
            while i < end:
                n = min(<Py_ssize_t>BLOCK_ROWS, end - i)
                group = first
                while group < last:
                    # Neighbours, as they all are unless some are assigned anew.
                    m = 1
                    while (
                        m < GROUP
                        and group + m < last
                        and features[group + m] == features[group] + m
                    ):
                        m += 1
                    # With the first tile, all that these are read from is fetched.
                    n_fetched = 0
                    if group == first:
                        n_fetched = features[last - 1] + 1 - features[first]
                    self._assign_tile(
                        X, features[group], m, i, n, ids,
                        min(n_fetched, <Py_ssize_t>TOGETHER), rows, columns,
                    )
                    group += m
                i += n
            first = last

    cdef void _assign_tile(
        self,
        const Matrix* X,
        Py_ssize_t first,
        Py_ssize_t m,
        Py_ssize_t start,
        Py_ssize_t n,
        const uint32_t* ids,
        Py_ssize_t n_fetched,
        uint8_t[:, :] rows,
        uint8_t[:, :] columns,
    ) noexcept nogil:
        """Bins of n rows of m neighbouring features."""
        cdef float[GROUP * BLOCK_ROWS] values
        cdef uint8_t[GROUP * BLOCK_ROWS] tile
        cdef const uint8_t* table
        cdef uint8_t* bins
        cdef Py_ssize_t j, k
        cdef bint are_bytes = X.type == UINT8 and ids == NULL

        if are_bytes:
            _load_bytes(X, first, m, start, n, tile)
        else:
            load_tile(X, first, m, start, n, ids, n_fetched, values, BLOCK_ROWS)
        for j in range(m):
            bins = tile + j * BLOCK_ROWS
            if are_bytes:
                table = &self.table[first + j, 0]
                for k in range(n):
                    bins[k] = table[bins[k]]
            else:
                self._assign_block(first + j, values + j * BLOCK_ROWS, n, bins)
            memcpy(&columns[first + j, start], bins, n)
        # Eight columns are transposed faster than the few that are left over.
        while m % 8 and first + m >= self.n_features and first + m < rows.shape[1]:
            memset(tile + m * BLOCK_ROWS, 0, BLOCK_ROWS)
            m += 1
        transpose(tile, BLOCK_ROWS, m, n, &rows[start, first], rows.strides[0])

    cdef void _assign_block(
        self, Py_ssize_t feature, const float* values, Py_ssize_t n, uint8_t* bins
    ) noexcept nogil:
        """Bins of a few values of one feature."""
        cdef int32_t[BLOCK_ROWS] cells
        cdef int thread = thread_num()
        cdef bint any_missing, any_infinite, any_missed = False
        cdef const float* known = &self.low[feature, 0]
        cdef Py_ssize_t i

        if self.n_edges[feature] <= 1:
            _compare(
                values, n, self.edges[feature, 0], known[0],
                known[self.n_edges[feature]], bins, &any_missing, &any_infinite,
                &any_missed,
            )
        else:
            _find_cells(
                values, n, self.origin[feature], self.scale[feature], cells,
                &any_missing, &any_infinite,
            )
            _find_bins(
                values, cells, n, &self.table[feature, 0], &self.edges[feature, 0],
                self.n_halvings[feature], bins,
            )
            if self.is_exact[feature]:
                for i in range(n):
                    any_missed |= values[i] != known[bins[i]]
        if any_missing:
            self.any_missing[thread, feature] = True
            for i in range(n):
                if values[i] != values[i]:
                    bins[i] = MISSING
        if any_infinite:
            self.any_infinite[thread, feature] = True
        if any_missed and self.is_exact[feature]:
            for i in range(n):
                if bins[i] != MISSING and values[i] != known[bins[i]]:
                    self._miss(thread, feature, values[i])

    cdef void _miss(self, int thread, Py_ssize_t feature, float value) noexcept nogil:
        """Note a value that an exact feature has no bin for."""
        cdef Py_ssize_t i, n = self.n_missed[thread, feature]
        cdef Py_ssize_t room = self.max_bins - self.n_edges[feature] - 1

        if n > room:
            return
        for i in range(n):
            if self.missed[thread, feature, i] == value:
                return
        if n < room:
            self.missed[thread, feature, n] = value
        self.n_missed[thread, feature] = n + 1
