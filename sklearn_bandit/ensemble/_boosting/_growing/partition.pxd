"""The rows of a tree's nodes: see ``partition.pyx``."""

from libc.stdint cimport uint8_t, uint32_t

cdef enum:
    # Fewer rows than this are sorted or summed by one thread: they take some ten
    # microseconds, to start a loop in threads and wait for them takes one or two.
    MIN_PARALLEL = 2048


cdef class Partition:
    """A permutation of the rows in which every node is a stretch."""

    cdef uint32_t[::1] rows         # the permutation
    cdef uint32_t[::1] aside        # rows that go right, while others are sorted
    cdef int n_threads

    cdef Py_ssize_t sort(
        self,
        const uint8_t* bins,        # of the feature that is split, by number
        const uint32_t* numbers,    # of the rows; NULL if each is its own
        Py_ssize_t start,           # the stretch
        Py_ssize_t stop,
        const uint8_t* goes_left,   # by bin
    ) except -1

    cdef Py_ssize_t _sort_chunk(
        self, const uint8_t* bins, const uint32_t* numbers, Py_ssize_t start,
        Py_ssize_t stop, const uint8_t* goes_left
    ) noexcept nogil
