"""One tree: which splitter searches its nodes, and the nodes that it grows."""

from dataclasses import dataclass, field, replace

import numpy as np

from sklearn_bandit.tree._criteria.base import Criterion
from sklearn_bandit.tree._data.local_ranks import Ranker
from sklearn_bandit.tree._parameters import (
    MAX_INT64,
    cap,
    check_thesis_problem,
    count_drawn,
    count_thresholds,
    growth_limits,
    monotonic_constraints,
)
from sklearn_bandit.tree._splitters.exact import Splitter
from sklearn_bandit.tree._splitters.mab import BanditSplitter
from sklearn_bandit.tree._splitters.mab_thesis import ThesisSplitter
from sklearn_bandit.tree._splitters.rank_search import RankSearch
from sklearn_bandit.tree._splitters.sampling import Sampling
from sklearn_bandit.tree._splitters.settings import SplitSettings

from .best_first import BestFirstBuilder
from .depth_first import DepthFirstBuilder
from .export import to_sklearn_tree


@dataclass(frozen=True)
class Growth:
    """What a tree, or a part of one, is grown from.

    Parameters
    ----------
    criterion : Criterion
        What to predict.
    ids : ndarray of uint32
        The samples to learn from; changed in place.
    total_weight : float
        Of all samples of the training set.
    seed : int
        Of all random choices.
    budget : int or None
        Insertions into histograms that may be made.
    start_depth : int
        Depth of the root.
    min_rows : int
        Nodes of fewer rows are not split.
    is_subset : bool
        Whether the samples are themselves a sample: nodes in which they cannot tell the
        best split are then not split.
    gained : float
        Decrease in impurity by the splits above the root.
    n_saved : int
        Insertions that samples above the root have saved.
    n_kept_sets : int
        Leaves whose histograms may be kept, at most, for subtrees that will grow in
        their place to subtract from.
    root_set : tuple of bytes or None
        Histograms of the root that were kept for it.
    """

    criterion: Criterion
    ids: np.ndarray
    total_weight: float
    seed: int
    budget: int | None = None
    start_depth: int = 0
    min_rows: int = 0
    is_subset: bool = False
    gained: float = 0.0
    n_saved: int = 0
    n_kept_sets: int = 0
    root_set: tuple | None = None


@dataclass(frozen=True)
class Cost:
    """What the search for splits took.

    Parameters
    ----------
    n_insertions : int
        Insertions into histograms that were made.
    n_sampled_nodes : int
        Nodes whose split was chosen on a sample of their rows.
    """

    n_insertions: int = 0
    n_sampled_nodes: int = 0

    def __add__(self, other):
        return Cost(
            self.n_insertions + other.n_insertions,
            self.n_sampled_nodes + other.n_sampled_nodes,
        )


@dataclass(frozen=True)
class GrownNodes:
    """The nodes of a tree, or of a part of one.

    Parameters
    ----------
    nodes : structured ndarray
        With the fields of scikit-learn's nodes.
    values : ndarray of shape (n_nodes, n_values)
        Their predictions.
    depth : int
        Of the deepest node below the root.
    cost : Cost
        Of the search for their splits.
    n_saved : int
        Insertions that samples have saved.
    sets : dict of int to tuple of bytes
        Histograms of leaves that were kept.
    """

    nodes: np.ndarray
    values: np.ndarray
    depth: int
    cost: Cost
    n_saved: int = 0
    sets: dict = field(default_factory=dict)


def grow_tree(estimator, training_set, seed, counts=None, weights=None, budget=None):
    """Grow the tree of one estimator.

    Parameters
    ----------
    estimator : DecisionTreeClassifier or DecisionTreeRegressor
        Its parameters say how to grow.
    training_set : TrainingSet
        The training set.
    seed : int
        Of all random choices.
    counts, weights : ndarray of shape (n_samples,) or None
        Bootstrap counts; or weights, the counts included.
    budget : int or None
        Insertions into histograms that may be made.

    Returns
    -------
    tree : sklearn.tree._tree.Tree
        The tree.
    cost : Cost
        Of the search for its splits.
    """
    buffer = training_set.take_buffer()
    growth = Growth(
        training_set.criterion_maker(counts, weights)(),
        training_set.ids(counts, weights),
        training_set.total_weight(counts, weights),
        seed,
        budget,
    )
    grown = grow_nodes(estimator, training_set, growth, buffer)
    tree = finish_tree(training_set, grown)
    training_set.buffers.append(buffer)
    return tree, grown.cost


def finish_tree(training_set, grown):
    """Make scikit-learn's tree of nodes."""
    nodes = grown.nodes
    if training_set.features is not None:
        inner = nodes["left_child"] >= 0
        nodes["feature"][inner] = training_set.features[nodes["feature"][inner]]
    return to_sklearn_tree(
        nodes,
        grown.values,
        grown.depth,
        training_set.n_features_in,
        training_set.n_classes,
    )


def grow_nodes(estimator, training_set, growth, buffer):
    """Grow nodes on packed samples.

    Parameters
    ----------
    estimator, training_set
        As for `grow_tree`.
    growth : Growth
        What the nodes are grown from.
    buffer : NodeBuffer
        Where the nodes go.

    Returns
    -------
    GrownNodes
        The nodes, in the buffer's memory.
    """
    limits = growth_limits(estimator, training_set.n_samples, len(growth.ids))
    constraints = monotonic_constraints(estimator, training_set)
    splitter = make_splitter(
        estimator,
        training_set,
        growth,
        constraints,
        count_rows=limits.min_samples_leaf > 1,
    )
    limits = replace(
        limits,
        max_depth=limits.max_depth - growth.start_depth,
        min_samples_split=max(limits.min_samples_split, growth.min_rows),
        min_weight_leaf=estimator.min_weight_fraction_leaf * growth.total_weight,
    )
    grown_from = (training_set.packed, splitter, growth.ids, limits, buffer)
    if limits.max_leaf_nodes < 0:
        ranker = make_ranker(estimator, training_set)
        builder = DepthFirstBuilder(*grown_from, ranker)
        builder.n_kept_most = growth.n_kept_sets
        if growth.root_set is not None:
            builder.start_from(growth.root_set)
    else:
        builder = BestFirstBuilder(*grown_from)
    nodes, values = builder.grow()
    sets = builder.saved_sets() if growth.n_kept_sets else {}
    cost = Cost(splitter.n_insertions, splitter.n_sampled_nodes)
    n_saved = getattr(splitter, "n_saved", 0)
    return GrownNodes(nodes, values, builder.depth, cost, n_saved, sets)


def make_splitter(estimator, training_set, growth, constraints=None, count_rows=False):
    """Make the splitter that an estimator's `solver` asks for.

    Parameters
    ----------
    estimator, training_set, growth
        As for `grow_nodes`.
    constraints : ndarray of int8 of shape (n_features,) or None
        Monotonic constraints.
    count_rows : bool
        Whether the rows of each bin have to be counted.

    Returns
    -------
    Splitter
        What searches the nodes.
    """
    packed, policy = training_set.packed, training_set.policy
    criterion, budget = growth.criterion, growth.budget
    n_rows, n_features = len(growth.ids), training_set.n_features
    max_features = count_drawn(estimator, n_features)
    n_thresholds = count_thresholds(estimator, training_set)
    if constraints is None:
        constraints = np.zeros(n_features, dtype=np.int8)
    if estimator.solver == "mab-thesis":
        check_thesis_problem(estimator, training_set)
    can_subtract = (
        criterion.subtracts
        and packed.ranks is None
        and n_thresholds == 0
        and max_features >= n_features
        and estimator.max_leaf_nodes is None
        and estimator.solver != "mab-thesis"
        and not growth.is_subset
    )
    has_budget = budget is not None
    settings = SplitSettings(
        criterion=criterion,
        n_bins=packed.n_bins,
        max_features=max_features,
        n_thresholds=n_thresholds,
        constraints=constraints,
        max_insertions=cap(budget, MAX_INT64) if has_budget else MAX_INT64,
        seed=growth.seed,
        count_rows=count_rows,
        n_sets=policy.count_sets(n_features, criterion.n_channels, n_rows)
        if can_subtract
        else 0,
    )
    if not criterion.has_losses or not policy.samples_nodes(
        estimator, training_set.n_samples, n_features, criterion.n_channels, has_budget
    ):
        splitter = Splitter(settings)
    elif estimator.solver == "mab-thesis":
        return ThesisSplitter(
            settings,
            has_missing=packed.has_missing,
            n_classes=training_set.n_classes[0]
            if training_set.is_classification
            else 0,
            entropy=training_set.criterion != "gini",
            delta=estimator.delta,
            batch_size=estimator.batch_size,
        )
    else:
        sampling = Sampling(
            has_missing=packed.has_missing,
            n_samples=n_rows,
            min_rows=policy.smallest_sampled(
                estimator, max_features, n_features, has_budget
            ),
            delta=estimator.delta,
            batch_size=estimator.batch_size,
            tol=estimator.tol,
            radius=estimator.radius,
            is_subset=growth.is_subset,
            gained=growth.gained,
            n_saved=growth.n_saved,
            stride=policy.subsample_stride if growth.is_subset else 1,
        )
        splitter = BanditSplitter(settings, sampling)
    return with_ranks(splitter, training_set, criterion, n_rows)


def with_ranks(splitter, training_set, criterion, n_rows):
    """Let a splitter search between any two values if these are ranked."""
    ranks = training_set.packed.ranks
    if ranks is not None:
        splitter.use_ranks(RankSearch(ranks, criterion, training_set.criterion, n_rows))
    return splitter


def make_ranker(estimator, training_set):
    """Make the ranker of small nodes, if there is anything to rank and it pays.

    Random thresholds gain nothing from ranks: their trees took a third longer with
    these, and predicted no better.
    """
    packed = training_set.packed
    n_drawn = count_drawn(estimator, packed.n_features)
    if (
        (packed.raw is None and packed.ranks is None)
        or count_thresholds(estimator, training_set) > 0
        or not training_set.policy.ranks_small_nodes(packed.n_features, n_drawn)
        or not packed.is_coarse.any()
    ):
        return None
    return Ranker(packed)


def root_cost(estimator, training_set):
    """Return the insertions that the search at the root takes at least."""
    n_features = count_drawn(estimator, training_set.n_features)
    n_rows = training_set.n_samples
    if n_rows >= training_set.policy.smallest_sampled(
        estimator, n_features, training_set.n_features, has_budget=True
    ):
        n_rows = cap(estimator.batch_size, n_rows)
    return n_rows * n_features
