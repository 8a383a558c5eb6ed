"""Take many rows through trees at once.

In blocks that stay in the first-level cache every row has the number of its leaf, one
byte. The splits are applied in the order of the tree, each to the whole block: rows
that are in the leaf that was split and go right get the number of the new leaf. That is
one pass over a column of bytes for each split, without branches, 16 to 64 rows at a
time, and much faster than to follow every row from node to node. Several trees are
applied to a block while its columns are in the second-level cache.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memset

from sklearn_bandit._core.simd cimport inline_void, simd_256_void, simd_void

cdef enum:
    BLOCK_ROWS = 4096
    # Blocks whose sums are added up before those of other tasks.
    TASK_BLOCKS = 16
    MOST_LEAVES = 256
    # Sums of a leaf that take turns: an addition does not wait for the one before.
    N_SUMS = 4

MAX_LEAVES = MOST_LEAVES


cdef simd_void _route_numerical(
    const uint8_t* bins, Py_ssize_t n, uint8_t leaf, uint8_t threshold, uint8_t new,
    uint8_t* leaves
) noexcept nogil:
    """Rows of a leaf above a threshold get a new number."""
    cdef Py_ssize_t i

    for i in range(n):
        leaves[i] = (
            new if (leaves[i] == leaf) & (bins[i] > threshold) else leaves[i]
        )


cdef simd_void _route_missing(
    const uint8_t* bins, Py_ssize_t n, uint8_t leaf, uint8_t threshold, uint8_t new,
    uint8_t missing, uint8_t* leaves
) noexcept nogil:
    """The same where missing values stay left."""
    cdef Py_ssize_t i

    for i in range(n):
        leaves[i] = (
            new
            if (leaves[i] == leaf) & (bins[i] > threshold) & (bins[i] != missing)
            else leaves[i]
        )


cdef void _route_categorical(
    const uint8_t* bins, Py_ssize_t n, uint8_t leaf, const uint32_t* left_bins,
    uint8_t new, uint8_t* leaves
) noexcept nogil:
    """The same where a set of bins stays left."""
    cdef Py_ssize_t i

    for i in range(n):
        if leaves[i] == leaf and not (left_bins[bins[i] // 32] >> (bins[i] % 32)) & 1:
            leaves[i] = new


cdef inline_void _sum_block(
    const int width, const uint8_t* leaves, const float* gradients, Py_ssize_t n,
    Py_ssize_t n_cells, double* parts
) noexcept nogil:
    """Add gradients, hessians and 1 to the cell of each row's leaf."""
    cdef Py_ssize_t i
    cdef double* cell
    cdef double g, h, one, zero

    for i in range(n):
        cell = parts + (i % N_SUMS) * n_cells + 4 * <Py_ssize_t> leaves[i]
        # All is read before anything is written: one addition of four numbers.
        g = cell[0] + gradients[width * i]
        h = cell[1] + (1.0 if width == 1 else gradients[width * i + width - 1])
        one = cell[2] + 1.0
        zero = cell[3] + 0.0
        cell[0] = g
        cell[1] = h
        cell[2] = one
        cell[3] = zero


cdef simd_256_void _sum_gradients(
    const uint8_t* leaves, const float* gradients, Py_ssize_t n, Py_ssize_t n_cells,
    double* parts
) noexcept nogil:
    """`_sum_block` where hessians are constant."""
    _sum_block(1, leaves, gradients, n, n_cells, parts)


cdef simd_256_void _sum_pairs(
    const uint8_t* leaves, const float* gradients, Py_ssize_t n, Py_ssize_t n_cells,
    double* parts
) noexcept nogil:
    """`_sum_block` where they are not."""
    _sum_block(2, leaves, gradients, n, n_cells, parts)


cdef class LeafRouter:
    """The splits of trees in order, ready to be applied to rows.

    Parameters
    ----------
    predictors : list of TreePredictor
        The trees, with at most `MAX_LEAVES` leaves each.
    missing_bin : int
        The bin of missing values.
    n_threads : int
        Threads to use.

    Attributes
    ----------
    leaf_nodes : list of ndarray of intp of shape (n_leaves,)
        Place among the nodes of each leaf, by its number, for each tree.
    """

    cdef readonly list leaf_nodes
    cdef Py_ssize_t n_trees
    cdef int n_threads
    cdef uint8_t missing_bin
    cdef int64_t[::1] first                 # split of each tree, and their number
    cdef int64_t[::1] feature, leaf, bin, missing_left, is_categorical
    cdef uint32_t[:, ::1] bits
    cdef double[:, ::1] values              # of the leaves of each tree

    def __cinit__(self, predictors, int missing_bin, int n_threads):
        self.missing_bin = missing_bin
        self.n_threads = n_threads
        self.n_trees = len(predictors)
        self.values = np.zeros((self.n_trees, MAX_LEAVES))
        self.leaf_nodes = []
        parts, numbers, bits = [], [], []
        for t, predictor in enumerate(predictors):
            nodes = predictor.nodes
            inner = np.flatnonzero(nodes["is_leaf"] == 0)
            if len(inner) >= MAX_LEAVES:
                raise ValueError(f"At most {MAX_LEAVES} leaves can be routed.")
            # Left children keep the number of their parent, right ones get the next.
            number = np.zeros(len(nodes), dtype=np.int64)
            children = zip(
                inner.tolist(), nodes["left"][inner].tolist(),
                nodes["right"][inner].tolist(), strict=True,
            )
            for k, (node, left, right) in enumerate(children):
                number[left] = number[node]
                number[right] = k + 1
            leaves = np.flatnonzero(nodes["is_leaf"])
            leaves = leaves[np.argsort(number[leaves])]
            self.leaf_nodes.append(leaves)
            np.asarray(self.values)[t, : len(leaves)] = nodes["value"][leaves]
            splits = nodes[inner]
            parts.append(splits)
            numbers.append(number[inner])
            bits.append(_bits(predictor, splits))
        self.first = np.cumsum([0] + [len(part) for part in parts])
        splits = np.concatenate(parts)
        self.leaf = np.concatenate(numbers)
        self.feature = splits["feature_idx"].astype(np.int64)
        self.bin = splits["bin_threshold"].astype(np.int64)
        self.missing_left = splits["missing_go_to_left"].astype(np.int64)
        self.is_categorical = splits["is_categorical"].astype(np.int64)
        self.bits = np.concatenate(bits)

    cdef void _route_block(
        self, Py_ssize_t tree, const uint8_t[:, :] columns, Py_ssize_t start,
        Py_ssize_t n, uint8_t* leaves
    ) noexcept nogil:
        """Number of the leaf of each row of a block."""
        cdef Py_ssize_t first = self.first[tree], k
        cdef const uint8_t* bins
        cdef uint8_t new

        memset(leaves, 0, n)
        for k in range(first, self.first[tree + 1]):
            bins = &columns[self.feature[k], start]
            new = k - first + 1
            if self.is_categorical[k]:
                _route_categorical(
                    bins, n, self.leaf[k], &self.bits[k, 0], new, leaves
                )
            elif self.missing_left[k]:
                _route_missing(
                    bins, n, self.leaf[k], self.bin[k], new, self.missing_bin, leaves
                )
            else:
                _route_numerical(bins, n, self.leaf[k], self.bin[k], new, leaves)

    def add_to(self, const uint8_t[:, :] columns, double[:, :] raw):
        """Add the value of its leaf to each row, for all trees.

        Parameters
        ----------
        columns : ndarray of uint8 of shape (n_features, n_rows)
            Bins of the rows.
        raw : ndarray of shape (n_rows, n_outputs)
            What to add to, contiguous for each output. The trees are for the first,
            second, ... output, and so on from the first again.
        """
        cdef Py_ssize_t n = columns.shape[1], task
        cdef Py_ssize_t n_tasks = (n + BLOCK_ROWS - 1) // BLOCK_ROWS

        for task in prange(
            n_tasks, nogil=True, num_threads=max(1, min(self.n_threads, n_tasks))
        ):
            self._add_block(
                columns, task * BLOCK_ROWS, min((task + 1) * BLOCK_ROWS, n), raw
            )

    cdef void _add_block(
        self, const uint8_t[:, :] columns, Py_ssize_t start, Py_ssize_t end,
        double[:, :] raw
    ) noexcept nogil:
        cdef uint8_t[BLOCK_ROWS] leaves
        cdef Py_ssize_t tree, i, n = end - start
        cdef const double* values
        cdef double* out

        for tree in range(self.n_trees):
            self._route_block(tree, columns, start, n, leaves)
            values = &self.values[tree, 0]
            out = &raw[start, tree % raw.shape[1]]
            for i in range(n):
                out[i] += values[leaves[i]]

    def sum_leaves(
        self,
        const uint8_t[:, :] columns,
        const float[:, ::1] gradients,
        uint8_t[::1] leaves,
    ):
        """Find the leaf of each row, and sums over the leaves, of the first tree.

        Parameters
        ----------
        columns : ndarray of uint8 of shape (n_features, n_rows)
            Bins of the rows.
        gradients : ndarray of float32 of shape (n_rows, 2) or (n_rows, 1)
            What to sum: gradients, and hessians unless they are constant.
        leaves : ndarray of uint8 of shape (n_rows,)
            Output: number of the leaf of each row.

        Returns
        -------
        sums : ndarray of shape (n_leaves, 3)
            Sums of gradients and hessians, and numbers of rows.
        """
        cdef Py_ssize_t n = columns.shape[1], size = BLOCK_ROWS * TASK_BLOCKS, task
        cdef Py_ssize_t n_tasks = (n + size - 1) // size
        cdef double[:, :, ::1] sums = np.zeros((n_tasks, len(self.leaf_nodes[0]), 3))

        for task in prange(
            n_tasks, nogil=True, num_threads=max(1, min(self.n_threads, n_tasks))
        ):
            self._sum_task(
                columns, gradients, task * size, min((task + 1) * size, n),
                leaves, sums[task],
            )
        return np.asarray(sums).sum(axis=0)

    cdef void _sum_task(
        self,
        const uint8_t[:, :] columns,
        const float[:, ::1] gradients,
        Py_ssize_t start,
        Py_ssize_t end,
        uint8_t[::1] leaves,
        double[:, ::1] sums,
    ) noexcept nogil:
        cdef double[N_SUMS * MOST_LEAVES * 4] parts
        cdef Py_ssize_t i, j, n, n_cells = 4 * sums.shape[0]

        memset(parts, 0, N_SUMS * n_cells * sizeof(double))
        while start < end:
            n = min(BLOCK_ROWS, end - start)
            self._route_block(0, columns, start, n, &leaves[start])
            if gradients.shape[1] == 1:
                _sum_gradients(&leaves[start], &gradients[start, 0], n, n_cells, parts)
            else:
                _sum_pairs(&leaves[start], &gradients[start, 0], n, n_cells, parts)
            start += n
        for i in range(sums.shape[0]):
            for j in range(3):
                for n in range(N_SUMS):
                    sums[i, j] += parts[n * n_cells + 4 * i + j]


def add_leaves(
    const uint8_t[::1] leaves, const double[::1] values, double[::1] raw, int n_threads
):
    """Add the value of its leaf to each row, where leaves are known.

    Parameters
    ----------
    leaves : ndarray of uint8 of shape (n_rows,)
        Number of the leaf of each row.
    values : ndarray of shape (n_leaves,)
        Values of the leaves, by number.
    raw : ndarray of shape (n_rows,)
        What to add to.
    n_threads : int
        Threads to use.
    """
    cdef Py_ssize_t i

    if raw.shape[0] <= BLOCK_ROWS:
        n_threads = 1
    for i in prange(raw.shape[0], nogil=True, num_threads=n_threads):
        raw[i] += values[leaves[i]]


def _bits(predictor, splits):
    """Bins of each split that go left, if it is categorical."""
    bits = np.zeros((len(splits), 8), dtype=np.uint32)
    categorical = splits["is_categorical"] == 1
    if categorical.any():
        bits[categorical] = predictor.binned_left_cat_bitsets[
            splits["bitset_idx"][categorical]
        ]
    return bits
