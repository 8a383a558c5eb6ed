"""Rows sampled from a node, copied together: targets, and bins column by column."""

import numpy as np

from libc.stdlib cimport free

from sklearn_bandit._core.memory cimport CACHE_LINE, allocate
from sklearn_bandit._core.random cimport random_unit
from sklearn_bandit._core.simd cimport prefetch
from sklearn_bandit.tree._common cimport SAMPLE_LEVEL

cdef enum:
    # Rows whose bins are copied together, out of the first-level cache.
    GATHERED_ROWS = 64


cdef class RowSample:
    """A sample of the rows of one node after the other.

    Parameters
    ----------
    criterion : Criterion
        Keeps the targets of the rows.
    histograms : Histograms
        What the rows are put into.
    room : int
        Most rows.
    n_slots : int
        Most features.
    """

    def __init__(self, Criterion criterion, Histograms histograms, room, n_slots):
        self.criterion = criterion
        self.histograms = histograms
        self.room = room
        self.places = np.arange(room, dtype=np.uint32)
        criterion.reserve_copy(SAMPLE_LEVEL, room)
        self.bins = <uint8_t*> allocate(room, n_slots)
        self.ids = <uint32_t*> allocate(room, sizeof(uint32_t))
        if self.bins == NULL or self.ids == NULL:
            raise MemoryError

    def __dealloc__(self):
        free(self.bins)
        free(self.ids)

    cdef void add(
        self, const Node* node, Py_ssize_t n_next, const Slots* slots, uint64_t* random
    ) noexcept nogil:
        """Sample more rows, `n_next` in all.

        One row at random out of each of as many equal stretches: as good as a simple
        random sample or better, and read in order.
        """
        cdef Py_ssize_t i, n_new = n_next - self.n_rows, place
        cdef double step = <double> node.n / n_new

        for i in range(n_new):
            place = <Py_ssize_t> ((i + random_unit(random)) * step)
            self.ids[i] = node.ids[min(place, node.n - 1)]
        if self.n_rows == 0:
            self.block = node.block[0]
        self.criterion.gather(
            SAMPLE_LEVEL, node.block, self.ids, n_new, self.n_rows, &self.block
        )
        self.gather_bins(node.block, n_new, slots)
        self.n_rows = n_next

    cdef void gather_bins(
        self, const Block* source, Py_ssize_t n_new, const Slots* slots
    ) noexcept nogil:
        """Copy the bins of new rows: a few rows at a time, column by column."""
        cdef const uint8_t* lines[GATHERED_ROWS]
        cdef Py_ssize_t start = 0, ahead = 0, n_chunk, i, k
        cdef int32_t feature
        cdef uint8_t* bins

        while start < n_new:
            n_chunk = min(<Py_ssize_t> GATHERED_ROWS, n_new - start)
            while ahead < min(start + 2 * GATHERED_ROWS, n_new):
                k = 0
                while k < source.stride:
                    prefetch(
                        source.rows + <Py_ssize_t> self.ids[ahead] * source.stride + k
                    )
                    k += CACHE_LINE
                ahead += 1
            for i in range(n_chunk):
                lines[i] = (
                    source.rows + <Py_ssize_t> self.ids[start + i] * source.stride
                )
            for k in range(slots.n_used):
                feature = slots.features[slots.used[k]]
                bins = self.bins + slots.used[k] * self.room + self.n_rows + start
                for i in range(n_chunk):
                    bins[i] = lines[i][feature]
            start += n_chunk

    cdef void fill(self, Py_ssize_t first, Py_ssize_t slot, int kind) noexcept nogil:
        """Put the rows from place `first` on into the histogram of a slot."""
        cdef int32_t column = 0

        self.show(slot)
        self.histograms.fill(
            &self.block, &self.places[first], self.n_rows - first, &column, 1, slot,
            kind,
        )

    cdef void show(self, Py_ssize_t slot) noexcept nogil:
        """Make the sample a block of one feature: that of a slot."""
        self.block.rows = self.bins + slot * self.room
        self.block.columns = self.block.rows
        self.block.stride = 1
        self.block.n_rows = self.n_rows
