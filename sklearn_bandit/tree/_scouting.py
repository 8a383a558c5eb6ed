"""Grow a shallow tree on very many samples without putting all of them into bins.

Where each leaf will hold tens of thousands of samples, packing takes longer than all
the searches. A random subset is packed instead, the *scouts*, and the tree is grown on
these wherever MABSplit can tell the best split from its rivals. Then all samples are
sent down the tree once, so that whatever its nodes say of them is exact; nodes that the
scouts left undecided are packed with all of their samples and grown as ever.
"""

import numpy as np
from sklearn.utils import check_random_state

from sklearn_bandit._compat import MAX_INT

from ._growth import grow_nodes, samples_nodes
from ._handover import to_sklearn_tree
from ._matrix import MatrixView, is_readable
from ._node_buffer import NodeBuffer
from ._packing import pack
from ._problem import Problem
from ._routing import MAX_NODES, route, summarise_nodes

# One sample in so many is a scout: fewer leave more nodes undecided.
SCOUT_SHARE = 4

# Scouts there must be for each leaf that the tree can have. On ten million samples of
# 28 features MABSplit looked at 2,000 to 30,000 rows of a node.
MIN_SCOUTS = 8192

# Impurities below are rounding errors, as in scikit-learn's builders.
EPSILON = np.finfo(np.float64).eps


def pays_to_scout(estimator, X, n_channels, weights):
    """Whether scouts can grow most of the tree, and nothing stands in their way."""
    max_depth = estimator.max_depth
    return (
        max_depth is not None
        and 2**max_depth < MAX_NODES // 2
        and 2**max_depth * MIN_SCOUTS * SCOUT_SHARE <= X.shape[0]
        and isinstance(X, np.ndarray)
        and is_readable(X)
        and weights is None
        and estimator.solver in ("mab", "auto")
        and samples_nodes(estimator, X.shape[0] // SCOUT_SHARE, X.shape[1], n_channels)
        and estimator.splitter == "best"
        and estimator.criterion != "absolute_error"
        and estimator.max_leaf_nodes is None
        and estimator.min_samples_split == 2
        and estimator.min_samples_leaf == 1
        and estimator.min_weight_fraction_leaf == 0.0
        and estimator.min_impurity_decrease == 0.0
        and estimator.monotonic_cst is None
        and estimator.max_insertions is None
    )


def grow_scouted(estimator, X, problem, seed, n_threads):
    """Grow a tree on scouts, then on all samples where these cannot tell.

    Parameters
    ----------
    estimator : DecisionTreeClassifier or DecisionTreeRegressor
        Its parameters say how to grow.
    X : ndarray of shape (n_samples, n_features)
        The samples.
    problem : Problem
        Their targets; the samples need not be packed.
    seed : int
        Of all random choices.
    n_threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    tree : sklearn.tree._tree.Tree
        The tree.
    n_insertions : int
        Insertions into histograms that were made.
    """
    random_state = check_random_state(seed)
    buffer = NodeBuffer()
    scouts = pack_some(
        estimator, X, problem, draw_scouts(len(X), random_state), n_threads, seed
    )
    nodes, values, depth, n_insertions = grow_nodes(
        estimator, scouts, seed, buffer, is_subset=True
    )
    nodes, values = nodes.copy(), values.copy()
    del scouts

    ids, starts, has_infinite = route(MatrixView(X), nodes, depth, n_threads)
    if has_infinite:
        raise ValueError(
            "Input X contains infinity or a value too large for dtype('float32')."
        )
    summarise_nodes(problem.target()[0], nodes, values, ids, starts)

    depths = node_depths(nodes)
    is_open = (nodes["left_child"] < 0) & (nodes["impurity"] > EPSILON)
    is_open &= depths < estimator.max_depth
    limbs = {}
    if is_open.any():
        undecided = np.flatnonzero(is_open)
        parts = [ids[starts[i] : starts[i + 1]] for i in undecided]
        rest = pack_some(estimator, X, problem, np.concatenate(parts), n_threads, seed)
        end = 0
        for i, part in zip(undecided, parts, strict=True):
            start, end = end, end + len(part)
            limb, limb_values, limb_depth, n_more = grow_nodes(
                estimator,
                rest,
                random_state.randint(MAX_INT),
                buffer,
                rows=slice(start, end),
                start_depth=depths[i],
            )
            limbs[i] = limb.copy(), limb_values.copy()
            depth = max(depth, depths[i] + limb_depth)
            n_insertions += n_more
    nodes, values = graft(nodes, values, limbs)
    tree = to_sklearn_tree(
        nodes, values, int(depth), problem.n_features_in, problem.n_classes
    )
    return tree, n_insertions


def pack_some(estimator, X, problem, ids, n_threads, seed):
    """Pack some samples, with their targets."""
    packed = pack(X, estimator.max_bins, n_threads, seed, ids)
    n_classes = problem.n_classes if problem.is_classification else None
    return Problem(packed, problem.codes[ids], n_classes, problem.criterion)


def draw_scouts(n_samples, random_state):
    """Draw one row out of each of as many equal stretches, in ascending order."""
    n_scouts = n_samples // SCOUT_SHARE
    steps = random_state.randint(SCOUT_SHARE, size=n_scouts, dtype=np.uint8)
    return np.arange(0, n_scouts * SCOUT_SHARE, SCOUT_SHARE, dtype=np.uint32) + steps


def node_depths(nodes):
    """Depth of each node; parents come before their children."""
    depths = np.zeros(len(nodes), dtype=np.intp)
    for i in np.flatnonzero(nodes["left_child"] >= 0):
        depths[nodes["left_child"][i]] = depths[i] + 1
        depths[nodes["right_child"][i]] = depths[i] + 1
    return depths


def graft(nodes, values, limbs):
    """Put subtrees in the place of leaves, keeping the order of a depth-first walk.

    Parameters
    ----------
    nodes, values
        The tree.
    limbs : dict of int to (nodes, values)
        The subtrees, by the leaf that they replace.

    Returns
    -------
    nodes, values
        The whole tree.
    """
    sizes = np.ones(len(nodes), dtype=np.intp)
    for i, (limb, _) in limbs.items():
        sizes[i] = len(limb)
    places = np.cumsum(sizes) - sizes
    inner = nodes["left_child"] >= 0
    for name in ("left_child", "right_child"):
        nodes[name][inner] = places[nodes[name][inner]]
    whole = np.empty(sizes.sum(), dtype=nodes.dtype)
    whole_values = np.empty((len(whole), values.shape[1]))
    whole[places] = nodes
    whole_values[places] = values
    for i, (limb, limb_values) in limbs.items():
        inner = limb["left_child"] >= 0
        for name in ("left_child", "right_child"):
            limb[name][inner] += places[i]
        whole[places[i] : places[i] + len(limb)] = limb
        whole_values[places[i] : places[i] + len(limb)] = limb_values
    return whole, whole_values
