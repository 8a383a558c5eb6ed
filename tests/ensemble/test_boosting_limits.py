"""Boosting at the limits of its parameters and data: a clear error or an answer."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_limits

from sklearn_bandit.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 4))
Y = X[:, 0] + RNG.standard_normal(200)
LOSSES = ["squared_error", "absolute_error", "log_loss"]


@pytest.fixture(autouse=True)
def one_thread():
    """Small fits of many parallel regions crawl where tests share the processors."""
    with threadpool_limits(1, user_api="openmp"):
        yield


def predictions(**parameters):
    """Predict the training data after a few iterations."""
    parameters = {"max_iter": 3, "random_state": 0} | parameters
    return HistGradientBoostingRegressor(**parameters).fit(X, Y).predict(X)


@pytest.mark.parametrize("solver", ["exact", "mab"])
@pytest.mark.parametrize("huge", [2**31 - 1, 2**31, 2**62, 2**63, 2**70, 10**400])
def test_integers_of_any_size(huge, solver):
    """More leaves, levels or rows than there are do not limit anything."""
    unlimited = predictions(max_leaf_nodes=200, solver=solver)
    assert_array_equal(
        predictions(max_leaf_nodes=200, max_depth=huge, solver=solver), unlimited
    )
    if solver == "exact":
        assert_array_equal(predictions(max_leaf_nodes=huge), unlimited)
        assert_array_equal(predictions(max_leaf_nodes=huge, max_depth=huge), unlimited)
    assert np.ptp(predictions(min_samples_leaf=huge, solver=solver)) == 0.0
    assert_array_equal(
        predictions(solver="mab", batch_size=huge), predictions(solver="exact")
    )


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("solver", ["exact", "mab"])
@pytest.mark.parametrize(
    ("loss", "scale", "weight"),
    [
        *((loss, 1.0, w) for loss in LOSSES for w in (1e39, 1e300, 1e307)),
        ("squared_error", 1e39, 1.0),
    ],
)
def test_gradients_that_are_not_finite(loss, scale, weight, solver):
    """scikit-learn's model is a constant, or NaN, without a word."""
    parameters = {"solver": solver, "batch_size": 80}
    if loss == "log_loss":
        model, y = HistGradientBoostingClassifier(**parameters), Y > 0
    else:
        model, y = HistGradientBoostingRegressor(loss, **parameters), Y * scale
    with pytest.raises(ValueError, match="targets or sample weights are too large"):
        model.fit(X, y, np.full(len(y), weight))
    assert not hasattr(model, "_predictors")


def test_a_loss_that_grows_without_bounds_is_no_error():
    assert np.isfinite(predictions(learning_rate=1e300)).all()


@pytest.mark.parametrize("n", [1, 2, 3, 39, 40])
@pytest.mark.parametrize("solver", ["exact", "mab"])
def test_few_rows(n, solver):
    model = HistGradientBoostingRegressor(max_iter=2, solver=solver)
    predicted = model.fit(X[:n], Y[:n]).predict(X)
    assert np.isfinite(predicted).all()
    assert (np.ptp(predicted) > 0.0) == (n >= 40)  # two leaves of twenty


def test_too_many_rows():
    many = np.broadcast_to(np.zeros((1, 1), dtype=np.uint8), (2**32, 1))
    with pytest.raises(ValueError, match="At most 4294967295 samples"):
        HistGradientBoostingRegressor().fit(many, Y)


def test_weights_on_one_side_of_the_split_only():
    X = np.random.default_rng(0).standard_normal((20, 3))
    weights = np.zeros(len(X))
    weights[3] = 1.0
    model = HistGradientBoostingRegressor(early_stopping=True, random_state=0)
    with pytest.raises(ValueError, match="All samples with weight are in"):
        model.fit(X, X[:, 0], sample_weight=weights)
