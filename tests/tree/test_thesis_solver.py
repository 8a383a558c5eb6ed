"""The thesis's own rule finds good splits, if for more insertions."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn_bandit.tree._building.depth_first import DepthFirstBuilder
from sklearn_bandit.tree._building.node_buffer import NodeBuffer

from sklearn_bandit import tree
from sklearn_bandit.bandit import normal_radius, split_delta
from sklearn_bandit.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn_bandit.tree._building import build
from sklearn_bandit.tree._building.training_set import TrainingSet
from sklearn_bandit.tree._data.packed_rows import pack
from sklearn_bandit.tree._parameters import GrowthLimits


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (30_000, 6)).astype(np.uint8)
    y = (X[:, 2] > 5).astype(int) ^ (rng.random(len(X)) < 0.05)
    return X, y


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_finds_the_split(labelled, criterion):
    X, y = labelled
    for seed in range(10):
        stump = tree.DecisionTreeClassifier(
            criterion=criterion, solver="mab-thesis", max_depth=1, random_state=seed
        ).fit(X, y)
        assert stump.tree_.feature[0] == 2
        assert stump.tree_.threshold[0] == 5.5
        assert stump.n_insertions_ < 0.5 * X.size


def test_finds_the_split_of_a_regression(labelled):
    X, y = labelled
    y = 3.0 * y + np.random.default_rng(1).normal(size=len(y))
    for seed in range(10):
        stump = tree.DecisionTreeRegressor(
            solver="mab-thesis", max_depth=1, random_state=seed
        ).fit(X, y)
        assert stump.tree_.feature[0] == 2
        assert stump.tree_.threshold[0] == 5.5
        assert stump.n_insertions_ < 0.5 * X.size


def test_compares_ties_on_all_rows():
    # Two equal columns are never told apart: the rows are read twice over.
    rng = np.random.default_rng(2)
    x = rng.integers(0, 2, 20_000)
    X = np.column_stack([x, x]).astype(np.uint8)
    stump = tree.DecisionTreeClassifier(solver="mab-thesis", max_depth=1).fit(X, x)
    assert stump.n_insertions_ >= 2 * X.size
    assert stump.score(X, x) == 1.0


def test_weights_are_repetitions():
    X, y = make_classification(12_000, 5, random_state=0)
    weight = np.random.default_rng(3).integers(0, 3, len(y)).astype(float)
    model = tree.DecisionTreeClassifier(
        solver="mab-thesis", max_depth=4, random_state=0
    ).fit(X, y, weight)
    exact = tree.DecisionTreeClassifier(solver="exact", max_depth=4).fit(X, y, weight)
    assert model.tree_.weighted_n_node_samples[0] == weight.sum()
    assert model.score(X, y, weight) > exact.score(X, y, weight) - 0.02


def test_scores_of_whole_trees_are_those_of_exact():
    X, y = make_regression(15_000, 8, n_informative=4, noise=10.0, random_state=0)
    scores = [
        tree.DecisionTreeRegressor(
            solver=solver, max_depth=6, batch_size=1000, random_state=0
        )
        .fit(X, y)
        .score(X, y)
        for solver in ("mab-thesis", "exact")
    ]
    assert abs(scores[0] - scores[1]) < 0.01


def test_budget_is_kept(labelled):
    X, y = labelled
    model = RandomForestClassifier(
        5, solver="mab-thesis", max_insertions=200_000, random_state=0
    ).fit(X, y)
    assert 0 < model.n_insertions_ <= 200_000


def make_splitter(estimator, X, y):
    """Make the splitter of an estimator, and what grows a tree with it."""
    training_set = TrainingSet(pack(X), y.reshape(-1, 1), np.array([2]), "gini")
    growth = build.Growth(
        training_set.criterion_maker()(), training_set.ids(), len(y), seed=0
    )
    splitter = build.make_splitter(estimator, training_set, growth)
    limits = GrowthLimits(
        max_depth=1, min_samples_split=2, min_samples_leaf=1, max_leaf_nodes=-1
    )
    builder = DepthFirstBuilder(
        training_set.packed, splitter, growth.ids, limits, NodeBuffer(), None
    )
    return splitter, builder


def test_counts_what_it_inserts():
    """Every insertion adds one to a cell, while arms fall in different rounds."""
    rng = np.random.default_rng(5)
    X = rng.integers(0, 2, (60_000, 6)).astype(np.uint8)
    score = X @ [0.0, 2.0, 3.0, 1.5, 1.0, 0.5] + 3.0 * rng.normal(size=len(X))
    y = (score > score.mean()).astype(int)
    model = tree.DecisionTreeClassifier(solver="mab-thesis", batch_size=500)
    splitter, builder = make_splitter(model, X, y)
    builder.grow()
    inserted = np.asarray(splitter.cells).sum(axis=(1, 2))
    assert len(np.unique(inserted)) > 2
    assert inserted.max() < len(X)
    assert splitter.n_insertions == inserted.sum()


def insertions_of_search(X, y, n_copies, delta, by_survivors):
    """Insertions of a search whose batches all hold the rows of X, once each."""
    features = np.repeat(np.arange(X.shape[1]), X.max(axis=0))
    bins = np.concatenate([np.arange(n) for n in X.max(axis=0)])
    mean, variance = np.zeros(len(bins)), np.zeros(len(bins))
    for arm, (feature, last) in enumerate(zip(features, bins, strict=True)):
        is_left = X[:, feature] <= last
        for side in (is_left, ~is_left):
            q = np.bincount(y[side], minlength=2) / side.sum()
            mean[arm] -= side.mean() * (q**2).sum()
            variance[arm] += side.mean() * (4 * (q**3).sum() - 3 * (q**2).sum() ** 2)
    variance -= mean**2
    survivors, n_insertions = np.arange(len(bins)), 0
    for n_round in range(1, n_copies + 1):
        n_insertions += len(y) * len(np.unique(features[survivors]))
        n_arms = len(survivors) if by_survivors else len(bins)
        share = split_delta(delta, n_arms, n_round, n_copies + 1)
        radius = np.array(
            [normal_radius(variance[arm], n_round * len(y), share) for arm in survivors]
        )
        survivors = survivors[
            mean[survivors] - radius <= (mean[survivors] + radius).min()
        ]
        if len(survivors) == 1:
            return n_insertions
    return n_insertions + n_copies * len(y) * len(np.unique(features[survivors]))


@pytest.mark.parametrize("delta", [0.01, 0.1, 0.5])
def test_error_is_divided_among_the_arms_at_the_start(delta):
    """Those that are left do not get the share of those that fell.

    A batch has one row of each stretch of equal rows: it is known what it holds.
    """
    rng = np.random.default_rng(7)
    n_copies = 40
    differs = False
    for _ in range(5):
        X = rng.integers(0, 20, (400, 3))
        X[0], X[1] = 19, 0
        score = X[:, 0] + 0.7 * X[:, 1] + 4.0 * rng.normal(size=len(X))
        y = (score > score.mean()).astype(int)
        model = tree.DecisionTreeClassifier(
            solver="mab-thesis", batch_size=len(X), max_depth=1, delta=delta
        )
        copies = np.repeat(X, n_copies, axis=0).astype(np.uint8)
        model.fit(copies, np.repeat(y, n_copies))
        expected = insertions_of_search(X, y, n_copies, delta, False)
        assert model.n_insertions_ == expected
        differs |= expected != insertions_of_search(X, y, n_copies, delta, True)
    assert differs


def test_a_single_arm_needs_no_sample(monkeypatch):
    """Whatever was in the memory that estimates go to."""

    def empty(*arguments, **options):
        memory = new(*arguments, **options)
        if memory.dtype == np.float64:
            memory[...] = np.nan
        return memory

    new = np.empty
    x = np.arange(20_000) % 2
    X = x.astype(np.uint8).reshape(-1, 1)
    monkeypatch.setattr(np, "empty", empty)
    stump = tree.DecisionTreeClassifier(solver="mab-thesis", max_depth=1).fit(X, x)
    assert stump.tree_.node_count == 3
    assert stump.n_insertions_ == 0


def test_refuses_what_the_thesis_has_no_rule_for(labelled):
    X, y = labelled
    with pytest.raises(ValueError, match="poisson"):
        tree.DecisionTreeRegressor(solver="mab-thesis", criterion="poisson").fit(X, y)
    with pytest.raises(ValueError, match="2 outputs"):
        tree.DecisionTreeClassifier(solver="mab-thesis").fit(X, np.c_[y, y])
    with pytest.raises(ValueError, match="splitter"):
        ExtraTreesClassifier(2, solver="mab-thesis").fit(X, y)
