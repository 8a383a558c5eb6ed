"""Grow a shallow tree on very many samples without putting all of them into bins.

Where each leaf will hold tens of thousands of samples, packing takes longer than all
the searches. A random subsample is packed instead, and the tree is grown on it wherever
MABSplit can tell the best split from the others. Then all samples are sent down the
tree once, so that whatever its nodes say of them is exact. Nodes that the subsample
leaves undecided are packed with all of their samples and grown as any other.
"""

import numpy as np
from sklearn.utils import check_random_state

from sklearn_bandit._compat import MAX_INT
from sklearn_bandit._core.matrix import MatrixView, is_readable
from sklearn_bandit._core.thread_start import start_threads
from sklearn_bandit.tree._data.packed_rows import pack
from sklearn_bandit.tree._data.packing import check_size
from sklearn_bandit.tree._parameters import cap

from .build import finish_tree
from .route import MAX_NODES, list_samples, route, summarise_nodes
from .subtrees import EPSILON, Subtree, grow_subtrees, node_depths
from .training_set import TrainingSet

# A tree of this depth can have more nodes than can be routed to.
DEEPEST = MAX_NODES.bit_length()


def pays_to_subsample(estimator, X, n_channels, weights):
    """Whether most of the tree can be grown on a subsample."""
    if estimator.max_depth is None:
        return False
    # Deeper trees have more leaves than is of interest here.
    n_leaves = 2 ** cap(estimator.max_depth, DEEPEST)
    policy = estimator._sampling_policy
    return (
        n_leaves < MAX_NODES // 2
        and X.shape[1] >= policy.min_subsampled_features
        and policy.has_rows_to_subsample(X.shape[0], n_leaves)
        and isinstance(X, np.ndarray)
        and is_readable(X)
        and weights is None
        and policy.can_divide(
            estimator, X.shape[0] // policy.subsample_stride, X.shape[1], n_channels
        )
        and estimator.splitter == "best"
        and estimator.min_samples_split == 2
        and estimator.min_samples_leaf == 1
        and estimator.min_weight_fraction_leaf == 0.0
    )


def grow_on_subsample(estimator, X, training_set, seed, n_threads):
    """Grow a tree on a subsample, then on all samples where it cannot tell.

    Parameters
    ----------
    estimator : DecisionTreeClassifier or DecisionTreeRegressor
        Its parameters say how to grow.
    X : ndarray of shape (n_samples, n_features)
        The samples.
    training_set : TrainingSet
        Their targets; the samples need not be packed.
    seed : int
        Of all random choices.
    n_threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    tree : sklearn.tree._tree.Tree
        The tree.
    cost : Cost
        Of the search for its splits.
    """
    check_size(*X.shape)
    n_threads = start_threads(n_threads)
    random_state = check_random_state(seed)
    subsample = pack_some(
        estimator,
        X,
        training_set,
        draw_subsample(len(X), training_set.policy.subsample_stride, random_state),
        n_threads,
        seed,
    )
    tree = Subtree(subsample.ids(), 0, seed)
    grow_subtrees(estimator, subsample, [tree], n_threads, is_subset=True)

    criterion = training_set.criterion_maker()()
    leaves, totals, has_infinite = route(
        MatrixView(X), criterion, tree.nodes, tree.height, n_threads
    )
    if has_infinite:
        raise ValueError(
            "Input X contains infinity or a value too large for dtype('float32')."
        )
    summarise_nodes(criterion, tree.nodes, tree.values, totals)

    depths = node_depths(tree.nodes)
    is_open = (tree.nodes["left_child"] < 0) & (tree.nodes["impurity"] > EPSILON)
    undecided = np.flatnonzero(is_open & (depths < estimator.max_depth))
    if len(undecided):
        sizes = tree.nodes["n_node_samples"][undecided]
        ids = list_samples(leaves, undecided, sizes)
        memory = None
        if len(ids) <= subsample.n_samples:
            memory = subsample.packed.rows, subsample.packed.columns
        del subsample
        rest = pack_some(estimator, X, training_set, ids, n_threads, seed, memory)
        parts = np.split(rest.ids(), np.cumsum(sizes)[:-1])
        for i, part in zip(undecided, parts, strict=True):
            tree.subtrees[i] = Subtree(
                part,
                int(depths[i]),
                random_state.randint(MAX_INT),
                n_saved=tree.n_saved * len(part) // len(X),
            )
        grow_subtrees(estimator, rest, list(tree.subtrees.values()), n_threads)
        tree.join()
    return finish_tree(training_set, tree.grown()), tree.cost


def pack_some(estimator, X, training_set, ids, n_threads, seed, memory=None):
    """Pack some samples, with their targets."""
    packed = pack(X, estimator.max_bins, n_threads, seed, ids, memory)
    n_classes = training_set.n_classes if training_set.is_classification else None
    return TrainingSet(
        packed,
        training_set.codes[ids],
        n_classes,
        training_set.criterion,
        policy=training_set.policy,
    )


def draw_subsample(n_samples, stride, random_state):
    """Draw one row out of each stretch of `stride` rows, in ascending order."""
    n_subsampled = n_samples // stride
    steps = random_state.randint(stride, size=n_subsampled, dtype=np.uint8)
    return np.arange(0, n_subsampled * stride, stride, dtype=np.uint32) + steps
