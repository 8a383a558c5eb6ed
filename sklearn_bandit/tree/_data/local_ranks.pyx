"""Ranks for bins in a block of few rows.

Deep in a tree all rows of a node may share a bin of the whole data set and differ only
in the raw values. Once a node has at most 255 rows, the ranks of their raw values fit
where the bins were: from there on splits are found between values, exactly as by
sorting. Features whose bins hold one value each, or (unless all values are ranked, see
``value_ranks.pyx``) only a few, keep these.
"""

import numpy as np

from libc.stdint cimport uint16_t
from libc.string cimport memset

from sklearn_bandit._core.matrix cimport FEATURE_THRESHOLD, MatrixView, gather_column
from sklearn_bandit.tree._common cimport MISSING_BIN, copy_row


cdef class Ranker:
    """Replace bins by ranks.

    Parameters
    ----------
    packed : PackedData
        The samples; their raw values must be readable, or ranked.
    """

    def __init__(self, packed):
        cdef MatrixView view = packed.raw

        self.view = view
        self.ranks = packed.ranks
        if self.ranks is None:
            self.matrix = &view.matrix
        self.stride = packed.rows.shape[1]
        self.is_coarse = packed.is_coarse
        self.rows = np.empty((MAX_RANKED, self.stride), dtype=np.uint8)
        self.low = packed.bin_low.copy()
        self.high = packed.bin_high.copy()
        self.samples = np.empty(MAX_RANKED, dtype=np.uint32)
        self.raw = np.empty(MAX_RANKED, dtype=np.float32)
        self.order = np.empty(MAX_RANKED, dtype=np.uint8)

    cdef void rank(
        self, const Block* source, const uint32_t* ids, const uint32_t* origin,
        Py_ssize_t n, const int32_t* features, Py_ssize_t n_features, Block* out,
    ) noexcept nogil:
        """Make a block of the ranks of some rows.

        Parameters
        ----------
        source, ids, n
            A block of copied rows, and which of them.
        origin
            Numbers of the copied rows among all samples.
        features, n_features
            The features that may vary among these rows.
        out
            The block; its targets are the caller's to fill in.
        """
        cdef Py_ssize_t i

        for i in range(n):
            self.samples[i] = origin[ids[i]]
            copy_row(&self.rows[i, 0], source.rows + ids[i] * self.stride, self.stride)
        for i in range(n_features):
            if self.is_coarse[features[i]]:
                self.rank_feature(n, features[i])
        out.rows = &self.rows[0, 0]
        out.stride = self.stride
        out.columns = NULL
        out.n_rows = n
        out.low = &self.low[0, 0]
        out.high = &self.high[0, 0]
        out.n_values = self.low.shape[1]
        out.ranks = NULL

    cdef void rank_feature(self, Py_ssize_t n, int32_t feature) noexcept nogil:
        """Rank the rows by one feature: by bins, then by values within a bin."""
        cdef uint8_t* ranks = &self.rows[0, feature]
        cdef double* low = &self.low[feature, 0]
        cdef double* high = &self.high[feature, 0]
        cdef float* raw = &self.raw[0]
        cdef uint8_t* order = &self.order[0]
        cdef uint8_t bins[MAX_RANKED]
        cdef uint8_t starts[257]
        cdef Py_ssize_t i, place, n_present
        cdef uint8_t smallest = MISSING_BIN, largest = 0
        cdef const uint16_t* known = NULL
        cdef float gap = FEATURE_THRESHOLD
        cdef int32_t column = -1
        cdef float value, previous = 0.0
        cdef int rank = -1
        cdef uint8_t row, bin

        if self.ranks is None:
            gather_column(self.matrix, feature, &self.samples[0], n, raw)
        else:
            # As good as the values, and next to each other.
            gap = 0.0
            column = self.ranks.columns[feature]
            known = &self.ranks.ranks[column, 0]
            for i in range(n):
                raw[i] = known[self.samples[i]]
        memset(starts, 0, sizeof(starts))
        for i in range(n):
            bins[i] = ranks[i * self.stride]
            starts[bins[i] + 1] += 1
            smallest = min(smallest, bins[i])
            largest = max(largest, bins[i])
        n_present = n - starts[MISSING_BIN + 1]
        for i in range(smallest + 1, largest + 1):
            starts[i] += starts[i - 1]
        for i in range(n):
            bin = bins[i]
            order[starts[bin]] = <uint8_t> i
            starts[bin] += 1
        # In order of bins already: only rows that share a bin are still moved.
        for i in range(1, n_present):
            row = order[i]
            value = raw[row]
            place = i
            while place > 0 and raw[order[place - 1]] > value:
                order[place] = order[place - 1]
                place -= 1
            order[place] = row
        for i in range(n_present):
            row = order[i]
            value = raw[row]
            if i == 0 or value > previous + gap:
                rank += 1
                low[rank] = value
                if known != NULL:
                    low[rank] = self.ranks.low[column, <int32_t> value]
            high[rank] = value
            if known != NULL:
                high[rank] = self.ranks.high[column, <int32_t> value]
            previous = value
            ranks[row * self.stride] = <uint8_t> rank
