"""Sort the rows of a node into the two sides of its split.

The order within a side is kept, so that rows are always read in the order of memory and
the result does not depend on the threads, each of which sorts a part of the node. Rows
that go left stay in the permutation and move forward, those that go right wait aside.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy, memmove

from sklearn_bandit._core.simd cimport inline_void, prefetch

cdef enum:
    # Rows whose bins are fetched from memory ahead of their use.
    BINS_AHEAD = 32
    # Fewer rows than this are copied back by one thread.
    MIN_COPIED = 32768


cdef class Partition:
    """A permutation of the rows in which every node is a stretch.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    n_threads : int
        Threads to use.
    """

    def __cinit__(self, Py_ssize_t n_samples, int n_threads):
        self.rows = np.empty(n_samples, dtype=np.uint32)
        self.aside = np.empty(n_samples, dtype=np.uint32)
        self.n_threads = n_threads

    cdef Py_ssize_t sort(
        self, const uint8_t* bins, const uint32_t* numbers, Py_ssize_t start,
        Py_ssize_t stop, const uint8_t* goes_left
    ) except -1:
        """Sort a stretch; return how many of its rows go left."""
        cdef Py_ssize_t n = stop - start, n_left = 0, chunk, first
        cdef Py_ssize_t n_chunks = self.n_threads if n >= MIN_PARALLEL else 1
        cdef Py_ssize_t[::1] counts = np.zeros(n_chunks, dtype=np.intp)
        cdef Py_ssize_t[::1] places = np.zeros(n_chunks, dtype=np.intp)
        cdef uint32_t* rows = &self.rows[0]

        with nogil:
            for chunk in prange(n_chunks, num_threads=n_chunks):
                counts[chunk] = self._sort_chunk(
                    bins, numbers, start + n * chunk // n_chunks,
                    start + n * (chunk + 1) // n_chunks, goes_left,
                )
            # All left rows must be in place before right ones may overwrite them.
            for chunk in range(n_chunks):
                first = start + n * chunk // n_chunks
                if chunk > 0:
                    memmove(
                        rows + start + n_left, rows + first,
                        counts[chunk] * sizeof(uint32_t),
                    )
                n_left += counts[chunk]
            places[0] = start + n_left
            for chunk in range(1, n_chunks):
                places[chunk] = (
                    places[chunk - 1] + n * chunk // n_chunks
                    - n * (chunk - 1) // n_chunks - counts[chunk - 1]
                )
            for chunk in prange(
                n_chunks, num_threads=n_chunks if n >= MIN_COPIED else 1
            ):
                first = start + n * chunk // n_chunks
                memcpy(
                    rows + places[chunk], &self.aside[first],
                    (start + n * (chunk + 1) // n_chunks - first - counts[chunk])
                    * sizeof(uint32_t),
                )
        return n_left

    cdef Py_ssize_t _sort_chunk(
        self, const uint8_t* bins, const uint32_t* numbers, Py_ssize_t start,
        Py_ssize_t stop, const uint8_t* goes_left
    ) noexcept nogil:
        """Tell the rows of a chunk apart; return how many go left."""
        cdef uint32_t* rows = &self.rows[start]
        cdef uint32_t* right = &self.aside[start]
        cdef Py_ssize_t n = stop - start, n_left = 0

        if numbers == NULL:
            _tell_apart(False, bins, NULL, n, goes_left, rows, right, &n_left)
        else:
            _tell_apart(True, bins, numbers, n, goes_left, rows, right, &n_left)
        return n_left


cdef inline_void _tell_apart(
    const bint is_sample, const uint8_t* bins, const uint32_t* numbers, Py_ssize_t n,
    const uint8_t* goes_left, uint32_t* rows, uint32_t* right, Py_ssize_t* n_left
) noexcept nogil:
    """Move rows that go left forward, and write those that go right aside.

    The bins of a sample are not next to each other: they are fetched ahead.
    """
    cdef Py_ssize_t i, left = 0, n_right = 0, goes
    cdef uint32_t row

    for i in range(n):
        row = rows[i]
        if is_sample:
            prefetch(bins + numbers[rows[min(i + BINS_AHEAD, n - 1)]])
            goes = goes_left[bins[numbers[row]]]
        else:
            goes = goes_left[bins[row]]
        rows[left] = row
        right[n_right] = row
        left += goes
        n_right += 1 - goes
    n_left[0] = left
