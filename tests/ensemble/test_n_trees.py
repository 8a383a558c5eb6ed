"""As many trees as it takes: the statement, and what it goes together with."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import is_classifier
from sklearn.datasets import make_classification, make_regression

from sklearn_bandit import ensemble
from sklearn_bandit.ensemble._n_trees import FIRST_LOOK

FORESTS = [getattr(ensemble, name) for name in ensemble.__all__ if "Hist" not in name]


def data(estimator, n_samples=300):
    if is_classifier(estimator()):
        return make_classification(n_samples, 8, random_state=0, flip_y=0.1)
    return make_regression(n_samples, 8, noise=20.0, random_state=0)


def make(estimator, **parameters):
    common = {"n_estimators": "auto", "bootstrap": True, "random_state": 0}
    return estimator(**(common | {"oob_tol": 0.02} | parameters))


@pytest.mark.parametrize("estimator", FORESTS, ids=lambda one: one.__name__)
def test_the_forest_of_so_many_trees(estimator):
    X, y = data(estimator)
    model = make(estimator, oob_score=True).fit(X, y)
    n_trees = model.n_estimators_
    assert FIRST_LOOK <= n_trees == len(model.estimators_) < model.max_estimators
    plain = make(estimator, n_estimators=n_trees, oob_score=True).fit(X, y)
    assert plain.n_estimators_ == n_trees
    assert plain.oob_score_ == model.oob_score_
    assert_array_equal(model.predict(X), plain.predict(X))
    again = make(estimator, n_jobs=2).fit(X, y)
    assert_array_equal(model.predict(X), again.predict(X))
    assert_array_equal(
        make(estimator).fit(csr_matrix(X), y).predict(X), plain.predict(X)
    )


@pytest.mark.parametrize("estimator", FORESTS, ids=lambda one: one.__name__)
def test_smaller_tolerances_take_more_trees(estimator):
    X, y = data(estimator)
    n_trees = [
        make(estimator, oob_tol=tol).fit(X, y).n_estimators_ for tol in (0.1, 0.02)
    ]
    assert n_trees[0] < n_trees[1]
    assert make(estimator, oob_tol=0.0, max_estimators=45).fit(X, y).n_estimators_ == 45
    assert make(estimator, delta=0.0, max_estimators=45).fit(X, y).n_estimators_ == 45


def test_the_statement_is_counted():
    """The expected squared error is that of many trees, up to the tolerance."""
    X, y = data(ensemble.RandomForestRegressor, 200)
    tol = 0.02
    limit = make(ensemble.RandomForestRegressor, n_estimators=1500, oob_score=True)
    limit = limit.fit(X, y).oob_score_
    below = [
        limit
        - make(
            ensemble.RandomForestRegressor,
            random_state=seed,
            oob_tol=tol,
            oob_score=True,
        )
        .fit(X, y)
        .oob_score_
        for seed in range(1, 21)
    ]
    assert np.mean(below) <= tol
    # It is not met by a wide margin either: trees are not wasted.
    assert np.mean(below) >= tol / 4


def test_huge_targets():
    X, y = data(ensemble.RandomForestRegressor)
    y = 2 * y / np.abs(y).max()
    y = np.column_stack([y, X[:, 0]])
    stumps = {"max_depth": 1, "oob_tol": 0.002, "criterion": "absolute_error"}
    n_trees = [
        make(ensemble.RandomForestRegressor, **stumps).fit(X, y * unit).n_estimators_
        for unit in (1.0, 2.0**1000)
    ]
    assert FIRST_LOOK < n_trees[0] == n_trees[1]


def test_warm_start():
    X, y = data(ensemble.RandomForestRegressor)
    warm = make(
        ensemble.RandomForestRegressor, n_estimators=FIRST_LOOK, warm_start=True
    )
    warm.fit(X, y).set_params(n_estimators="auto").fit(X, y)
    whole = make(ensemble.RandomForestRegressor).fit(X, y)
    n_common = min(warm.n_estimators_, whole.n_estimators_)
    for one, other in zip(
        warm.estimators_[:n_common], whole.estimators_[:n_common], strict=True
    ):
        assert_array_equal(one.tree_.threshold, other.tree_.threshold)
    before = warm.n_estimators_
    assert warm.fit(X, y).n_estimators_ == before


def test_budget_and_weights():
    X, y = data(ensemble.RandomForestRegressor)
    cheap = make(ensemble.RandomForestRegressor, max_insertions=100_000).fit(X, y)
    assert cheap.n_insertions_ <= 100_000
    assert cheap.n_estimators_ < FIRST_LOOK
    weights = np.ones(len(y))
    weights[::2] = 0.0
    weighted = make(ensemble.RandomForestRegressor).fit(X, y, weights)
    assert np.isfinite(weighted.predict(X)).all()


def test_refused():
    X, y = data(ensemble.RandomForestRegressor)
    with pytest.raises(ValueError, match="bootstrap=True"):
        make(ensemble.RandomForestRegressor, bootstrap=False).fit(X, y)
    for parameters in ({"oob_tol": -1.0}, {"max_estimators": 0}, {"n_estimators": "x"}):
        with pytest.raises(ValueError, match=next(iter(parameters))):
            make(ensemble.RandomForestRegressor, **parameters).fit(X, y)


def test_a_constant_target_and_a_single_sample():
    X = np.arange(20.0)[:, None]
    model = make(ensemble.RandomForestRegressor).fit(X, np.ones(20))
    assert model.n_estimators_ == FIRST_LOOK
    model = make(ensemble.RandomForestRegressor, max_estimators=40).fit(X[:1], [1.0])
    assert model.n_estimators_ == 40
