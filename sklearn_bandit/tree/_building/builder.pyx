"""Growing one tree: nodes, depth first or best first, on packed data.

Depth first, a node with few enough rows for the second-level cache has them copied
together and its whole subtree is grown there. A node with at most 255 rows has its bins
replaced by the ranks of the raw values among those rows: from there on the search is as
fine as the data, not as the bins. (Up to some tens of thousands of samples it is from
the root on: see ``rank_search.pyx``.)
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int8_t, uint8_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from sklearn_bandit._core.interrupts cimport Interrupts
from sklearn_bandit._core.memory cimport allocate
from sklearn_bandit.tree._common cimport Block, Limits, Split
from sklearn_bandit.tree._criteria.base cimport Criterion
from sklearn_bandit.tree._data.local_ranks cimport MAX_RANKED, Ranker
from sklearn_bandit.tree._splitters.exact cimport FOUND, SAMPLED, Outcome, Splitter

from .copied_rows cimport CopiedRows
from .leaf_queue cimport Leaf, LeafQueue
from .node_buffer cimport NodeBuffer, NodeRecord
from .node_stack cimport NodeStack, Pending
from .partition cimport draw_threshold, find_threshold, partition

from .copied_rows import count_copied
from .node_buffer import NODE_RECORD

cdef enum:
    # Levels of blocks: all samples, copied rows, copied rows with ranks for bins.
    ALL_ROWS = 0
    COPIED = 1
    RANKED = 2
    # Totals at hand: of a node, of its children, of the left child by the search; best
    # first also of the children of the leaf that is expanded.
    WORK_TOTALS = 6
    # Rows of a node after which an interrupt by the user is looked for.
    SIGNAL_ROWS = 100000

cdef double EPSILON = 2.220446049250313e-16     # as in scikit-learn's builders


cdef class Builder:
    """Grow a tree.

    Parameters
    ----------
    packed : PackedData
        The samples in bins.
    splitter : Splitter
        Finds the splits; knows the criterion.
    ids : ndarray of shape (n,), uint32
        Rows of the samples to learn from, ascending. Those with weight 0 are left out.
    limits : GrowthLimits
        When to stop, and whether the tree is grown depth first or best first.
    ranker : Ranker or None
        Ranks the rows of small nodes; None if every value has a bin of its own.
    buffer : NodeBuffer
        Where the nodes go.
    """

    cdef Splitter splitter
    cdef Criterion criterion
    cdef Block blocks[3]
    cdef const uint8_t[:, ::1] rows
    cdef const uint8_t[:, ::1] columns
    cdef const double[:, ::1] low
    cdef const double[:, ::1] high
    cdef const uint8_t[::1] is_listed
    cdef Ranker ranker                      # None: every value has its own bin
    cdef uint32_t[::1] ids
    cdef uint32_t[::1] scratch_ids
    cdef Py_ssize_t copy_rows               # rows of the largest node that is copied
    cdef CopiedRows copies
    cdef Py_ssize_t max_depth
    cdef Py_ssize_t min_samples_split
    cdef Py_ssize_t max_leaf_nodes
    cdef double min_impurity_decrease
    cdef Limits limits
    cdef double root_weight
    cdef NodeBuffer buffer
    cdef NodeRecord* nodes                  # these two are the buffer's
    cdef double* values
    cdef Py_ssize_t n_nodes
    cdef readonly Py_ssize_t depth
    cdef NodeStack stack                    # depth first: nodes still to be made
    cdef LeafQueue queue                    # best first: leaves that can be split
    cdef double* work                       # WORK_TOTALS totals: see there
    cdef Split split
    cdef Interrupts interrupts

    def __init__(
        self, packed, Splitter splitter, ids, limits, Ranker ranker, NodeBuffer buffer
    ):
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
        self.max_leaf_nodes = limits.max_leaf_nodes
        self.min_impurity_decrease = limits.min_impurity_decrease
        self.limits.min_weight_leaf = limits.min_weight_leaf
        self.limits.min_samples_leaf = limits.min_samples_leaf
        self.limits.monotonic = limits.monotonic
        self.describe_samples()
        if self.max_leaf_nodes < 0:
            self.reserve_copies()
            self.stack = NodeStack(n_channels)
            self.ranker = ranker
            if ranker is not None:
                self.criterion.reserve_copy(1, MAX_RANKED)
        else:
            self.queue = LeafQueue(n_channels)
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
            if self.max_leaf_nodes < 0:
                status = self.grow_depth_first()
            else:
                status = self.grow_best_first()
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

    cdef bint is_interrupted(self, Py_ssize_t n) noexcept nogil:
        """Whether the user wants to stop, if that has been seen or a node is large."""
        return self.interrupts.seen or (n > SIGNAL_ROWS and self.interrupts.look())

    # -- depth first ----

    cdef int grow_depth_first(self) noexcept nogil:
        cdef Py_ssize_t n_channels = self.criterion.n_channels
        cdef double* totals = self.work
        cdef double* left = self.work + n_channels
        cdef double* right = self.work + 2 * n_channels
        cdef Pending node, child
        cdef Py_ssize_t sets[2]
        cdef Py_ssize_t n_left, id
        cdef double middle = 0.0

        self.start_root(&node)
        while True:
            id = self.add_node(&node, totals)
            if id < 0 or self.is_interrupted(node.n):
                return -1
            n_left = 0
            if self.is_leaf(id, &node, totals):
                self.splitter.release_set(node.set)
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
            or self.nodes[id].impurity <= EPSILON
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
            and self.improvement(totals, left, right) + EPSILON
            < self.min_impurity_decrease
        ):
            return 0
        return n_left

    cdef double improvement(
        self, const double* totals, const double* left, const double* right
    ) noexcept nogil:
        """Decrease in impurity by a split, weighted by the fraction of the data in the node."""
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
        return partition(block, ids, n, &self.scratch_ids[0], &self.split)

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

    # -- histograms to subtract from ----

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
            block, ids, self.copies.origin, node.n, &self.splitter.features[node.n_constant],
            n_varying, &self.blocks[RANKED],
        )
        self.criterion.gather(1, block, ids, node.n, 0, &self.blocks[RANKED])
        for i in range(node.n):
            ids[i] = <uint32_t> i
        node.level = RANKED

    # -- best first ----

    cdef int grow_best_first(self) noexcept nogil:
        """Expand the leaf whose split improves most until there are enough leaves.

        The split of a leaf is found (and its rows are put in order) as soon as there is
        such a leaf; expanding it is then only a matter of bookkeeping. Nodes are not
        finished one subtree at a time, so nothing is copied and no constants are known.
        """
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
