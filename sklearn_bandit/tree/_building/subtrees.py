"""Grow a single tree in several threads, subtree by subtree.

A tree is grown from its root until nodes have at most half of its rows. These nodes are
the roots of its subtrees: each is grown apart from the others, in the same way. Which
nodes these are depends on the samples alone, and every subtree has random numbers of
its own, so the tree is the same for any number of threads.
"""

import numpy as np
from sklearn.utils import check_random_state

from sklearn_bandit._compat import MAX_INT
from sklearn_bandit._core.tasks import run_tasks
from sklearn_bandit._core.thread_start import start_threads
from sklearn_bandit.tree._parameters import MAX_INT32, cap, count_drawn

from .build import (
    finish_tree,
    grow_nodes,
    samples_nodes,
    smallest_sampled,
)

# Values that a subtree must have to be divided again. Dividing covertype's subtrees of
# 33,000 rows of 54 features made growing a tenth slower than dividing those of 131,000
# rows only: each has to find out again which features are constant.
MIN_DIVIDED_VALUES = 1 << 23

# Impurities below are rounding errors, as in scikit-learn's builders.
EPSILON = np.finfo(np.float64).eps


class Subtree:
    """A part of a tree.

    Parameters
    ----------
    ids : ndarray of uint32
        Its rows; changed while it grows.
    depth : int
        Depth of its root in the tree.
    seed : int
        Of its random choices.

    Attributes
    ----------
    nodes : structured ndarray
        Its nodes, when it is grown: parents before their children, and the left child
        before the right one.
    values : ndarray of shape (n_nodes, n_values)
        Their predictions.
    height : int
        Depth of its deepest node below its root.
    n_insertions : int
        Insertions into histograms that it took.
    subtrees : dict of int to Subtree
        Those that grow in the place of its leaves.
    """

    def __init__(self, ids, depth, seed):
        self.ids = ids
        self.depth = depth
        self.seed = seed
        self.subtrees = {}

    def join(self):
        """Put the subtrees in the place of leaves, keeping the order of nodes."""
        if not self.subtrees:
            return
        sizes = np.ones(len(self.nodes), dtype=np.intp)
        for i, subtree in self.subtrees.items():
            subtree.join()
            sizes[i] = len(subtree.nodes)
            self.height = max(self.height, subtree.depth - self.depth + subtree.height)
            self.n_insertions += subtree.n_insertions
        places = np.cumsum(sizes) - sizes
        # Zeros: what is between the fields goes into model files as well.
        nodes = np.zeros(sizes.sum(), dtype=self.nodes.dtype)
        values = np.empty((len(nodes), self.values.shape[1]))
        nodes[places] = self.nodes
        values[places] = self.values
        inner = places[self.nodes["left_child"] >= 0]
        for name in ("left_child", "right_child"):
            nodes[name][inner] = places[nodes[name][inner]]
        for i, subtree in self.subtrees.items():
            part = slice(places[i], places[i] + len(subtree.nodes))
            nodes[part] = subtree.nodes
            values[part] = subtree.values
            inner = places[i] + np.flatnonzero(subtree.nodes["left_child"] >= 0)
            for name in ("left_child", "right_child"):
                nodes[name][inner] += places[i]
        self.nodes, self.values, self.subtrees = nodes, values, {}


def grow_in_subtrees(
    estimator, training_set, seed, n_threads, counts=None, weights=None
):
    """Grow the tree of one estimator in several threads.

    Parameters
    ----------
    estimator, training_set, seed, counts, weights
        As for `grow_tree`.
    n_threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    tree : sklearn.tree._tree.Tree
        The tree.
    n_insertions : int
        Insertions into histograms that were made.
    """
    subtree = Subtree(training_set.ids(counts, weights), 0, seed)
    grow_subtrees(
        estimator, training_set, [subtree], n_threads, counts=counts, weights=weights
    )
    tree = finish_tree(training_set, subtree.nodes, subtree.values, subtree.height)
    return tree, subtree.n_insertions


def grow_subtrees(
    estimator,
    training_set,
    subtrees,
    n_threads,
    *,
    counts=None,
    weights=None,
    is_subset=False,
):
    """Grow subtrees, and the subtrees of these.

    Parameters
    ----------
    estimator, training_set, counts, weights
        As for `grow_tree`.
    subtrees : list of Subtree
        What to grow.
    n_threads : int
        Threads to use; the result does not depend on it.
    is_subset : bool
        As for `grow_nodes`.
    """
    make_criterion = training_set.criterion_maker(counts, weights)
    total_weight = training_set.total_weight(counts, weights)
    smallest = smallest_divided(estimator, training_set.n_features)

    def grow(subtree):
        n_rows = len(subtree.ids)
        max_rows = n_rows // 2 if n_rows >= smallest else 0
        buffer = training_set.take_buffer()
        nodes, values, subtree.height, subtree.n_insertions = grow_nodes(
            estimator,
            training_set,
            make_criterion(),
            subtree.ids,
            total_weight,
            subtree.seed,
            buffer,
            start_depth=subtree.depth,
            min_rows=max_rows + 1,
            is_subset=is_subset,
        )
        subtree.nodes, subtree.values = nodes.copy(), values.copy()
        training_set.buffers.append(buffer)
        if max_rows:
            divide(estimator, subtree, max_rows)

    new = list(subtrees)
    while new:
        # The largest first: a small one at the end keeps no thread waiting.
        new.sort(key=lambda subtree: -len(subtree.ids))
        run_tasks(grow, new, start_threads(min(n_threads, len(new))))
        new = [subtree for grown in new for subtree in grown.subtrees.values()]
    for subtree in subtrees:
        subtree.join()


def can_divide(estimator, n_samples, n_features, n_channels):
    """Whether a tree can be grown subtree by subtree, and loses nothing by it.

    Bounds and budgets are the whole tree's. The exact search of all features subtracts
    a child's histograms from its parent's: subtrees would have to fill theirs again.
    """
    return (
        estimator.solver in ("mab", "auto")
        and samples_nodes(estimator, n_samples, n_features, n_channels)
        and estimator.criterion != "absolute_error"
        and estimator.max_leaf_nodes is None
        and estimator.min_impurity_decrease == 0.0
        and estimator.monotonic_cst is None
        and estimator.max_insertions is None
    )


def smallest_divided(estimator, n_features):
    """Return the number of rows from which on a subtree has subtrees.

    Nodes above these must be too large to be copied (see `Builder`), so that the rows
    stay in order: large enough to be sampled.
    """
    n_drawn = count_drawn(estimator, n_features)
    n_sampled = smallest_sampled(estimator, n_drawn, n_features)
    return max(MIN_DIVIDED_VALUES // n_features, 2 * n_sampled)


def divide(estimator, subtree, max_rows):
    """Make subtrees of the leaves with at most `max_rows` rows that can be split.

    The rows of leaves are in the order of leaves.
    """
    nodes = subtree.nodes
    is_leaf = nodes["left_child"] < 0
    ends = np.cumsum(np.where(is_leaf, nodes["n_node_samples"], 0))
    depths = subtree.depth + node_depths(nodes)
    is_open = is_leaf & (nodes["n_node_samples"] <= max_rows)
    is_open &= nodes["impurity"] > EPSILON
    if estimator.max_depth is not None:
        is_open &= depths < cap(estimator.max_depth, MAX_INT32)
    random_state = check_random_state(subtree.seed)
    for i in np.flatnonzero(is_open):
        ids = subtree.ids[ends[i] - nodes["n_node_samples"][i] : ends[i]]
        subtree.subtrees[i] = Subtree(
            ids, int(depths[i]), random_state.randint(MAX_INT)
        )


def node_depths(nodes):
    """Depth of each node; parents come before their children."""
    depths = np.zeros(len(nodes), dtype=np.intp)
    for i in np.flatnonzero(nodes["left_child"] >= 0):
        depths[nodes["left_child"][i]] = depths[i] + 1
        depths[nodes["right_child"][i]] = depths[i] + 1
    return depths
