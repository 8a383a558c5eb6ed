"""Growing one tree on packed data: its nodes, and how one of them is split.

In which order nodes are split is up to ``depth_first`` and ``best_first``.
"""

import numpy as np

from libc.float cimport DBL_EPSILON
from libc.math cimport INFINITY
from libc.stdint cimport int8_t, uint8_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from sklearn_bandit._core.memory cimport allocate
from sklearn_bandit.tree._splitters.exact cimport FOUND, SAMPLED, Outcome

from .partition cimport draw_threshold, find_threshold, partition_rows

from .node_buffer import NODE_RECORD

cdef enum:
    # Totals kept: of a node, of its children, of the left child by the search; best
    # first also of the children of the leaf that is expanded.
    WORK_TOTALS = 6
    # Rows of a node after which interrupts are checked for.
    SIGNAL_ROWS = 100000


cdef class Builder:
    """Base class of what grows a tree.

    Parameters
    ----------
    packed : PackedData
        The samples in bins.
    splitter : Splitter
        Finds the splits; has the criterion.
    ids : ndarray of shape (n,), uint32
        Rows of the samples to learn from, ascending. Those with weight 0 are left out.
    limits : GrowthLimits
        When to stop.
    buffer : NodeBuffer
        Where the nodes go.
    """

    def __init__(self, packed, Splitter splitter, ids, limits, NodeBuffer buffer):
        cdef Py_ssize_t n_channels = splitter.criterion.n_channels

        self.buffer = buffer
        self.splitter = splitter
        self.criterion = splitter.criterion
        self.rows = packed.rows
        self.columns = packed.columns
        self.low = packed.bin_low
        self.high = packed.bin_high
        self.is_listed = packed.is_listed
        self.ids = ids
        self.scratch_ids = np.empty(len(ids), dtype=np.uint32)
        self.max_depth = limits.max_depth
        self.min_samples_split = limits.min_samples_split
        self.min_impurity_decrease = limits.min_impurity_decrease
        self.limits.min_weight_leaf = limits.min_weight_leaf
        self.limits.min_samples_leaf = limits.min_samples_leaf
        self.limits.monotonic = limits.monotonic
        self.describe_samples()
        self.interrupts = Interrupts()
        splitter.histograms.interrupts = self.interrupts
        self.work = <double*> allocate(n_channels, WORK_TOTALS * sizeof(double))
        if self.work == NULL:
            raise MemoryError
        self.split.left = self.work + 3 * n_channels

    def __dealloc__(self):
        free(self.work)

    cdef int describe_samples(self) except -1:
        """Set up the block of all samples."""
        cdef Block* block = &self.blocks[ALL_ROWS]

        memset(self.blocks, 0, sizeof(self.blocks))
        block.rows = &self.rows[0, 0]
        block.stride = self.rows.shape[1]
        block.columns = &self.columns[0, 0]
        block.n_rows = self.rows.shape[0]
        block.low = &self.low[0, 0]
        block.high = &self.high[0, 0]
        block.n_values = self.low.shape[1]
        self.criterion.describe(block)
        if self.splitter.rank_search is not None:
            self.splitter.rank_search.ranks.describe(block)
        return 0

    def grow(self):
        """Grow the tree.

        Returns
        -------
        nodes : structured ndarray
            Nodes in the order of scikit-learn's builders, with the fields of its trees.
        values : ndarray of shape (n_nodes, n_values)
            Predictions of the nodes.

        Both are the buffer's memory: they are valid until it is used again.
        """
        cdef int status

        with nogil:
            status = self.grow_nodes()
        if self.interrupts.seen:
            raise self.interrupts.error
        if status < 0:
            raise MemoryError
        nodes = np.asarray(
            <uint8_t[:self.n_nodes * sizeof(NodeRecord)]> <uint8_t*> self.nodes
        ).view(NODE_RECORD)
        n_values = self.criterion.n_values
        values = np.asarray(<double[:self.n_nodes, :n_values]> self.values)
        return nodes, values

    cdef int grow_nodes(self) noexcept nogil:
        """Grow all nodes; -1 if there is no memory or the user interrupts."""
        return -1

    cdef bint is_interrupted(self, Py_ssize_t n) noexcept nogil:
        """Whether the user has interrupted; signals are checked at large nodes only."""
        return self.interrupts.seen or (n > SIGNAL_ROWS and self.interrupts.look())

    # -- nodes ----

    cdef void start_root(self, Pending* node) noexcept nogil:
        """Describe the root; its totals go to the front of `work`."""
        node.start = 0
        node.n = self.ids.shape[0]
        node.depth = 0
        node.parent = -1
        node.is_left = False
        node.level = ALL_ROWS
        node.set = -1
        node.n_constant = 0
        node.lower = -INFINITY
        node.upper = INFINITY
        self.criterion.summarise(&self.blocks[0], &self.ids[0], node.n, self.work)
        self.root_weight = self.criterion.weight(self.work)

    cdef bint is_leaf(
        self, Py_ssize_t id, const Pending* node, const double* totals
    ) noexcept nogil:
        """Whether a node is not even to be searched for a split."""
        return (
            node.depth >= self.max_depth
            or node.n < self.min_samples_split
            or node.n < 2 * self.limits.min_samples_leaf
            or self.criterion.weight(totals) < 2 * self.limits.min_weight_leaf
            or self.nodes[id].impurity <= DBL_EPSILON  # as scikit-learn has it
        )

    cdef Py_ssize_t split_node(
        self, Pending* node, double* totals, double* left, double* right
    ) noexcept nogil:
        """Search and carry out the split of a node; 0 if it becomes a leaf.

        Returns the number of rows that went left, and the totals of both children.
        """
        cdef const Block* block = &self.blocks[node.level]
        cdef uint32_t* ids = &self.ids[node.start]
        cdef Py_ssize_t n_left
        cdef Outcome outcome

        self.split.rank = -1
        self.limits.n_rows = node.n
        self.limits.lower = node.lower
        self.limits.upper = node.upper
        outcome = self.splitter.search(
            block, ids, node.n, totals, &self.limits, &node.n_constant, &self.split
        )
        if outcome != FOUND and outcome != SAMPLED:
            return 0
        n_left = self.partition(block, ids, node.n)
        self.summarise_children(
            block, ids, node.n, n_left, outcome, totals, left, right
        )
        if outcome == SAMPLED and not self.is_valid(node.n, n_left, left, right):
            outcome = self.splitter.search_exactly(
                block, ids, node.n, totals, &self.limits, &node.n_constant, &self.split
            )
            if outcome != FOUND:
                return 0
            n_left = self.partition(block, ids, node.n)
            self.summarise_children(
                block, ids, node.n, n_left, outcome, totals, left, right
            )
        if (
            self.min_impurity_decrease > 0.0
            and self.improvement(totals, left, right) + DBL_EPSILON
            < self.min_impurity_decrease
        ):
            return 0
        return n_left

    cdef double improvement(
        self, const double* totals, const double* left, const double* right
    ) noexcept nogil:
        """Decrease in impurity by a split, times the node's share of the weight."""
        return (
            self.criterion.weight(totals) * self.criterion.impurity(totals)
            - self.criterion.weight(left) * self.criterion.impurity(left)
            - self.criterion.weight(right) * self.criterion.impurity(right)
        ) / self.root_weight

    cdef void summarise_children(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, Py_ssize_t n_left,
        Outcome outcome, const double* totals, double* left, double* right,
    ) noexcept nogil:
        """Totals of both children: known from the search, or from their rows.

        Where nothing is lost in a difference, from the rows of the smaller child.
        """
        cdef Py_ssize_t k, n_channels = self.criterion.n_channels

        if not self.criterion.keeps_left:
            self.criterion.summarise(block, ids, n_left, left)
            self.criterion.summarise(block, ids + n_left, n - n_left, right)
        elif outcome != FOUND and 2 * n_left > n:
            self.criterion.summarise(block, ids + n_left, n - n_left, right)
            for k in range(n_channels):
                left[k] = totals[k] - right[k]
        else:
            if outcome == FOUND:
                memcpy(left, self.split.left, n_channels * sizeof(double))
            else:
                self.criterion.summarise(block, ids, n_left, left)
            for k in range(n_channels):
                right[k] = totals[k] - left[k]

    cdef bint is_valid(
        self, Py_ssize_t n, Py_ssize_t n_left, const double* left, const double* right
    ) noexcept nogil:
        """Whether a split chosen on a sample respects the limits on all rows."""
        return (
            n_left >= self.limits.min_samples_leaf
            and n - n_left >= self.limits.min_samples_leaf
            and self.criterion.weight(left) >= self.limits.min_weight_leaf
            and self.criterion.weight(right) >= self.limits.min_weight_leaf
            and not self.limits.monotonic
        )

    cdef Py_ssize_t partition(
        self, const Block* block, uint32_t* ids, Py_ssize_t n
    ) noexcept nogil:
        """Move the rows that go left to the front, keeping their order."""
        if self.split.rank >= 0:
            return self.splitter.rank_search.ranks.partition(
                block, ids, n, &self.scratch_ids[0], &self.split
            )
        return partition_rows(block, ids, n, &self.scratch_ids[0], &self.split)

    cdef void bound(
        self, Pending* child, const Pending* node, double middle
    ) noexcept nogil:
        """Bounds of a child's value, from its parent's and the monotonic constraint."""
        cdef int8_t constraint = self.splitter.constraints[self.split.feature]

        child.lower = node.lower
        child.upper = node.upper
        if constraint == 0:
            return
        if (constraint > 0) == child.is_left:
            child.upper = middle
        else:
            child.lower = middle

    # -- results ----

    cdef Py_ssize_t add_node(
        self, const Pending* node, const double* totals
    ) noexcept nogil:
        """Append a node, for now a leaf; returns its number or -1 (no memory)."""
        cdef NodeRecord* record
        cdef Py_ssize_t id = self.n_nodes

        if self.buffer.reserve(id + 1, (id + 1) * self.criterion.n_values) < 0:
            return -1
        self.nodes = self.buffer.nodes
        self.values = self.buffer.values
        record = &self.nodes[id]
        # The bytes behind the last field as well: they go into model files.
        memset(record, 0, sizeof(NodeRecord))
        record.left_child = -1
        record.right_child = -1
        record.feature = -2
        record.threshold = -2.0
        record.impurity = self.criterion.impurity(totals)
        record.n_node_samples = node.n
        record.weighted_n_node_samples = self.criterion.weight(totals)
        self.criterion.value(
            totals, node.lower, node.upper, self.values + id * self.criterion.n_values
        )
        if node.parent >= 0:
            if node.is_left:
                self.nodes[node.parent].left_child = id
            else:
                self.nodes[node.parent].right_child = id
        self.depth = max(self.depth, node.depth)
        self.n_nodes += 1
        return id

    cdef void set_split(
        self, Py_ssize_t id, Py_ssize_t n_left, Py_ssize_t n, const Block* block
    ) noexcept nogil:
        """Make an inner node of a leaf: its feature, threshold and missing values."""
        cdef NodeRecord* record = &self.nodes[id]

        record.feature = self.split.feature
        record.missing_go_to_left = (
            self.split.missing_left if self.split.has_missing else 2 * n_left > n
        )
        if self.split.rank >= 0:
            record.threshold = self.splitter.rank_search.ranks.threshold(&self.split)
        elif self.splitter.n_thresholds:
            record.threshold = draw_threshold(
                block, &self.split, self.is_listed[self.split.feature],
                &self.splitter.random,
            )
        else:
            record.threshold = find_threshold(block, &self.split)
