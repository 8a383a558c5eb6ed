"""Growing a tree depth first.

A node with few enough rows for the second-level cache has them copied together and its
whole subtree is grown there. A node with at most 255 rows has its bins replaced by the
ranks of the raw values among those rows: from there on the search is as fine as the
data, not as the bins. (Up to some tens of thousands of samples it is from the root on:
see ``rank_search.pyx``.)
"""

import numpy as np

from libc.stdint cimport uint32_t
from libc.string cimport memcpy

from sklearn_bandit.tree._common cimport Block
from sklearn_bandit.tree._data.local_ranks cimport MAX_RANKED, Ranker
from sklearn_bandit.tree._splitters.exact cimport Splitter

from .builder cimport ALL_ROWS, COPIED, RANKED, Builder
from .copied_rows cimport CopiedRows
from .node_buffer cimport NodeBuffer
from .node_stack cimport NodeStack, Pending

from .copied_rows import count_copied


cdef class DepthFirstBuilder(Builder):
    """Grow a tree, one subtree after the other.

    Parameters
    ----------
    packed, splitter, ids, limits, buffer
        As for `Builder`.
    ranker : Ranker or None
        Ranks the rows of small nodes; None if every value has a bin of its own.

    Attributes
    ----------
    n_kept_most : int
        Leaves whose histograms are kept, at most: subtrees subtract from them.
    """

    cdef Ranker ranker
    cdef Py_ssize_t copy_rows               # rows of the largest node that is copied
    cdef CopiedRows copies
    cdef NodeStack stack                    # nodes still to be made
    cdef public Py_ssize_t n_kept_most
    cdef Py_ssize_t root_set                # histograms of the root; -1: none
    cdef Py_ssize_t[::1] kept_nodes         # leaves with histograms, and these
    cdef Py_ssize_t[::1] kept_sets
    cdef Py_ssize_t n_kept

    def __init__(
        self, packed, Splitter splitter, ids, limits, NodeBuffer buffer, Ranker ranker
    ):
        Builder.__init__(self, packed, splitter, ids, limits, buffer)
        self.reserve_copies()
        self.stack = NodeStack(self.criterion.n_channels)
        self.ranker = ranker
        self.root_set = -1
        self.kept_nodes = np.empty(splitter.n_sets, dtype=np.intp)
        self.kept_sets = np.empty(splitter.n_sets, dtype=np.intp)
        if ranker is not None:
            self.criterion.reserve_copy(1, MAX_RANKED)

    cdef int reserve_copies(self) except -1:
        """Make room for the block of copied rows."""
        cdef Py_ssize_t n_rows = len(self.ids), stride = self.rows.shape[1]

        self.copy_rows = min(count_copied(stride, self.splitter.n_sets > 0), n_rows)
        # Only what is not copied is sampled.
        self.copy_rows = min(self.copy_rows, self.splitter.min_rows - 1)
        self.copy_rows = max(self.copy_rows, min(MAX_RANKED, n_rows))
        self.copies = CopiedRows(self.buffer, self.copy_rows, stride)
        self.criterion.reserve_copy(0, self.copy_rows)
        self.blocks[COPIED] = self.blocks[ALL_ROWS]
        return 0

    cdef int grow_nodes(self) noexcept nogil:
        cdef Py_ssize_t n_channels = self.criterion.n_channels
        cdef double* totals = self.work
        cdef double* left = self.work + n_channels
        cdef double* right = self.work + 2 * n_channels
        cdef Pending node, child
        cdef Py_ssize_t sets[2]
        cdef Py_ssize_t n_left, id
        cdef double middle = 0.0

        self.start_root(&node)
        node.set = self.root_set
        while True:
            id = self.add_node(&node, totals)
            if id < 0 or self.is_interrupted(node.n):
                return -1
            n_left = 0
            if self.is_leaf(id, &node, totals):
                self.leave_set(id, &node)
            else:
                n_left = self.expand(&node, totals, left, right)
            if n_left == 0:
                if self.stack.n_nodes == 0:
                    return 0
                self.stack.pop(&node, totals)
                continue
            self.set_split(id, n_left, node.n, &self.blocks[node.level])
            self.share_set(&node, n_left, sets)
            child = node
            child.depth += 1
            child.parent = id
            if self.limits.monotonic:
                middle = self.criterion.middle(left, right)
            child.start = node.start + n_left
            child.n = node.n - n_left
            child.is_left = False
            child.set = sets[1]
            if self.limits.monotonic:
                self.bound(&child, &node, middle)
            if self.stack.push(&child, right) < 0:
                return -1
            # The left child is next.
            child.start = node.start
            child.n = n_left
            child.is_left = True
            child.set = sets[0]
            if self.limits.monotonic:
                self.bound(&child, &node, middle)
            node = child
            memcpy(totals, left, n_channels * sizeof(double))

    cdef Py_ssize_t expand(
        self, Pending* node, double* totals, double* left, double* right
    ) noexcept nogil:
        """Split a node where its rows are read fastest; 0 if it becomes a leaf."""
        cdef Py_ssize_t n_left

        if node.level == ALL_ROWS and node.n <= self.copy_rows:
            self.copy_node(node)
        if self.ranker is not None and node.level == COPIED and node.n <= MAX_RANKED:
            self.rank_node(node)
        if self.wants_set(node) and node.set < 0:
            node.set = self.splitter.take_set(
                &self.blocks[node.level], &self.ids[node.start], node.n
            )
        self.splitter.set = node.set
        n_left = self.split_node(node, totals, left, right)
        node.set = self.splitter.set
        self.splitter.set = -1
        if n_left == 0:
            self.splitter.release_set(node.set)
        return n_left

    # -- histograms to subtract from ----

    def start_from(self, saved):
        """Give the root the histograms that it had as a leaf of another tree."""
        self.root_set = self.splitter.restore_set(saved)

    def saved_sets(self):
        """Return the histograms that were kept, by leaf."""
        return {
            self.kept_nodes[i]: self.splitter.save_set(self.kept_sets[i])
            for i in range(self.n_kept)
        }

    cdef void leave_set(self, Py_ssize_t id, const Pending* node) noexcept nogil:
        """Keep the histograms of a leaf for its subtree, or empty them."""
        if node.set >= 0 and self.n_kept < self.n_kept_most:
            self.kept_nodes[self.n_kept] = id
            self.kept_sets[self.n_kept] = node.set
            self.n_kept += 1
        else:
            self.splitter.release_set(node.set)

    cdef bint wants_set(self, const Pending* node) noexcept nogil:
        """Whether histograms of all features pay in a node: smaller ones are copied."""
        return (
            self.splitter.n_sets > 0
            and node.level == ALL_ROWS
            and self.copy_rows < node.n < self.splitter.min_rows
        )

    cdef void share_set(
        self, const Pending* node, Py_ssize_t n_left, Py_ssize_t* sets
    ) noexcept nogil:
        """Histograms of the children of a node, whose rows are in order already.

        Those of the smaller child are filled, those of the larger one are what is left.
        """
        cdef Py_ssize_t n_right = node.n - n_left, part
        cdef int small = 0 if n_left < n_right else 1

        sets[0] = -1
        sets[1] = -1
        if node.set < 0:
            return
        part = -1
        if (
            max(n_left, n_right) > self.copy_rows
            and node.depth + 1 < self.max_depth
        ):
            part = self.splitter.take_set(
                &self.blocks[node.level],
                &self.ids[node.start + (n_left if small else 0)],
                min(n_left, n_right),
            )
        if part < 0:
            self.splitter.release_set(node.set)
            return
        self.splitter.subtract_set(part, node.set)
        sets[1 - small] = node.set
        if min(n_left, n_right) > self.copy_rows:
            sets[small] = part
        else:
            self.splitter.release_set(part)

    # -- copies ----

    cdef void copy_node(self, Pending* node) noexcept nogil:
        """Copy a node's rows together; its subtree is grown on the copy."""
        cdef const Block* block = &self.blocks[ALL_ROWS]
        cdef uint32_t* ids = &self.ids[node.start]
        cdef Py_ssize_t i

        self.copies.copy(block, ids, node.n, &self.blocks[COPIED])
        self.criterion.gather(0, block, ids, node.n, 0, &self.blocks[COPIED])
        for i in range(node.n):
            ids[i] = <uint32_t> i
        node.level = COPIED

    cdef void rank_node(self, Pending* node) noexcept nogil:
        """Replace a node's bins by ranks; its subtree is grown on these."""
        cdef const Block* block = &self.blocks[COPIED]
        cdef uint32_t* ids = &self.ids[node.start]
        cdef Py_ssize_t i, n_varying = self.splitter.n_features - node.n_constant

        if n_varying == 0:
            return
        self.ranker.rank(
            block, ids, self.copies.origin, node.n,
            &self.splitter.features[node.n_constant], n_varying, &self.blocks[RANKED],
        )
        self.criterion.gather(1, block, ids, node.n, 0, &self.blocks[RANKED])
        for i in range(node.n):
            ids[i] = <uint32_t> i
        node.level = RANKED
