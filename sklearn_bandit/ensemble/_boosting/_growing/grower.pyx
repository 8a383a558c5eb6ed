"""Grow one tree on gradients and hessians, best leaf first.

The rows of a node, all or those of a sample, are a stretch of one permutation, in
ascending order. A split sorts
the stretch into its two sides; the histograms of the smaller one are summed from its
rows, those of the larger one are the parent's less these.

Everything below the node is without Python and in threads; what they compute does not
depend on how many there are.
"""

from heapq import heappop, heappush

import numpy as np

from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport int64_t, uint8_t, uint32_t

from .._data.row_lists cimport RowLists
from .feature_choice cimport FeatureChoice
from .histogram cimport HistogramBuilder
from .histogram import aligned_zeros
from .partition cimport MIN_PARALLEL, Partition
from .sampled_pairs cimport SampledPairs
from .split_search cimport Siblings, SplitSearch
from .splits cimport Split, fill_sides
from .tree_nodes cimport Node, TreeNodes

cdef enum:
    # Sums over rows are made of sums over blocks of this size.
    SUM_BLOCK = 16384


cdef class TreeGrower:
    """Grows trees on one set of rows; its buffers serve all of them.

    Parameters
    ----------
    layout : Layout
        Cells of the features.
    builder : HistogramBuilder
        Sums histograms.
    columns : ndarray of uint8 of shape (n_features, n_samples)
        Bins of the rows.
    options : GrowthOptions
        What trees may look like.
    n_threads : int
        Threads to use.
    """

    cdef HistogramBuilder builder
    cdef RowLists all_rows
    cdef SampledPairs pairs                 # of the sample that a tree is grown on
    cdef const uint32_t[::1] sample         # its rows, by number; None for all rows
    cdef const uint8_t[:, :] columns
    cdef Py_ssize_t n_samples
    cdef Py_ssize_t n_features
    cdef Py_ssize_t n_leaves
    cdef int64_t n_insertions
    cdef TreeNodes tree                     # the tree that was grown last
    cdef Py_ssize_t max_leaf_nodes          # 0: no limit
    cdef Py_ssize_t max_depth
    cdef readonly int n_threads
    cdef FeatureChoice features
    cdef SplitSearch splits
    cdef Partition partition
    cdef uint32_t[::1] rows                 # its permutation
    cdef const float[:, ::1] gradients      # with hessians beside them unless constant
    cdef list slots                         # histograms of all cells
    cdef list live                          # and which features they are good for
    cdef list free_slots

    def __cinit__(
        self,
        layout,
        HistogramBuilder builder,
        const uint8_t[:, :] columns,
        options,
        int n_threads,
    ):
        self.builder = builder
        self.all_rows = builder.rows
        self.pairs = SampledPairs()
        self.columns = columns
        self.n_features, self.n_samples = columns.shape[0], columns.shape[1]
        # Any integer is allowed; more leaves or levels than rows there cannot be.
        if options.max_leaf_nodes is not None:
            self.max_leaf_nodes = min(options.max_leaf_nodes, self.n_samples + 1)
        if options.max_depth is not None:
            self.max_depth = min(options.max_depth, self.n_samples + 1)
        self.n_threads = n_threads
        self.tree = TreeNodes()
        self.features = FeatureChoice(
            self.n_features, options.max_features, options.interaction_cst
        )
        self.splits = SplitSearch(
            layout, builder, options, self.n_samples, self.features.tried
        )
        self.partition = Partition(self.n_samples, n_threads)
        self.rows = self.partition.rows
        self.slots, self.live, self.free_slots = [], [], []

    def use_threads(self, int n_threads):
        """Use another number of threads from now on."""
        self.n_threads = n_threads
        self.builder.n_threads = n_threads
        self.partition.n_threads = n_threads

    def use_min_samples_leaf(self, Py_ssize_t min_samples_leaf):
        """Ask leaves for another number of rows from now on."""
        self.splits.rules.min_samples_leaf = min_samples_leaf

    def grow(self, const float[:, ::1] gradients, rng, sample=None):
        """Grow a tree.

        Parameters
        ----------
        gradients : ndarray of float32 of shape (n_samples, 2) or (n_samples, 1)
            Gradients of the loss, and hessians unless they are constant.
        rng : numpy.random.Generator
            Draws features, if not all of them are tried.
        sample : TreeSample, default=None
            Rows to grow the tree on; None for all.

        Returns
        -------
        int
            Insertions into histograms.
        """
        cdef Py_ssize_t node

        if sample is None:
            self.gradients, self.sample = gradients, None
            self.builder.use_rows(self.all_rows, None)
        else:
            self.sample = sample.rows
            self.pairs.fill(
                gradients, self.sample, sample.weights, sample.seed, self.n_threads
            )
            self.gradients = self.pairs.room
            self.builder.use_rows(sample.lists, self.pairs)
        self.tree.n = 0
        self.n_leaves = 1
        self.n_insertions = 0
        self.features.start()
        heap = []
        self._start()
        if self._may_split(0):
            self._search_root(rng)
            if self.tree.nodes[0].split.gain > 0.0:
                heappush(heap, (-self.tree.nodes[0].split.gain, 0))
        while heap:
            _, node = heappop(heap)
            for child in self._split(node, rng):
                heappush(heap, (-self.tree.nodes[child].split.gain, child))
            self.n_leaves += 1
            if self.n_leaves == self.max_leaf_nodes:
                break
        for node in range(self.tree.n):
            self._release(node)
        self.gradients = None
        self.builder.use_rows(self.all_rows, None)  # keeps no sample alive
        return self.n_insertions

    def _start(self):
        """Make the root."""
        cdef Py_ssize_t n = (
            self.n_samples if self.sample is None else self.sample.shape[0]
        )
        cdef Py_ssize_t n_blocks = (n + SUM_BLOCK - 1) // SUM_BLOCK
        cdef Py_ssize_t block, i
        cdef double[:, ::1] sums = np.zeros((n_blocks, 2))
        cdef bint constant = self.builder.width == 2
        cdef Node* root

        for block in prange(
            n_blocks, nogil=True, num_threads=max(1, min(self.n_threads, n_blocks))
        ):
            for i in range(block * SUM_BLOCK, min((block + 1) * SUM_BLOCK, n)):
                self.rows[i] = <uint32_t> i
                sums[block, 0] += self.gradients[i, 0]
                if not constant:
                    sums[block, 1] += self.gradients[i, 1]
        self.tree.add()
        root = &self.tree.nodes[0]
        root.stop = n
        root.sums.n = n
        root.sums.lower = -INFINITY
        root.sums.upper = INFINITY
        for block in range(n_blocks):
            root.sums.sum_g += sums[block, 0]
            root.sums.sum_h += sums[block, 1]
        if constant:
            root.sums.sum_h = n

    cdef bint _may_split(self, Py_ssize_t node) noexcept nogil:
        """Whether a node is large enough to be split, and not too deep."""
        cdef Node* this = &self.tree.nodes[node]

        return (
            this.stop - this.start >= 2 * self.splits.rules.min_samples_leaf
            and this.sums.sum_h >= self.splits.rules.min_hessian
            and (self.max_depth == 0 or this.depth < self.max_depth)
        )

    cdef int _take_slot(self, Py_ssize_t node) except -1:
        """Give a node room for histograms."""
        if not self.free_slots:
            self.free_slots.append(len(self.slots))
            self.slots.append(
                aligned_zeros(self.builder.total_cells * self.builder.width)
            )
            self.live.append(np.ones(self.n_features, dtype=np.uint8))
        self.tree.nodes[node].slot = self.free_slots.pop()
        return 0

    cdef int _release(self, Py_ssize_t node) except -1:
        """Take back the room of a node's histograms, if it has any."""
        if self.tree.nodes[node].slot >= 0:
            self.free_slots.append(self.tree.nodes[node].slot)
            self.tree.nodes[node].slot = -1
        return 0

    def _search_root(self, rng):
        """Histograms and best split of the root."""
        cdef Node* root = &self.tree.nodes[0]
        cdef Siblings siblings
        cdef double[::1] cells
        cdef uint8_t[::1] live

        self._take_slot(0)
        cells, live = self.slots[root.slot], self.live[root.slot]
        self.features.mark_live(0, None, live)
        siblings.small, siblings.large, siblings.small_side = root, NULL, 0
        siblings.small_cells, siblings.large_cells = &cells[0], NULL
        siblings.small_live, siblings.large_live = &live[0], NULL
        self._insert(&siblings)
        self.features.draw(0, 0, rng)
        self.splits.search(&siblings, self.n_threads)

    cdef void _insert(self, const Siblings* siblings) noexcept:
        """Insert the rows of the smaller sibling into its histograms."""
        cdef const Node* small = siblings.small

        with nogil:
            self.n_insertions += self.builder.insert(
                &self.rows[small.start], &self.gradients[0, 0],
                small.stop - small.start, siblings.small_live, siblings.small_cells,
            )

    def _split(self, Py_ssize_t node, rng):
        """Split a node; return those of its children that can be split further."""
        cdef Py_ssize_t left, right, small, large
        cdef Siblings siblings
        cdef double[::1] small_cells, large_cells
        cdef uint8_t[::1] small_live, large_live
        cdef bint left_open, right_open, is_last

        self._add_children(node)
        left, right = self.tree.nodes[node].left, self.tree.nodes[node].right
        self.features.constrain(node, self.tree.nodes[node].split.feature, left, right)
        is_last = self.n_leaves + 1 == self.max_leaf_nodes
        left_open = not is_last and self._may_split(left)
        right_open = not is_last and self._may_split(right)
        if not (left_open or right_open):
            return ()
        small, large = left, right
        if self.tree.nodes[left].sums.n >= self.tree.nodes[right].sums.n:
            small, large = right, left
        self.tree.nodes[large].slot = self.tree.nodes[node].slot
        self.tree.nodes[node].slot = -1
        self._take_slot(small)
        small_cells = self.slots[self.tree.nodes[small].slot]
        large_cells = self.slots[self.tree.nodes[large].slot]
        small_live = self.live[self.tree.nodes[small].slot]
        large_live = self.live[self.tree.nodes[large].slot]
        self.features.mark_live(left, large_live, small_live)
        self.features.mark_live(left, large_live, large_live)
        siblings.small = &self.tree.nodes[small]
        siblings.large = &self.tree.nodes[large]
        siblings.small_side = small == right
        siblings.small_cells, siblings.large_cells = &small_cells[0], &large_cells[0]
        siblings.small_live, siblings.large_live = &small_live[0], &large_live[0]
        self._insert(&siblings)
        # The left child draws its features first, as in scikit-learn.
        for side, child, is_open in ((0, left, left_open), (1, right, right_open)):
            if is_open:
                self.features.draw(child, side, rng)
            else:
                self.features.tried[side, :] = 0
        self.splits.search(&siblings, self.n_threads)
        children = []
        for child, is_open in ((left, left_open), (right, right_open)):
            if is_open and self.tree.nodes[child].split.gain > 0.0:
                children.append(child)
            else:
                self.tree.nodes[child].split.gain = -1.0
                self._release(child)
        return children

    cdef int _add_children(self, Py_ssize_t node) except -1:
        """Sort the rows of a node into its two sides and make nodes of these."""
        cdef Py_ssize_t middle = self.tree.nodes[node].start + self._sort_rows(node)
        cdef Py_ssize_t left = self.tree.add_child(
            node, self.tree.nodes[node].start, middle
        )
        cdef Py_ssize_t right = self.tree.add_child(
            node, middle, self.tree.nodes[node].stop
        )
        cdef Node* nodes = self.tree.nodes
        cdef Split* split = &nodes[node].split

        nodes[node].left = left
        nodes[node].right = right
        nodes[left].sums.sum_g = split.g_left
        nodes[left].sums.sum_h = split.h_left
        nodes[left].sums.value = split.value_left
        nodes[right].sums.sum_g = split.g_right
        nodes[right].sums.sum_h = split.h_right
        nodes[right].sums.value = split.value_right
        if not self.splits.has_missing[split.feature]:
            # Missing values that only turn up in prediction go with the majority.
            split.missing_left = nodes[left].sums.n > nodes[right].sums.n
        self._bound(&nodes[node])
        return 0

    cdef void _bound(self, const Node* node) noexcept nogil:
        """Bounds of the children of a node that was split on a monotonic feature."""
        cdef Node* left = &self.tree.nodes[node.left]
        cdef Node* right = &self.tree.nodes[node.right]
        cdef double middle = (left.sums.value + right.sums.value) / 2.0
        cdef int direction = self.splits.monotonic[node.split.feature]

        if direction > 0:
            left.sums.upper = middle
            right.sums.lower = middle
        elif direction < 0:
            left.sums.lower = middle
            right.sums.upper = middle

    cdef Py_ssize_t _sort_rows(self, Py_ssize_t node) except -1:
        """Sort the rows of a node into its two sides; return how many go left."""
        cdef Node* this = &self.tree.nodes[node]
        cdef uint8_t[256] goes_left
        cdef const uint32_t* numbers = NULL

        if self.sample is not None:
            numbers = &self.sample[0]
        fill_sides(&this.split, self.splits.missing_bin, goes_left)
        return self.partition.sort(
            &self.columns[this.split.feature, 0], numbers, this.start, this.stop,
            goes_left,
        )

    # -- the tree that was grown last --------------------------------------------------

    def leaves(self):
        """Return the leaves; see ``TreeNodes.leaves``."""
        return self.tree.leaves()

    def leaf_bounds(self):
        """Return the bounds of the leaves' values, in the order of `leaves`."""
        return self.tree.leaf_bounds()

    def table(self):
        """Return the nodes as arrays; see ``TreeNodes.table``."""
        return self.tree.table()

    @property
    def sum_gradients(self):
        """Sum of the gradients of all rows that the tree was grown on."""
        return self.tree.nodes[0].sums.sum_g

    @property
    def sample_indices(self):
        """Permutation of the rows in which every leaf is a stretch.

        The rows of a sample are counted from 0.
        """
        return self.rows.base

    def add_to(self, double[::1] raw, const double[::1] values):
        """Add the value of its leaf to each row.

        Parameters
        ----------
        raw : ndarray of shape (n_samples,)
            What to add to.
        values : ndarray of shape (n_leaves,)
            Values of the leaves, in the order of `leaves`.
        """
        cdef Py_ssize_t leaf, i, n_leaves = values.shape[0]
        cdef const Py_ssize_t[::1] starts, stops
        cdef const uint32_t[::1] rows = self.rows
        cdef int n_threads = self.n_threads if self.n_samples >= MIN_PARALLEL else 1

        _, starts, stops, _ = self.leaves()
        for leaf in prange(
            n_leaves, nogil=True, schedule="dynamic", num_threads=n_threads
        ):
            for i in range(starts[leaf], stops[leaf]):
                raw[rows[i]] += values[leaf]
