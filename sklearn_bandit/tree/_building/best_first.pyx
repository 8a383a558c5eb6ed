"""Growing a tree best first, to a number of leaves.

The split of a leaf is found (and its rows are put in order) as soon as there is such a
leaf; expanding it is then only a matter of bookkeeping. Nodes are not finished one
subtree at a time, so nothing is copied and no constants are known.
"""

from libc.string cimport memcpy

from sklearn_bandit.tree._splitters.exact cimport Splitter

from .builder cimport ALL_ROWS, Builder
from .leaf_queue cimport Leaf, LeafQueue
from .node_buffer cimport NodeBuffer
from .node_stack cimport Pending


cdef class BestFirstBuilder(Builder):
    """Grow a tree by the splits that improve most.

    Parameters
    ----------
    packed, splitter, ids, limits, buffer
        As for `Builder`. The limits say how many leaves there may be.
    """

    cdef Py_ssize_t max_leaf_nodes
    cdef LeafQueue queue                    # leaves that can be split

    def __init__(self, packed, Splitter splitter, ids, limits, NodeBuffer buffer):
        Builder.__init__(self, packed, splitter, ids, limits, buffer)
        self.max_leaf_nodes = limits.max_leaf_nodes
        self.queue = LeafQueue(self.criterion.n_channels)

    cdef int grow_nodes(self) noexcept nogil:
        """Expand the leaf whose split improves most until there are enough leaves."""
        cdef Py_ssize_t n_channels = self.criterion.n_channels
        cdef double* totals = self.work
        cdef double* children = self.work + 4 * n_channels
        cdef Py_ssize_t n_leaves = 1, side
        cdef Leaf leaf
        cdef Pending child
        cdef double middle = 0.0

        self.start_root(&child)
        if self.add_leaf(&child, totals) < 0:
            return -1
        while self.queue.n_leaves and n_leaves < self.max_leaf_nodes:
            self.queue.pop(&leaf, children)
            self.split = leaf.split
            self.set_split(leaf.id, leaf.n_left, leaf.node.n, &self.blocks[ALL_ROWS])
            if self.limits.monotonic:
                middle = self.criterion.middle(children, children + n_channels)
            for side in range(2):
                child = leaf.node
                child.depth += 1
                child.parent = leaf.id
                child.is_left = side == 0
                child.n_constant = 0
                if side == 0:
                    child.n = leaf.n_left
                else:
                    child.start += leaf.n_left
                    child.n -= leaf.n_left
                self.split.feature = leaf.split.feature
                if self.limits.monotonic:
                    self.bound(&child, &leaf.node, middle)
                memcpy(
                    totals, children + side * n_channels, n_channels * sizeof(double)
                )
                if self.add_leaf(&child, totals) < 0:
                    return -1
            n_leaves += 1
        return 0

    cdef int add_leaf(self, Pending* node, double* totals) noexcept nogil:
        """Add a node and, if it can be split, what its split would be."""
        cdef double* left = self.work + self.criterion.n_channels
        cdef double* right = left + self.criterion.n_channels
        cdef Py_ssize_t id = self.add_node(node, totals)
        cdef Leaf leaf

        if id < 0 or self.is_interrupted(node.n):
            return -1
        if self.is_leaf(id, node, totals):
            return 0
        leaf.n_left = self.split_node(node, totals, left, right)
        if leaf.n_left == 0:
            return 0
        leaf.node = node[0]
        leaf.id = id
        leaf.split = self.split
        leaf.improvement = self.improvement(totals, left, right)
        # The totals of the right child are behind those of the left one.
        return self.queue.push(&leaf, left)
