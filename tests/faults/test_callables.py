"""A user's function that raises in the middle of a fit: its error, and no half fit."""

import numpy as np
import pytest
from fault_families import make_data
from sklearn.metrics import accuracy_score

from sklearn_bandit.bandit import best_arm
from sklearn_bandit.cluster import BanditKMedoids
from sklearn_bandit.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)


class Raised(Exception):
    """What the functions raise."""


def failing(function, n_calls):
    """Return a function that raises at its n-th call."""
    left = [n_calls]

    def call(*args, **kwargs):
        left[0] -= 1
        if left[0] <= 0:
            raise Raised
        return function(*args, **kwargs)

    return call


def check_unchanged(model, fit):
    before = vars(model).copy()
    with pytest.raises(Raised):
        fit()
    assert vars(model).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(model).items())


@pytest.mark.parametrize("n_calls", [1, 50, 2_000])
@pytest.mark.parametrize("algorithm", ["pam", "bandit", "eager"])
def test_metric(algorithm, n_calls):
    def distance(a, b):
        return abs(a - b)

    points = np.random.default_rng(0).standard_normal(300).tolist()
    model = BanditKMedoids(
        4, metric=distance, algorithm=algorithm, batch_size=16, random_state=0
    ).fit(points[:40])
    model.set_params(metric=failing(distance, n_calls))
    check_unchanged(model, lambda: model.fit(points))


@pytest.mark.parametrize("n_calls", [1, 3])
def test_scoring(n_calls):
    X, y = make_data("boosting, samples", 400, 5)

    def scorer(estimator, X, y):
        return accuracy_score(y, estimator.predict(X))

    model = HistGradientBoostingClassifier(
        max_iter=8, early_stopping=True, scoring=scorer, random_state=0
    ).fit(X, y)
    model.set_params(scoring=failing(scorer, n_calls))
    check_unchanged(model, lambda: model.fit(X, y))
    model.set_params(scoring=scorer).fit(X, y)


def test_out_of_bag_score():
    X, y = make_data("forest", 400, 5)
    model = RandomForestClassifier(10, oob_score=accuracy_score, random_state=0)
    model.fit(X, y)
    model.set_params(oob_score=failing(accuracy_score, 1))
    check_unchanged(model, lambda: model.fit(X, y))


@pytest.mark.parametrize("n_calls", [1, 2, 3])
def test_pull(n_calls):
    rewards = np.random.default_rng(0).standard_normal((50, 2_000))

    def pull(arms, references):
        return rewards[np.ix_(arms, references)]

    with pytest.raises(Raised):
        best_arm(failing(pull, n_calls), *rewards.shape, batch_size=16, random_state=0)
