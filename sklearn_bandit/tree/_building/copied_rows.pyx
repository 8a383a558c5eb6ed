"""The rows of a node, copied together: its subtree is grown on the copy.

Rows that are wide are also copied column by column (see ``node_buffer.pyx``).
"""

from sklearn_bandit._core.memory cimport CACHE_LINE
from sklearn_bandit._core.simd cimport prefetch
from sklearn_bandit._core.transpose cimport TRANSPOSED_ROWS, transpose
from sklearn_bandit.tree._common cimport ROWS_AHEAD, copy_row

from .node_buffer cimport transposed_stride

cdef enum:
    # Bytes of a block of copied rows. Rows that lie together are faster even where they
    # exceed the second-level cache: against 256 KB, 1 MB saved a quarter of the time of
    # a tree on covertype (64 bytes a row) and on MNIST (784), 4 MB another 7% on MNIST.
    COPY_BYTES = 1 << 22
    # Within that: bytes of narrow rows, or else rows.
    NARROW_BYTES = 1 << 20
    COPY_ROWS = 16000
    # Larger nodes have histograms to subtract from instead, where there are any.
    SUBTRACT_ROWS = 8000


def count_copied(Py_ssize_t stride, has_sets):
    """Return the rows of the largest node that is copied, where no other rule says so.

    Parameters
    ----------
    stride : int
        Bytes of a row.
    has_sets : bool
        Whether there are histograms to subtract from.

    Returns
    -------
    int
    """
    cdef Py_ssize_t n_rows = max(NARROW_BYTES // stride, <Py_ssize_t> COPY_ROWS)

    n_rows = min(COPY_BYTES // stride, n_rows)
    return min(n_rows, <Py_ssize_t> SUBTRACT_ROWS) if has_sets else n_rows


cdef class CopiedRows:
    """Room for the rows of one node after the other.

    Parameters
    ----------
    buffer : NodeBuffer
        Where the rows go.
    n_rows : int
        Rows of the largest node.
    stride : int
        Bytes of a row.
    """

    def __init__(self, NodeBuffer buffer, n_rows, stride):
        buffer.reserve_copies(n_rows, stride)
        self.buffer = buffer
        self.n_rows = n_rows
        self.rows = buffer.copied
        self.transposed = buffer.transposed
        self.origin = buffer.origin

    cdef void copy(
        self, const Block* source, uint32_t* ids, Py_ssize_t n, Block* out
    ) noexcept nogil:
        """Copy some rows together; the targets are the caller's to copy."""
        cdef Py_ssize_t i, start, stride = source.stride

        for i in range(n):
            if i + ROWS_AHEAD < n:
                # All of a wide row: the processor predicts little of it by itself.
                start = 0
                while start < stride:
                    prefetch(
                        source.rows + <Py_ssize_t> ids[i + ROWS_AHEAD] * stride + start
                    )
                    start += CACHE_LINE
            copy_row(
                self.rows + i * stride, source.rows + <Py_ssize_t> ids[i] * stride,
                stride,
            )
            if self.transposed != NULL and (i + 1) % TRANSPOSED_ROWS == 0:
                start = i + 1 - TRANSPOSED_ROWS
                transpose(
                    self.rows + start * stride, stride, TRANSPOSED_ROWS, stride,
                    self.transposed + start, transposed_stride(n),
                )
        if self.transposed != NULL:
            out.transposed_stride = transposed_stride(n)
            start = n // TRANSPOSED_ROWS * TRANSPOSED_ROWS
            if start < n:
                transpose(
                    self.rows + start * stride, stride, TRANSPOSED_ROWS, stride,
                    self.transposed + start, transposed_stride(n),
                )
        out.rows = self.rows
        out.columns = NULL
        out.transposed = self.transposed
        out.origin = self.origin
        for i in range(n):
            self.origin[i] = ids[i]
