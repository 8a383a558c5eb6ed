"""Trees and forests on more values than fit a worker."""

import dask.array as da
import numpy as np
import pytest
from dask_data import as_dask, assert_same_forest, assert_same_tree
from sklearn.metrics import accuracy_score, r2_score

from sklearn_bandit import dask as bandit_dask
from sklearn_bandit import ensemble, tree
from sklearn_bandit.dask import _large_trees, _trees

N = 30_000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N + 5000, 5)).astype(np.float32)
X[::9, 3] = np.nan
SCORE = X[:, 0] + X[:, 1] * (X[:, 2] > 0) + 0.3 * RNG.normal(size=len(X))
Y = np.array(["a", "b", "c"])[np.digitize(SCORE, [-0.5, 0.5])]
TEST = slice(N, None)


@pytest.fixture
def small_memory(monkeypatch):
    """A tenth of the rows fits a worker; nodes of 250 rows of a sample are split."""
    monkeypatch.setattr(
        _trees, "list_workers", lambda tasks: [_trees.Worker("", 1, 3000 * 101)]
    )
    monkeypatch.setattr(_large_trees, "MIN_ROWS", 250)


def test_classes_and_partitions(client, small_memory):
    local = tree.DecisionTreeClassifier(max_depth=12, random_state=0)
    local.fit(X[:N], Y[:N])
    fitted = [
        bandit_dask.DecisionTreeClassifier(max_depth=12, random_state=0).fit(
            as_dask(X[:N], sizes), as_dask(Y[:N], sizes)
        )
        for sizes in (10_000, (1, 14_999, 0, 15_000))
    ]
    assert_same_tree(*fitted)
    assert_counts(fitted[0], N)
    assert accuracy_score(Y[TEST], fitted[0].predict(X[TEST])) == pytest.approx(
        accuracy_score(Y[TEST], local.predict(X[TEST])), abs=0.02
    )
    # Every leaf is pure or at the last level, as in the local tree.
    nodes = fitted[0].tree_
    assert nodes.max_depth == 12
    impure = (nodes.children_left < 0) & (nodes.impurity > 1e-9)
    depths = fitted[0].tree_.compute_node_depths() - 1
    assert (depths[impure] == 12).all()


def test_real_targets_and_partitions(client, small_memory):
    local = tree.DecisionTreeRegressor(max_depth=8, random_state=0)
    local.fit(X[:N], SCORE[:N])
    fitted = [
        bandit_dask.DecisionTreeRegressor(max_depth=8, random_state=0).fit(
            as_dask(X[:N], sizes), as_dask(SCORE[:N], sizes)
        )
        for sizes in (10_000, (777, 14_223, 15_000))
    ]
    assert_same_tree(*fitted)
    assert_counts(fitted[0], N)
    assert r2_score(SCORE[TEST], fitted[0].predict(X[TEST])) == pytest.approx(
        r2_score(SCORE[TEST], local.predict(X[TEST])), abs=0.02
    )
    # What nodes say of their rows is exact.
    leaves = fitted[0].apply(X[:N])
    means = np.bincount(leaves, SCORE[:N]) / np.maximum(np.bincount(leaves), 1)
    found = np.unique(leaves)
    np.testing.assert_allclose(
        fitted[0].tree_.value[found, 0, 0], means[found], rtol=1e-9, atol=1e-9
    )


def assert_counts(fitted, n_samples):
    """Each inner node has the rows of its children, and the root has all."""
    nodes = fitted.tree_
    inner = nodes.children_left >= 0
    for counts in (nodes.n_node_samples, nodes.weighted_n_node_samples):
        assert counts[0] == n_samples
        np.testing.assert_array_equal(
            counts[inner],
            counts[nodes.children_left[inner]] + counts[nodes.children_right[inner]],
        )


@pytest.mark.parametrize("name", ["RandomForestClassifier", "ExtraTreesRegressor"])
def test_forests(client, small_memory, name):
    y = Y if name.endswith("Classifier") else SCORE
    parameters = {"n_estimators": 8, "random_state": 0, "max_depth": 10}
    local = getattr(ensemble, name)(**parameters).fit(X[:N], y[:N])
    fitted = [
        getattr(bandit_dask, name)(**parameters).fit(
            as_dask(X[:N], sizes), as_dask(y[:N], sizes)
        )
        for sizes in (10_000, (14_000, 16_000))
    ]
    assert_same_forest(*fitted)
    assert fitted[0].score(X[TEST], y[TEST]) == pytest.approx(
        local.score(X[TEST], y[TEST]), abs=0.02
    )
    fitted_attributes = {key for key in vars(local) if key.endswith("_")}
    assert fitted_attributes <= set(vars(fitted[0]))


def test_draws_do_not_depend_on_parts():
    draw = _large_trees.Draw(5, 0.8)
    rows = np.arange(60_000, 200_000)
    counts = draw.counts(rows)
    parts = [draw.counts(part) for part in np.split(rows, [10, 5_536, 90_000])]
    np.testing.assert_array_equal(np.concatenate(parts), counts)
    assert counts.mean() == pytest.approx(0.8, abs=0.02)


@pytest.mark.parametrize(
    "parameters",
    [
        {"oob_score": True},
        {"max_leaf_nodes": 9},
        {"class_weight": "balanced"},
        {"categorical_features": [0]},
        {"n_estimators": "auto"},
    ],
)
def test_what_needs_all_samples(client, small_memory, parameters):
    forest = bandit_dask.RandomForestClassifier(**parameters)
    with pytest.raises(ValueError, match="needs all samples in the memory of one"):
        forest.fit(as_dask(X, 10_000), as_dask(Y, 10_000))


def test_infinite_values_and_weights_are_refused(client, small_memory):
    infinite = X.copy()
    infinite[20_001, 0] = np.inf
    estimator = bandit_dask.DecisionTreeRegressor(max_depth=2, random_state=0)
    with pytest.raises(ValueError, match="infinity"):
        estimator.fit(as_dask(infinite, 10_000), as_dask(SCORE, 10_000))
    weights = da.ones(len(X), chunks=10_000)
    with pytest.raises(ValueError, match="sample_weight needs all samples"):
        estimator.fit(as_dask(X, 10_000), as_dask(SCORE, 10_000), weights)
    assert not hasattr(estimator, "tree_")
