"""A tree of scikit-learn as its arrays: see ``source_tree.pyx``."""

from libc.stdint cimport uint8_t, uint32_t


cdef class SourceTree:
    """A tree of scikit-learn, to be packed."""

    cdef Py_ssize_t n_nodes
    cdef Py_ssize_t n_features
    cdef const Py_ssize_t[:] left
    cdef const Py_ssize_t[:] right
    cdef const Py_ssize_t[:] features
    cdef const double[:] thresholds
    cdef const double[:] weights            # of the training samples of each node
    cdef const uint8_t[:] missing_left
    cdef const double[:, :, ::1] values
    cdef uint32_t[::1] payloads             # of the leaves; filled by `LeafValues`

    cdef bint is_valid(self, Py_ssize_t node) noexcept nogil
    cdef float threshold(self, Py_ssize_t node) noexcept nogil
