"""Trees and forests on more values than fit a worker.

The top of each tree is grown on a sample of the rows, as one task. All rows are then
sent down the tops where they are: what comes back are sums. Where the sample was too
small to split a node, all rows of that node are sent to one worker, which grows a
subtree on them.

The sample and the bootstrap draws are functions of the seed and of row numbers, sums
are sums of integers: the model does not depend on partitions or workers. Bootstrap
draws are Poisson, row by row, for no process has all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from numbers import Integral
from operator import getitem
from typing import Any

import numpy as np
from dask.delayed import delayed
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state

from sklearn_bandit._compat import (
    MAX_INT,
    bootstrap_size,
    make_estimator,
    validate_estimator,
)
from sklearn_bandit.tree._building import (
    TargetCodes,
    find_leaves,
    grow_leaf,
    grow_top,
    join_parts,
    leaf_places,
    open_leaves,
    pack_part,
    set_totals,
    sum_leaves,
)

from ._client import Tasks
from ._collections import Block, Partitions

# Values of the sample, if a worker has room for them. 6.7 million rows of ten features;
# not tuned.
SAMPLE_VALUES = 1 << 26

# Rows of the sample that a node of a top must have to be split: MABSplit looks at 2,000
# to 30,000 rows of a node, whatever their number (benchmark `forest.solvers`).
MIN_ROWS = 8192

# Share of a worker's room that rows of a leaf of a top may take by the sample, which
# does not tell exactly how many there are. A leaf with more than fit stays one.
LEAF_SHARE = 0.5

# Rows whose draws have a generator of their own; a partition makes those of its rows.
DRAWN_ROWS = 1 << 16

# Parameters that need all rows in one place, and what they are if they are not used.
NOT_USED = {
    "categorical_features": (None, "from_dtype"),
    "class_weight": (None,),
    "max_insertions": (None,),
    "max_leaf_nodes": (None,),
    "min_impurity_decrease": (0.0,),
    "min_weight_fraction_leaf": (0.0,),
    "monotonic_cst": (None,),
    "oob_score": (False,),
    "patch_features": (1.0,),
    "patch_samples": (1.0,),
    "warm_start": (False,),
    "criterion": ("gini", "entropy", "log_loss", "squared_error", "friedman_mse"),
}


@dataclass(frozen=True)
class Spread:
    """Rows of a sample: one out of each of as many equal stretches.

    Workers list those of their own rows: in a graph the numbers of all would be large.

    Parameters
    ----------
    n_samples, n_sampled : int
        Numbers of all rows, and of those of the sample.
    seed : int
        Which ones.
    """

    n_samples: int
    n_sampled: int
    seed: int

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Return the rows of the sample from one row number to another, ascending."""
        n, n_all = self.n_sampled, self.n_samples
        # Stretches that have some of these rows.
        first, last = start * n // n_all, min(-(-stop * n // n_all) + 1, n)
        parts = []
        for block in range(first // DRAWN_ROWS, -(-last // DRAWN_ROWS)):
            places = np.arange(block * DRAWN_ROWS, min((block + 1) * DRAWN_ROWS, n))
            begins = _stretch_ends(places, n_all, n)
            ends = _stretch_ends(places + 1, n_all, n)
            generator = np.random.Generator(np.random.Philox(key=[self.seed, block]))
            parts.append(generator.integers(begins, ends))
        rows = np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)
        return rows[(rows >= start) & (rows < stop)]


def _stretch_ends(places, n_samples, n_sampled):
    """Return where stretches end; in parts, for products that would not fit."""
    whole, rest = divmod(n_samples, n_sampled)
    return places * whole + places * rest // n_sampled


@dataclass(frozen=True)
class Draw:
    """Bootstrap draws of a tree, row by row.

    Parameters
    ----------
    seed : int
        Of the tree.
    rate : float or None
        Draws of a row on average; None for each row once.
    """

    seed: int
    rate: float | None

    def counts(self, rows: np.ndarray) -> np.ndarray | None:
        """Return how often rows are drawn.

        Parameters
        ----------
        rows : ndarray of int
            Row numbers, ascending.

        Returns
        -------
        ndarray of uint16 or None
            Counts; None if each row is drawn once.
        """
        if self.rate is None:
            return None
        parts = []
        blocks = rows // DRAWN_ROWS
        for block in np.unique(blocks):
            generator = np.random.Generator(np.random.Philox(key=[self.seed, block]))
            drawn = generator.poisson(self.rate, DRAWN_ROWS).astype(np.uint16)
            parts.append(drawn[rows[blocks == block] % DRAWN_ROWS])
        return np.concatenate(parts)


def fit_large(
    tasks: Tasks, local: Any, partitions: Partitions, room: int
) -> dict[str, Any]:
    """Fit a tree or a forest.

    Parameters
    ----------
    tasks : Tasks
        Of the fit.
    local : object
        The local estimator; its `random_state` is no longer None.
    partitions : Partitions
        The rows.
    room : int
        Bytes of values that fit a worker.

    Returns
    -------
    dict
        Fitted attributes.
    """
    _refuse_parameters(local, partitions)
    local.n_features_in_ = n_features = partitions.n_features
    itemsize = partitions.dtype.itemsize if partitions.dtype.itemsize < 4 else 4
    n_sampled = min(SAMPLE_VALUES, room // itemsize) // n_features
    n_sampled = min(n_sampled, partitions.n_samples)
    random_state = check_random_state(local.random_state)
    is_forest = hasattr(local, "n_estimators")
    trees, draws = _make_trees(local, partitions.n_samples, random_state)

    spread = Spread(partitions.n_samples, n_sampled, trees[0].random_state)
    # Read together: each partition is made once for both.
    seen = tasks.compute(partitions.map_numbered(_see, spread, is_classifier(local)))
    described = list(tasks.gather([tasks.submit(getitem, part, 0) for part in seen]))
    targets, shift_rows = _describe(local, described)
    sample = tasks.submit(_join_sample, [tasks.submit(getitem, p, 1) for p in seen])
    if targets is None:
        low, high = shift_rows
        targets = tasks.submit(_real_targets, local.criterion, sample, low, high)
    held = tasks.submit(_hold, trees[0], sample, targets)
    for part in seen:
        tasks.release(part)
    min_rows = least_split(spread, room // (itemsize * n_features))
    tops = [
        tasks.submit(_grow_top, tree, held, draw, spread, min_rows)
        for tree, draw in zip(trees, draws, strict=True)
    ]
    targets = next(tasks.gather([targets])) if shift_rows is not None else targets

    # All trees at once: each partition is made once for all.
    gathered_tops = list(tasks.gather(tops))
    sent = delayed(list(zip(gathered_tops, draws, strict=True)), traverse=False)
    routed = partitions.map_numbered(_route, sent, targets)
    sums: list[Any] = [0] * len(trees)
    for part in tasks.gather(tasks.compute(routed)):
        sums = [total + some for total, some in zip(sums, part, strict=True)]
    for tree, top, draw, total in zip(trees, gathered_tops, draws, sums, strict=True):
        set_totals(top, total, targets)
        leaves = open_leaves(tree, top, room // (itemsize * n_features))
        subtrees = _grow_leaves(
            tasks, partitions, (tree, top, draw, leaves), targets, room
        )
        tree_targets = targets
        if is_forest and targets.classes is not None:
            # As in scikit-learn, the trees of a forest predict the numbers of classes.
            numbers = [np.arange(len(each), dtype=float) for each in targets.classes]
            tree_targets = TargetCodes(targets.criterion, numbers)
        join_parts(tree, top, subtrees, tree_targets, n_features)
    return _attributes(local, trees, targets) if is_forest else vars(trees[0])


def least_split(spread: Spread, n_fitting: int) -> int:
    """Return how many rows of the sample a node of a top must have to be split.

    Parameters
    ----------
    spread : Spread
        The sample.
    n_fitting : int
        Rows that fit a worker.

    Returns
    -------
    int
        `MIN_ROWS`, or fewer where so many stand for more rows than fit.
    """
    fitting = int(LEAF_SHARE * n_fitting * spread.n_sampled / spread.n_samples)
    return max(2, min(MIN_ROWS, fitting))


def _refuse_parameters(local, partitions):
    for name, allowed in NOT_USED.items():
        value = getattr(local, name, allowed[0])
        # A list of features equals none of them.
        if np.ndim(value) > 0 or value not in allowed:
            raise ValueError(
                f"{name}={value!r} needs all samples in the memory of one worker, "
                f"which {partitions.n_samples} of {partitions.n_features} features "
                "do not fit."
            )

    if getattr(local, "n_estimators", 1) == "auto":
        raise ValueError(
            'n_estimators="auto" needs all samples in the memory of one worker; give a '
            "number."
        )


def _make_trees(local, n_samples, random_state):
    """Return the trees that are to grow, with integer parameters, and their draws."""
    if not hasattr(local, "n_estimators"):
        trees, rate = [clone(local)], None
        trees[0].random_state = int(random_state.randint(MAX_INT))
        trees[0].n_features_in_ = local.n_features_in_
    else:
        validate_estimator(local)
        trees = [make_estimator(local, random_state) for _ in range(local.n_estimators)]
        rate = None
        if local.bootstrap:
            n_draws = bootstrap_size(n_samples, local.max_samples, None)
            rate = (n_samples if n_draws is None else n_draws) / n_samples
    for tree in trees:
        for name in ("min_samples_split", "min_samples_leaf"):
            value = getattr(tree, name)
            if not isinstance(value, Integral):
                setattr(tree, name, max(ceil(value * n_samples), 1))
    return trees, [Draw(tree.random_state, rate) for tree in trees]


def _see(block, start, spread, classify):
    """On a worker: what is to be known of the targets, and the rows of the sample."""
    if block.sample_weight is not None:
        raise ValueError(
            "sample_weight needs all samples in the memory of one worker, which they "
            "do not fit."
        )
    y = block.y.reshape(len(block.y), -1)
    if classify:
        known = [np.unique(part) for part in y.T]
    else:
        y = np.asarray(y, dtype=np.float64)
        if not np.isfinite(y).all():
            raise ValueError("Input y contains NaN or infinity.")
        known = (y.min(axis=0), y.max(axis=0))
    rows = spread.rows(start, start + len(y)) - start
    return known, Block(block.X[rows], y[rows], None)


def _describe(local, described):
    """Return the classes, or the limits of real targets, of all partitions."""
    if is_classifier(local):
        merged = [
            np.unique(np.concatenate(parts)) for parts in zip(*described, strict=True)
        ]
        return TargetCodes(local.criterion, merged), None
    low = np.min([low for low, _ in described], axis=0)
    high = np.max([high for _, high in described], axis=0)
    return None, (low, high)


def _join_sample(parts):
    """On a worker: the sample."""
    return Block(
        np.concatenate([part.X for part in parts]),
        np.concatenate([part.y for part in parts]),
        None,
    )


def _real_targets(criterion, sample, low, high):
    return TargetCodes.of_real(criterion, sample.y, low, high)


def _hold(tree, sample, targets):
    """On a worker: the sample in bins."""
    codes = targets.encode(sample.y)
    return pack_part(tree, sample.X, codes, targets, tree.random_state)


def _grow_top(tree, training_set, draw, spread, min_rows):
    """On a worker: grow the top of a tree."""
    counts = draw.counts(spread.rows(0, spread.n_samples))
    return grow_top(tree, training_set, tree.random_state, counts, min_rows)


def _route(block, start, tops, targets):
    """On a worker: send the rows of a partition down all tops; return sums."""
    codes = targets.encode(block.y)
    rows = np.arange(start, start + len(codes))
    sums = []
    for top, draw in tops:
        leaves = find_leaves(block.X, codes, targets, top)
        counts = draw.counts(rows)
        sums.append(sum_leaves(leaves, len(top.nodes), codes, targets, counts))
    return sums


def _grow_leaves(tasks, partitions, grown, targets, room):
    """Grow the subtrees of open leaves, on workers: a dict of leaf to subtree."""
    tree, top, draw, leaves = grown
    if len(leaves) == 0:
        return {}
    places = leaf_places(top, leaves)
    # Leaves that go to a worker together; this has no part in what comes of them.
    n_values = top.nodes["n_node_samples"][leaves] * partitions.n_features
    group_of = (np.cumsum(n_values * 4) - 1) // max(room // 2, 1)
    groups = [np.flatnonzero(group_of == group) for group in np.unique(group_of)]
    sent = delayed((top, draw, leaves, groups), traverse=False)
    pieces = tasks.compute(partitions.map_numbered(_take_leaves, sent, targets))
    futures = [
        tasks.submit(
            _grow_group,
            tree,
            [tasks.submit(getitem, piece, number) for piece in pieces],
            targets,
            [places[i] for i in group],
        )
        for number, group in enumerate(groups)
    ]
    for piece in pieces:
        tasks.release(piece)
    subtrees = [subtree for some in tasks.gather(futures) for subtree in some]
    order = np.concatenate(groups)
    return {int(leaves[i]): each for i, each in zip(order, subtrees, strict=True)}


def _take_leaves(block, start, sent, targets):
    """On a worker: the rows of open leaves, group by group, leaf by leaf."""
    top, draw, leaves, groups = sent
    codes = targets.encode(block.y)
    found = find_leaves(block.X, codes, targets, top)
    counts = draw.counts(np.arange(start, start + len(codes)))
    if counts is not None:
        found = np.where(counts > 0, found.astype(np.int64), -1)
    pieces = []
    for group in groups:
        parts = []
        for leaf in leaves[group]:
            rows = np.flatnonzero(found == leaf)
            drawn = None if counts is None else counts[rows]
            parts.append((block.X[rows], codes[rows], drawn))
        pieces.append(parts)
    return pieces


def _grow_group(tree, pieces, targets, places):
    """On a worker: grow the subtrees of a group of leaves."""
    subtrees = []
    for place, *parts in zip(places, *pieces, strict=True):
        X, codes, counts = zip(*parts, strict=True)
        drawn = None if counts[0] is None else np.concatenate(counts)
        subtrees.append(
            grow_leaf(
                tree, np.concatenate(X), np.concatenate(codes), targets, drawn, place
            )
        )
    return subtrees


def _attributes(forest, trees, targets):
    """Return the fitted attributes of a forest."""
    forest.estimators_ = trees
    forest.n_estimators_ = len(trees)
    forest.category_encoder_ = None
    forest.n_outputs_ = trees[0].n_outputs_
    forest.n_insertions_ = sum(tree.n_insertions_ for tree in trees)
    forest.n_sampled_nodes_ = sum(tree.n_sampled_nodes_ for tree in trees)
    if targets.classes is not None:
        single = len(targets.classes) == 1
        n_classes = [len(labels) for labels in targets.classes]
        forest.classes_ = targets.classes[0] if single else targets.classes
        forest.n_classes_ = n_classes[0] if single else n_classes
    return vars(forest)
