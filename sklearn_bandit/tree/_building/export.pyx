"""Handing a grown tree over to scikit-learn.

Nodes are assigned by the name of their fields, never by the layout of the structure, so
that a field that a later scikit-learn adds keeps its zero, unless it is known here.
``Tree.__setstate__`` trusts what it is given; the indices are therefore checked here.
"""

import numpy as np

from sklearn_bandit import _compat

# Kinds of split where scikit-learn's nodes tell them.
LEAF = -1
NUMERICAL = 0


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
    n_outputs = len(n_classes)
    tree = _compat.make_tree(n_features, n_classes, n_outputs)
    tree.__setstate__(
        {
            "max_depth": max_depth,
            "node_count": len(nodes),
            "nodes": to_records(nodes, _compat.NODE_DTYPE),
            "values": values.reshape(len(nodes), n_outputs, n_classes.max()),
        }
    )
    return tree


def to_records(nodes, dtype):
    """Return nodes with the fields of scikit-learn's.

    Parameters
    ----------
    nodes : structured ndarray of shape (n_nodes,)
        Nodes as they were grown.
    dtype : numpy.dtype
        That of scikit-learn's nodes.

    Returns
    -------
    records : structured ndarray of shape (n_nodes,)
        The same nodes, not copied if they have that type.
    """
    if nodes.dtype == dtype:
        return nodes
    records = np.zeros(len(nodes), dtype=dtype)
    for name in nodes.dtype.names:
        records[name] = nodes[name]
    if "split_kind" in dtype.names:
        records["split_kind"] = np.where(nodes["left_child"] < 0, LEAF, NUMERICAL)
    return records


def check_nodes(nodes, Py_ssize_t n_features):
    """Raise unless children come after their parents and features exist."""
    cdef const Py_ssize_t[:] lefts = nodes["left_child"]
    cdef const Py_ssize_t[:] rights = nodes["right_child"]
    cdef const Py_ssize_t[:] features = nodes["feature"]
    cdef Py_ssize_t i, n_nodes = lefts.shape[0], n_inner = 0
    cdef bint is_fine = True

    with nogil:
        for i in range(n_nodes):
            if lefts[i] < 0:
                continue
            n_inner += 1
            is_fine &= i < lefts[i] < n_nodes
            is_fine &= i < rights[i] < n_nodes
            is_fine &= 0 <= features[i] < n_features
    if not is_fine or n_nodes != 2 * n_inner + 1:
        raise RuntimeError("The tree is malformed; please report this as a bug.")
