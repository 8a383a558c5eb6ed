"""One tree: which splitter searches its nodes, and the nodes that it grows."""

import numpy as np

from sklearn_bandit.tree._data.local_ranks import Ranker
from sklearn_bandit.tree._parameters import (
    CLASS_CRITERIA,
    MAX_INT32,
    MAX_INT64,
    as_count,
    cap,
    check_thesis_problem,
    count_drawn,
    count_thresholds,
    monotonic_constraints,
)
from sklearn_bandit.tree._splitters.exact import Splitter
from sklearn_bandit.tree._splitters.mab import BanditSplitter
from sklearn_bandit.tree._splitters.mab_thesis import ThesisSplitter
from sklearn_bandit.tree._splitters.rank_search import RankSearch

from .builder import Builder
from .export import to_sklearn_tree

# Rows from which on a node is sampled, and batches that it must have. With fewer than
# 8,000 histograms cost less than the tests; "auto" waits until sampling pays with
# hardly any features. The fewer features are drawn, the less there is to spare: with 3
# a split (adult) sampling from 8,000 rows on took 1.4 times as long as not sampling;
# with 2 (flights) it took longer at any size, for the rows of the children have to be
# counted afterwards.
MIN_ROWS = {"mab": 8_000, "auto": 50_000, "mab-thesis": 0}
MIN_BATCHES = {"mab": 4, "auto": 4, "mab-thesis": 2}
MIN_INSERTIONS = 100_000
MIN_DRAWN = 4

# The same for real targets where all features are searched: losses cost more than those
# of classes, and unless rows have weights exact histograms are subtracted. Sampling
# from 8,000 rows on, forests of depth 8 took 1.4 times as long as exact ones
# (`forest.all_features`: Beijing air quality, and rows that hardly tell anything; 1.3
# with the Poisson deviance, 1.1 with weights), from 64,000 on 1.0 and 1.1 times. Trees
# grown best first or with random thresholds were not measured and stay as they were;
# so do those within a budget, which is one of insertions: samples take fewer.
MIN_ROWS_REAL = 64_000

# Histograms of all features drawn are held at once; beyond this many numbers (with very
# many classes) the exact search, which holds a few at a time, is used instead.
N_SLOTS = 256
MAX_CELLS = 1 << 25

# Where all features are searched, nodes of at least so many rows may hold histograms
# for their descendants to subtract from: those that wait for their turn, and two more.
MAX_SETS = 32
SET_ROWS = 8_000

# All features are ranked when a node becomes small, a few are drawn in each node below
# it. With more than this many to one, ranking would cost more than all the searches.
RANKED_PER_DRAWN = 16


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
    n_insertions : int
        Insertions made.
    """
    buffer = training_set.take_buffer()
    nodes, values, depth, n_insertions = grow_nodes(
        estimator,
        training_set,
        training_set.criterion_maker(counts, weights)(),
        training_set.ids(counts, weights),
        training_set.total_weight(counts, weights),
        seed,
        buffer,
        budget=budget,
    )
    tree = finish_tree(training_set, nodes, values, depth)
    training_set.buffers.append(buffer)
    return tree, n_insertions


def finish_tree(training_set, nodes, values, depth):
    """Make scikit-learn's tree of nodes."""
    if training_set.features is not None:
        inner = nodes["left_child"] >= 0
        nodes["feature"][inner] = training_set.features[nodes["feature"][inner]]
    return to_sklearn_tree(
        nodes, values, depth, training_set.n_features_in, training_set.n_classes
    )


def grow_nodes(
    estimator,
    training_set,
    criterion,
    ids,
    total_weight,
    seed,
    buffer,
    *,
    budget=None,
    start_depth=0,
    min_rows=0,
    is_subset=False,
):
    """Grow nodes on packed samples.

    Parameters
    ----------
    estimator, training_set, seed, budget
        As for `grow_tree`.
    criterion : Criterion
        What to predict.
    ids : ndarray of uint32
        The samples to learn from; changed in place.
    total_weight : float
        Of all samples of the training_set.
    buffer : NodeBuffer
        Where the nodes go.
    start_depth : int
        Depth of the root.
    min_rows : int
        Nodes of fewer rows are not split.
    is_subset : bool
        Whether the samples are themselves a sample: nodes in which they cannot tell the
        best split are then not split.

    Returns
    -------
    nodes : structured ndarray
        With the fields of scikit-learn's nodes; the buffer's memory.
    values : ndarray of shape (n_nodes, n_values)
        Their predictions; the buffer's memory.
    depth : int
        Of the deepest node below the root.
    n_insertions : int
        Insertions made.
    """
    n_samples = training_set.n_samples
    # One more than there are samples says as much as any larger number.
    min_samples_leaf = cap(
        as_count(estimator.min_samples_leaf, n_samples), n_samples + 1
    )
    min_samples_split = max(
        2,
        cap(as_count(estimator.min_samples_split, n_samples), n_samples + 1),
        2 * min_samples_leaf,
    )
    constraints = monotonic_constraints(estimator, training_set)
    splitter = make_splitter(
        estimator,
        training_set,
        criterion,
        constraints,
        budget,
        seed,
        min_samples_leaf > 1,
        len(ids),
        is_subset,
    )
    max_depth, max_leaf_nodes = estimator.max_depth, estimator.max_leaf_nodes
    max_depth = MAX_INT32 if max_depth is None else cap(max_depth, MAX_INT32)
    # Every leaf has a sample.
    max_leaf_nodes = -1 if max_leaf_nodes is None else cap(max_leaf_nodes, len(ids))
    builder = Builder(
        training_set.packed,
        splitter,
        ids,
        max_depth=max_depth - start_depth,
        min_samples_split=max(min_samples_split, min_rows),
        min_samples_leaf=min_samples_leaf,
        min_weight_leaf=estimator.min_weight_fraction_leaf * total_weight,
        min_impurity_decrease=estimator.min_impurity_decrease,
        max_leaf_nodes=max_leaf_nodes,
        monotonic=constraints is not None,
        ranker=make_ranker(estimator, training_set),
        buffer=buffer,
    )
    nodes, values = builder.grow()
    return nodes, values, builder.depth, splitter.n_insertions


def make_splitter(
    estimator,
    training_set,
    criterion,
    constraints,
    budget,
    seed,
    count_rows,
    n_rows,
    is_subset,
):
    """Make the splitter that an estimator's `solver` asks for."""
    packed = training_set.packed
    max_features = count_drawn(estimator, training_set.n_features)
    if constraints is None:
        constraints = np.zeros(training_set.n_features, dtype=np.int8)
    n_thresholds = count_thresholds(estimator, training_set)
    arguments = (
        criterion,
        packed.n_bins,
        max_features,
        n_thresholds,
        constraints,
        MAX_INT64 if budget is None else cap(budget, MAX_INT64),
        seed,
        count_rows,
    )
    if estimator.solver == "mab-thesis":
        check_thesis_problem(estimator, training_set)
    n_sets = 0
    if (
        criterion.subtracts
        and packed.ranks is None
        and n_thresholds == 0
        and max_features >= training_set.n_features
        and estimator.max_leaf_nodes is None
    ):
        size = N_SLOTS * training_set.n_features * criterion.n_channels
        n_sets = min(MAX_SETS, MAX_CELLS // size, n_rows // SET_ROWS + 2)
    if not (
        criterion.has_losses
        and samples_nodes(
            estimator,
            training_set.n_samples,
            training_set.n_features,
            criterion.n_channels,
            budget is not None,
        )
    ):
        splitter = Splitter(*arguments, n_sets=n_sets)
        return with_ranks(splitter, training_set, criterion, n_rows)
    if estimator.solver == "mab-thesis":
        return ThesisSplitter(
            *arguments,
            has_missing=packed.has_missing,
            n_classes=training_set.n_classes[0]
            if training_set.is_classification
            else 0,
            entropy=training_set.criterion != "gini",
            delta=estimator.delta,
            batch_size=estimator.batch_size,
        )
    splitter = BanditSplitter(
        *arguments,
        has_missing=packed.has_missing,
        delta=estimator.delta,
        batch_size=estimator.batch_size,
        tol=estimator.tol,
        min_rows=smallest_sampled(
            estimator, max_features, training_set.n_features, budget is not None
        ),
        n_samples=n_rows,
        is_subset=is_subset,
        n_sets=0 if is_subset else n_sets,
    )
    return with_ranks(splitter, training_set, criterion, n_rows)


def with_ranks(splitter, training_set, criterion, n_rows):
    """Let a splitter search between any two values if these are ranked."""
    ranks = training_set.packed.ranks
    if ranks is not None:
        splitter.use_ranks(RankSearch(ranks, criterion, training_set.criterion, n_rows))
    return splitter


def samples_nodes(estimator, n_samples, n_features, n_channels, has_budget=False):
    """Whether the solver samples the larger nodes of so many samples and features."""
    n_drawn = count_drawn(estimator, n_features)
    return (
        estimator.delta > 0.0
        and N_SLOTS * n_drawn * n_channels <= MAX_CELLS
        and n_samples >= smallest_sampled(estimator, n_drawn, n_features, has_budget)
    )


def smallest_sampled(estimator, n_drawn, n_features, has_budget=False):
    """Return the number of rows from which on the solver samples a node."""
    solver = estimator.solver
    if solver == "exact":
        return MAX_INT64
    n_rows = max(MIN_ROWS[solver], MIN_BATCHES[solver] * int(estimator.batch_size))
    if (
        solver != "mab-thesis"
        and n_drawn >= n_features
        and estimator.criterion not in CLASS_CRITERIA
        and estimator.splitter == "best"
        and estimator.max_leaf_nodes is None
        and not has_budget
    ):
        n_rows = max(n_rows, MIN_ROWS_REAL)
    if solver == "mab" and n_drawn < n_features:
        if n_drawn < MIN_DRAWN:
            return MAX_INT64
        n_rows = max(n_rows, MIN_INSERTIONS // n_drawn)
    return n_rows


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
        or packed.n_features > RANKED_PER_DRAWN * n_drawn
        or not packed.is_coarse.any()
    ):
        return None
    return Ranker(packed)


def root_cost(estimator, training_set):
    """Return the insertions that the search at the root takes at least."""
    n_features = count_drawn(estimator, training_set.n_features)
    n_rows = training_set.n_samples
    if n_rows >= smallest_sampled(estimator, n_features, training_set.n_features, True):
        n_rows = cap(estimator.batch_size, n_rows)
    return n_rows * n_features
