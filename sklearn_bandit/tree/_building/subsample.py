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
from sklearn_bandit._core.thread_start import start_threads

from .build import cap, finish_tree
from .subtrees import EPSILON, Limb, can_cut, grow_limbs, node_depths
from sklearn_bandit._core.matrix import MatrixView, is_readable
from sklearn_bandit.tree._data.packed_rows import pack
from .training_set import Problem
from .route import MAX_NODES, list_samples, route, summarise_nodes
from sklearn_bandit.tree._validation import check_size

# One sample in so many is a scout: fewer leave more nodes undecided.
SCOUT_SHARE = 4

# Scouts there must be for each leaf that the tree can have. On ten million samples of
# 28 features MABSplit looked at 2,000 to 30,000 rows of a node.
MIN_SCOUTS = 8192

# A tree of this depth can have more nodes than can be routed to.
DEEPEST = MAX_NODES.bit_length()


def pays_to_scout(estimator, X, n_channels, weights):
    """Whether scouts can grow most of the tree, and nothing stands in their way."""
    if estimator.max_depth is None:
        return False
    # Deeper trees have more leaves than is of interest here.
    n_leaves = 2 ** cap(estimator.max_depth, DEEPEST)
    return (
        n_leaves < MAX_NODES // 2
        and n_leaves * MIN_SCOUTS * SCOUT_SHARE <= X.shape[0]
        and isinstance(X, np.ndarray)
        and is_readable(X)
        and weights is None
        and can_cut(estimator, X.shape[0] // SCOUT_SHARE, X.shape[1], n_channels)
        and estimator.splitter == "best"
        and estimator.min_samples_split == 2
        and estimator.min_samples_leaf == 1
        and estimator.min_weight_fraction_leaf == 0.0
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
    check_size(*X.shape)
    n_threads = start_threads(n_threads)
    random_state = check_random_state(seed)
    scouts = pack_some(
        estimator, X, problem, draw_scouts(len(X), random_state), n_threads, seed
    )
    tree = Limb(scouts.ids(), 0, seed)
    grow_limbs(estimator, scouts, [tree], n_threads, is_subset=True)

    target = problem.target_maker()()
    leaves, totals, has_infinite = route(
        MatrixView(X), target, tree.nodes, tree.height, n_threads
    )
    if has_infinite:
        raise ValueError(
            "Input X contains infinity or a value too large for dtype('float32')."
        )
    summarise_nodes(target, tree.nodes, tree.values, totals)

    depths = node_depths(tree.nodes)
    is_open = (tree.nodes["left_child"] < 0) & (tree.nodes["impurity"] > EPSILON)
    undecided = np.flatnonzero(is_open & (depths < estimator.max_depth))
    if len(undecided):
        sizes = tree.nodes["n_node_samples"][undecided]
        ids = list_samples(leaves, undecided, sizes)
        memory = scouts.packed if len(ids) <= scouts.n_samples else None
        del scouts
        rest = pack_some(estimator, X, problem, ids, n_threads, seed, memory)
        parts = np.split(rest.ids(), np.cumsum(sizes)[:-1])
        for i, part in zip(undecided, parts, strict=True):
            tree.limbs[i] = Limb(part, int(depths[i]), random_state.randint(MAX_INT))
        grow_limbs(estimator, rest, list(tree.limbs.values()), n_threads)
        tree.join()
    return finish_tree(problem, tree.nodes, tree.values, tree.height), tree.n_insertions


def pack_some(estimator, X, problem, ids, n_threads, seed, memory=None):
    """Pack some samples, with their targets."""
    packed = pack(X, estimator.max_bins, n_threads, seed, ids, memory)
    n_classes = problem.n_classes if problem.is_classification else None
    return Problem(packed, problem.codes[ids], n_classes, problem.criterion)


def draw_scouts(n_samples, random_state):
    """Draw one row out of each of as many equal stretches, in ascending order."""
    n_scouts = n_samples // SCOUT_SHARE
    steps = random_state.randint(SCOUT_SHARE, size=n_scouts, dtype=np.uint8)
    return np.arange(0, n_scouts * SCOUT_SHARE, SCOUT_SHARE, dtype=np.uint32) + steps
