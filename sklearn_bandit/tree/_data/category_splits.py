"""Splits by sets of categories, as scikit-learn's own trees have them from 1.10 on.

Trees here are grown on numbers that stand for categories, and a node cuts their order.
Where scikit-learn's nodes can hold a set of categories, the same tree can be written
with sets: category c goes left if bit ``c % 32`` of word ``c // 32`` is set, and what
is missing or unknown follows ``missing_go_to_left``. Its samples have the places of
categories among the sorted ones, as scikit-learn's do, instead of numbers from targets.
"""

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from sklearn_bandit import _compat

# Of a set in scikit-learn's nodes.
N_WORDS, N_BITS = 8, 32
MAX_CATEGORIES = N_WORDS * N_BITS


class CategorySplits:
    """Trees with sets of categories in the place of thresholds.

    Parameters
    ----------
    encoder : CategoryEncoder
        The numbers of the categories.

    Attributes
    ----------
    n_categories : ndarray of intp of shape (n_features,)
        Number of categories of each feature. -1 for numerical features, and for those
        with more categories than a set can hold, which keep their numbers.
    """

    def __init__(self, encoder):
        if not _compat.has_category_splits():
            raise ValueError(
                "Splits by sets of categories need scikit-learn 1.10 or later."
            )
        self.encoder = encoder
        self.n_categories = np.full(len(encoder.is_categorical_), -1, dtype=np.intp)
        for feature, categories in encoder.categories_.items():
            if len(categories) <= MAX_CATEGORIES:
                self.n_categories[feature] = len(categories)

    def transform(self, X):
        """Return samples as such trees take them; NaN for what is not known."""
        return self.encoder.transform(X, skip=np.flatnonzero(self.n_categories >= 0))

    def convert(self, tree):
        """Return a tree with sets that sends every sample where this one does.

        Parameters
        ----------
        tree : sklearn.tree._tree.Tree
            A tree on the numbers of the encoder.

        Returns
        -------
        sklearn.tree._tree.Tree
            The same tree on what `transform` returns.
        """
        state = tree.__getstate__()
        nodes = state["nodes"].copy()
        is_inner = nodes["left_child"] >= 0
        kind = split_kind_of_sets()
        for feature in np.flatnonzero(self.n_categories >= 0):
            chosen = np.flatnonzero(is_inner & (nodes["feature"] == feature))
            nodes["left_cat_bitset"][chosen] = left_sets(
                self.encoder.codes_[feature],
                nodes["threshold"][chosen],
                nodes["missing_go_to_left"][chosen],
            )
            nodes["threshold"][chosen] = 0.0
            if kind is not None:
                nodes["split_kind"][chosen] = kind
        converted = _compat.make_tree(
            tree.n_features, tree.n_classes, tree.n_outputs, self.n_categories
        )
        converted.__setstate__({**state, "nodes": nodes})
        return converted


def split_kind_of_sets():
    """Return what the nodes of scikit-learn's trees call a split by a set.

    None where nodes do not tell. It is read from a tree of scikit-learn's own, which
    has no other split to make.
    """
    if "split_kind" not in _compat.NODE_DTYPE.names:
        return None
    tree = DecisionTreeClassifier(categorical_features=[0], max_depth=1)
    tree.fit([[0.0], [1.0]], [0, 1])
    return int(tree.tree_.__getstate__()["nodes"]["split_kind"][0])


def left_sets(codes, thresholds, missing_go_to_left):
    """Return the sets of categories that thresholds send to the left.

    Parameters
    ----------
    codes : ndarray of shape (n_categories,)
        The number of each category; NaN is missing to the trees.
    thresholds : ndarray of shape (n_nodes,)
        Thresholds on these numbers.
    missing_go_to_left : ndarray of shape (n_nodes,)
        Whether missing values go left.

    Returns
    -------
    ndarray of uint32 of shape (n_nodes, 8)
        The sets.
    """
    codes = codes.astype(np.float32)  # as trees compare them
    is_left = codes <= thresholds[:, None]
    is_left |= np.isnan(codes) & (missing_go_to_left[:, None] != 0)
    bits = np.zeros((len(thresholds), MAX_CATEGORIES), dtype=np.uint64)
    bits[:, : len(codes)] = is_left
    bits = bits.reshape(-1, N_WORDS, N_BITS) << np.arange(N_BITS, dtype=np.uint64)
    return bits.sum(axis=2).astype(np.uint32)
