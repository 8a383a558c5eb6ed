"""Sort the rows of a node into the two sides of its split.

The order within a side is kept, so that rows are always read in the order of memory and
the result does not depend on the threads, each of which sorts a part of the node.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

cdef enum:
    # Fewer rows than this are sorted by one thread.
    MIN_PARALLEL = 32768


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
        self.sides = np.empty((2, n_samples), dtype=np.uint32)
        self.n_threads = n_threads

    cdef Py_ssize_t sort(
        self, const uint8_t* bins, Py_ssize_t start, Py_ssize_t stop,
        const uint8_t* goes_left
    ) except -1:
        """Sort a stretch; return how many of its rows go left."""
        cdef Py_ssize_t n = stop - start, n_left = 0, chunk
        cdef Py_ssize_t n_chunks = self.n_threads if n >= MIN_PARALLEL else 1
        cdef Py_ssize_t[::1] counts = np.zeros(n_chunks, dtype=np.intp)
        cdef Py_ssize_t[:, ::1] places = np.zeros((2, n_chunks), dtype=np.intp)

        with nogil:
            for chunk in prange(n_chunks, num_threads=n_chunks):
                counts[chunk] = self._sort_chunk(
                    bins, start + n * chunk // n_chunks,
                    start + n * (chunk + 1) // n_chunks, goes_left,
                )
            for chunk in range(n_chunks):
                places[0, chunk] = start + n_left
                n_left += counts[chunk]
            places[1, 0] = start + n_left
            for chunk in range(1, n_chunks):
                places[1, chunk] = (
                    places[1, chunk - 1] + n * chunk // n_chunks
                    - n * (chunk - 1) // n_chunks - counts[chunk - 1]
                )
            for chunk in prange(n_chunks, num_threads=n_chunks):
                self._copy_sides(
                    start + n * chunk // n_chunks, start + n * (chunk + 1) // n_chunks,
                    counts[chunk], places[0, chunk], places[1, chunk],
                )
        return n_left

    cdef Py_ssize_t _sort_chunk(
        self, const uint8_t* bins, Py_ssize_t start, Py_ssize_t stop,
        const uint8_t* goes_left
    ) noexcept nogil:
        """Copy the rows of a chunk to the two sides; return how many go left."""
        cdef uint32_t* left = &self.sides[0, start]
        cdef uint32_t* right = &self.sides[1, start]
        cdef const uint32_t* rows = &self.rows[0]
        cdef Py_ssize_t i, n_left = 0, n_right = 0, goes

        for i in range(start, stop):
            goes = goes_left[bins[rows[i]]]
            left[n_left] = rows[i]
            right[n_right] = rows[i]
            n_left += goes
            n_right += 1 - goes
        return n_left

    cdef void _copy_sides(
        self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t n_left, Py_ssize_t left,
        Py_ssize_t right
    ) noexcept nogil:
        """Copy the sides of a chunk back to their places."""
        cdef uint32_t* rows = &self.rows[0]

        memcpy(rows + left, &self.sides[0, start], n_left * sizeof(uint32_t))
        memcpy(
            rows + right, &self.sides[1, start],
            (stop - start - n_left) * sizeof(uint32_t),
        )
