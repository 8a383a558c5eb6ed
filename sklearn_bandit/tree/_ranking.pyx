"""Ranks for bins in a block of few rows.

Deep in a tree all rows of a node may share a bin of the whole data set and differ only
in the raw values. Once a node has at most 255 rows, the ranks of their raw values fit
where the bins were: from there on splits are found between values, exactly as by
sorting.
"""

import numpy as np

from libc.string cimport memset

from ._data cimport MISSING_BIN
from ._matrix cimport MatrixView, gather_column


cdef class Ranker:
    """Replace bins by ranks.

    Parameters
    ----------
    packed : PackedData
        The samples; their raw values must be readable.
    """

    def __init__(self, packed):
        cdef MatrixView view = packed.raw
        n_features = packed.n_features

        self.view = view
        self.matrix = &view.matrix
        self.stride = packed.rows.shape[1]
        self.refinable = refinable_features(packed)
        self.rows = np.zeros((MAX_RANKED, self.stride), dtype=np.uint8)
        self.values = np.empty((n_features, MAX_RANKED))
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
            The features that may vary among these rows; the others become constant.
        out
            The block; its targets are the caller's to fill in.
        """
        cdef Py_ssize_t i

        for i in range(n):
            self.samples[i] = origin[ids[i]]
        memset(&self.rows[0, 0], 0, n * self.stride)
        for i in range(n_features):
            self.rank_feature(source, ids, n, features[i])
        out.rows = &self.rows[0, 0]
        out.stride = self.stride
        out.columns = NULL
        out.n_rows = n
        out.low = &self.values[0, 0]
        out.high = &self.values[0, 0]
        out.n_values = MAX_RANKED

    cdef void rank_feature(
        self, const Block* source, const uint32_t* ids, Py_ssize_t n, int32_t feature
    ) noexcept nogil:
        """Rank the rows by one feature: by bins, then by values within a bin."""
        cdef const uint8_t* bins = source.rows + feature
        cdef const double* low = source.low + feature * source.n_values
        cdef uint8_t* ranks = &self.rows[0, feature]
        cdef double* values = &self.values[feature, 0]
        cdef float* raw = &self.raw[0]
        cdef uint8_t* order = &self.order[0]
        cdef uint32_t starts[257]
        cdef Py_ssize_t i, place, n_present
        cdef int rank = -1
        cdef uint8_t row

        if self.refinable[feature]:
            gather_column(self.matrix, feature, &self.samples[0], n, raw)
        else:
            for i in range(n):
                raw[i] = <float> low[bins[ids[i] * source.stride]]
        memset(starts, 0, sizeof(starts))
        for i in range(n):
            starts[bins[ids[i] * source.stride] + 1] += 1
        n_present = n - starts[MISSING_BIN + 1]
        for i in range(1, 256):
            starts[i] += starts[i - 1]
        for i in range(n):
            row = bins[ids[i] * source.stride]
            order[starts[row]] = <uint8_t> i
            starts[row] += 1
        # In order of bins already: only rows that share a bin are still moved.
        for i in range(1, n_present):
            row = order[i]
            place = i
            while place > 0 and raw[order[place - 1]] > raw[row]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = row
        for i in range(n_present):
            row = order[i]
            if i == 0 or raw[row] != raw[order[i - 1]]:
                rank += 1
                values[rank] = raw[row]
            ranks[row * self.stride] = <uint8_t> rank
        for i in range(n_present, n):
            ranks[order[i] * self.stride] = MISSING_BIN


def refinable_features(packed):
    """Return which features have several values in many of their bins, as uint8.

    "Many" is a quarter of them: a pixel with 256 values has one such bin, which nobody
    would miss.
    """
    several = packed.bin_low < packed.bin_high
    several &= np.arange(packed.bin_low.shape[1]) < packed.n_bins[:, None]
    return (4 * several.sum(axis=1) > packed.n_bins).astype(np.uint8)
