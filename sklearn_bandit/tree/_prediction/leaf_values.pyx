"""What leaves predict, as one word each.

scikit-learn's leaves have a double for each class. Here a leaf is one of:

- a class that has all votes: its number;
- a value that float32 holds exactly (regression): the value;
- anything else: a place in a table, in which values that occur often stand once.
"""

from libc.stdint cimport uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy

from sklearn_bandit._core.memory cimport allocate, allocate_zeros

cdef extern from "walk.h":
    uint32_t NOT_A_NUMBER "SKB_NOT_A_NUMBER"
    uint32_t FRACTION "SKB_FRACTION"

cdef enum:
    # Distinct values after which it is decided whether to go on looking for equal ones.
    TRIAL_VALUES = 1 << 15


cdef class LeafValues:
    """Payloads of leaves, and the table that some of them number.

    The table has rows of doubles, each once, found by hashing with open addressing.

    Parameters
    ----------
    trees : list of Tree
        scikit-learn's trees.
    is_classification : bool
        Whether values are the shares of classes.
    """

    def __cinit__(self, list trees, bint is_classification):
        cdef size_t n_leaves = 0, n_kept

        n_outputs, n_values = trees[0].value.shape[1:]
        self.width = n_outputs * n_values
        if is_classification and n_outputs == 1 and n_values > 1:
            self.n_classes = n_values
        for tree in trees:
            n_leaves += tree.n_leaves
        self.room = n_leaves
        if self.width == 1:
            n_kept = _count_inexact(trees)
            self.in_place = 2 * n_kept <= n_leaves and n_kept < 2 * FRACTION
            if self.in_place:
                self.room = n_kept
        self.n_slots = 16
        while self.n_slots < 2 * min(self.room, <size_t> TRIAL_VALUES * 64):
            self.n_slots *= 2
        self.is_hashed = self.width > 1
        self.values = <double*> allocate(self.room * self.width, sizeof(double))
        if self.is_hashed:
            self.slots = <uint32_t*> allocate_zeros(self.n_slots, sizeof(uint32_t))
        if self.values == NULL or (self.is_hashed and self.slots == NULL):
            raise MemoryError

    def __dealloc__(self):
        free(self.values)
        free(self.slots)

    cdef void write_payloads(self, SourceTree tree) noexcept nogil:
        """Write the payloads of all leaves of a tree."""
        cdef Py_ssize_t node

        for node in range(tree.n_nodes):
            if tree.left[node] < 0:
                tree.payloads[node] = self.payload(&tree.values[node, 0, 0])

    cdef uint32_t payload(self, const double* value) noexcept nogil:
        """Return the payload of a leaf with this value."""
        cdef uint32_t number, bits
        cdef float rounded
        cdef int k

        if self.in_place:
            if _is_exact(value[0]):
                rounded = <float> value[0]
                memcpy(&bits, &rounded, 4)
                return bits
            number = self.find(value)
            bits = NOT_A_NUMBER | (number % FRACTION + 1)
            return bits | (number // FRACTION) << 31
        for k in range(self.n_classes):
            # Shares add up to one: where one is 1 the others are 0.
            if value[k] == 1.0 and _others_are_zero(value, self.n_classes, k):
                return <uint32_t> k
        return self.find(value) + <uint32_t> self.n_classes

    cdef uint32_t find(self, const double* row) noexcept nogil:
        """Return the number of a row, which is added if it is new."""
        cdef size_t size = self.width * sizeof(double), slot
        cdef uint64_t hashed = 0, bits
        cdef int k

        if not self.is_hashed:
            return self._add(row)
        for k in range(self.width):
            memcpy(&bits, row + k, 8)
            hashed = (hashed ^ bits) * <uint64_t> 0x9E3779B97F4A7C15
            hashed ^= hashed >> 29
        slot = hashed & (self.n_slots - 1)
        self.n_asked += 1
        while self.slots[slot]:
            if memcmp(
                self.values + (self.slots[slot] - 1) * self.width, row, size
            ) == 0:
                return self.slots[slot] - 1
            slot = (slot + 1) & (self.n_slots - 1)
        # Few equal values are not worth the time, nor is a full table.
        if 2 * self.n >= self.n_slots or (
            self.n == TRIAL_VALUES and self.n_asked < 2 * TRIAL_VALUES
        ):
            self.is_hashed = False
            return self._add(row)
        self.slots[slot] = <uint32_t> self.n + 1
        return self._add(row)

    cdef uint32_t _add(self, const double* row) noexcept nogil:
        memcpy(
            self.values + self.n * self.width, row, self.width * sizeof(double)
        )
        self.n += 1
        return <uint32_t> (self.n - 1)


cdef inline bint _is_exact(double value) noexcept nogil:
    """Whether float32 holds the value, which is not NaN."""
    return <double> (<float> value) == value


cdef inline bint _others_are_zero(const double* value, int n, int k) noexcept nogil:
    cdef int i

    for i in range(n):
        if i != k and value[i] != 0.0:
            return False
    return True


cdef Py_ssize_t _count_inexact(trees) except -1:
    """Count the leaves whose value is not one of float32."""
    cdef const double[:, :, ::1] values
    cdef const Py_ssize_t[:] left
    cdef Py_ssize_t n = 0, i

    for tree in trees:
        values = tree.value
        left = tree.children_left
        with nogil:
            for i in range(left.shape[0]):
                if left[i] < 0 and not _is_exact(values[i, 0, 0]):
                    n += 1
    return n
