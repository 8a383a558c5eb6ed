"""Ranks of values that share a bin.

Up to some tens of thousands of samples, splits are found between any two values, as by
sorting, not only between bins. For that, every feature whose bins hold several values
has the ranks of its values as 16-bit integers: bins say roughly where the best split
is, ranks which it is (see ``rank_search.pyx``).

As in scikit-learn, values that are hardly larger than the one before them are not told
apart: they have the same rank.
"""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memset

from sklearn_bandit._core.matrix cimport (
    FEATURE_THRESHOLD,
    Matrix,
    MatrixView,
    load_column,
)
from sklearn_bandit._core.openmp cimport thread_num
from sklearn_bandit._core.radix_sort cimport insert_keys, sort_keys, to_key
from sklearn_bandit.tree._common cimport (
    MISSING_BIN,
    MISSING_RANK,
    N_SLOTS,
    ranks_of,
    sample_of,
)

cdef enum:
    # Up to this many rows, those that share a bin are few and sorted by insertion.
    FEW_ROWS = 4000
    # Features ranked at a time: bounds the room for their values.
    GROUP = 256


cdef struct Ranking:
    # Columns that are ranked side by side, and what their threads work with.
    const Matrix* matrix        # the values
    Py_ssize_t n                # samples
    uint16_t* ranks             # out: of the samples of each column
    float* low                  # out: smallest value of each rank, for each column
    int32_t* last               # out: last rank of each bin, for each column
    uint8_t* merged             # out: whether different values have the same rank
    float* raw                  # values of a column, for each thread
    uint64_t* keys              # room for 2 n keys, for each thread


cdef class ValueRanks:
    """Ranks of the values of a matrix; see `rank_values`, which makes it.

    Parameters
    ----------
    ranks : ndarray of uint16 of shape (n_columns, n_samples)
        Ranks, column by column; 65,535 where a value is missing.
    columns : ndarray of int32 of shape (n_features,)
        The column of each feature; -1 if its bins hold one value each.
    low, high : ndarray of float32 of shape (n_columns, n_samples)
        Smallest and largest value of each rank; there may be fewer ranks than samples.
    last : ndarray of int32 of shape (n_columns, 256)
        Last rank of each bin.
    """

    def __init__(self, ranks, columns, low, high, last):
        self.ranks = ranks
        self.columns = columns
        self.low = low
        self.high = high
        self.last = last

    def __reduce__(self):
        # For forests that grow in other processes.
        return ValueRanks, (
            np.asarray(self.ranks),
            np.asarray(self.columns),
            np.asarray(self.low),
            np.asarray(self.high),
            np.asarray(self.last),
        )

    def is_ranked(self):
        """Return which features have ranks, as uint8."""
        return (np.asarray(self.columns) >= 0).astype(np.uint8)

    def spread(self, rows, n_samples):
        """Return the ranks of more samples, of which these are some.

        Parameters
        ----------
        rows : ndarray of uint32
            Numbers of these samples.
        n_samples : int
            How many there are; the others have no ranks and are not to be used.

        Returns
        -------
        ValueRanks
        """
        ranks = np.zeros((self.ranks.shape[0], n_samples), dtype=np.uint16)
        ranks[:, rows] = self.ranks
        return ValueRanks(ranks, self.columns, self.low, self.high, self.last)

    cdef void describe(self, Block* block) noexcept nogil:
        """Point a block of all samples to the ranks."""
        block.ranks = &self.ranks[0, 0]
        block.rank_columns = &self.columns[0]
        block.n_ranked = self.ranks.shape[1]
        block.origin = NULL

    cdef float low_value(self, int32_t feature, int32_t rank) noexcept nogil:
        """Smallest value of a rank."""
        return self.low[self.columns[feature], rank]

    cdef float high_value(self, int32_t feature, int32_t rank) noexcept nogil:
        """Largest value of a rank."""
        return self.high[self.columns[feature], rank]

    cdef double threshold(self, const Split* split) noexcept nogil:
        """Threshold of a split whose rows were divided."""
        cdef double low = self.high_value(split.feature, split.rank), high, middle

        if split.next_bin == MISSING_RANK:
            return INFINITY
        high = self.low_value(split.feature, split.next_bin)
        middle = low / 2.0 + high / 2.0
        return middle if middle < high else low

    cdef Py_ssize_t partition(
        self, const Block* block, uint32_t* ids, Py_ssize_t n, uint32_t* scratch,
        Split* split,
    ) noexcept nogil:
        """Move the rows that go left to the front, keeping their order.

        Of the split, `rank` becomes the largest rank on the left and `next_bin` the
        smallest on the right.
        """
        cdef const uint16_t* ranks = ranks_of(block, split.feature)
        cdef Py_ssize_t i, n_left = 0, n_right = 0
        cdef int32_t rank, below = 0, above = MISSING_RANK, last = split.rank
        cdef bint goes_right, is_missing
        cdef uint32_t id

        for i in range(n):
            id = ids[i]
            rank = ranks[sample_of(block, id)]
            is_missing = rank == MISSING_RANK
            goes_right = not split.missing_left if is_missing else rank > last
            ids[n_left] = id
            scratch[n_right] = id
            n_left += not goes_right
            n_right += goes_right
            if not is_missing:
                if goes_right:
                    above = min(above, rank)
                else:
                    below = max(below, rank)
        memcpy(ids + n_left, scratch, n_right * sizeof(uint32_t))
        split.rank = below
        split.next_bin = above
        return n_left


def rank_values(
    read, const Py_ssize_t[::1] features, const uint8_t[:, :] bins, int n_threads
):
    """Rank the values of some features.

    Parameters
    ----------
    read : callable
        Takes some of the features and returns a `MatrixView` that has them, and which
        of its columns they are (intp).
    features : ndarray of intp
        Features that may have several values in a bin.
    bins : ndarray of uint8 of shape (n_features, n_samples)
        Bins of all features.
    n_threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    ValueRanks or None
        None if no bin of these features holds several values.
    """
    cdef Py_ssize_t n = bins.shape[1], n_features = features.shape[0], i, start, end
    cdef uint64_t[:, ::1] keys = np.empty((n_threads, 2 * n), dtype=np.uint64)
    cdef float[:, ::1] raw = np.empty((n_threads, n), dtype=np.float32)
    cdef uint16_t[:, ::1] ranks = np.empty((n_features, n), dtype=np.uint16)
    cdef float[:, ::1] low = np.empty((n_features, n), dtype=np.float32)
    cdef int32_t[:, ::1] last = np.full((n_features, N_SLOTS), -1, dtype=np.int32)
    cdef int32_t[::1] n_ranks = np.empty(n_features, dtype=np.int32)
    cdef uint8_t[::1] merged = np.zeros(n_features, dtype=np.uint8)
    cdef const Py_ssize_t[::1] places
    cdef MatrixView view
    cdef Ranking ranking

    ranking.n = n
    ranking.ranks = &ranks[0, 0]
    ranking.low = &low[0, 0]
    ranking.last = &last[0, 0]
    ranking.merged = &merged[0]
    ranking.raw = &raw[0, 0]
    ranking.keys = &keys[0, 0]
    high = None
    for start in range(0, n_features, GROUP):
        end = min(start + GROUP, n_features)
        view, places = read(np.asarray(features[start:end]))
        ranking.matrix = &view.matrix
        for i in prange(
            start, end, nogil=True, schedule="dynamic", num_threads=n_threads
        ):
            n_ranks[i] = _rank_column(
                &ranking, i, places[i - start], &bins[features[i], 0], thread_num()
            )
        for i in range(start, end):
            if merged[i]:
                high = np.array(low) if high is None else high
                present = np.asarray(ranks[i]) != MISSING_RANK
                values = view.column(places[i - start])[present]
                np.maximum.at(high[i], np.asarray(ranks[i])[present], values)

    # What has no more ranks than bins needs none.
    kept = np.flatnonzero(n_ranks > (np.asarray(last) >= 0).sum(axis=1))
    if len(kept) == 0:
        return None
    columns = np.full(bins.shape[0], -1, dtype=np.int32)
    columns[np.asarray(features)[kept]] = np.arange(len(kept))
    arrays = np.asarray(ranks), np.asarray(low), np.asarray(last)
    high = arrays[1] if high is None else high
    if len(kept) < n_features:
        arrays = tuple(array[kept] for array in arrays)
        high = high[kept]
    return ValueRanks(arrays[0], columns, arrays[1], high, arrays[2])


cdef int32_t _rank_column(
    const Ranking* ranking, Py_ssize_t number, Py_ssize_t column, const uint8_t* bins,
    int thread,
) noexcept nogil:
    """Rank the values of one column of the matrix; return the number of ranks."""
    cdef Py_ssize_t i, row, n = ranking.n, n_present = 0
    cdef float* raw = ranking.raw + thread * n
    cdef float* low = ranking.low + number * n
    cdef uint16_t* ranks = ranking.ranks + number * n
    cdef uint64_t* keys = ranking.keys + 2 * thread * n
    cdef int32_t rank = -1
    cdef int bin = -1
    cdef uint32_t key
    cdef float value, previous = 0.0

    load_column(ranking.matrix, column, 0, n, raw)
    for i in range(n):
        if bins[i] == MISSING_BIN:
            ranks[i] = MISSING_RANK
            continue
        to_key(raw[i], &key)
        keys[n_present] = <uint64_t> key << 32 | <uint64_t> i
        n_present += 1
    keys = _sort(keys, keys + n, n_present, bins)
    for i in range(n_present):
        row = <Py_ssize_t> (keys[i] & 0xFFFFFFFFU)
        value = raw[row]
        if rank < 0 or bins[row] != bin or value > previous + FEATURE_THRESHOLD:
            rank += 1
            low[rank] = value
        else:
            ranking.merged[number] |= value != previous
        previous = value
        bin = bins[row]
        ranking.last[number * N_SLOTS + bin] = rank
        ranks[row] = <uint16_t> rank
    return rank + 1


cdef uint64_t* _sort(
    uint64_t* keys, uint64_t* spare, Py_ssize_t n, const uint8_t* bins
) noexcept nogil:
    """Sort by the upper 32 bits; return where the sorted keys are.

    Bins are in the order of values: where they hold a few, it is these that are sorted.
    """
    cdef uint32_t ends[N_SLOTS]
    cdef uint32_t end = 0
    cdef Py_ssize_t i
    cdef int bin

    if n > FEW_ROWS:
        return sort_keys(keys, spare, n, 32)
    memset(ends, 0, sizeof(ends))
    for i in range(n):
        ends[bins[keys[i] & 0xFFFFFFFFU]] += 1
    for bin in range(N_SLOTS):
        end += ends[bin]
        ends[bin] = end - ends[bin]
    for i in range(n):
        bin = bins[keys[i] & 0xFFFFFFFFU]
        spare[ends[bin]] = keys[i]
        ends[bin] += 1
    insert_keys(spare, n)
    return spare
