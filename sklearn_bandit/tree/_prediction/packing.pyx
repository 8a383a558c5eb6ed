"""Trees of scikit-learn packed into small nodes, in an order that is kind to caches.

scikit-learn's nodes have 64 bytes and its leaves a double for each class. Here a node
has 8 bytes (12 where numbers of features and nodes need more bits; ``walk.h``), and a
leaf is one of:

- a class that has all votes: its number;
- a value that float32 holds exactly (regression): the value;
- anything else: a place in a table, in which values that occur often stand once.

A pair of children is in one cache line with the pairs that are most often visited
after it, by the weight of their training samples.

Thresholds become float32. Rows are float32, so ``x <= t`` is the same for a double t
and for the largest float32 that is not above t. Rounding to nearest is not enough.
"""

import numpy as np

from libc.math cimport INFINITY, nextafterf
from libc.stdint cimport UINT32_MAX, uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy

from sklearn_bandit._core.memory cimport allocate, allocate_zeros

cdef extern from "walk.h":
    uint32_t NOT_A_NUMBER "SKB_NOT_A_NUMBER"
    uint32_t FRACTION "SKB_FRACTION"
    uint32_t INNER "SKB_INNER"
    uint32_t MISSING_RIGHT "SKB_MISSING_RIGHT"
    int FEATURE_SHIFT "SKB_FEATURE_SHIFT"

cdef enum:
    LINE_PAIRS = 4          # pairs of nodes of 8 bytes in a cache line
    LINE_NODES = 8
    LINE_WORDS = 16
    # Nodes whose children have no place yet, of one line: one more than its pairs.
    MAX_OPEN = LINE_PAIRS + 2
    # Distinct values after which it is decided whether to go on looking for equal ones.
    TRIAL_VALUES = 1 << 15

# Bits of a small node for the feature and the pair of children.
cdef int INDEX_BITS = 30


class CannotPackError(ValueError):
    """The trees are not of the kind that can be packed."""


cdef class ValueTable:
    """Rows of doubles, each once: a hash table with open addressing."""

    cdef double* values
    cdef uint32_t* slots            # number of the row, plus 1; 0 if free
    cdef size_t n, room, n_slots    # `n_slots` is a power of two
    cdef size_t n_asked
    cdef Py_ssize_t width
    cdef bint is_hashed             # False if few values are equal

    def __cinit__(self, Py_ssize_t width, size_t room):
        self.width = width
        self.room = room
        self.n_slots = 16
        while self.n_slots < 2 * min(room, <size_t> TRIAL_VALUES * 64):
            self.n_slots *= 2
        self.is_hashed = width > 1
        self.values = <double*> allocate(room * width, sizeof(double))
        if self.is_hashed:
            self.slots = <uint32_t*> allocate_zeros(self.n_slots, sizeof(uint32_t))
        if self.values == NULL or (self.is_hashed and self.slots == NULL):
            raise MemoryError

    def __dealloc__(self):
        free(self.values)
        free(self.slots)

    cdef uint32_t find(self, const double* row) noexcept nogil:
        """Return the number of a row, which is added if it is new."""
        cdef size_t size = self.width * sizeof(double), slot
        cdef uint64_t hashed = 0, bits
        cdef Py_ssize_t k

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


cdef inline float threshold_below(double threshold) noexcept nogil:
    """Return the largest float32 that is not above the threshold."""
    cdef float rounded = <float> threshold

    if <double> rounded > threshold:
        return nextafterf(rounded, -INFINITY)
    return rounded


cdef class PackedTrees:
    """Trees in the form that rows are taken through.

    Parameters
    ----------
    trees : list of Tree
        scikit-learn's trees, as fitted estimators have them in ``tree_``.
    n_features : int
        Number of features of the rows.
    is_classification : bool
        Whether values are the shares of classes.
    """

    def __init__(self, list trees, Py_ssize_t n_features, bint is_classification):
        cdef Py_ssize_t n_leaves = 0, n_outputs, most_nodes = 0, n_nodes = 0, i, n

        self.trees = trees
        self.n_trees = len(trees)
        self.n_features = n_features
        n_outputs = trees[0].value.shape[1]
        shape = trees[0].value.shape[1:]
        self.first = np.zeros(self.n_trees + 1, dtype=np.int64)
        self.in_order = np.arange(self.n_trees, dtype=np.int32)
        # Trees that were added later, or sorted by a user, are no random sample.
        self.shuffled = (
            np.random.RandomState(0).permutation(self.n_trees).astype(np.int32)
        )
        for i in range(self.n_trees):
            tree = trees[i]
            if tree.value.shape[1:] != shape or tree.n_features != n_features:
                raise CannotPackError("trees of different forests")
            n = tree.node_count
            n_leaves += tree.n_leaves
            # One node more than there are, for the empty one beside the root.
            n_nodes += (n + LINE_NODES) // LINE_NODES * LINE_NODES
            self.first[i + 1] = n_nodes
            most_nodes = max(most_nodes, n)
        self.forest.width = n_outputs * shape[1]
        single = n_outputs == 1
        if is_classification and single and self.forest.width > 1:
            self.forest.n_classes = self.forest.width
        self.forest.feature_bits = max(1, int(n_features - 1).bit_length())
        self.forest.wide = (
            self.forest.feature_bits > INDEX_BITS - 1
            or most_nodes // 2 + 1 >= 1 << (INDEX_BITS - self.forest.feature_bits)
        )
        if n_features >= 1 << INDEX_BITS or most_nodes >= UINT32_MAX // 2:
            raise CannotPackError("too many features or nodes")
        if n_leaves + self.forest.n_classes >= UINT32_MAX:
            raise CannotPackError("too many leaves")
        if self.forest.width == 1:
            n_kept = _count_inexact(trees)
            self.forest.in_place = 2 * n_kept <= n_leaves and n_kept < 2 * FRACTION
            if self.forest.in_place:
                n_leaves = n_kept
        _allocate(self, n_nodes)
        cdef ValueTable table = ValueTable(self.forest.width, n_leaves)
        cdef uint32_t[::1] place = np.empty(most_nodes, dtype=np.uint32)
        cdef uint32_t[::1] stack = np.empty(most_nodes + MAX_OPEN, dtype=np.uint32)
        for i in range(self.n_trees):
            _pack(self, trees[i], i, table, place, stack)
        _keep(self, table)


cdef inline bint _is_exact(double value) noexcept nogil:
    """Whether float32 holds the value, which is not NaN."""
    return <double> (<float> value) == value


cdef inline bint _others_are_zero(const double* value, int n, int k) noexcept nogil:
    cdef int i

    for i in range(n):
        if i != k and value[i] != 0.0:
            return False
    return True


cdef _allocate(PackedTrees packed, Py_ssize_t n_nodes):
    """Take memory for the nodes, from the start of a cache line on."""
    cdef Py_ssize_t words = 3 if packed.forest.wide else 2, shift

    packed.n_nodes = n_nodes
    packed.memory = np.zeros(n_nodes * words + LINE_WORDS, dtype=np.uint32)
    shift = (-<Py_ssize_t> &packed.memory[0] % 64) // 4
    if shift < 0:
        shift += LINE_WORDS
    packed.nodes = &packed.memory[0] + shift
    packed.forest.nodes = packed.nodes
    packed.forest.first = &packed.first[0]


cdef _keep(PackedTrees packed, ValueTable table):
    """Copy the values that are used out of the table."""
    cdef size_t n = table.n * table.width

    packed.values = np.zeros(n + 1)
    if n:
        memcpy(&packed.values[0], table.values, n * sizeof(double))
    packed.forest.values = &packed.values[0]
    packed.nbytes = packed.memory.nbytes + packed.values.nbytes + packed.first.nbytes


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


cdef _pack(
    PackedTrees packed, tree, Py_ssize_t number, ValueTable table, uint32_t[::1] place,
    uint32_t[::1] stack,
):
    """Pack one tree."""
    cdef const Py_ssize_t[:] left = tree.children_left
    cdef const Py_ssize_t[:] right = tree.children_right
    cdef const Py_ssize_t[:] features = tree.feature
    cdef const double[:] thresholds = tree.threshold
    cdef const double[:] weights = tree.weighted_n_node_samples
    cdef const uint8_t[:] missing_left = np.asarray(tree.missing_go_to_left).view(
        np.uint8
    )
    cdef const double[:, :, ::1] values = tree.value
    cdef Py_ssize_t n_nodes = left.shape[0], n_stacked = 0, n_open = 0
    cdef Py_ssize_t node, child, side, i, heaviest
    cdef uint32_t pair = 1, flags
    cdef int words = 3 if packed.forest.wide else 2
    cdef uint32_t* nodes = packed.nodes + words * packed.first[number]
    cdef uint32_t* word
    cdef float threshold
    cdef uint32_t[MAX_OPEN] open_
    cdef bint is_valid = True

    with nogil:
        child = 0
        place[0] = 0
        if left[0] < 0:
            _write_leaf(packed, nodes, &values[0, 0, 0], table)
        else:
            open_[0] = 0
            n_open = 1
        while is_valid and (n_open or n_stacked):
            if n_open == 0:
                n_stacked -= 1
                open_[0] = stack[n_stacked]
                n_open = 1
            # Fill a cache line: the heaviest node's children come next.
            while n_open:
                heaviest = 0
                for i in range(1, n_open):
                    if weights[open_[i]] > weights[open_[heaviest]]:
                        heaviest = i
                node = open_[heaviest]
                n_open -= 1
                open_[heaviest] = open_[n_open]
                is_valid = (
                    0 <= features[node] < packed.n_features
                    and 0 < left[node] < n_nodes and 0 < right[node] < n_nodes
                    and 2 * pair + 1 < packed.first[number + 1] - packed.first[number]
                )
                if not is_valid:
                    break
                word = nodes + words * place[node]
                threshold = threshold_below(thresholds[node])
                memcpy(word, &threshold, 4)
                flags = INNER if missing_left[node] else INNER | MISSING_RIGHT
                flags |= <uint32_t> features[node] << FEATURE_SHIFT
                if packed.forest.wide:
                    word[2] = pair
                else:
                    flags |= pair << (FEATURE_SHIFT + packed.forest.feature_bits)
                word[1] = flags
                for side in range(2):
                    child = left[node] if side == 0 else right[node]
                    place[child] = 2 * pair + <uint32_t> side
                    if left[child] < 0:
                        _write_leaf(
                            packed, nodes + words * place[child], &values[child, 0, 0],
                            table,
                        )
                    else:
                        open_[n_open] = <uint32_t> child
                        n_open += 1
                pair += 1
                if pair % LINE_PAIRS == 0:
                    break
            # The rest waits, the heaviest on top.
            while n_open:
                heaviest = 0
                for i in range(1, n_open):
                    if weights[open_[i]] < weights[open_[heaviest]]:
                        heaviest = i
                stack[n_stacked] = open_[heaviest]
                n_stacked += 1
                n_open -= 1
                open_[heaviest] = open_[n_open]
    if not is_valid:
        raise CannotPackError("a node that is not valid")


cdef void _write_leaf(
    PackedTrees packed, uint32_t* node, const double* value, ValueTable table
) noexcept nogil:
    """Write a leaf with this value."""
    cdef float rounded
    cdef uint32_t number
    cdef int k

    node[1] = 0
    if packed.forest.in_place:
        if _is_exact(value[0]):
            rounded = <float> value[0]
            memcpy(node, &rounded, 4)
            return
        number = table.find(value)
        node[0] = NOT_A_NUMBER | (number % FRACTION + 1)
        node[0] |= (number // FRACTION) << 31
        return
    for k in range(packed.forest.n_classes):
        # Shares add up to one: where one is 1 the others are 0.
        if value[k] == 1.0 and _others_are_zero(value, packed.forest.n_classes, k):
            node[0] = <uint32_t> k
            return
    node[0] = table.find(value) + packed.forest.n_classes
