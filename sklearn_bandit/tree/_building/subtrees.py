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
from sklearn_bandit.tree._parameters import MAX_INT32, cap

from .build import GrownNodes, Growth, finish_tree, grow_nodes

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
    gained : float
        Decrease in impurity by the splits above it.
    n_saved : int
        Its part of the insertions that samples above it have saved; when it is grown,
        its own included.
    root_set : tuple of bytes or None
        Histograms that its root had as a leaf of what is above it.

    Attributes
    ----------
    nodes : structured ndarray
        Its nodes, when it is grown: parents before their children, and the left child
        before the right one.
    values : ndarray of shape (n_nodes, n_values)
        Their predictions.
    height : int
        Depth of its deepest node below its root.
    cost : Cost
        Of the search for its splits.
    subtrees : dict of int to Subtree
        Those that grow in the place of its leaves.
    """

    def __init__(self, ids, depth, seed, gained=0.0, n_saved=0, root_set=None):
        self.ids = ids
        self.depth = depth
        self.seed = seed
        self.gained = gained
        self.n_saved = n_saved
        self.root_set = root_set
        self.subtrees = {}

    def keep(self, grown):
        """Copy the nodes that `grow_nodes` has grown out of the buffer's memory."""
        self.nodes, self.values = grown.nodes.copy(), grown.values.copy()
        self.height, self.cost = grown.depth, grown.cost
        self.n_saved = grown.n_saved

    def join(self):
        """Put the subtrees in the place of leaves, keeping the order of nodes."""
        if not self.subtrees:
            return
        sizes = np.ones(len(self.nodes), dtype=np.intp)
        for i, subtree in self.subtrees.items():
            subtree.join()
            sizes[i] = len(subtree.nodes)
            self.height = max(self.height, subtree.depth - self.depth + subtree.height)
            self.cost += subtree.cost
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

    def grown(self):
        """Return its nodes as `grow_nodes` does."""
        return GrownNodes(self.nodes, self.values, self.height, self.cost)


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
    cost : Cost
        Of the search for its splits.
    """
    subtree = Subtree(training_set.ids(counts, weights), 0, seed)
    grow_subtrees(
        estimator, training_set, [subtree], n_threads, counts=counts, weights=weights
    )
    return finish_tree(training_set, subtree.grown()), subtree.cost


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
        As for `Growth`.
    """
    make_criterion = training_set.criterion_maker(counts, weights)
    total_weight = training_set.total_weight(counts, weights)
    policy, n_features = training_set.policy, training_set.n_features
    smallest = policy.smallest_divided(estimator, n_features)

    def grow(subtree):
        n_rows = len(subtree.ids)
        max_rows = n_rows // 2 if n_rows >= smallest else 0
        buffer = training_set.take_buffer()
        criterion = make_criterion()
        n_kept_sets = policy.count_kept_sets(
            n_features, criterion.n_channels, n_rows, training_set.n_samples
        )
        growth = Growth(
            criterion,
            subtree.ids,
            total_weight,
            subtree.seed,
            start_depth=subtree.depth,
            min_rows=max_rows + 1,
            is_subset=is_subset,
            gained=subtree.gained,
            n_saved=subtree.n_saved,
            n_kept_sets=n_kept_sets if max_rows else 0,
            root_set=subtree.root_set,
        )
        grown = grow_nodes(estimator, training_set, growth, buffer)
        subtree.root_set = None
        subtree.keep(grown)
        training_set.buffers.append(buffer)
        if max_rows:
            divide(estimator, subtree, max_rows, grown.sets)

    new = list(subtrees)
    while new:
        # The largest first: a small one at the end keeps no thread waiting.
        new.sort(key=lambda subtree: -len(subtree.ids))
        run_tasks(grow, new, start_threads(n_threads, len(new)))
        new = [subtree for grown in new for subtree in grown.subtrees.values()]
    for subtree in subtrees:
        subtree.join()


def divide(estimator, subtree, max_rows, sets):
    """Make subtrees of the leaves with at most `max_rows` rows that can be split.

    The rows of leaves are in the order of leaves. Below a node that no sample decided,
    leaves have histograms to subtract from: filled again by the subtrees, on targets
    that are noise, these made growing in one thread take 1.8 to 2.4 times as long
    (`forest.single_tree`).
    """
    nodes = subtree.nodes
    is_leaf = nodes["left_child"] < 0
    ends = np.cumsum(np.where(is_leaf, nodes["n_node_samples"], 0))
    depths = subtree.depth + node_depths(nodes)
    gained = subtree.gained + gains_above(nodes)
    is_open = is_leaf & (nodes["n_node_samples"] <= max_rows)
    is_open &= nodes["impurity"] > EPSILON
    if estimator.max_depth is not None:
        is_open &= depths < cap(estimator.max_depth, MAX_INT32)
    random_state = check_random_state(subtree.seed)
    for i in np.flatnonzero(is_open):
        ids = subtree.ids[ends[i] - nodes["n_node_samples"][i] : ends[i]]
        subtree.subtrees[i] = Subtree(
            ids,
            int(depths[i]),
            random_state.randint(MAX_INT),
            float(gained[i]),
            subtree.n_saved * len(ids) // len(subtree.ids),
            sets.get(i),
        )


def node_depths(nodes):
    """Depth of each node; parents come before their children."""
    depths = np.zeros(len(nodes), dtype=np.intp)
    for i in np.flatnonzero(nodes["left_child"] >= 0):
        depths[nodes["left_child"][i]] = depths[i] + 1
        depths[nodes["right_child"][i]] = depths[i] + 1
    return depths


def gains_above(nodes):
    """Decrease in impurity by all splits above each node."""
    gains = np.zeros(len(nodes))
    total = nodes["weighted_n_node_samples"] * nodes["impurity"]
    for i in np.flatnonzero(nodes["left_child"] >= 0):
        children = [nodes["left_child"][i], nodes["right_child"][i]]
        decrease = total[i] - total[children].sum()
        gains[children] = gains[i] + decrease / nodes["weighted_n_node_samples"][i]
    return gains
