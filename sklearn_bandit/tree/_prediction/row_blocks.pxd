"""Samples, dense or sparse, as blocks of rows of float32: see ``row_blocks.pyx``."""

cdef extern from "walk.h":
    ctypedef struct Rows "skb_rows":
        const float* x
        Py_ssize_t stride
        int n
        int has_nan


cdef class RowBlocks:
    """Samples that are read block by block, by several threads at a time."""

    cdef readonly Py_ssize_t n_rows
    cdef readonly Py_ssize_t n_features
    cdef readonly Py_ssize_t block_rows     # rows of a block; the last may have fewer
    cdef readonly Py_ssize_t n_blocks
    cdef readonly int n_threads
    cdef bint is_sparse
    cdef bint is_copied                     # whether rows pass through a buffer
    cdef const float[:, :] dense
    cdef const float[::1] data              # of a matrix by compressed rows
    cdef const int[::1] indices
    cdef const int[::1] starts
    cdef float[:, ::1] buffers              # of each thread; zeros if sparse
    cdef unsigned char[::1] not_finite      # whether a thread has read such a value

    cdef void load(self, Py_ssize_t block, int thread, Rows* rows) noexcept nogil
    cdef void release(self, Py_ssize_t block, int thread) noexcept nogil
