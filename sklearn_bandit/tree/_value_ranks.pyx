"""Ranks of values that share a bin.

Up to some tens of thousands of samples, splits are found between any two values, as by
sorting, not only between bins. For that, every feature whose bins hold several values
has the ranks of its values as 16-bit integers: bins say roughly where the best split
is, ranks which it is (see ``_rank_search.pyx``).

As in scikit-learn, values that are hardly larger than the one before them are not told
apart: they have the same rank.
"""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memset

from sklearn_bandit._openmp cimport thread_num

from ._data cimport MISSING_BIN, MISSING_RANK, N_SLOTS, ranks_of, sample_of
from ._matrix cimport Matrix, MatrixView, load_column

cdef enum:
    # Values are sorted by three digits of eleven bits.
    DIGIT_BITS = 11
    N_DIGITS = 3
    RADIX = 2048
    # Features ranked at a time: bounds the room for their values.
    GROUP = 256

# As in scikit-learn: a value must exceed the one before by more.
cdef float FEATURE_THRESHOLD = 1e-7


cdef class ValueRanks:
    """Ranks of the values of a matrix; see `rank_values`, which makes it.

    Parameters
    ----------
    ranks : ndarray of uint16 of shape (n_columns, n_samples)
        Ranks, column by column; 65,535 where a value is missing.
    columns : ndarray of int32 of shape (n_features,)
        The column of each feature; -1 if its bins hold one value each.
    low, high : ndarray of float32 of shape (n_ranks,)
        Smallest and largest value of each rank, column after column.
    starts : ndarray of intp of shape (n_columns,)
        Where in `low` and `high` the ranks of a column begin.
    last : ndarray of int32 of shape (n_columns, 256)
        Last rank of each bin.
    """

    def __init__(self, ranks, columns, low, high, starts, last):
        self.ranks = ranks
        self.columns = columns
        self.low = low
        self.high = high
        self.starts = starts
        self.last = last

    def __reduce__(self):
        # For forests that grow in other processes.
        return ValueRanks, (
            np.asarray(self.ranks),
            np.asarray(self.columns),
            np.asarray(self.low),
            np.asarray(self.high),
            np.asarray(self.starts),
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
        return ValueRanks(
            ranks, self.columns, self.low, self.high, self.starts, self.last
        )

    cdef void describe(self, Block* block) noexcept nogil:
        """Point a block of all samples to the ranks."""
        block.ranks = &self.ranks[0, 0]
        block.rank_columns = &self.columns[0]
        block.n_ranked = self.ranks.shape[1]
        block.origin = NULL

    cdef float low_value(self, int32_t feature, int32_t rank) noexcept nogil:
        """Smallest value of a rank."""
        return self.low[self.starts[self.columns[feature]] + rank]

    cdef float high_value(self, int32_t feature, int32_t rank) noexcept nogil:
        """Largest value of a rank."""
        return self.high[self.starts[self.columns[feature]] + rank]

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


def rank_values(read, features, const uint8_t[:, :] bins, int n_threads):
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
    cdef Py_ssize_t n = bins.shape[1], i, n_group
    cdef uint64_t[:, :, ::1] scratch = np.empty((n_threads, 2, n), dtype=np.uint64)
    cdef float[:, ::1] raw = np.empty((n_threads, n), dtype=np.float32)
    cdef uint16_t[:, ::1] ranks
    cdef float[:, :, ::1] values
    cdef int32_t[:, ::1] last
    cdef int32_t[::1] n_ranks
    cdef const Py_ssize_t[::1] group, places
    cdef MatrixView view
    cdef int thread

    columns = np.full(bins.shape[0], -1, dtype=np.int32)
    kept = {"ranks": [], "low": [], "high": [], "last": []}
    for start in range(0, len(features), GROUP):
        group = features[start : start + GROUP]
        n_group = group.shape[0]
        view, places = read(np.asarray(group))
        ranks = np.empty((n_group, n), dtype=np.uint16)
        values = np.empty((2, n_group, n), dtype=np.float32)
        last = np.full((n_group, N_SLOTS), -1, dtype=np.int32)
        n_ranks = np.empty(n_group, dtype=np.int32)
        for i in prange(
            n_group, nogil=True, schedule="dynamic", num_threads=n_threads
        ):
            thread = thread_num()
            n_ranks[i] = _rank_column(
                &view.matrix, places[i], n, &bins[group[i], 0], &raw[thread, 0],
                &scratch[thread, 0, 0], &scratch[thread, 1, 0], &ranks[i, 0],
                &values[0, i, 0], &values[1, i, 0], &last[i, 0],
            )
        for i in range(n_group):
            n_bins = np.count_nonzero(np.asarray(last)[i] >= 0)
            if n_ranks[i] > n_bins:
                columns[group[i]] = len(kept["ranks"])
                kept["ranks"].append(np.asarray(ranks)[i])
                kept["low"].append(np.asarray(values)[0, i, : n_ranks[i]].copy())
                kept["high"].append(np.asarray(values)[1, i, : n_ranks[i]].copy())
                kept["last"].append(np.asarray(last)[i])
    if not kept["ranks"]:
        return None
    sizes = np.array([len(low) for low in kept["low"]], dtype=np.intp)
    return ValueRanks(
        np.array(kept["ranks"]),
        columns,
        np.concatenate(kept["low"]),
        np.concatenate(kept["high"]),
        np.cumsum(sizes) - sizes,
        np.array(kept["last"]),
    )


cdef int32_t _rank_column(
    const Matrix* matrix, Py_ssize_t column, Py_ssize_t n, const uint8_t* bins,
    float* raw, uint64_t* keys, uint64_t* spare, uint16_t* ranks, float* low,
    float* high, int32_t* last,
) noexcept nogil:
    """Rank the values of one column; return the number of ranks."""
    cdef Py_ssize_t i, row, n_present = 0
    cdef uint32_t bits
    cdef uint64_t key
    cdef int32_t rank = -1
    cdef int bin = -1
    cdef float value, previous = 0.0

    load_column(matrix, column, 0, n, raw)
    for i in range(n):
        if bins[i] == MISSING_BIN:
            ranks[i] = MISSING_RANK
            continue
        memcpy(&bits, &raw[i], sizeof(bits))
        if bits == 0x80000000U:  # -0 is 0
            bits = 0
        # Make the order of the keys that of the values: negative ones are reversed.
        key = <uint32_t> (~bits if bits >> 31 else bits | 0x80000000U)
        keys[n_present] = key << 32 | <uint64_t> i
        n_present += 1
    keys = _sort(keys, spare, n_present)
    for i in range(n_present):
        row = <Py_ssize_t> (keys[i] & 0xFFFFFFFFU)
        value = raw[row]
        if rank < 0 or bins[row] != bin or value > previous + FEATURE_THRESHOLD:
            rank += 1
            low[rank] = value
        high[rank] = value
        previous = value
        bin = bins[row]
        last[bin] = rank
        ranks[row] = <uint16_t> rank
    return rank + 1


cdef uint64_t* _sort(uint64_t* keys, uint64_t* spare, Py_ssize_t n) noexcept nogil:
    """Sort by the upper 32 bits; return where the sorted keys are."""
    cdef uint32_t[N_DIGITS][RADIX] counts
    cdef uint32_t start, count
    cdef uint64_t* swap
    cdef uint64_t digit
    cdef Py_ssize_t i
    cdef int k, shift

    memset(counts, 0, sizeof(counts))
    for i in range(n):
        for k in range(N_DIGITS):
            counts[k][(keys[i] >> (32 + k * DIGIT_BITS)) & (RADIX - 1)] += 1
    for k in range(N_DIGITS):
        shift = 32 + k * DIGIT_BITS
        if n == 0 or counts[k][(keys[0] >> shift) & (RADIX - 1)] == n:
            continue
        start = 0
        for i in range(RADIX):
            count = counts[k][i]
            counts[k][i] = start
            start += count
        for i in range(n):
            digit = (keys[i] >> shift) & (RADIX - 1)
            spare[counts[k][digit]] = keys[i]
            counts[k][digit] += 1
        swap = keys
        keys = spare
        spare = swap
    return keys
