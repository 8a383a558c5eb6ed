"""Memory of a tree that grows: its nodes, and the rows copied for a subtree."""

import numpy as np

from libc.stdlib cimport free

from sklearn_bandit._core.memory cimport allocate, reallocate
from sklearn_bandit._core.transpose cimport TRANSPOSED_ROWS

cdef enum:
    # Rows of more bytes are copied column by column, too: the features drawn are in as
    # many cache lines of the row.
    WIDE_ROW = 2 * CACHE_LINE


# Asked for once: the conversion is Python code, which turns an interrupt by the user
# into another error.
cdef NodeRecord _example
NODE_RECORD = np.asarray(<NodeRecord[:1]> &_example).dtype


cdef class NodeBuffer:
    """Memory of a tree that grows, to be used for one tree after the other.

    A deep tree has tens of megabytes of nodes, and its copied rows take up to ten;
    fresh memory for each tree would cost a tenth of the time to grow it.
    """

    def __dealloc__(self):
        free(self.nodes)
        free(self.values)
        free(self.origin)

    cdef int reserve_copies(self, Py_ssize_t n_rows, Py_ssize_t stride) except -1:
        """Make room for copied rows; the stride is that of the forest.

        The copies are arrays of numpy, which asks for large pages: to go along columns
        is to go from page to page.
        """
        if n_rows <= self.n_copied:
            return 0
        free(self.origin)
        self.n_copied = 0
        self.transposed = NULL
        self.origin = <uint32_t*> allocate(n_rows, sizeof(uint32_t))
        if self.origin == NULL:
            raise MemoryError
        # Rows are transposed in whole squares: what is behind the last is read, too.
        self.rows_memory = np.empty(
            (n_rows + TRANSPOSED_ROWS, stride), dtype=np.uint8
        ).reshape(-1)
        self.copied = &self.rows_memory[0]
        if stride > WIDE_ROW:
            self.columns_memory = np.empty(
                (stride, transposed_stride(n_rows)), dtype=np.uint8
            ).reshape(-1)
            self.transposed = &self.columns_memory[0]
        self.n_copied = n_rows
        return 0

    cdef int reserve(self, Py_ssize_t n_nodes, Py_ssize_t n_values) noexcept nogil:
        """Make room, keeping what is there; -1 if there is no memory."""
        cdef void* grown

        if n_nodes > self.n_nodes:
            n_nodes = max(n_nodes, 2 * self.n_nodes)
            grown = reallocate(self.nodes, n_nodes, sizeof(NodeRecord))
            if grown == NULL:
                return -1
            self.nodes = <NodeRecord*> grown
            self.n_nodes = n_nodes
        if n_values > self.n_values:
            n_values = max(n_values, 2 * self.n_values)
            grown = reallocate(self.values, n_values, sizeof(double))
            if grown == NULL:
                return -1
            self.values = <double*> grown
            self.n_values = n_values
        return 0
