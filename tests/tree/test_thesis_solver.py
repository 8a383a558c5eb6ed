"""The thesis's own rule finds good splits, if for more insertions."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression

from sklearn_bandit import tree
from sklearn_bandit.ensemble import ExtraTreesClassifier, RandomForestClassifier


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


def test_refuses_what_the_thesis_has_no_rule_for(labelled):
    X, y = labelled
    with pytest.raises(ValueError, match="poisson"):
        tree.DecisionTreeRegressor(solver="mab-thesis", criterion="poisson").fit(X, y)
    with pytest.raises(ValueError, match="2 outputs"):
        tree.DecisionTreeClassifier(solver="mab-thesis").fit(X, np.c_[y, y])
    with pytest.raises(ValueError, match="splitter"):
        ExtraTreesClassifier(2, solver="mab-thesis").fit(X, y)
