"""Rows that are searched together, with their codes; nothing in it changes."""

from dataclasses import replace

import numpy as np

from libc.stdint cimport uint8_t

from ._constants cimport SKB_BLOCK
from ._encode cimport MANHATTAN, Space

# For Python: rows that share a block of codes, and numbers of a row beside its codes.
BLOCK = SKB_BLOCK
N_STATS = SKB_N_STATS

# Below this, sums of codes times a query's bytes, up to 255 * 127 each, fit into 32
# bits.
MOST_FEATURES = 65_000


cdef class Segment:
    """Rows, codes and numbers of rows.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_features), float32 or float64
        The rows themselves.
    space : Space
        How they were encoded.
    codes, stats : ndarray
        What `Space.encode` wrote.
    limits : tuple of float
        Largest part along the centre, norm of a centred row, norm of a row; in units.
    head : Head or None
        See ``head.py``.
    first : int
        Position of the first row in the index.
    """

    def __init__(self, rows, Space space, codes, stats, limits, head, Py_ssize_t first):
        cdef const float[:, ::1] single
        cdef const double[:, ::1] double_
        cdef const uint8_t[::1] bytes_ = codes
        cdef const float[:, :, ::1] numbers = stats
        cdef Rows* data = &self.data

        self.rows, self.space, self.codes, self.stats = rows, space, codes, stats
        self.limits, self.head, self.first = limits, head, first
        data.is_double = rows.dtype == np.float64
        if data.is_double:
            double_ = rows
            data.rows = &double_[0, 0]
        else:
            single = rows
            data.rows = &single[0, 0]
        data.by_row = head is not None
        data.metric = space.metric
        data.n, data.n_features = rows.shape
        data.has_no_bounds = data.n_features > MOST_FEATURES
        data.n_stats = 1 if space.metric == MANHATTAN else SKB_N_STATS
        data.width = bytes_.shape[0] // (SKB_BLOCK * numbers.shape[0])
        data.first = first
        data.unit = space.unit
        data.centre = &space.centre[0]
        data.direction = &space.direction[0]
        data.steps = &space.steps[0]
        data.codes = &bytes_[0]
        data.stats = &numbers[0, 0, 0]
        data.max_bias, data.max_norm, data.max_row = limits
        data.head.codes = NULL
        if head is not None:
            self._set_head(head)

    cdef void _set_head(self, head) except *:
        cdef const uint8_t[::1] codes = head.codes
        cdef const float[:, :, ::1] stats = head.stats
        cdef const float[::1] tails = head.tails
        cdef const float[:, ::1] basis = head.basis
        cdef const double[::1] steps = head.steps

        self.data.head.width = basis.shape[0]
        self.data.head.codes = &codes[0]
        self.data.head.stats = &stats[0, 0, 0]
        self.data.head.tails = &tails[0]
        self.data.head.basis = &basis[0, 0]
        self.data.head.steps = &steps[0]
        self.data.head.ratio = head.ratio
        self.data.head.error = head.error

    def __reduce__(self):
        return Segment, (
            self.rows, self.space, self.codes, self.stats, self.limits, self.head,
            self.first,
        )

    def moved(self, Py_ssize_t first):
        """Return the same rows at another position."""
        return Segment(
            self.rows, self.space, self.codes, self.stats, self.limits, self.head, first
        )

    def without(self, places):
        """Return the segment in which some rows are never found.

        Parameters
        ----------
        places : ndarray of int
            Which ones, counted from the segment's first.
        """
        row = 0 if self.data.metric == MANHATTAN else <int> SKB_RESIDUAL
        blocks, lanes = np.divmod(places, SKB_BLOCK)
        stats = self.stats.copy()
        stats[blocks, row, lanes] = -np.inf
        head = self.head
        if head is not None:
            head = replace(head, stats=head.stats.copy())
            head.stats[blocks, row, lanes] = -np.inf
        return Segment(
            self.rows, self.space, self.codes, stats, self.limits, head, self.first
        )

    @property
    def is_present(self):
        """Which rows can be found, as a mask."""
        row = 0 if self.data.metric == MANHATTAN else <int> SKB_RESIDUAL
        return self.stats[:, row, :].ravel()[: len(self.rows)] > -np.inf

    @property
    def nbytes(self):
        """Memory beside the rows."""
        size = self.codes.nbytes + self.stats.nbytes
        size += 4 * self.space.centre_array.nbytes
        if self.head is not None:
            size += self.head.nbytes
        return size
