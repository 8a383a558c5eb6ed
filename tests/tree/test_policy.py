"""The policy that says when to sample: handed on, and told in the documentation."""

import pickle
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest

from sklearn_bandit import ensemble, tree
from sklearn_bandit.tree._policy import SamplingPolicy

EARLY = SamplingPolicy(min_rows_real=8_000)


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


def test_is_frozen():
    with pytest.raises(FrozenInstanceError):
        SamplingPolicy().min_rows = 1
    assert len({SamplingPolicy(), SamplingPolicy(), EARLY}) == 2


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
