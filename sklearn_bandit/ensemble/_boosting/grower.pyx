"""Grow one tree on gradients and hessians, best leaf first.

The rows of a node are a stretch of one permutation, in ascending order. A split sorts
the stretch into its two sides; the histograms of the smaller one are summed from its
rows, those of the larger one are the parent's less these. A feature that cannot be
split in a node, because all but a few of its rows are in one bin, cannot be split
further down either: its histogram is neither completed nor searched there.

Everything below the node is without Python and in threads; what they compute does not
depend on how many there are.
"""

from heapq import heappop, heappush

import numpy as np

from cython.parallel cimport prange
from libc.math cimport INFINITY
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memset

from sklearn_bandit._core.memory cimport allocate, reallocate, times

from .histogram cimport HistogramBuilder
from .histogram import aligned_zeros
from .partition cimport Partition
from .splits cimport (
    NodeSums,
    Rules,
    Split,
    fill_sides,
    find_categorical_split,
    find_split,
)

cdef enum:
    # Below so many rows a stretch is sorted or summed by one thread: they take some ten
    # microseconds, to start a loop in threads that wait for it takes one or two.
    MIN_PARALLEL = 8192
    # Fewer cells than this are searched by one thread, for the same reason.
    MIN_PARALLEL_CELLS = 1024
    # Sums over rows are made of sums over blocks of this size.
    SUM_BLOCK = 16384

# Splits that leave a child with a smaller sum of hessians are not made.
MIN_HESSIAN = 1e-3
# Added to denominators against 0 / 0.
EPSILON = 1e-15

cdef struct Node:
    NodeSums sums
    Split split                 # best split; its gain is below 0 if there is none
    Py_ssize_t start            # first and last + 1 of its rows in the permutation
    Py_ssize_t stop
    int32_t depth
    int32_t left                # children; -1 for a leaf
    int32_t right
    int32_t slot                # of its histograms; -1 if there are none


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
    max_leaf_nodes, max_depth : int or None
        When to stop.
    min_samples_leaf : int
        Least rows of a leaf.
    l2_regularization : float
        Added to the hessians of a node.
    max_features : float
        Share of the features that are tried in each node.
    monotonic_cst : ndarray of int8 of shape (n_features,)
        Monotonic constraints.
    interaction_cst : list of set or None
        Features that may occur together on a path.
    first_of_equal : bool
        Whether the first of equal thresholds is taken also if missing values go left;
        if not, the last.
    n_threads : int
        Threads to use.
    """

    cdef HistogramBuilder builder
    cdef const uint8_t[:, :] columns
    cdef Py_ssize_t n_samples
    cdef Py_ssize_t n_features
    cdef Py_ssize_t n_grown                 # rows of the tree that was grown last
    cdef Py_ssize_t n_nodes
    cdef Py_ssize_t n_leaves
    cdef int64_t n_insertions
    cdef Node* nodes
    cdef Py_ssize_t n_node_room
    cdef Py_ssize_t max_leaf_nodes          # 0: no limit
    cdef Py_ssize_t max_depth
    cdef double max_features
    cdef Rules rules
    cdef readonly int n_threads
    cdef int missing_bin
    cdef const int32_t[::1] n_bins
    cdef const uint8_t[::1] has_missing
    cdef const uint8_t[::1] is_categorical
    cdef const int32_t[::1] frequent_cell
    cdef const int64_t[::1] first_cell
    cdef const int8_t[::1] monotonic
    cdef list interaction_cst
    cdef dict allowed                       # node: (features, groups) if constrained
    cdef Partition partition
    cdef uint32_t[::1] rows                 # its permutation
    cdef const float[:, ::1] gradients      # with hessians beside them unless constant
    cdef list slots                         # histograms of all cells
    cdef list live                          # and which features they are good for
    cdef list free_slots
    cdef uint8_t[:, ::1] tried              # features to try in the left, right child
    cdef Split* found                       # best split of each feature, left and right

    def __cinit__(
        self,
        layout,
        HistogramBuilder builder,
        const uint8_t[:, :] columns,
        *,
        max_leaf_nodes,
        max_depth,
        min_samples_leaf,
        l2_regularization,
        max_features,
        monotonic_cst,
        interaction_cst,
        first_of_equal,
        int n_threads,
    ):
        self.builder = builder
        self.columns = columns
        self.n_features, self.n_samples = columns.shape[0], columns.shape[1]
        # Any integer is allowed; more leaves or levels than rows there cannot be.
        if max_leaf_nodes is not None:
            self.max_leaf_nodes = min(max_leaf_nodes, self.n_samples + 1)
        if max_depth is not None:
            self.max_depth = min(max_depth, self.n_samples + 1)
        self.max_features = max_features
        self.interaction_cst = interaction_cst
        self.monotonic = np.ascontiguousarray(monotonic_cst, dtype=np.int8)
        self.rules.min_samples_leaf = min(min_samples_leaf, self.n_samples + 1)
        self.rules.min_hessian = MIN_HESSIAN
        self.rules.l2 = l2_regularization + EPSILON
        self.rules.is_bounded = bool(np.any(monotonic_cst))
        self.rules.first_of_equal = first_of_equal
        self.rules.width = builder.width
        self.n_threads = n_threads
        self.missing_bin = layout.missing_bin
        self.n_bins = layout.n_bins
        self.has_missing = layout.has_missing
        self.is_categorical = layout.is_categorical
        self.frequent_cell = layout.frequent_cell
        self.first_cell = layout.first_cell
        self.partition = Partition(self.n_samples, n_threads)
        self.rows = self.partition.rows
        self.slots, self.live, self.free_slots = [], [], []
        self.tried = np.ones((2, self.n_features), dtype=np.uint8)
        self.found = <Split*> allocate(times(2, self.n_features), sizeof(Split))
        if self.found == NULL:
            raise MemoryError()

    def __dealloc__(self):
        free(self.nodes)
        free(self.found)

    def use_threads(self, int n_threads):
        """Use another number of threads from now on."""
        self.n_threads = n_threads
        self.builder.n_threads = n_threads
        self.partition.n_threads = n_threads

    def use_min_samples_leaf(self, Py_ssize_t min_samples_leaf):
        """Ask leaves for another number of rows from now on."""
        self.rules.min_samples_leaf = min_samples_leaf

    def grow(self, const float[:, ::1] gradients, rng, const uint32_t[::1] rows=None):
        """Grow a tree.

        Parameters
        ----------
        gradients : ndarray of float32 of shape (n_samples, 2) or (n_samples, 1)
            Gradients of the loss, and hessians unless they are constant.
        rng : numpy.random.Generator
            Draws features, if not all of them are tried.
        rows : ndarray of uint32, default=None
            Rows to grow the tree on, ascending; None for all.

        Returns
        -------
        int
            Insertions into histograms.
        """
        cdef Py_ssize_t node

        self.gradients = gradients
        self.n_nodes = 0
        self.n_leaves = 1
        self.n_insertions = 0
        self.allowed = {}
        heap = []
        self._start(rows)
        if self._may_split(0):
            self._search_root(rng)
            if self.nodes[0].split.gain > 0.0:
                heappush(heap, (-self.nodes[0].split.gain, 0))
        while heap:
            _, node = heappop(heap)
            for child in self._split(node, rng):
                heappush(heap, (-self.nodes[child].split.gain, child))
            self.n_leaves += 1
            if self.n_leaves == self.max_leaf_nodes:
                break
        for node in range(self.n_nodes):
            self._release(node)
        self.gradients = None
        return self.n_insertions

    cdef Py_ssize_t _add_node(self) except -1:
        """Make room for one more node and return its number."""
        cdef void* nodes
        cdef Py_ssize_t room

        if self.n_nodes == self.n_node_room:
            room = max(64, 2 * self.n_node_room)
            nodes = reallocate(self.nodes, room, sizeof(Node))
            if nodes == NULL:
                raise MemoryError()
            self.nodes = <Node*> nodes
            self.n_node_room = room
        self.n_nodes += 1
        memset(&self.nodes[self.n_nodes - 1], 0, sizeof(Node))
        self.nodes[self.n_nodes - 1].left = -1
        self.nodes[self.n_nodes - 1].right = -1
        self.nodes[self.n_nodes - 1].slot = -1
        self.nodes[self.n_nodes - 1].split.gain = -1.0
        return self.n_nodes - 1

    cdef Py_ssize_t _add_child(
        self, Py_ssize_t parent, Py_ssize_t start, Py_ssize_t stop
    ) except -1:
        """Add a child with some of its parent's rows and all of its bounds."""
        cdef Py_ssize_t node = self._add_node()
        cdef Node* child = &self.nodes[node]

        child.start = start
        child.stop = stop
        child.depth = self.nodes[parent].depth + 1
        child.sums = self.nodes[parent].sums
        child.sums.n = stop - start
        return node

    def _start(self, const uint32_t[::1] chosen):
        """Make the root."""
        cdef Py_ssize_t n = self.n_samples if chosen is None else chosen.shape[0]
        cdef Py_ssize_t n_blocks = (n + SUM_BLOCK - 1) // SUM_BLOCK
        cdef Py_ssize_t block, i, row
        cdef double[:, ::1] sums = np.zeros((n_blocks, 2))
        cdef bint constant = self.rules.width == 2, all_rows = chosen is None
        cdef Node* root

        self.n_grown = n
        for block in prange(
            n_blocks, nogil=True, num_threads=max(1, min(self.n_threads, n_blocks))
        ):
            for i in range(block * SUM_BLOCK, min((block + 1) * SUM_BLOCK, n)):
                row = i if all_rows else <Py_ssize_t> chosen[i]
                self.rows[i] = <uint32_t> row
                sums[block, 0] += self.gradients[row, 0]
                if not constant:
                    sums[block, 1] += self.gradients[row, 1]
        self._add_node()
        root = &self.nodes[0]
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
        cdef Node* this = &self.nodes[node]

        return (
            this.stop - this.start >= 2 * self.rules.min_samples_leaf
            and this.sums.sum_h >= self.rules.min_hessian
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
        self.nodes[node].slot = self.free_slots.pop()
        return 0

    cdef int _release(self, Py_ssize_t node) except -1:
        """Take it back."""
        if self.nodes[node].slot >= 0:
            self.free_slots.append(self.nodes[node].slot)
            self.nodes[node].slot = -1
        return 0

    def _choose_features(self, Py_ssize_t node, Py_ssize_t side, rng):
        """Mark the features to try in a node: those allowed, or a draw of them."""
        if self.max_features == 1.0 and self.interaction_cst is None:
            self.tried[side, :] = 1
            return
        features = np.arange(self.n_features)
        if self.interaction_cst is not None:
            features = self.allowed[node][0]
        mask = np.ones(len(features), dtype=bool)
        if self.max_features < 1.0:
            mask[max(1, int(np.ceil(self.max_features * len(features)))):] = False
            rng.shuffle(mask)
        self.tried[side, :] = 0
        np.asarray(self.tried)[side, features[mask]] = 1

    def _search_root(self, rng):
        """Histograms and best split of the root."""
        cdef double[::1] cells
        cdef uint8_t[::1] live

        if self.interaction_cst is not None:
            self.allowed[0] = (
                _as_array(set().union(*self.interaction_cst)),
                range(len(self.interaction_cst)),
            )
        self._take_slot(0)
        cells, live = self.slots[self.nodes[0].slot], self.live[self.nodes[0].slot]
        self._mark_live(0, None, live)
        with nogil:
            self.n_insertions += self.builder.insert(
                &self.rows[0], &self.gradients[0, 0], self.n_grown, &live[0], &cells[0],
            )
        self._choose_features(0, 0, rng)
        self._search(0, -1, cells, cells, live, live)

    def _mark_live(self, Py_ssize_t node, const uint8_t[::1] parent, uint8_t[::1] live):
        """Start with the features that were good for the parent and are allowed."""
        if parent is None:
            live[:] = 1
        else:
            live[:] = parent
        if self.interaction_cst is not None:
            mask = np.zeros(self.n_features, dtype=np.uint8)
            mask[self.allowed[node][0]] = 1
            np.asarray(live)[:] &= mask

    def _split(self, Py_ssize_t node, rng):
        """Split a node; return those of its children that can be split further."""
        cdef Py_ssize_t left, right, small, large, n_left, middle
        cdef Split* split
        cdef double[::1] cells, others
        cdef uint8_t[::1] live, others_live
        cdef bint left_open, right_open, is_last

        n_left = self._sort_rows(node)
        middle = self.nodes[node].start + n_left
        left = self._add_child(node, self.nodes[node].start, middle)
        right = self._add_child(node, middle, self.nodes[node].stop)
        split = &self.nodes[node].split
        self.nodes[node].left = left
        self.nodes[node].right = right
        self.nodes[left].sums.sum_g = split.g_left
        self.nodes[left].sums.sum_h = split.h_left
        self.nodes[left].sums.value = split.value_left
        self.nodes[right].sums.sum_g = split.g_right
        self.nodes[right].sums.sum_h = split.h_right
        self.nodes[right].sums.value = split.value_right
        if not self.has_missing[split.feature]:
            # Missing values that only turn up in prediction go with the majority.
            split.missing_left = self.nodes[left].sums.n > self.nodes[right].sums.n
        self._bound(node)
        self._constrain(node)

        is_last = self.n_leaves + 1 == self.max_leaf_nodes
        left_open = not is_last and self._may_split(left)
        right_open = not is_last and self._may_split(right)
        if not (left_open or right_open):
            return ()
        small, large = left, right
        if self.nodes[left].sums.n >= self.nodes[right].sums.n:
            small, large = right, left
        self.nodes[large].slot = self.nodes[node].slot
        self.nodes[node].slot = -1
        self._take_slot(small)
        cells = self.slots[self.nodes[small].slot]
        others = self.slots[self.nodes[large].slot]
        live = self.live[self.nodes[small].slot]
        others_live = self.live[self.nodes[large].slot]
        self._mark_live(left, others_live, live)
        self._mark_live(left, others_live, others_live)
        with nogil:
            self.n_insertions += self.builder.insert(
                &self.rows[self.nodes[small].start], &self.gradients[0, 0],
                self.nodes[small].stop - self.nodes[small].start, &live[0], &cells[0],
            )
        # The left child draws its features first, as in scikit-learn.
        for side, child_, is_open in ((0, left, left_open), (1, right, right_open)):
            if is_open:
                self._choose_features(child_, side, rng)
            else:
                self.tried[side, :] = 0
        self._search(small, large, cells, others, live, others_live)
        children = []
        for child_, is_open in ((left, left_open), (right, right_open)):
            if is_open and self.nodes[child_].split.gain > 0.0:
                children.append(child_)
            else:
                self.nodes[child_].split.gain = -1.0
                self._release(child_)
        return children

    cdef void _bound(self, Py_ssize_t node) noexcept nogil:
        """Bounds of the children of a node that was split on a monotonic feature."""
        cdef Node* this = &self.nodes[node]
        cdef Node* left = &self.nodes[this.left]
        cdef Node* right = &self.nodes[this.right]
        cdef double middle = (left.sums.value + right.sums.value) / 2.0

        if self.monotonic[this.split.feature] > 0:
            left.sums.upper = middle
            right.sums.lower = middle
        elif self.monotonic[this.split.feature] < 0:
            left.sums.lower = middle
            right.sums.upper = middle

    def _constrain(self, Py_ssize_t node):
        """Features that the children of a node may be split on."""
        if self.interaction_cst is None:
            return
        feature = self.nodes[node].split.feature
        features, groups = set(), []
        for group in self.allowed[node][1]:
            if feature in self.interaction_cst[group]:
                groups.append(group)
                features.update(self.interaction_cst[group])
        allowed = (_as_array(features), groups)
        self.allowed[self.nodes[node].left] = allowed
        self.allowed[self.nodes[node].right] = allowed

    cdef Py_ssize_t _sort_rows(self, Py_ssize_t node) except -1:
        """Sort the rows of a node into its two sides; return how many go left."""
        cdef Node* this = &self.nodes[node]
        cdef uint8_t[256] goes_left

        fill_sides(&this.split, self.missing_bin, goes_left)
        return self.partition.sort(
            &self.columns[this.split.feature, 0], this.start, this.stop, goes_left
        )

    def _search(
        self, Py_ssize_t small, Py_ssize_t large, double[::1] cells, double[::1] others,
        uint8_t[::1] live, uint8_t[::1] others_live,
    ):
        """Complete histograms of a node and its sibling and find their best splits.

        Parameters
        ----------
        small, large : int
            The nodes; `large` is -1 for the root, which has no sibling.
        cells, others : ndarray
            Their cells: those of `small` just inserted, those of `large` the parent's.
        live, others_live : ndarray of uint8
            Which features they are good for.
        """
        cdef Py_ssize_t feature
        cdef int small_side = 0
        cdef int n_threads = 1
        if self.builder.total_cells >= MIN_PARALLEL_CELLS:
            n_threads = self.n_threads

        if large >= 0 and self.nodes[small].start > self.nodes[large].start:
            small_side = 1
        for feature in prange(
            self.n_features, nogil=True, schedule="dynamic", chunksize=4,
            num_threads=n_threads
        ):
            self._search_feature(
                feature, small, large, small_side, &cells[0], &others[0], &live[0],
                &others_live[0],
            )
        self._take_best(small, small_side)
        if large >= 0:
            self._take_best(large, 1 - small_side)

    cdef void _search_feature(
        self, Py_ssize_t feature, Py_ssize_t small, Py_ssize_t large, int small_side,
        double* cells, double* others, uint8_t* live, uint8_t* others_live
    ) noexcept nogil:
        """Complete the histograms of a feature and find its best splits."""
        cdef NodeSums* sums = &self.nodes[small].sums
        cdef Split* left_right = self.found + 2 * feature

        left_right[0].gain = -1.0
        left_right[1].gain = -1.0
        if not live[feature]:
            return
        self.builder.finish(feature, sums.n, sums.sum_g, sums.sum_h, cells)
        if large >= 0:
            self.builder.subtract(feature, cells, others)
            self._find(feature, large, others, others_live, 1 - small_side)
        self._find(feature, small, cells, live, small_side)

    cdef void _find(
        self, Py_ssize_t feature, Py_ssize_t node, const double* all_cells,
        uint8_t* live, int side
    ) noexcept nogil:
        """Best split of a node on a feature."""
        cdef NodeSums* sums = &self.nodes[node].sums
        cdef Split* split = self.found + 2 * feature + side
        cdef const double* cells = (
            all_cells + self.rules.width * self.first_cell[feature]
        )

        if (
            sums.n - cells[self.rules.width * self.frequent_cell[feature] + 1]
            < self.rules.min_samples_leaf
        ):
            live[feature] = False
            return
        if not self.tried[side, feature]:
            return
        split.feature = feature
        if self.is_categorical[feature]:
            find_categorical_split(
                cells, self.n_bins[feature], self.has_missing[feature],
                self.missing_bin, sums, &self.rules, split,
            )
        else:
            find_split(
                cells, self.n_bins[feature], self.has_missing[feature],
                self.missing_bin, self.monotonic[feature], sums, &self.rules, split,
            )

    cdef void _take_best(self, Py_ssize_t node, int side) noexcept nogil:
        """The best split over all features, the first of equal ones."""
        cdef Py_ssize_t feature, best = -1
        cdef double gain = -1.0

        for feature in range(self.n_features):
            if self.found[2 * feature + side].gain > gain:
                gain = self.found[2 * feature + side].gain
                best = feature
        if best >= 0:
            self.nodes[node].split = self.found[2 * best + side]

    # -- what others want to know of the tree that was grown last ---------------------

    def leaves(self):
        """Return the leaves.

        Returns
        -------
        nodes : ndarray of intp
            Their numbers.
        starts, stops : ndarray of intp
            Their stretches of the permutation `sample_indices`.
        values : ndarray of float64
            Their Newton steps.
        """
        cdef Py_ssize_t node
        found = [node for node in range(self.n_nodes) if self.nodes[node].left < 0]
        return (
            np.array(found, dtype=np.intp),
            np.array([self.nodes[node].start for node in found], dtype=np.intp),
            np.array([self.nodes[node].stop for node in found], dtype=np.intp),
            np.array([self.nodes[node].sums.value for node in found]),
        )

    def leaf_bounds(self):
        """Return the bounds of the leaves' values, in the order of `leaves`."""
        cdef Py_ssize_t node
        return np.array(
            [
                (self.nodes[node].sums.lower, self.nodes[node].sums.upper)
                for node in range(self.n_nodes)
                if self.nodes[node].left < 0
            ]
        )

    @property
    def sum_gradients(self):
        """Sum of the gradients of all rows that the tree was grown on."""
        return self.nodes[0].sums.sum_g

    @property
    def sample_indices(self):
        """Permutation of the rows in which every leaf is a stretch."""
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

    def table(self):
        """Return the nodes, each before its children and left before right.

        Returns
        -------
        dict of str to ndarray
            Numbers of the nodes, sums, splits, children and, if categorical, bit sets.
        """
        cdef Py_ssize_t k, node
        cdef Node* this
        cdef int64_t[::1] number = np.empty(self.n_nodes, dtype=np.int64)
        cdef int64_t[::1] order = np.empty(self.n_nodes, dtype=np.int64)
        cdef int64_t[:, ::1] whole = np.zeros((9, self.n_nodes), dtype=np.int64)
        cdef double[:, ::1] real = np.zeros((2, self.n_nodes))
        cdef uint32_t[:, ::1] bits = np.zeros((self.n_nodes, 8), dtype=np.uint32)
        stack = [0]

        k = 0
        while stack:
            node = stack.pop()
            order[k] = node
            number[node] = k
            k += 1
            if self.nodes[node].left >= 0:
                stack.append(self.nodes[node].right)
                stack.append(self.nodes[node].left)
        for k in range(self.n_nodes):
            this = &self.nodes[order[k]]
            real[0, k] = this.sums.value
            real[1, k] = this.split.gain
            whole[0, k] = <int64_t> this.sums.n
            whole[1, k] = this.depth
            whole[2, k] = this.left < 0
            if this.left < 0:
                continue
            whole[3, k] = number[this.left]
            whole[4, k] = number[this.right]
            whole[5, k] = this.split.feature
            whole[6, k] = this.split.bin
            whole[7, k] = this.split.missing_left
            whole[8, k] = this.split.is_categorical
            if this.split.is_categorical:
                for node in range(8):
                    bits[k, node] = this.split.left_bins[node]
        names = (
            "count", "depth", "is_leaf", "left", "right", "feature_idx",
            "bin_threshold", "missing_go_to_left", "is_categorical",
        )
        table = dict(zip(names, np.asarray(whole), strict=True))
        table |= {"value": np.asarray(real[0]), "gain": np.asarray(real[1])}
        return table | {"bits": np.asarray(bits), "node": np.asarray(order)}


def _as_array(features):
    """Features of a set, in its order, which is that of scikit-learn's draws."""
    return np.fromiter(features, dtype=np.uint32, count=len(features))
