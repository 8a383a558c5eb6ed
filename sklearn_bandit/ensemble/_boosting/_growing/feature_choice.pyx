"""Which features are tried in a node.

Interaction constraints say which features may occur together on a path; of those that
are allowed in a node, a part may be drawn.
"""

import numpy as np

from libc.stdint cimport uint8_t


cdef class FeatureChoice:
    """Features that are tried in a node: those allowed, or a draw of them.

    Parameters
    ----------
    n_features : int
        Number of features.
    max_features : float
        Share of the features that are tried in each node.
    interaction_cst : list of set or None
        Features that may occur together on a path.
    """

    def __cinit__(self, Py_ssize_t n_features, double max_features, interaction_cst):
        self.n_features = n_features
        self.max_features = max_features
        self.interaction_cst = interaction_cst
        self.tried = np.ones((2, n_features), dtype=np.uint8)
        self.allowed = {}

    cdef int start(self) except -1:
        """Start a tree: in its root all groups are allowed."""
        self.allowed = {}
        if self.interaction_cst is not None:
            self.allowed[0] = (
                _as_array(set().union(*self.interaction_cst)),
                range(len(self.interaction_cst)),
            )
        return 0

    cdef int mark_live(
        self, Py_ssize_t node, const uint8_t[::1] parent, uint8_t[::1] live
    ) except -1:
        """Start with the features that were live in the parent and are allowed."""
        if parent is None:
            live[:] = 1
        else:
            live[:] = parent
        if self.interaction_cst is not None:
            mask = np.zeros(self.n_features, dtype=np.uint8)
            mask[self.allowed[node][0]] = 1
            np.asarray(live)[:] &= mask
        return 0

    cdef int draw(self, Py_ssize_t node, Py_ssize_t side, rng) except -1:
        """Mark the features to try in a node, which is the left or right child."""
        if self.max_features == 1.0 and self.interaction_cst is None:
            self.tried[side, :] = 1
            return 0
        features = np.arange(self.n_features)
        if self.interaction_cst is not None:
            features = self.allowed[node][0]
        mask = np.ones(len(features), dtype=bool)
        if self.max_features < 1.0:
            mask[max(1, int(np.ceil(self.max_features * len(features)))):] = False
            rng.shuffle(mask)
        self.tried[side, :] = 0
        np.asarray(self.tried)[side, features[mask]] = 1
        return 0

    cdef int constrain(
        self, Py_ssize_t node, Py_ssize_t feature, Py_ssize_t left, Py_ssize_t right
    ) except -1:
        """Find the features that the children of a split node may be split on."""
        if self.interaction_cst is None:
            return 0
        features, groups = set(), []
        for group in self.allowed[node][1]:
            if feature in self.interaction_cst[group]:
                groups.append(group)
                features.update(self.interaction_cst[group])
        self.allowed[left] = self.allowed[right] = (_as_array(features), groups)
        return 0


def _as_array(features):
    """Features of a set, in its order, which is that of scikit-learn's draws."""
    return np.fromiter(features, dtype=np.uint32, count=len(features))
