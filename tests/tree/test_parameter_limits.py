"""Parameters that are larger than anything can be."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris

from sklearn_bandit import tree
from sklearn_bandit.ensemble import RandomForestClassifier
from sklearn_bandit.tree._building import subsample

HUGE = [2**31 - 1, 2**62 - 1, 2**63 - 1, 2**63, 2**100, np.int64(2**62)]


@pytest.fixture(scope="module")
def data():
    X, y = load_iris(return_X_y=True)
    # Several features have the same values: no split of these is tied.
    return X + np.arange(4) * 1e-3, y


def assert_same_tree(a, b):
    a, b = a.tree_.__getstate__(), b.tree_.__getstate__()
    assert_array_equal(a["nodes"], b["nodes"])
    assert_array_equal(a["values"], b["values"])


@pytest.mark.parametrize("value", HUGE, ids=repr)
@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("max_leaf_nodes", 150),
        ("max_depth", 149),
        ("min_samples_split", 151),
        ("min_samples_leaf", 151),
        ("max_features", 4),
        ("batch_size", 10_000),
        ("max_insertions", 10**9),
    ],
)
def test_huge(data, name, same, value):
    X, y = data
    for solver in ("mab", "mab-thesis"):
        models = [
            tree.DecisionTreeClassifier(random_state=0, solver=solver, **{name: number})
            for number in (value, same)
        ]
        assert_same_tree(*(model.fit(X, y) for model in models))


@pytest.mark.parametrize("value", [2**100, np.int64(2**62)], ids=repr)
def test_huge_batches_of_a_large_node(value):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 6)).astype(np.float32)
    y = X[:, 0] > 0.1 * rng.standard_normal(len(X))
    for solver in ("mab", "mab-thesis"):
        models = [
            tree.DecisionTreeClassifier(
                solver=solver, batch_size=number, max_depth=2, random_state=0
            ).fit(X, y)
            for number in (value, len(X))
        ]
        assert_same_tree(*models)


@pytest.mark.parametrize("value", [*HUGE, np.int64(64), np.uint8(64)], ids=repr)
def test_huge_depth_is_not_subsampled(value):
    """Two to its power is not computed, nor is what is left of it in 64 bits."""
    X = np.zeros((10**6, 28), dtype=np.float32)
    model = tree.DecisionTreeClassifier(max_depth=value)
    assert not subsample.pays_to_subsample(model, X, 2, None)
    shallow = tree.DecisionTreeClassifier(max_depth=np.int8(1))
    assert subsample.pays_to_subsample(shallow, X, 2, None)


def test_huge_numbers_of_a_forest(data):
    X, y = data
    models = [
        RandomForestClassifier(
            3, max_leaf_nodes=number, max_depth=number, random_state=0
        ).fit(X, y)
        for number in (2**62 - 1, 200)
    ]
    for trees in zip(*(model.estimators_ for model in models), strict=True):
        assert_same_tree(*trees)


@pytest.mark.parametrize("value", [0, -1])
@pytest.mark.parametrize(
    "estimator", [tree.DecisionTreeClassifier(), RandomForestClassifier(2)], ids=repr
)
def test_a_budget_is_positive(data, estimator, value):
    with pytest.raises(ValueError, match=r"'max_insertions' .* range \[1, inf\)"):
        estimator.set_params(max_insertions=value).fit(*data)
