"""Which features are tried in a node: see ``feature_choice.pyx``."""

from libc.stdint cimport uint8_t

cdef class FeatureChoice:
    """Features that are tried in a node: those allowed, or a draw of them."""

    cdef uint8_t[:, ::1] tried      # features to try in the left, right child
    cdef Py_ssize_t n_features
    cdef double max_features
    cdef list interaction_cst
    cdef dict allowed               # node: (features, groups) if constrained

    cdef int start(self) except -1

    cdef int mark_live(
        self,
        Py_ssize_t node,
        const uint8_t[::1] parent,  # features that were live in its parent, or None
        uint8_t[::1] live,
    ) except -1

    cdef int draw(self, Py_ssize_t node, Py_ssize_t side, rng) except -1

    cdef int constrain(
        self, Py_ssize_t node, Py_ssize_t feature, Py_ssize_t left, Py_ssize_t right
    ) except -1
