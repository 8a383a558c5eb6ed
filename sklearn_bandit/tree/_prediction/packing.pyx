"""Trees of scikit-learn packed into small nodes, in an order with few cache misses.

scikit-learn's nodes have 64 bytes. Here there are two forms of a tree. If the processor
has AVX-512 and rows have few features, nodes are in groups that a row passes in one
step (``grouping``, ``node_groups.h``). Else a node has 8 bytes (12 where numbers of
features and nodes need more bits; ``walk.h``), and a pair of children is in one cache
line with the pairs that are most often visited after it, by the weight of their
training samples. Leaves are one word in either form (``leaf_values``).
"""

import numpy as np

from libc.stdint cimport UINT32_MAX
from libc.stdlib cimport free
from libc.string cimport memcpy

from sklearn_bandit._core.memory cimport CACHE_LINE, allocate_zeros

from .grouping cimport REGISTER_FEATURES, Grouping, can_group
from .leaf_values cimport LeafValues
from .source_tree cimport SourceTree

cdef extern from "walk.h":
    uint32_t INNER "SKB_INNER"
    uint32_t MISSING_RIGHT "SKB_MISSING_RIGHT"
    int FEATURE_SHIFT "SKB_FEATURE_SHIFT"

cdef enum:
    LINE_PAIRS = 4          # pairs of nodes of 8 bytes in a cache line
    LINE_NODES = 8
    LINE_WORDS = 16
    # Nodes whose children have no place yet, of one line: one more than its pairs.
    MAX_OPEN = LINE_PAIRS + 2

# Bits of a small node for the feature and the pair of children.
cdef int INDEX_BITS = 30


class CannotPackError(ValueError):
    """The trees are not of the kind that can be packed."""


def has_groups(Py_ssize_t n_features):
    """Whether nodes can be in groups, for rows of `n_features` features.

    Parameters
    ----------
    n_features : int
        Features of a row.

    Returns
    -------
    bool
        It depends on the processor as well.
    """
    return n_features <= REGISTER_FEATURES and can_group()


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
    form : {"groups", "nodes"}, optional
        Groups of nodes, for which `has_groups` must hold, or nodes one by one. By
        default groups if they can be.
    """

    def __init__(
        self, list trees, Py_ssize_t n_features, bint is_classification, form=None
    ):
        cdef Py_ssize_t n_leaves = 0, most_nodes = 0
        cdef LeafValues leaf_values

        self.trees = trees
        self.n_trees = len(trees)
        self.n_features = n_features
        self.form = form or ("groups" if has_groups(n_features) else "nodes")
        if self.form == "groups" and not has_groups(n_features):
            raise CannotPackError("no groups on this processor, or too many features")
        self.in_order = np.arange(self.n_trees, dtype=np.int32)
        # Trees that were added later, or sorted by a user, are no random sample.
        self.shuffled = (
            np.random.RandomState(0).permutation(self.n_trees).astype(np.int32)
        )
        shape = trees[0].value.shape[1:]
        for tree in trees:
            if tree.value.shape[1:] != shape or tree.n_features != n_features:
                raise CannotPackError("trees of different forests")
            n_leaves += tree.n_leaves
            most_nodes = max(most_nodes, tree.node_count)
        if n_features >= 1 << INDEX_BITS or most_nodes >= UINT32_MAX // 2:
            raise CannotPackError("too many features or nodes")
        if n_leaves + shape[0] * shape[1] >= UINT32_MAX:
            raise CannotPackError("too many leaves")
        leaf_values = LeafValues(trees, is_classification)
        self.forest.n_features = n_features
        self.forest.width = leaf_values.width
        self.forest.n_classes = leaf_values.n_classes
        self.forest.in_place = leaf_values.in_place
        if self.form == "groups":
            _pack_groups(self, leaf_values, most_nodes)
        else:
            _pack_nodes(self, leaf_values, most_nodes)
        _keep(self, leaf_values)

    def __dealloc__(self):
        free(self.groups)


cdef _keep(PackedTrees packed, LeafValues table):
    """Copy the values that are used out of the table."""
    cdef size_t n = table.n * table.width

    packed.values = np.zeros(n + 1)
    if n:
        memcpy(&packed.values[0], table.values, n * sizeof(double))
    packed.forest.values = &packed.values[0]
    packed.nbytes = packed.tree_bytes + packed.values.nbytes


cdef Py_ssize_t _words_to_line(const void* memory) noexcept nogil:
    """Return how many words after this one a cache line begins."""
    cdef size_t past = <size_t> memory % CACHE_LINE

    return 0 if past == 0 else <Py_ssize_t> (CACHE_LINE - past) // 4


cdef _pack_groups(PackedTrees packed, LeafValues leaf_values, Py_ssize_t most_nodes):
    """Pack all trees, their nodes in groups."""
    cdef Grouping grouping = Grouping(most_nodes)
    cdef SourceTree source
    cdef uint32_t[::1] memory
    cdef size_t size
    cdef Py_ssize_t i

    packed.group_memory = []
    packed.groups = <Group**> allocate_zeros(packed.n_trees, sizeof(Group*))
    if packed.groups == NULL:
        raise MemoryError
    for i in range(packed.n_trees):
        source = SourceTree(packed.trees[i])
        leaf_values.write_payloads(source)
        if not grouping.group(source):
            raise CannotPackError("a node that is not valid")
        size = grouping.n_groups * sizeof(Group)
        memory = np.empty(size // 4 + LINE_WORDS, dtype=np.uint32)
        packed.group_memory.append(memory)
        packed.groups[i] = <Group*> (&memory[0] + _words_to_line(&memory[0]))
        memcpy(packed.groups[i], grouping.groups, size)
        packed.tree_bytes += memory.nbytes
    packed.forest.groups = <const Group**> packed.groups


cdef _pack_nodes(PackedTrees packed, LeafValues leaf_values, Py_ssize_t most_nodes):
    """Pack all trees, their nodes one by one."""
    cdef uint32_t[::1] place = np.empty(most_nodes, dtype=np.uint32)
    cdef uint32_t[::1] stack = np.empty(most_nodes + MAX_OPEN, dtype=np.uint32)
    cdef Py_ssize_t n_nodes = 0, words, i
    cdef SourceTree source

    packed.first = np.zeros(packed.n_trees + 1, dtype=np.int64)
    for i in range(packed.n_trees):
        # One node more than there are, for the empty one beside the root.
        n_nodes += (packed.trees[i].node_count + LINE_NODES) // LINE_NODES * LINE_NODES
        packed.first[i + 1] = n_nodes
    packed.forest.feature_bits = max(1, int(packed.n_features - 1).bit_length())
    packed.forest.wide = (
        packed.forest.feature_bits > INDEX_BITS - 1
        or most_nodes // 2 + 1 >= 1 << (INDEX_BITS - packed.forest.feature_bits)
    )
    words = 3 if packed.forest.wide else 2
    packed.memory = np.zeros(n_nodes * words + LINE_WORDS, dtype=np.uint32)
    packed.nodes = &packed.memory[0] + _words_to_line(&packed.memory[0])
    packed.forest.nodes = packed.nodes
    packed.forest.first = &packed.first[0]
    packed.tree_bytes = packed.memory.nbytes + packed.first.nbytes
    for i in range(packed.n_trees):
        source = SourceTree(packed.trees[i])
        leaf_values.write_payloads(source)
        if not _pack_tree(packed, source, i, place, stack):
            raise CannotPackError("a node that is not valid")


cdef bint _pack_tree(
    PackedTrees packed, SourceTree tree, Py_ssize_t number, uint32_t[::1] place,
    uint32_t[::1] stack,
) noexcept nogil:
    """Pack one tree; return whether all of its nodes are valid."""
    cdef Py_ssize_t n_stacked = 0, n_open = 0, node, child, side, i, heaviest
    cdef uint32_t pair = 1, flags
    cdef int words = 3 if packed.forest.wide else 2
    cdef uint32_t* nodes = packed.nodes + words * packed.first[number]
    cdef uint32_t* word
    cdef float threshold
    cdef uint32_t[MAX_OPEN] open_

    place[0] = 0
    if tree.left[0] < 0:
        nodes[0] = tree.payloads[0]
        return True
    open_[0] = 0
    n_open = 1
    while n_open or n_stacked:
        if n_open == 0:
            n_stacked -= 1
            open_[0] = stack[n_stacked]
            n_open = 1
        # Fill a cache line: the heaviest node's children come next.
        while n_open:
            heaviest = 0
            for i in range(1, n_open):
                if tree.weights[open_[i]] > tree.weights[open_[heaviest]]:
                    heaviest = i
            node = open_[heaviest]
            n_open -= 1
            open_[heaviest] = open_[n_open]
            if not tree.is_valid(node) or (
                2 * pair + 1 >= packed.first[number + 1] - packed.first[number]
            ):
                return False
            word = nodes + words * place[node]
            threshold = tree.threshold(node)
            memcpy(word, &threshold, 4)
            flags = INNER if tree.missing_left[node] else INNER | MISSING_RIGHT
            flags |= <uint32_t> tree.features[node] << FEATURE_SHIFT
            if packed.forest.wide:
                word[2] = pair
            else:
                flags |= pair << (FEATURE_SHIFT + packed.forest.feature_bits)
            word[1] = flags
            for side in range(2):
                child = tree.left[node] if side == 0 else tree.right[node]
                place[child] = 2 * pair + <uint32_t> side
                if tree.left[child] < 0:
                    # The other words stay 0.
                    nodes[words * place[child]] = tree.payloads[child]
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
                if tree.weights[open_[i]] < tree.weights[open_[heaviest]]:
                    heaviest = i
            stack[n_stacked] = open_[heaviest]
            n_stacked += 1
            n_open -= 1
            open_[heaviest] = open_[n_open]
    return True
