"""A tree of scikit-learn as its arrays, and what packing asks of its nodes.

Thresholds become float32. Rows are float32, so ``x <= t`` is the same for a double t
and for the largest float32 that is not above t. Rounding to nearest is not enough.
"""

import numpy as np

from libc.math cimport INFINITY, nextafterf


cdef class SourceTree:
    """A tree of scikit-learn, to be packed.

    Parameters
    ----------
    tree : Tree
        The tree, as a fitted estimator has it in ``tree_``.
    """

    def __init__(self, tree):
        self.n_nodes = tree.node_count
        self.n_features = tree.n_features
        self.left = tree.children_left
        self.right = tree.children_right
        self.features = tree.feature
        self.thresholds = tree.threshold
        self.weights = tree.weighted_n_node_samples
        self.missing_left = np.asarray(tree.missing_go_to_left).view(np.uint8)
        self.values = tree.value
        self.payloads = np.empty(self.n_nodes, dtype=np.uint32)

    cdef bint is_valid(self, Py_ssize_t node) noexcept nogil:
        """Whether the feature and the children of an inner node exist."""
        return (
            0 <= self.features[node] < self.n_features
            and 0 < self.left[node] < self.n_nodes
            and 0 < self.right[node] < self.n_nodes
        )

    cdef float threshold(self, Py_ssize_t node) noexcept nogil:
        """Return the largest float32 that is not above the threshold of a node."""
        cdef float rounded = <float> self.thresholds[node]

        if rounded != rounded:
            # scikit-learn 1.6 has such thresholds, which no value is below.
            return -INFINITY
        if <double> rounded > self.thresholds[node]:
            return nextafterf(rounded, -INFINITY)
        return rounded
