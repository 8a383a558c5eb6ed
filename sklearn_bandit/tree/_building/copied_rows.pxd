"""The rows of a node, copied together: see ``copied_rows.pyx``."""

from libc.stdint cimport uint8_t, uint32_t

from sklearn_bandit.tree._common cimport Block

from .node_buffer cimport NodeBuffer


cdef class CopiedRows:
    cdef readonly Py_ssize_t n_rows         # rows there is room for
    cdef NodeBuffer buffer                  # whose memory these three are:
    cdef uint8_t* rows
    cdef uint8_t* transposed                # the same by columns, if they are wide
    cdef uint32_t* origin                   # numbers of the rows among all samples

    cdef void copy(
        self, const Block* source, uint32_t* ids, Py_ssize_t n, Block* out
    ) noexcept nogil
