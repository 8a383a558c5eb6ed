"""Leaves that can be split, the best first.

A heap of the numbers of leaves. The leaf whose split improves most comes first; of
equal ones that with the smallest number. A leaf that is taken out leaves its number to
the one with the largest: numbers have no gaps, so they are places in memory as well.
"""

from libc.stdlib cimport free
from libc.string cimport memcpy

from sklearn_bandit._core.memory cimport reallocate, times

cdef enum:
    # Leaves that there is room for at first.
    FIRST_CAPACITY = 64


cdef class LeafQueue:
    """Leaves that can be split.

    Parameters
    ----------
    n_channels : int
        Numbers in the totals of a node.
    """

    def __init__(self, Py_ssize_t n_channels):
        self.n_totals = 2 * n_channels

    def __dealloc__(self):
        free(self.leaves)
        free(self.totals)
        free(self.heap)
        free(self.places)

    cdef int push(self, const Leaf* leaf, const double* totals) noexcept nogil:
        """Add a leaf with the totals of both children; -1 if there is no memory."""
        cdef Py_ssize_t number = self.n_leaves

        if number == self.capacity and self.reserve() < 0:
            return -1
        self.leaves[number] = leaf[0]
        memcpy(
            self.totals + number * self.n_totals, totals,
            self.n_totals * sizeof(double),
        )
        self.n_leaves += 1
        self.put(number, number)
        self.rise(number)
        return 0

    cdef void pop(self, Leaf* leaf, double* totals) noexcept nogil:
        """Take out the first leaf, with the totals of both children."""
        cdef Py_ssize_t number = self.heap[0], last = self.n_leaves - 1

        leaf[0] = self.leaves[number]
        memcpy(
            totals, self.totals + number * self.n_totals,
            self.n_totals * sizeof(double),
        )
        self.n_leaves = last
        if last > 0:
            # What is at the end of the heap goes to the top, and down from there.
            self.put(0, self.heap[last])
            self.sink(0)
        if number == last:
            return
        # The leaf with the largest number gets the one that is free now, a smaller one.
        self.leaves[number] = self.leaves[last]
        memcpy(
            self.totals + number * self.n_totals, self.totals + last * self.n_totals,
            self.n_totals * sizeof(double),
        )
        self.put(self.places[last], number)
        self.rise(self.places[number])

    cdef int reserve(self) noexcept nogil:
        """Make room for more leaves; -1 if there is no memory."""
        cdef Py_ssize_t capacity = max(2 * self.capacity, <Py_ssize_t> FIRST_CAPACITY)
        cdef void* grown

        grown = reallocate(self.leaves, capacity, sizeof(Leaf))
        if grown == NULL:
            return -1
        self.leaves = <Leaf*> grown
        grown = reallocate(
            self.totals, capacity, times(self.n_totals, sizeof(double))
        )
        if grown == NULL:
            return -1
        self.totals = <double*> grown
        grown = reallocate(self.heap, capacity, sizeof(Py_ssize_t))
        if grown == NULL:
            return -1
        self.heap = <Py_ssize_t*> grown
        grown = reallocate(self.places, capacity, sizeof(Py_ssize_t))
        if grown == NULL:
            return -1
        self.places = <Py_ssize_t*> grown
        self.capacity = capacity
        return 0

    cdef bint is_before(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        """Whether one leaf is to be split before another."""
        if self.leaves[a].improvement != self.leaves[b].improvement:
            return self.leaves[a].improvement > self.leaves[b].improvement
        return a < b

    cdef void put(self, Py_ssize_t place, Py_ssize_t number) noexcept nogil:
        """Put a leaf into a place of the heap."""
        self.heap[place] = number
        self.places[number] = place

    cdef void rise(self, Py_ssize_t place) noexcept nogil:
        """Move a leaf up past all that it is before."""
        cdef Py_ssize_t number = self.heap[place], above

        while place > 0:
            above = (place - 1) // 2
            if not self.is_before(number, self.heap[above]):
                break
            self.put(place, self.heap[above])
            place = above
        self.put(place, number)

    cdef void sink(self, Py_ssize_t place) noexcept nogil:
        """Move a leaf down past all that are before it."""
        cdef Py_ssize_t number = self.heap[place], below

        while 2 * place + 1 < self.n_leaves:
            below = 2 * place + 1
            if below + 1 < self.n_leaves and self.is_before(
                self.heap[below + 1], self.heap[below]
            ):
                below += 1
            if not self.is_before(self.heap[below], number):
                break
            self.put(place, self.heap[below])
            place = below
        self.put(place, number)
