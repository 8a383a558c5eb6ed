"""Samples, dense or sparse, as blocks of rows of float32.

Rows that are contiguous are read where they are. Others, and sparse ones, are copied a
block at a time; a block is small enough to stay in the second-level cache.
"""

import numpy as np
from scipy.sparse import issparse

cdef extern from "walk.h":
    bint any_not_finite "skb_any_not_finite"(
        const float* x, Py_ssize_t n
    ) noexcept nogil

# Floats of a block of rows that are copied.
cdef Py_ssize_t BUFFER_FLOATS = 1 << 18


cdef class RowBlocks:
    """Samples that are read block by block, by several threads at a time.

    Parameters
    ----------
    X : ndarray of float32 or CSR matrix of float32 and 32-bit indices
        The samples.
    block_rows : int
        Rows of a block, if they need not be copied.
    n_threads : int
        Threads that are there.
    """

    def __cinit__(self, X, Py_ssize_t block_rows, int n_threads):
        cdef Py_ssize_t share

        self.n_rows, self.n_features = X.shape
        self.is_sparse = issparse(X)
        if self.is_sparse:
            self.is_copied = True
            self.data = X.data
            self.indices = X.indices
            self.starts = X.indptr
        else:
            self.dense = X
            self.is_copied = (
                self.dense.strides[1] != sizeof(float)
                or self.dense.strides[0] % sizeof(float) != 0
            )
        if self.is_copied:
            block_rows = min(block_rows, BUFFER_FLOATS // max(1, self.n_features))
        # Every thread is to have a block.
        share = (self.n_rows + n_threads - 1) // n_threads
        self.block_rows = max(1, min(block_rows, share))
        self.n_blocks = (self.n_rows + self.block_rows - 1) // self.block_rows
        self.n_threads = max(1, min(n_threads, self.n_blocks))
        self.not_finite = np.zeros(self.n_threads, dtype=np.uint8)
        if self.is_copied:
            self.buffers = np.zeros(
                (self.n_threads, self.block_rows * self.n_features), dtype=np.float32
            )

    @property
    def is_finite(self):
        """Whether no value of the dense rows read so far is missing or infinite."""
        return not np.any(self.not_finite)

    cdef void load(self, Py_ssize_t block, int thread, Rows* rows) noexcept nogil:
        """Make the rows of a block ready to be read."""
        cdef Py_ssize_t start = block * self.block_rows, i, j
        cdef float* buffer

        rows.n = <int> min(self.block_rows, self.n_rows - start)
        rows.has_nan = False
        if not self.is_copied:
            rows.x = &self.dense[start, 0]
            rows.stride = self.dense.strides[0] // <Py_ssize_t> sizeof(float)
            for i in range(rows.n):
                if any_not_finite(rows.x + i * rows.stride, self.n_features):
                    rows.has_nan = True
                    self.not_finite[thread] = True
                    break
            return
        buffer = &self.buffers[thread, 0]
        rows.x = buffer
        rows.stride = self.n_features
        if self.is_sparse:
            for i in range(rows.n):
                for j in range(self.starts[start + i], self.starts[start + i + 1]):
                    buffer[i * self.n_features + self.indices[j]] = self.data[j]
            return
        for j in range(self.n_features):
            for i in range(rows.n):
                buffer[i * self.n_features + j] = self.dense[start + i, j]
        if any_not_finite(buffer, rows.n * self.n_features):
            rows.has_nan = True
            self.not_finite[thread] = True

    cdef void release(self, Py_ssize_t block, int thread) noexcept nogil:
        """Put zeros back where a sparse block had values."""
        cdef Py_ssize_t start = block * self.block_rows, end, i, j
        cdef float* buffer

        if not self.is_sparse:
            return
        buffer = &self.buffers[thread, 0]
        end = min(start + self.block_rows, self.n_rows)
        for i in range(start, end):
            for j in range(self.starts[i], self.starts[i + 1]):
                buffer[(i - start) * self.n_features + self.indices[j]] = 0.0
