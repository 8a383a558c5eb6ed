"""Grow a single tree in several threads, limb by limb.

A tree is grown from its root until nodes have at most half of its rows. These nodes are
its limbs: each is grown apart from the others, in the same way. What is a limb depends
on the samples alone, and every limb has random numbers of its own, so the tree is the
same for any number of threads.
"""

import numpy as np
from sklearn.utils import check_random_state

from sklearn_bandit._compat import MAX_INT
from sklearn_bandit._core.tasks import run_tasks
from sklearn_bandit._core.thread_start import start_threads

from .build import (
    MAX_INT32,
    cap,
    count_drawn,
    finish_tree,
    grow_nodes,
    samples_nodes,
    smallest_sampled,
)

# Values that a limb must have for limbs of its own. On covertype, limbs of limbs from
# 33,000 rows of 54 features on made growing a tenth slower than from 131,000 rows on:
# each has to find out again which features are constant.
MIN_CUT = 1 << 23

# Impurities below are rounding errors, as in scikit-learn's builders.
EPSILON = np.finfo(np.float64).eps


class Limb:
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
    limbs : dict of int to Limb
        Those that grow in the place of its leaves.
    """

    def __init__(self, ids, depth, seed):
        self.ids = ids
        self.depth = depth
        self.seed = seed
        self.limbs = {}

    def join(self):
        """Put the limbs in the place of leaves, keeping the order of nodes."""
        if not self.limbs:
            return
        sizes = np.ones(len(self.nodes), dtype=np.intp)
        for i, limb in self.limbs.items():
            limb.join()
            sizes[i] = len(limb.nodes)
            self.height = max(self.height, limb.depth - self.depth + limb.height)
            self.n_insertions += limb.n_insertions
        places = np.cumsum(sizes) - sizes
        # Zeros: what is between the fields goes into model files as well.
        nodes = np.zeros(sizes.sum(), dtype=self.nodes.dtype)
        values = np.empty((len(nodes), self.values.shape[1]))
        nodes[places] = self.nodes
        values[places] = self.values
        inner = places[self.nodes["left_child"] >= 0]
        for name in ("left_child", "right_child"):
            nodes[name][inner] = places[nodes[name][inner]]
        for i, limb in self.limbs.items():
            part = slice(places[i], places[i] + len(limb.nodes))
            nodes[part] = limb.nodes
            values[part] = limb.values
            inner = places[i] + np.flatnonzero(limb.nodes["left_child"] >= 0)
            for name in ("left_child", "right_child"):
                nodes[name][inner] += places[i]
        self.nodes, self.values, self.limbs = nodes, values, {}


def grow_limbed(estimator, problem, seed, n_threads, counts=None, weights=None):
    """Grow the tree of one estimator in several threads.

    Parameters
    ----------
    estimator, problem, seed, counts, weights
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
    limb = Limb(problem.ids(counts, weights), 0, seed)
    grow_limbs(estimator, problem, [limb], n_threads, counts=counts, weights=weights)
    tree = finish_tree(problem, limb.nodes, limb.values, limb.height)
    return tree, limb.n_insertions


def grow_limbs(
    estimator,
    problem,
    limbs,
    n_threads,
    *,
    counts=None,
    weights=None,
    is_subset=False,
):
    """Grow limbs, and the limbs of these.

    Parameters
    ----------
    estimator, problem, counts, weights
        As for `grow_tree`.
    limbs : list of Limb
        What to grow.
    n_threads : int
        Threads to use; the result does not depend on it.
    is_subset : bool
        As for `grow_nodes`.
    """
    make_target = problem.target_maker(counts, weights)
    total_weight = problem.total_weight(counts, weights)
    smallest = smallest_cut(estimator, problem.n_features)

    def grow(limb):
        n_rows = len(limb.ids)
        n_cut = n_rows // 2 if n_rows >= smallest else 0
        buffer = problem.take_buffer()
        nodes, values, limb.height, limb.n_insertions = grow_nodes(
            estimator,
            problem,
            make_target(),
            limb.ids,
            total_weight,
            limb.seed,
            buffer,
            start_depth=limb.depth,
            min_rows=n_cut + 1,
            is_subset=is_subset,
        )
        limb.nodes, limb.values = nodes.copy(), values.copy()
        problem.buffers.append(buffer)
        if n_cut:
            cut(estimator, limb, n_cut)

    new = list(limbs)
    while new:
        # The largest first: a small one at the end keeps no thread waiting.
        new.sort(key=lambda limb: -len(limb.ids))
        run_tasks(grow, new, start_threads(min(n_threads, len(new))))
        new = [limb for grown in new for limb in grown.limbs.values()]
    for limb in limbs:
        limb.join()


def can_cut(estimator, n_samples, n_features, n_channels):
    """Whether a tree can be grown limb by limb, and loses nothing by it.

    Bounds and budgets are the whole tree's. The exact search of all features subtracts
    a child's histograms from its parent's: limbs would have to fill theirs again.
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


def smallest_cut(estimator, n_features):
    """Return the number of rows from which on a limb has limbs.

    Nodes above these must be too large to be copied (see `Grower`), so that the rows
    stay in order: large enough to be sampled.
    """
    n_drawn = count_drawn(estimator, n_features)
    n_sampled = smallest_sampled(estimator, n_drawn, n_features)
    return max(MIN_CUT // n_features, 2 * n_sampled)


def cut(estimator, limb, n_cut):
    """Make limbs of the leaves that still have to grow: those of at most `n_cut` rows.

    The rows of leaves are in the order of leaves.
    """
    nodes = limb.nodes
    is_leaf = nodes["left_child"] < 0
    ends = np.cumsum(np.where(is_leaf, nodes["n_node_samples"], 0))
    depths = limb.depth + node_depths(nodes)
    is_open = is_leaf & (nodes["n_node_samples"] <= n_cut)
    is_open &= nodes["impurity"] > EPSILON
    if estimator.max_depth is not None:
        is_open &= depths < cap(estimator.max_depth, MAX_INT32)
    random_state = check_random_state(limb.seed)
    for i in np.flatnonzero(is_open):
        ids = limb.ids[ends[i] - nodes["n_node_samples"][i] : ends[i]]
        limb.limbs[i] = Limb(ids, int(depths[i]), random_state.randint(MAX_INT))


def node_depths(nodes):
    """Depth of each node; parents come before their children."""
    depths = np.zeros(len(nodes), dtype=np.intp)
    for i in np.flatnonzero(nodes["left_child"] >= 0):
        depths[nodes["left_child"][i]] = depths[i] + 1
        depths[nodes["right_child"][i]] = depths[i] + 1
    return depths
