"""The policy that says when to sample: handed on, and told in the documentation."""

import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from early_policy import early_policy
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_classification

from sklearn_bandit import ensemble, tree
from sklearn_bandit.tree._policy import SamplingPolicy

EARLY = early_policy()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 6)).astype(np.float32)
    return X, 3 * X[:, 2] + 0.1 * rng.standard_normal(len(X))


@pytest.mark.parametrize(
    "estimator",
    [
        tree.DecisionTreeRegressor(max_depth=1, random_state=0),
        ensemble.RandomForestRegressor(2, max_depth=1, random_state=0),
        ensemble.RandomForestRegressor(2, max_depth=1, random_state=0, n_jobs=2),
        ensemble.RandomPatchesRegressor(2, max_depth=1, random_state=0),
    ],
    ids=str,
)
def test_trees_follow_the_policy_of_their_estimator(estimator, data):
    before = estimator.fit(*data).n_insertions_
    estimator._sampling_policy = EARLY
    assert estimator.fit(*data).n_insertions_ < before / 2
    # Models keep to it, and have none of their own otherwise.
    again = pickle.loads(pickle.dumps(estimator))
    assert again._sampling_policy == EARLY
    del estimator._sampling_policy
    assert b"SamplingPolicy" not in pickle.dumps(estimator)
    assert estimator.fit(*data).n_insertions_ == before


@pytest.mark.parametrize(
    ("n_features", "is_sampled"), [(8, False), (20, False), (60, True)]
)
def test_default_trees_insert_no_more_than_exact_ones(n_features, is_sampled):
    # With few features exact trees subtract what sampled ones would have to insert.
    for seed in range(3):
        X, y = make_classification(
            50_000,
            n_features,
            n_informative=min(n_features, 8),
            n_redundant=0,
            random_state=seed,
        )
        mab, exact = (
            tree.DecisionTreeClassifier(solver=solver, max_depth=6, random_state=0).fit(
                X, y
            )
            for solver in ("mab", "exact")
        )
        assert (mab.n_sampled_nodes_ > 0) == is_sampled
        assert mab.n_insertions_ <= 1.03 * exact.n_insertions_


def test_is_frozen():
    with pytest.raises(FrozenInstanceError):
        SamplingPolicy().min_rows = 1
    assert len({SamplingPolicy(), SamplingPolicy(), EARLY}) == 2


@pytest.mark.parametrize(
    ("kind", "n_features", "n_drawn", "n_rows"),
    [
        ("Classifier", 8, 8, 524_288),
        ("Classifier", 28, 28, 42_799),
        ("Classifier", 784, 784, 8_192),
        ("Classifier", 36, 6, 29_127),
        ("Classifier", 54, 7, 21_399),
        ("Classifier", 784, 28, 8_192),
        ("Regressor", 8, 8, 2_097_152),
        ("Regressor", 28, 28, 171_196),
        ("Regressor", 54, 54, 64_000),
        ("Regressor", 28, 9, 51_781),
    ],
)
def test_fewer_features_take_more_rows(kind, n_features, n_drawn, n_rows):
    estimator = getattr(tree, f"DecisionTree{kind}")()
    for solver, least in (("mab", 8_192), ("auto", 50_000)):
        estimator.set_params(solver=solver)
        found = SamplingPolicy().smallest_sampled(estimator, n_drawn, n_features)
        if solver == "auto" and n_drawn < n_features:
            assert found == least
        else:
            assert found == max(least, n_rows)


def test_trees_that_do_not_subtract_sample_sooner():
    policy = SamplingPolicy()
    leafwise = tree.DecisionTreeClassifier(max_leaf_nodes=8)
    random = tree.ExtraTreeClassifier(max_features=None)
    for estimator in (leafwise, random):
        assert policy.smallest_sampled(estimator, 8, 8) == 8_192
    whole = tree.DecisionTreeClassifier()
    assert policy.smallest_sampled(whole, 8, 8, has_budget=True) == 8_192


@pytest.mark.parametrize("solver", ["mab", "auto"])
@pytest.mark.parametrize(("n_samples", "is_sampled"), [(63_000, False), (65_000, True)])
def test_real_targets_are_sampled_where_it_pays(n_samples, is_sampled, solver):
    # All features, that is, depth first and without a budget; else as with classes.
    rng = np.random.default_rng(6)
    X = rng.normal(size=(n_samples, 64)).astype(np.float32)
    y = 3 * X[:, 2] + X[:, 5] + 0.1 * rng.normal(size=n_samples)
    stump = tree.DecisionTreeRegressor(solver=solver, max_depth=1, random_state=0)
    stump.fit(X, y)
    assert (stump.n_insertions_ < X.size) == is_sampled
    assert stump.tree_.feature[0] == 2
    others = {"max_features": 63, "max_leaf_nodes": 2, "max_insertions": 10**9}
    for name, value in others.items():
        fewer = clone(stump).set_params(solver="mab", **{name: value}).fit(X, y)
        assert fewer.n_insertions_ < 0.5 * X.size


@pytest.mark.parametrize(("max_features", "is_sampled"), [(5, False), (6, True)])
def test_few_features_are_not_sampled(max_features, is_sampled):
    X, y = make_classification(40_000, 8, n_informative=4, random_state=0)
    models = [
        tree.DecisionTreeClassifier(
            solver=solver, max_depth=2, max_features=max_features, random_state=0
        ).fit(X, y)
        for solver in ("mab", "exact")
    ]
    mab, exact = (model.n_insertions_ for model in models)
    assert (mab < exact) == is_sampled
    if not is_sampled:
        assert mab == exact
        assert_array_equal(models[0].tree_.threshold, models[1].tree_.threshold)


@pytest.mark.parametrize(
    "name",
    [
        "min_rows",
        "min_rows_auto",
        "min_rows_real",
        "ranked_rows",
        "ranked_forest_rows",
    ],
)
def test_documentation_has_the_numbers(name):
    assert name in {field.name for field in fields(SamplingPolicy)}
    number = f"{getattr(SamplingPolicy(), name):,}"
    classes = [getattr(tree, each) for each in tree.__all__ if "Tree" in each]
    classes += [
        getattr(ensemble, each) for each in ensemble.__all__ if "Boost" not in each
    ]
    for cls in classes:
        assert number in cls.__doc__
