"""Prediction by boosted trees over bins of one byte, to the last bit as scikit-learn.

The thresholds that the trees have for a feature, at most 254 of them, cut its values
into bins: ``x > t`` is the same for values in double precision and for the numbers of
their bins. A node is then a word of 32 bits, and ``tree_registers.h`` keeps a tree of
up to 32 leaves in registers while rows pass through it.

Missing values have no branch of their own: a feature has a column of bins for the nodes
that send them left, in which they are in the first bin, and one for the nodes that send
them right, in which they are beyond the last. Values are added to the raw predictions
in the order of the trees.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from cython.parallel cimport prange
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

from sklearn_bandit._core.bin_lookup cimport MISSING_BIN
from sklearn_bandit._core.openmp cimport thread_num
from sklearn_bandit._core.transpose cimport transpose

from sklearn_bandit.tree._prediction import CannotPackError

from .._data.bin_values import BinAssigner

cdef extern from "tree_registers.h":
    enum:
        TREE_NODES "SKB_TREE_NODES"
        SET_WORDS "SKB_SET_WORDS"
        ROW_PADDING "SKB_ROW_PADDING"
    ctypedef struct BinnedRows "skb_binned_rows":
        const uint8_t* rows
        Py_ssize_t stride
        Py_ssize_t n
    ctypedef struct BinnedTree "skb_binned_tree":
        const uint32_t* nodes
        const double* values
        const uint32_t* sets
        bint has_sets
        int pair_shift
        bint is_small
    int PORTABLY "SKB_PORTABLY"
    int BY_AVX2 "SKB_BY_AVX2"
    int BY_AVX512 "SKB_BY_AVX512"
    bint can_add_leaves "skb_can_add_leaves"(int kernel) noexcept nogil
    void add_leaves "skb_add_leaves"(
        int kernel, const BinnedTree* tree, const BinnedRows* rows, double* sums
    ) noexcept nogil

# From the slowest to the fastest.
KERNELS = {"portable": PORTABLY, "avx2": BY_AVX2, "avx512": BY_AVX512}

cdef enum:
    MAX_THRESHOLDS = 254
    # A threshold of infinity: only missing values are beyond it.
    LAST_BIN = 254
    # Bits of a node for the column and the pair of children: all but the lowest eight,
    # and the two flags.
    INDEX_BITS = 22
    # Sets of categories that a tree may have: their number has eight bits.
    MAX_SETS = 256
    # Rows whose bins are made at a time, by all threads.
    CHUNK_ROWS = 1 << 16
    # Bins of a block of rows stay in the first-level cache.
    BLOCK_BYTES = 1 << 14
    MAX_BLOCK_ROWS = 1024
    MIN_BLOCK_ROWS = 64

cdef uint32_t LEAF = <uint32_t> 1 << 31
cdef uint32_t IS_SET = <uint32_t> 1 << 30


cdef inline Py_ssize_t _row_stride(Py_ssize_t n_columns) noexcept nogil:
    """Bytes from a row of bins to the next: few rows lie across two cache lines."""
    return max(8, (n_columns + 7) // 8 * 8)


cdef class PackedBooster:
    """Boosted trees in the form that rows of bins are taken through.

    Parameters
    ----------
    predictors : list of TreePredictor
        scikit-learn's trees, those of one iteration after the other.
    n_classes : int
        Trees of an iteration.
    bin_mapper : BinMapper
        scikit-learn's, of the fit: has the categories.
    """

    cdef readonly Py_ssize_t n_trees
    cdef Py_ssize_t n_classes
    cdef object assigner                # puts values into bins
    cdef Py_ssize_t n_features
    cdef uint32_t[::1] nodes
    cdef Py_ssize_t[::1] first_node     # of each tree, in `nodes`
    cdef Py_ssize_t[::1] first          # of each tree, in `values`
    cdef double[::1] values
    cdef uint32_t[:, ::1] sets          # categories that go right
    cdef Py_ssize_t[::1] first_set      # of each tree
    cdef Py_ssize_t[::1] features       # of each column
    cdef uint8_t[::1] sends_left        # whether missing values are in the first bin
    cdef int pair_shift                 # where a node has the number of its pair
    cdef int kernel

    def __init__(self, list predictors, Py_ssize_t n_classes, bin_mapper):
        self.n_trees = len(predictors)
        self.n_classes = n_classes
        self.kernel = max(each for each in KERNELS.values() if can_add_leaves(each))
        sizes = [len(predictor.nodes) for predictor in predictors]
        table = np.concatenate([predictor.nodes for predictor in predictors])
        self.first = np.cumsum([0, *sizes], dtype=np.intp)
        self.values = np.ascontiguousarray(table["value"])
        is_leaf = table["is_leaf"] != 0
        is_set = (table["is_categorical"] != 0) & ~is_leaf
        is_number = ~is_leaf & ~is_set
        low = np.zeros(len(table), dtype=np.uint32)
        self._set_bins(table, is_number, low, bin_mapper)
        self._set_categories(table, is_set, low, predictors, bin_mapper)
        keys = 2 * table["feature_idx"].astype(np.intp)
        keys += is_number & (table["missing_go_to_left"] != 0)
        known, column = np.unique(keys[~is_leaf], return_inverse=True)
        pair_bits = max(6, int(max(sizes) // 2).bit_length())
        if pair_bits >= INDEX_BITS or len(known) > 1 << (INDEX_BITS - pair_bits):
            raise CannotPackError("too many features or leaves")
        self.pair_shift = 8 + INDEX_BITS - pair_bits
        self.features = known // 2
        self.sends_left = (known % 2).astype(np.uint8)
        columns = np.zeros(len(table), dtype=np.uint32)
        columns[~is_leaf] = column.ravel()
        words = low | columns << np.uint32(8)
        words[is_set] |= IS_SET
        words[is_leaf] = LEAF
        # One node more than there are, for the empty one beside the root.
        n_nodes = np.maximum(np.add(sizes, 1), <Py_ssize_t> TREE_NODES)
        self.first_node = np.concatenate([[0], np.cumsum(n_nodes)]).astype(np.intp)
        self.nodes = np.zeros(self.first_node[self.n_trees], dtype=np.uint32)
        self._place(
            words,
            np.ascontiguousarray(table["left"]),
            np.ascontiguousarray(table["right"]),
        )

    def _set_bins(self, table, is_number, low, bin_mapper):
        """Find the bins between all thresholds, and that of each node's threshold."""
        features = table["feature_idx"][is_number]
        thresholds = table["num_threshold"][is_number]
        self.n_features = len(bin_mapper.bin_thresholds_)
        bins = np.full(len(features), LAST_BIN, dtype=np.uint32)
        edges = [np.empty(0)] * self.n_features
        for feature in np.unique(features):
            nodes = np.flatnonzero((features == feature) & (thresholds < np.inf))
            if len(nodes):
                edges[feature], place = np.unique(
                    thresholds[nodes], return_inverse=True
                )
                bins[nodes] = place.ravel()
            if len(edges[feature]) > MAX_THRESHOLDS:
                raise CannotPackError("too many thresholds")
        low[is_number] = bins
        is_categorical = np.asarray(bin_mapper.is_categorical_, dtype=np.uint8)
        for feature in np.flatnonzero(is_categorical):
            edges[feature] = np.asarray(bin_mapper.bin_thresholds_[feature], float)
            if not np.array_equal(edges[feature], np.arange(len(edges[feature]))):
                raise CannotPackError("categories that are not numbered")
        self.assigner = BinAssigner(edges, is_categorical, MISSING_BIN)

    def _set_categories(self, table, is_set, low, predictors, bin_mapper):
        """Note the categories that go right in each node, 255 for missing ones."""
        tree = np.repeat(np.arange(self.n_trees), np.diff(self.first))[is_set]
        first = np.searchsorted(tree, np.arange(self.n_trees + 1))
        self.first_set = first.astype(np.intp)
        self.sets = np.zeros((len(tree) + 1, SET_WORDS), dtype=np.uint32)
        if not len(tree):
            return
        if np.diff(first).max() > MAX_SETS:
            raise CannotPackError("too many categorical splits")
        low[is_set] = np.arange(len(tree)) - first[tree]
        sets, place = bin_mapper.make_known_categories_bitsets()
        nodes = table[is_set]
        known = sets[place[nodes["feature_idx"]]]
        left = np.stack(
            [
                predictors[i].raw_left_cat_bitsets[number]
                for i, number in zip(tree, nodes["bitset_idx"], strict=True)
            ]
        )
        missing = np.where(nodes["missing_go_to_left"], 0, 0xFFFFFFFF)[:, None]
        missing = missing.astype(np.uint32)
        right = ~left & (known | missing)
        right[:, -1] &= np.uint32(0x7FFFFFFF)
        right[:, -1] |= missing[:, 0] & np.uint32(0x80000000)
        np.asarray(self.sets)[:-1] = right

    cdef _place(self, uint32_t[::1] words, uint32_t[::1] left, uint32_t[::1] right):
        """Write the nodes of each tree, children beside each other."""
        cdef Py_ssize_t tree, place, n_placed, node, n, first, to, room
        cdef uint32_t[::1] source = np.empty(np.diff(self.first_node).max(), np.uint32)

        for tree in range(self.n_trees):
            first = self.first[tree]
            n = self.first[tree + 1] - first
            to = self.first_node[tree]
            room = self.first_node[tree + 1] - to
            source[0] = 0
            n_placed = 2
            place = 0
            while place < n_placed:
                if place == 1:
                    self.nodes[to + 1] = LEAF
                    place += 1
                    continue
                node = source[place]
                if words[first + node] & LEAF:
                    self.nodes[to + place] = LEAF | <uint32_t> node
                else:
                    if (
                        left[first + node] >= n or right[first + node] >= n
                        or n_placed + 2 > room
                    ):
                        raise CannotPackError("a node that is not valid")
                    self.nodes[to + place] = (
                        words[first + node]
                        | <uint32_t> (n_placed // 2) << self.pair_shift
                    )
                    source[n_placed] = left[first + node]
                    source[n_placed + 1] = right[first + node]
                    n_placed += 2
                place += 1

    def add(self, const double[:, :] X, double[::1, :] sums, int n_threads):
        """Add the predictions of all trees.

        Parameters
        ----------
        X : ndarray of float64 of shape (n_samples, n_features)
            The samples, categories encoded.
        sums : ndarray of shape (n_samples, n_classes), column-major
            What to add to.
        n_threads : int
            Threads to use.
        """
        cdef Py_ssize_t n = X.shape[0], n_columns = self.features.shape[0], start, m
        cdef Py_ssize_t stride = _row_stride(n_columns)
        cdef Py_ssize_t block_rows
        cdef uint8_t[:, ::1] columns, buffers
        cdef uint8_t[::1] has_missing

        if X.shape[1] != self.n_features or sums.shape[1] != self.n_classes:
            raise ValueError("Samples and trees have different numbers of features.")
        block_rows = BLOCK_BYTES // stride // MIN_BLOCK_ROWS * MIN_BLOCK_ROWS
        block_rows = max(<Py_ssize_t> MIN_BLOCK_ROWS, block_rows)
        block_rows = min(block_rows, <Py_ssize_t> MAX_BLOCK_ROWS)
        has_missing = np.empty(self.n_features, dtype=np.uint8)
        columns = np.empty((self.n_features, min(n, <Py_ssize_t> CHUNK_ROWS)), np.uint8)
        n_threads = max(1, min(n_threads, (n + block_rows - 1) // block_rows))
        # Bins by column, then by row.
        buffers = np.zeros(
            (n_threads, block_rows * (n_columns + stride) + ROW_PADDING), np.uint8
        )
        for start in range(0, n, CHUNK_ROWS):
            PyErr_CheckSignals()
            m = min(<Py_ssize_t> CHUNK_ROWS, n - start)
            self.assigner.assign(
                X[start:start + m], None, columns[:, :m], has_missing, n_threads
            )
            with nogil:
                self._add_blocks(
                    columns[:, :m], has_missing, sums[start:], buffers, block_rows
                )

    cdef void _add_blocks(
        self, const uint8_t[:, :] columns, const uint8_t[::1] has_missing,
        double[:, :] sums, uint8_t[:, ::1] buffers, Py_ssize_t block_rows
    ) noexcept nogil:
        cdef Py_ssize_t n = columns.shape[1], block
        cdef Py_ssize_t n_blocks = (n + block_rows - 1) // block_rows
        cdef int n_threads = <int> min(buffers.shape[0], n_blocks)

        if n_threads == 1:
            for block in range(n_blocks):
                self._add_block(
                    columns, has_missing, sums, &buffers[0, 0], block * block_rows,
                    block_rows,
                )
            return
        for block in prange(n_blocks, schedule="dynamic", num_threads=n_threads):
            self._add_block(
                columns, has_missing, sums, &buffers[thread_num(), 0],
                block * block_rows, block_rows,
            )

    cdef void _add_block(
        self, const uint8_t[:, :] columns, const uint8_t[::1] has_missing,
        double[:, :] sums, uint8_t* buffer, Py_ssize_t start, Py_ssize_t block_rows
    ) noexcept nogil:
        """Add the predictions for a block of rows, tree by tree."""
        cdef Py_ssize_t n = min(block_rows, columns.shape[1] - start), tree, column, i
        cdef Py_ssize_t n_columns = self.features.shape[0]
        cdef uint8_t* bins = buffer
        cdef uint8_t* rows = buffer + block_rows * n_columns
        cdef double* to
        cdef BinnedRows binned
        cdef BinnedTree packed

        for column in range(n_columns):
            bins = buffer + column * block_rows
            memcpy(bins, &columns[self.features[column], start], n)
            if self.sends_left[column] and has_missing[self.features[column]]:
                for i in range(n):
                    bins[i] = 0 if bins[i] == MISSING_BIN else bins[i]
        binned.rows = rows
        binned.stride = _row_stride(n_columns)
        binned.n = n
        transpose(buffer, block_rows, n_columns, n, rows, binned.stride)
        packed.pair_shift = self.pair_shift
        for tree in range(self.n_trees):
            to = &sums[start, tree % self.n_classes]
            packed.nodes = &self.nodes[self.first_node[tree]]
            packed.values = &self.values[self.first[tree]]
            packed.sets = &self.sets[self.first_set[tree], 0]
            packed.has_sets = self.first_set[tree + 1] > self.first_set[tree]
            packed.is_small = (
                self.first_node[tree + 1] - self.first_node[tree] <= TREE_NODES
            )
            add_leaves(self.kernel, &packed, &binned, to)

    def use_kernel(self, name):
        """Use another kernel, if this processor has it; for tests.

        Parameters
        ----------
        name : {"portable", "avx2", "avx512"}
            The kernel.

        Returns
        -------
        bool
            Whether this processor has it.
        """
        if not can_add_leaves(KERNELS[name]):
            return False
        self.kernel = KERNELS[name]
        return True
