"""Memory of a tree that grows: see ``node_buffer.pyx``."""

from libc.stdint cimport uint8_t, uint32_t

from sklearn_bandit._core.memory cimport CACHE_LINE


cdef struct NodeRecord:
    # The fields of a node of scikit-learn's Tree, by their names there.
    Py_ssize_t left_child
    Py_ssize_t right_child
    Py_ssize_t feature
    double threshold
    double impurity
    Py_ssize_t n_node_samples
    double weighted_n_node_samples
    uint8_t missing_go_to_left


cdef inline Py_ssize_t transposed_stride(Py_ssize_t n) noexcept nogil:
    """Bytes from a column to the next: an odd number of cache lines.

    Then neighbouring columns do not compete for the same places in the cache.
    """
    return ((n + CACHE_LINE - 1) // CACHE_LINE | 1) * CACHE_LINE


cdef class NodeBuffer:
    cdef NodeRecord* nodes
    cdef double* values
    cdef uint8_t* copied                    # rows that lie together,
    cdef uint8_t* transposed                    # the same by columns, if they are wide
    cdef uint32_t* origin                   # and their numbers among all samples
    cdef uint8_t[::1] rows_memory           # where the copied rows
    cdef uint8_t[::1] columns_memory        # and columns are
    cdef Py_ssize_t n_nodes                 # room: nodes,
    cdef Py_ssize_t n_values                # numbers in their predictions,
    cdef Py_ssize_t n_copied                # and copied rows

    cdef int reserve_copies(self, Py_ssize_t n_rows, Py_ssize_t stride) except -1
    cdef int reserve(self, Py_ssize_t n_nodes, Py_ssize_t n_values) noexcept nogil
