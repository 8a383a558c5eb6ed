"""Take all rows through a tree at once.

In blocks that stay in the first-level cache every row has the number of its leaf, one
byte. The splits are applied in the order of the tree, each to the whole block: rows
that are in the leaf that was split and go right get the number of the new leaf. That is
one pass over a column of bytes for each split, without branches, 16 to 64 rows at a
time, and much faster than to follow every row from node to node.
"""

import numpy as np

from cython.parallel cimport prange
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memset

from sklearn_bandit._simd cimport simd_void

cdef enum:
    BLOCK_ROWS = 4096
    # Blocks whose sums are added up before those of other tasks.
    TASK_BLOCKS = 16

MAX_LEAVES = 256


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


cdef class Router:
    """The splits of a tree in order, ready to be applied to rows.

    Parameters
    ----------
    table : dict of str to ndarray
        The tree, as ``TreeGrower.table`` returns it.
    missing_bin : int
        The bin of missing values.
    n_threads : int
        Threads to use.

    Attributes
    ----------
    leaf_nodes : ndarray of intp of shape (n_leaves,)
        Place in the table of each leaf, by its number.
    """

    cdef readonly object leaf_nodes
    cdef Py_ssize_t n_splits
    cdef int n_threads
    cdef uint8_t missing_bin
    cdef int64_t[::1] feature, leaf, bin, missing_left, is_categorical
    cdef uint32_t[:, ::1] bits

    def __cinit__(self, table, int missing_bin, int n_threads):
        self.missing_bin = missing_bin
        self.n_threads = n_threads
        inner = np.flatnonzero(table["is_leaf"] == 0)
        self.n_splits = len(inner)
        if self.n_splits >= MAX_LEAVES:
            raise ValueError(f"At most {MAX_LEAVES} leaves can be routed.")
        # Left children keep the number of their parent, right ones get the next.
        number = np.zeros(len(table["is_leaf"]), dtype=np.int64)
        for k, node in enumerate(inner):
            number[table["left"][node]] = number[node]
            number[table["right"][node]] = k + 1
        leaves = np.flatnonzero(table["is_leaf"] == 1)
        self.leaf_nodes = leaves[np.argsort(number[leaves])]
        self.leaf = number[inner]
        self.feature = table["feature_idx"][inner]
        self.bin = table["bin_threshold"][inner]
        self.missing_left = table["missing_go_to_left"][inner]
        self.is_categorical = table["is_categorical"][inner]
        self.bits = np.ascontiguousarray(table["bits"][inner])

    cdef void _route_block(
        self, const uint8_t[:, :] columns, Py_ssize_t start, Py_ssize_t n,
        uint8_t* leaves
    ) noexcept nogil:
        """Number of the leaf of each row of a block."""
        cdef Py_ssize_t k
        cdef const uint8_t* bins

        memset(leaves, 0, n)
        for k in range(self.n_splits):
            bins = &columns[self.feature[k], start]
            if self.is_categorical[k]:
                _route_categorical(
                    bins, n, self.leaf[k], &self.bits[k, 0], k + 1, leaves
                )
            elif self.missing_left[k]:
                _route_missing(
                    bins, n, self.leaf[k], self.bin[k], k + 1, self.missing_bin, leaves
                )
            else:
                _route_numerical(bins, n, self.leaf[k], self.bin[k], k + 1, leaves)

    def add_to(
        self, const uint8_t[:, :] columns, const double[::1] values, double[::1] raw
    ):
        """Add the value of its leaf to each row.

        Parameters
        ----------
        columns : ndarray of uint8 of shape (n_features, n_samples)
            Bins of the rows.
        values : ndarray of shape (n_leaves,)
            Values of the leaves, by number.
        raw : ndarray of shape (n_samples,)
            What to add to.
        """
        cdef Py_ssize_t n = columns.shape[1], task
        cdef Py_ssize_t n_tasks = (n + BLOCK_ROWS - 1) // BLOCK_ROWS

        for task in prange(
            n_tasks, nogil=True, num_threads=min(self.n_threads, n_tasks)
        ):
            self._add_block(
                columns, task * BLOCK_ROWS, min((task + 1) * BLOCK_ROWS, n), values, raw
            )

    def sum_leaves(
        self,
        const uint8_t[:, :] columns,
        const float[:, ::1] gradients,
        uint8_t[::1] leaves,
    ):
        """Find the leaf of each row, and sums over the leaves.

        Parameters
        ----------
        columns : ndarray of uint8 of shape (n_features, n_samples)
            Bins of the rows.
        gradients : ndarray of float32 of shape (n_samples, 2) or (n_samples, 1)
            What to sum: gradients, and hessians unless they are constant.
        leaves : ndarray of uint8 of shape (n_samples,)
            Output: number of the leaf of each row.

        Returns
        -------
        sums : ndarray of shape (n_leaves, 3)
            Sums of gradients and hessians, and number of rows.
        """
        cdef Py_ssize_t n = columns.shape[1], size = BLOCK_ROWS * TASK_BLOCKS, task
        cdef Py_ssize_t n_tasks = (n + size - 1) // size
        cdef double[:, :, ::1] sums = np.zeros((n_tasks, self.n_splits + 1, 3))

        for task in prange(
            n_tasks, nogil=True, num_threads=min(self.n_threads, n_tasks)
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
        cdef Py_ssize_t i, n
        cdef bint constant = gradients.shape[1] == 1
        cdef double* cell

        while start < end:
            n = min(BLOCK_ROWS, end - start)
            self._route_block(columns, start, n, &leaves[start])
            for i in range(start, start + n):
                cell = &sums[leaves[i], 0]
                cell[0] += gradients[i, 0]
                cell[1] += 1.0 if constant else gradients[i, 1]
                cell[2] += 1.0
            start += n

    def add_leaves(
        self, const uint8_t[::1] leaves, const double[::1] values, double[::1] raw
    ):
        """Add the value of its leaf to each row, where leaves are known.

        Parameters
        ----------
        leaves : ndarray of uint8 of shape (n_samples,)
            Number of the leaf of each row.
        values : ndarray of shape (n_leaves,)
            Values of the leaves, by number.
        raw : ndarray of shape (n_samples,)
            What to add to.
        """
        cdef Py_ssize_t i
        cdef int n_threads = self.n_threads if raw.shape[0] > BLOCK_ROWS else 1

        for i in prange(raw.shape[0], nogil=True, num_threads=n_threads):
            raw[i] += values[leaves[i]]

    cdef void _add_block(
        self, const uint8_t[:, :] columns, Py_ssize_t start, Py_ssize_t end,
        const double[::1] values, double[::1] raw
    ) noexcept nogil:
        cdef uint8_t[BLOCK_ROWS] leaves
        cdef Py_ssize_t i

        self._route_block(columns, start, end - start, leaves)
        for i in range(start, end):
            raw[i] += values[leaves[i - start]]
