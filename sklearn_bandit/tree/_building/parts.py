"""Grow a tree in parts, on samples that are never in one place.

The top is grown on a sample of the rows. All rows are sent down it where they are, and
counted: sums are of integers, so that they do not depend on where rows are. A leaf of
the top that is not pure is open: a subtree grows there, on all rows of the leaf, which
are brought to one place. `sklearn_bandit.dask` says what is where.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_random_state

from sklearn_bandit._compat import MAX_INT
from sklearn_bandit._core.matrix import MatrixView
from sklearn_bandit.tree._data.packing import pack_samples
from sklearn_bandit.tree._parameters import MAX_INT32, cap

from .build import Growth, finish_tree, grow_nodes
from .route import route, summarise_nodes
from .subtrees import EPSILON, Subtree, node_depths
from .training_set import TrainingSet, coarse_mean

# Real numbers are summed as integers of this many bits, in halves: sums of 2^37 of
# either half fit 64 bits.
HALF_BITS = 25

# Rows whose halves are summed at a time: sums are exact as float64.
EXACT_ROWS = 1 << 22


@dataclass(frozen=True)
class TargetCodes:
    """What the targets of all rows are, and how they are written as numbers.

    Parameters
    ----------
    criterion : str
        The criterion, by scikit-learn's name.
    classes : list of ndarray or None
        Classes of each output, sorted; None for real targets.
    shift, reach : ndarray of shape (n_outputs,) or None
        What is taken off real targets, and how large they are at most after that.
    """

    criterion: str
    classes: list | None
    shift: np.ndarray | None = None
    reach: np.ndarray | None = None

    @classmethod
    def of_real(cls, criterion, sampled, low, high):
        """Return those of real targets, from a sample and the limits of all."""
        shift = coarse_mean(sampled)
        reach = np.maximum(np.abs(high - shift), np.abs(low - shift))
        return cls(criterion, None, shift, np.where(reach > 0.0, reach, 1.0))

    @property
    def n_classes(self):
        """Number of classes of each output; None for real targets."""
        if self.classes is None:
            return None
        return np.array([len(labels) for labels in self.classes], dtype=np.intp)

    def encode(self, y):
        """Return the numbers of classes, or the targets themselves."""
        y = y.reshape(len(y), -1)
        if self.classes is None:
            return np.asarray(y, dtype=np.float64)
        columns = zip(self.classes, y.T, strict=True)
        return np.stack([np.searchsorted(labels, part) for labels, part in columns], 1)

    def training_set(self, packed, codes, n_features, policy):
        """Make a training set of some rows."""
        return TrainingSet(
            packed,
            codes,
            self.n_classes,
            self.criterion,
            n_features_in=n_features,
            policy=policy,
            shift=self.shift,
        )


def pack_part(tree, X, codes, targets, seed):
    """Put some rows into bins, with their targets."""
    packed = pack_samples(tree, X, 1, seed)
    return targets.training_set(packed, codes, X.shape[1], tree._sampling_policy)


def grow_top(tree, training_set, seed, counts, min_rows):
    """Grow the top of a tree on a sample.

    Parameters
    ----------
    tree : DecisionTreeClassifier or DecisionTreeRegressor
        Its parameters say how to grow.
    training_set : TrainingSet
        The sample.
    seed : int
        Of all random choices.
    counts : ndarray of uint16 of shape (n_samples,) or None
        How often each row is drawn; None for once.
    min_rows : int
        Nodes of fewer rows of the sample are not split.

    Returns
    -------
    Subtree
        The top. Its nodes know the rows of the sample.
    """
    top = Subtree(training_set.ids(counts), 0, seed)
    _grow(tree, training_set, top, counts, min_rows)
    top.ids = None
    return top


def _grow(tree, training_set, subtree, counts, min_rows=0):
    growth = Growth(
        training_set.criterion_maker(counts)(),
        subtree.ids,
        training_set.total_weight(counts),
        subtree.seed,
        start_depth=subtree.depth,
        min_rows=min_rows,
    )
    buffer = training_set.take_buffer()
    subtree.keep(grow_nodes(tree, training_set, growth, buffer))
    training_set.buffers.append(buffer)


def find_leaves(X, codes, targets, top):
    """Return the leaf of the top that each row comes to, as uint16."""
    stand_in = targets.training_set(None, codes, X.shape[1], None)
    # What comes from another process may start at any byte.
    X = np.require(X, requirements="A")
    leaves, _, has_infinite = route(
        MatrixView(X), stand_in.criterion_maker()(), top.nodes, top.height, 1
    )
    if has_infinite:
        raise ValueError(
            "Input X contains infinity or a value too large for dtype('float32')."
        )
    return leaves


def sum_leaves(leaves, n_nodes, codes, targets, counts):
    """Sum up the targets of each leaf.

    Parameters
    ----------
    leaves : ndarray of uint16 of shape (n_rows,)
        The leaf of each row.
    n_nodes : int
        Nodes of the tree.
    codes : ndarray of shape (n_rows, n_outputs)
        The targets, encoded.
    targets : TargetCodes
        How.
    counts : ndarray of uint16 of shape (n_rows,) or None
        How often each row is drawn.

    Returns
    -------
    ndarray of int64 of shape (n_nodes, n_sums)
        Rows, weight, and what `TargetCodes` makes totals of. Those of several parts are
        added.
    """
    sums = 0
    for start in range(0, len(leaves), EXACT_ROWS):
        some = slice(start, start + EXACT_ROWS)
        drawn = np.ones(len(leaves[some])) if counts is None else counts[some] * 1.0
        sums = sums + _sum_some(leaves[some], n_nodes, codes[some], targets, drawn)
    return sums


def _sum_some(leaves, n_nodes, codes, targets, drawn):
    def add(weights):
        return np.bincount(leaves, weights=weights, minlength=n_nodes)

    columns = [add(drawn > 0), add(drawn)]
    if targets.classes is not None:
        for labels, code in zip(targets.classes, codes.T, strict=True):
            columns += [add(drawn * (code == k)) for k in range(len(labels))]
    else:
        scaled = (codes - targets.shift) / targets.reach
        square = np.zeros(len(leaves))
        for part, reach in zip(scaled.T, targets.reach, strict=True):
            columns += [add(drawn * half) for half in _halves(part)]
            square += (part * (reach / targets.reach.max())) ** 2
        square /= len(targets.reach)
        columns += [add(drawn * half) for half in _halves(square)]
    return np.stack(columns, axis=1).astype(np.int64)


def _halves(values):
    """Return values of at most 1 as integers, in two halves."""
    whole = np.rint(values * 2.0 ** (2 * HALF_BITS))
    high = np.floor(whole * 2.0**-HALF_BITS)
    return high, whole - high * 2.0**HALF_BITS


def set_totals(top, sums, targets):
    """Have the nodes of a top know all rows instead of those of the sample.

    Parameters
    ----------
    top : Subtree
        The top; changed in place.
    sums : ndarray of int64 of shape (n_nodes, n_sums)
        Of all rows, see `sum_leaves`.
    targets : TargetCodes
        What they are sums of.
    """
    if targets.classes is not None:
        totals = sums[:, 2:].astype(np.float64)
    else:
        joined = sums[:, 2::2] * 2.0**-HALF_BITS + sums[:, 3::2] * 2.0 ** (
            -2 * HALF_BITS
        )
        scale = targets.reach.max() ** 2 * len(targets.reach)
        totals = np.c_[sums[:, 1], joined * np.r_[targets.reach, scale]]
    nothing = np.zeros((1, 1 if targets.shift is None else len(targets.shift)))
    if targets.classes is not None:
        nothing = np.zeros((1, len(targets.classes)), dtype=np.intp)
    criterion = targets.training_set(None, nothing, 1, None).criterion_maker()()
    summarise_nodes(criterion, top.nodes, top.values, totals)
    rows = sums[:, 0].copy()
    for i in np.flatnonzero(top.nodes["left_child"] >= 0)[::-1]:
        rows[i] = rows[top.nodes["left_child"][i]] + rows[top.nodes["right_child"][i]]
    top.nodes["n_node_samples"] = rows


def open_leaves(tree, top, max_rows):
    """Return the leaves of a top where a subtree is to grow.

    Parameters
    ----------
    tree : DecisionTreeClassifier or DecisionTreeRegressor
        The estimator.
    top : Subtree
        The top; its nodes know all rows.
    max_rows : int
        Rows that can be brought to one place. Leaves with more are those in which the
        sample is pure; they stay leaves.

    Returns
    -------
    ndarray of intp
        The leaves.
    """
    most = MAX_INT32 if tree.max_depth is None else cap(tree.max_depth, MAX_INT32)
    return np.flatnonzero(
        (top.nodes["left_child"] < 0)
        & (top.nodes["impurity"] > EPSILON)
        & (top.nodes["n_node_samples"] > 1)
        & (top.nodes["n_node_samples"] <= max_rows)
        & (node_depths(top.nodes) < most)
    )


def grow_leaf(tree, X, codes, targets, counts, place):
    """Grow the subtree of an open leaf on all its rows.

    Parameters
    ----------
    tree : DecisionTreeClassifier or DecisionTreeRegressor
        The estimator.
    X, codes, targets, counts
        The rows of the leaf, as for `sum_leaves`.
    place : tuple of int
        Depth of the leaf, and the seed of its random choices.

    Returns
    -------
    Subtree
        The subtree.
    """
    depth, seed = place
    training_set = pack_part(tree, X, codes, targets, seed)
    subtree = Subtree(training_set.ids(counts), depth, seed)
    _grow(tree, training_set, subtree, counts)
    subtree.ids = None
    return subtree


def leaf_places(top, leaves):
    """Return depth and seed of each of some leaves."""
    depths = node_depths(top.nodes)
    random_state = check_random_state(top.seed)
    return [(int(depths[i]), int(random_state.randint(MAX_INT))) for i in leaves]


def join_parts(tree, top, subtrees, targets, n_features):
    """Make the fitted tree of its parts.

    Parameters
    ----------
    tree : DecisionTreeClassifier or DecisionTreeRegressor
        The estimator, which is fitted.
    top : Subtree
        The top.
    subtrees : dict of int to Subtree
        Those in the place of its open leaves.
    targets : TargetCodes
        The targets.
    n_features : int
        Number of features.
    """
    top.subtrees = subtrees
    top.join()
    n_outputs = len(targets.classes or targets.shift)
    codes = np.zeros((1, n_outputs), dtype=np.intp if targets.classes else np.float64)
    stand_in = targets.training_set(None, codes, n_features, None)
    tree._set_tree(
        finish_tree(stand_in, top.grown()), top.cost, stand_in, targets.classes
    )
