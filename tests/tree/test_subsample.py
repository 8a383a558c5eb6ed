"""Shallow trees on very many samples: subsample first, then all samples."""

import numpy as np
import pytest
from early_policy import early_policy
from sklearn import tree as sk_tree
from sklearn_bandit._core.matrix import MatrixView
from sklearn_bandit.tree._building.route import list_samples, route

from sklearn_bandit.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    _bandit_tree,
)
from sklearn_bandit.tree._building import subsample
from sklearn_bandit.tree._building.training_set import TrainingSet
from sklearn_bandit.tree._data import packing

# Few samples suffice.
POLICY = early_policy(min_subsampled_per_leaf=512)


def make_tree(Tree, **parameters):
    model = Tree(**parameters)
    model._sampling_policy = POLICY
    return model


@pytest.fixture
def subsampled(monkeypatch):
    """Tell how many trees were grown by subsample."""
    trees = []

    def grow(*arguments):
        trees.append(subsample.grow_on_subsample(*arguments))
        return trees[-1]

    monkeypatch.setattr(_bandit_tree, "grow_on_subsample", grow)
    return trees


def make_samples(n_samples=80_000, n_features=6, missing=False):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, n_features)).astype(np.float32)
    score = 2 * X[:, 0] + X[:, 1] * (X[:, 2] > 0) + rng.standard_normal(n_samples)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, score


def assert_describes(estimator, X, y, impurity):
    """What each node of a tree says of its samples is true."""
    tree = estimator.tree_
    leaves = estimator.apply(X)
    rows = [None] * tree.node_count
    for node in range(tree.node_count - 1, -1, -1):
        left, right = tree.children_left[node], tree.children_right[node]
        rows[node] = leaves == node if left < 0 else rows[left] | rows[right]
        value, expected = impurity(y[rows[node]])
        assert tree.n_node_samples[node] == rows[node].sum()
        np.testing.assert_allclose(tree.value[node].squeeze(), value, rtol=1e-9)
        assert tree.impurity[node] == pytest.approx(expected, rel=1e-9, abs=1e-12)
    np.testing.assert_array_equal(tree.weighted_n_node_samples, tree.n_node_samples)


def gini(labels):
    shares = np.bincount(labels, minlength=3) / len(labels)
    return shares, 1.0 - (shares**2).sum()


def entropy(labels):
    shares = np.bincount(labels, minlength=3) / len(labels)
    present = shares[shares > 0]
    return shares, -(present * np.log2(present)).sum()


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_routes_like_scikit_learn(missing, dtype, order):
    X, score = make_samples(70_000, missing=missing)
    X = np.asarray(X, dtype=dtype, order=order)
    reference = sk_tree.DecisionTreeClassifier(max_depth=6).fit(X, score > 0)
    nodes = reference.tree_.__getstate__()["nodes"]
    training_set = TrainingSet(
        None, (score > 0).reshape(-1, 1), [2], "gini", n_features_in=6
    )
    leaves, totals, has_infinite = route(
        MatrixView(X), training_set.criterion_maker()(), nodes, 6, n_threads=2
    )
    assert not has_infinite
    np.testing.assert_array_equal(leaves, reference.apply(X))
    expected = np.zeros((len(nodes), 2))
    np.add.at(expected, (leaves, (score > 0).astype(int)), 1)
    np.testing.assert_array_equal(totals, expected)


def test_lists_samples():
    leaves = np.array([3, 1, 3, 4, 1, 9, 3], dtype=np.uint16)
    ids = list_samples(leaves, np.array([3, 9, 1]), np.array([3, 1, 2]))
    np.testing.assert_array_equal(ids, [0, 2, 6, 5, 1, 4])
    assert len(list_samples(leaves, np.empty(0, np.intp), np.empty(0, np.int64))) == 0


@pytest.mark.parametrize(
    ("criterion", "impurity"), [("gini", gini), ("entropy", entropy)]
)
@pytest.mark.parametrize("missing", [False, True])
def test_nodes_of_a_classifier(subsampled, criterion, impurity, missing):
    X, score = make_samples(missing=missing)
    y = np.digitize(score, [-1.0, 1.0])
    tree = make_tree(
        DecisionTreeClassifier, criterion=criterion, max_depth=4, random_state=0
    )
    tree.fit(X, y)
    assert len(subsampled) == 1
    assert tree.get_depth() == 4
    assert_describes(tree, X, y, impurity)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_nodes_of_a_regressor(subsampled, criterion):
    X, score = make_samples()
    y = np.abs(score)

    def impurity(targets):
        mean = targets.mean()
        if criterion == "squared_error":
            return mean, targets.var()
        return mean, (targets * np.log(targets / mean)).mean()

    tree = make_tree(
        DecisionTreeRegressor, criterion=criterion, max_depth=3, random_state=0
    )
    tree.fit(X, y)
    assert len(subsampled) == 1
    assert_describes(tree, X, y, impurity)


def test_several_outputs(subsampled):
    X, score = make_samples()
    y = np.column_stack([score, X[:, 3] + 0.1 * score])
    tree = make_tree(DecisionTreeRegressor, max_depth=3, random_state=0).fit(X, y)
    assert len(subsampled) == 1
    leaves = tree.apply(X)
    for leaf in np.unique(leaves):
        mean = y[leaves == leaf].mean(axis=0)
        np.testing.assert_allclose(tree.tree_.value[leaf, :, 0], mean)


def test_clear_splits_are_the_exact_ones(subsampled):
    rng = np.random.default_rng(1)
    X = rng.integers(0, 4, (80_000, 5)).astype(np.float32)
    y = ((X[:, 1] > 1) ^ (X[:, 3] > 2) & (rng.random(len(X)) < 0.9)).astype(int)
    exact = make_tree(DecisionTreeClassifier, max_depth=3, solver="exact").fit(X, y)
    assert not subsampled
    for seed in range(20):
        tree = make_tree(DecisionTreeClassifier, max_depth=3, random_state=seed).fit(
            X, y
        )
        assert tree.tree_.feature[0] == exact.tree_.feature[0] == 1
        assert tree.tree_.threshold[0] == exact.tree_.threshold[0] == 1.5
        np.testing.assert_array_equal(tree.tree_.value[0], exact.tree_.value[0])
    assert len(subsampled) == 20


def test_is_as_accurate_as_exact(subsampled):
    X, score = make_samples(160_000)
    X, X_test, y, y_test = X[::2], X[1::2], score[::2] > 0, score[1::2] > 0
    exact = make_tree(DecisionTreeClassifier, max_depth=5, solver="exact").fit(X, y)
    scores = [
        make_tree(DecisionTreeClassifier, max_depth=5, random_state=seed)
        .fit(X, y)
        .score(X_test, y_test)
        for seed in range(5)
    ]
    assert len(subsampled) == 5
    assert np.mean(scores) > exact.score(X_test, y_test) - 0.005


def test_undecided_nodes_are_grown_on_all_samples(subsampled):
    """A subsample cannot tell noise apart: the root is undecided, the tree exact."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40_000, 4)).astype(np.float32)
    y = rng.integers(0, 2, len(X))
    tree = make_tree(DecisionTreeClassifier, max_depth=3, tol=0.0, random_state=0).fit(
        X, y
    )
    assert len(subsampled) == 1
    assert tree.get_depth() == 3
    assert tree.tree_.node_count == 15
    assert_describes(tree, X, y, lambda labels: (gini(labels)[0][:2], gini(labels)[1]))


def test_same_tree_for_any_number_of_threads(subsampled, monkeypatch):
    X, score = make_samples(missing=True)
    trees = []
    for n_threads in (1, 2, 3):
        monkeypatch.setattr(
            _bandit_tree, "effective_n_threads", lambda _, n=n_threads: n
        )
        model = make_tree(DecisionTreeClassifier, max_depth=4, random_state=0).fit(
            X, score > 0
        )
        trees.append(model.tree_.__getstate__())
    assert len(subsampled) == 3
    for state in trees[1:]:
        np.testing.assert_array_equal(state["nodes"], trees[0]["nodes"])
        np.testing.assert_array_equal(state["values"], trees[0]["values"])


def test_refuses_infinity_wherever_it_is(subsampled):
    X, score = make_samples()
    X[12_345, 5] = np.inf
    tree = make_tree(DecisionTreeClassifier, max_depth=4, random_state=0)
    with pytest.raises(ValueError, match="infinity"):
        tree.fit(X, score > 0)
    assert not hasattr(tree, "tree_")


@pytest.mark.parametrize(
    "parameters",
    [
        {"solver": "exact"},
        {"delta": 0.0},
        {"max_depth": None},
        {"max_depth": 10},
        {"min_samples_leaf": 2},
        {"min_impurity_decrease": 1e-3},
        {"max_leaf_nodes": 8},
        {"max_insertions": 10**9},
        {"max_features": 2},
        {"class_weight": "balanced"},
    ],
)
def test_is_not_subsampled(subsampled, parameters):
    X, score = make_samples(40_000)
    defaults = {"max_depth": 3, "random_state": 0}
    make_tree(DecisionTreeClassifier, **{**defaults, **parameters}).fit(X, score > 0)
    assert not subsampled
    make_tree(DecisionTreeClassifier, **defaults).fit(X, score > 0)
    assert len(subsampled) == 1


@pytest.mark.parametrize("limit", ["MAX_INT32_ROWS", "MAX_FEATURES"])
def test_refuses_what_the_kernels_cannot_index(subsampled, monkeypatch, limit):
    X, score = make_samples()
    monkeypatch.setattr(packing, limit, 5)
    with pytest.raises(ValueError, match=r"At most 5 (samples|features)"):
        make_tree(DecisionTreeClassifier, max_depth=3).fit(X, score > 0)


def test_pure_and_constant(subsampled):
    X, score = make_samples(40_000)
    tree = make_tree(DecisionTreeClassifier, max_depth=3).fit(
        X, np.zeros(len(X), dtype=int)
    )
    assert tree.tree_.node_count == 1
    tree = make_tree(DecisionTreeClassifier, max_depth=3).fit(
        np.ones_like(X), score > 0
    )
    assert tree.tree_.node_count == 1
    assert len(subsampled) == 2
