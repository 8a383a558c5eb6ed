"""Handing a grown tree over to scikit-learn.

Nodes are assigned by the name of their fields, never by the layout of the structure, so
that a field that a later scikit-learn adds keeps its zero. ``Tree.__setstate__`` trusts
what it is given; the indices are therefore checked here.
"""

import numpy as np

from sklearn_bandit._compat import NODE_DTYPE, Tree


def to_sklearn_tree(nodes, values, max_depth, n_features, n_classes):
    """Make a genuine ``sklearn.tree._tree.Tree``.

    Parameters
    ----------
    nodes : structured ndarray of shape (n_nodes,)
        Nodes with the fields of scikit-learn's nodes.
    values : ndarray of shape (n_nodes, n_outputs * max_n_classes)
        Class fractions or means.
    max_depth : int
        Depth of the deepest node.
    n_features : int
        Number of features of the samples.
    n_classes : ndarray of shape (n_outputs,), intp
        Number of classes of each output; 1 for regression.

    Returns
    -------
    sklearn.tree._tree.Tree
        The tree.
    """
    check_nodes(nodes, n_features)
    records = nodes
    if nodes.dtype != NODE_DTYPE:
        records = np.zeros(len(nodes), dtype=NODE_DTYPE)
        for name in nodes.dtype.names:
            records[name] = nodes[name]
    n_outputs = len(n_classes)
    tree = Tree(n_features, n_classes, n_outputs)
    tree.__setstate__(
        {
            "max_depth": max_depth,
            "node_count": len(nodes),
            "nodes": records,
            "values": values.reshape(len(nodes), n_outputs, n_classes.max()),
        }
    )
    return tree


def check_nodes(nodes, n_features):
    """Raise unless children come after their parents and features exist."""
    left, right = nodes["left_child"], nodes["right_child"]
    inner = np.flatnonzero(left >= 0)
    left, right, feature = left[inner], right[inner], nodes["feature"][inner]
    if (
        len(nodes) != 2 * len(inner) + 1
        or (left <= inner).any()
        or (right <= inner).any()
        or max(left.max(initial=0), right.max(initial=0)) >= len(nodes)
        or feature.min(initial=0) < 0
        or feature.max(initial=0) >= n_features
    ):
        raise RuntimeError("The tree is malformed; please report this as a bug.")
