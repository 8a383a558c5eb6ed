"""Bad input gets scikit-learn's errors; odd input gets right answers."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import tree as sklearn_tree

from sklearn_bandit import ensemble, tree
from sklearn_bandit._core.validation import unique_inverse
from sklearn_bandit.tree._data.packing import MAX_FEATURES, check_size

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4))
Y = (X[:, 0] > 0).astype(int)

CLASSIFIERS = [
    tree.DecisionTreeClassifier(),
    ensemble.RandomForestClassifier(3, random_state=0),
    ensemble.ExtraTreesClassifier(3, random_state=0),
    ensemble.RandomPatchesClassifier(3, random_state=0),
]


def name(estimator):
    return type(estimator).__name__


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name)
def test_errors(model):
    broken = X.copy()
    broken[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        model.fit(broken, Y)
    with pytest.raises(ValueError, match=r"NaN|infinity|[Cc]ontinuous|Unknown label"):
        model.fit(X, np.where(Y, np.nan, 0.5))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        model.fit(X, Y, np.full(200, -1.0))
    with pytest.raises(ValueError, match="zero"):
        model.fit(X, Y, np.zeros(200))
    with pytest.raises(ValueError, match="features"):
        model.fit(X, Y).predict(X[:, :3])
    for wrong in ({"solver": "best"}, {"delta": 1.0}, {"max_bins": 256}, {"tol": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            type(model)(**wrong).fit(X, Y)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name)
def test_failed_fit_leaves_the_estimator_as_it_was(model):
    model.fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.full((9, 2), np.inf), np.arange(9) % 2)
    assert vars(model).keys() == before.keys()
    assert all(vars(model)[key] is before[key] for key in before)


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name)
def test_one_class_and_constant_features(model):
    assert_array_equal(model.fit(X, np.full(200, 7)).predict(X), 7)
    probabilities = model.fit(np.ones((200, 3)), Y).predict_proba(np.ones((5, 3)))
    assert_allclose(probabilities, probabilities[[0]].repeat(5, 0))


def test_column_of_one_value_and_missing():
    column = np.where(Y[:, None], np.nan, 1.0)
    model = tree.DecisionTreeClassifier().fit(column, Y)
    assert_array_equal(model.predict(column), Y)
    theirs = sklearn_tree.DecisionTreeClassifier().fit(column, Y)
    if theirs.tree_.node_count == 1:
        pytest.skip("this scikit-learn does not split on missing values alone")
    assert_array_equal(theirs.predict(column), Y)
    assert model.tree_.threshold[0] == theirs.tree_.threshold[0]


def test_many_classes():
    y = np.arange(10_000)
    column = y[:, None].astype(np.float32)
    model = tree.DecisionTreeClassifier(max_depth=3).fit(column, y)
    assert model.tree_.node_count > 7
    with pytest.raises(ValueError, match="65536 classes"):
        tree.DecisionTreeClassifier().fit(np.zeros((70_000, 1)), np.arange(70_000))


def test_index_types():
    check_size(2**31 - 1, MAX_FEATURES)
    with pytest.raises(ValueError, match="samples"):
        check_size(2**31, 10)
    with pytest.raises(ValueError, match="features"):
        check_size(10, 2**16 + 1)


def test_duplicate_columns():
    doubled = np.hstack([X, X])
    model = tree.DecisionTreeClassifier(random_state=0).fit(doubled, Y)
    assert model.score(doubled, Y) == 1.0


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.int8, np.uint32, bool])
def test_unique_inverse(dtype):
    labels = RNG.integers(0, 2 if dtype is bool else 9, 50).astype(dtype)
    values, codes = unique_inverse(labels)
    expected = np.unique(labels, return_inverse=True)
    assert_array_equal(values, expected[0])
    assert values.dtype == labels.dtype
    assert_array_equal(codes, expected[1])


@pytest.mark.parametrize("options", [{}, {"max_leaf_nodes": 25}], ids=str)
def test_continuous_values_are_split_as_by_sorting(options):
    # Up to 255 rows, ranks stand for the values: scikit-learn's thresholds exactly.
    y = X[:, 0] + X[:, 1] ** 2 + 0.1 * X[:, 2]
    ours = tree.DecisionTreeRegressor(random_state=0, **options).fit(X, y)
    theirs = sklearn_tree.DecisionTreeRegressor(random_state=0, **options).fit(X, y)
    assert ours.tree_.node_count == theirs.tree_.node_count
    assert_array_equal(ours.tree_.threshold[:4], theirs.tree_.threshold[:4])
    assert_allclose(ours.predict(X), theirs.predict(X))


def test_ranks_refine_bins():
    # 3,000 distinct values, 20 bins: only ranks can tell the rows of a bin apart.
    rng = np.random.default_rng(1)
    fine = rng.permutation(3000)[:, None].astype(np.float64)
    y = (np.sin(fine[:, 0]) > 0).astype(int)
    model = tree.DecisionTreeClassifier(max_bins=20, random_state=0).fit(fine, y)
    assert model.score(fine, y) == 1.0


def test_best_first_is_scikit_learns():
    rng = np.random.default_rng(2)
    values = rng.integers(0, 100, (3000, 5))
    y = values[:, 0] + 2.0 * values[:, 1] + rng.normal(0, 20, 3000)
    for extra in ({}, {"monotonic_cst": [1, 0, -1, 0, 0]}, {"max_depth": 4}):
        options = {"max_leaf_nodes": 30, "random_state": 0, **extra}
        ours = tree.DecisionTreeRegressor(solver="exact", **options).fit(values, y)
        theirs = sklearn_tree.DecisionTreeRegressor(**options).fit(values, y)
        for field in ("children_left", "children_right", "feature", "threshold"):
            assert_array_equal(getattr(ours.tree_, field), getattr(theirs.tree_, field))
        assert_allclose(ours.tree_.value, theirs.tree_.value)
