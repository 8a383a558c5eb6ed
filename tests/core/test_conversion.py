"""``to_sklearn``: the same model in scikit-learn's own class."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn import ensemble as sklearn_ensemble
from sklearn import tree as sklearn_tree
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError

from sklearn_bandit import ensemble, tree

COUNTERPARTS = {
    tree.DecisionTreeClassifier: sklearn_tree.DecisionTreeClassifier,
    tree.DecisionTreeRegressor: sklearn_tree.DecisionTreeRegressor,
    tree.ExtraTreeClassifier: sklearn_tree.ExtraTreeClassifier,
    tree.ExtraTreeRegressor: sklearn_tree.ExtraTreeRegressor,
    ensemble.RandomForestClassifier: sklearn_ensemble.RandomForestClassifier,
    ensemble.RandomForestRegressor: sklearn_ensemble.RandomForestRegressor,
    ensemble.ExtraTreesClassifier: sklearn_ensemble.ExtraTreesClassifier,
    ensemble.ExtraTreesRegressor: sklearn_ensemble.ExtraTreesRegressor,
    ensemble.RandomPatchesClassifier: sklearn_ensemble.RandomForestClassifier,
    ensemble.RandomPatchesRegressor: sklearn_ensemble.RandomForestRegressor,
    ensemble.HistGradientBoostingClassifier: (
        sklearn_ensemble.HistGradientBoostingClassifier
    ),
    ensemble.HistGradientBoostingRegressor: (
        sklearn_ensemble.HistGradientBoostingRegressor
    ),
}
FORESTS = [each for each in COUNTERPARTS if "n_estimators" in each().get_params()]


def small(owner):
    parameters = owner().get_params()
    few = {"n_estimators": 4, "max_iter": 4, "random_state": 0, "max_depth": 4}
    return owner(**{name: few[name] for name in few if name in parameters})


def data(model, n_outputs=1):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 5))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, :n_outputs]) + rng.standard_normal((300, n_outputs))
    y = y[:, 0] if n_outputs == 1 else y
    return X, (y > 0) + 1 if is_classifier(model) else y


@pytest.mark.parametrize("owner", COUNTERPARTS)
def test_same_model_in_scikit_learns_class(owner):
    model = small(owner)
    X, y = data(model)
    model.fit(X, y)
    converted = model.to_sklearn()
    assert type(converted) is COUNTERPARTS[owner]
    assert_array_equal(converted.predict(X), model.predict(X))
    if is_classifier(model):
        assert_array_equal(converted.predict_proba(X), model.predict_proba(X))
    # Nothing of this package is needed to load it.
    assert b"sklearn_bandit" not in pickle.dumps(converted)
    clone(converted).fit(np.nan_to_num(X), y)


@pytest.mark.parametrize("owner", FORESTS)
def test_trees_of_forests_are_scikit_learns(owner):
    model = small(owner)
    converted = model.fit(*data(model)).to_sklearn()
    for ours, theirs in zip(model.estimators_, converted.estimators_, strict=True):
        assert type(theirs).__module__.startswith("sklearn.")
        assert theirs.tree_ is ours.tree_
        assert theirs.random_state == ours.random_state
    assert type(converted.estimator_) is type(converted.estimators_[0])
    assert_array_equal(converted.feature_importances_, model.feature_importances_)


def test_samples_of_trees():
    model = small(ensemble.RandomForestClassifier)
    X, y = data(model)
    converted = model.fit(X, y).to_sklearn()
    assert_array_equal(converted.estimators_samples_, model.estimators_samples_)


@pytest.mark.parametrize(
    "owner", [tree.DecisionTreeClassifier, ensemble.RandomForestRegressor]
)
def test_several_outputs(owner):
    model = small(owner)
    X, y = data(model, n_outputs=2)
    model.fit(X, y)
    assert_array_equal(model.to_sklearn().predict(X), model.predict(X))


def test_feature_names():
    pandas = pytest.importorskip("pandas")
    model = small(ensemble.RandomForestClassifier)
    X, y = data(model)
    frame = pandas.DataFrame(X, columns=list("abcde"))
    converted = model.fit(frame, y).to_sklearn()
    assert list(converted.feature_names_in_) == list("abcde")


def test_budget_says_how_many_trees():
    model = ensemble.RandomForestClassifier(50, max_insertions=5000, random_state=0)
    X, y = data(model)
    converted = model.fit(X, y).to_sklearn()
    assert converted.n_estimators == len(model.estimators_) < 50


def test_not_fitted():
    with pytest.raises(NotFittedError):
        tree.DecisionTreeClassifier().to_sklearn()


@pytest.mark.parametrize(
    "owner", [each for each in COUNTERPARTS if hasattr(each, "category_encoder_")]
)
def test_categories_are_not_taken_for_numbers(owner):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 9, 300), rng.standard_normal(300)])
    effects = rng.permutation(9)
    y = (effects[X[:, 0].astype(int)] + X[:, 1] > 4).astype(int)
    model = small(owner).set_params(categorical_features=[0]).fit(X, y)
    with pytest.raises(ValueError, match="fitted to categories"):
        model.to_sklearn()
    # What the message says.
    plain = copy.copy(model)
    plain.category_encoder_ = None
    converted = plain.to_sklearn()
    assert type(converted) is COUNTERPARTS[owner]
    numbers = model.category_encoder_.transform(X)
    assert_array_equal(converted.predict(numbers), model.predict(X))
    assert not np.array_equal(converted.predict(X), model.predict(X))
