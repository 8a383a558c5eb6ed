"""Scores beside scikit-learn's over seeds: no significant difference."""

import os
from pathlib import Path

import numpy as np
import pytest
from early_policy import early_policy
from sklearn import ensemble as sk_ensemble
from sklearn import tree as sk_tree
from sklearn.datasets import (
    fetch_california_housing,
    load_breast_cancer,
    load_diabetes,
    load_digits,
    make_classification,
    make_regression,
)
from sklearn.model_selection import train_test_split

from sklearn_bandit import ensemble, tree

N_SEEDS = 8

# What rounding to bins and a fair coin may cost; a wrong split costs far more.
SLACK = {"accuracy": 0.004, "R2": 0.015}


def california(return_X_y):
    """California housing: scikit-learn's copy, or the one that benchmarks read."""
    try:
        return fetch_california_housing(
            return_X_y=return_X_y, download_if_missing=False
        )
    except OSError:
        path = (
            Path(os.environ.get("SKLEARN_BANDIT_DATA", "")) / "california_housing.npz"
        )
        if not path.is_file():
            pytest.skip("California housing is not on this machine.")
        data = np.load(path)
        return data["X"], data["y"]


def differences(ours, theirs, X, y):
    """Score of ours less that of theirs, for the same split and seed."""
    found = []
    for seed in range(N_SEEDS):
        X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=seed)
        scores = [
            Estimator(random_state=seed, **parameters)
            .fit(X_train, y_train)
            .score(X_test, y_test)
            for Estimator, parameters in (ours, theirs)
        ]
        found.append(scores[0] - scores[1])
    return np.array(found)


def assert_no_worse(found, slack):
    standard_error = found.std(ddof=1) / np.sqrt(len(found))
    assert found.mean() > -slack - 2.5 * standard_error, found


@pytest.mark.parametrize("solver", ["mab", "exact"])
@pytest.mark.parametrize("name", ["RandomForestClassifier", "ExtraTreesClassifier"])
@pytest.mark.parametrize("loader", [load_digits, load_breast_cancer])
def test_classification(loader, name, solver):
    X, y = loader(return_X_y=True)
    found = differences(
        (getattr(ensemble, name), {"n_estimators": 30, "solver": solver}),
        (getattr(sk_ensemble, name), {"n_estimators": 30}),
        X,
        y,
    )
    assert_no_worse(found, SLACK["accuracy"])


@pytest.mark.parametrize("name", ["RandomForestRegressor", "ExtraTreesRegressor"])
@pytest.mark.parametrize("loader", [load_diabetes, california])
def test_regression(loader, name):
    X, y = loader(return_X_y=True)
    X, y = X[:4000], y[:4000]
    found = differences(
        (getattr(ensemble, name), {"n_estimators": 30}),
        (getattr(sk_ensemble, name), {"n_estimators": 30}),
        X,
        y,
    )
    assert_no_worse(found, SLACK["R2"])


def test_large_nodes_of_a_classifier():
    """Enough samples for the bandit to decide at the top of the tree."""
    X, y = make_classification(
        40_000, 20, n_informative=8, n_clusters_per_class=4, random_state=0
    )
    shared = {"max_depth": 8}
    found = differences(
        (tree.DecisionTreeClassifier, shared),
        (sk_tree.DecisionTreeClassifier, shared),
        X,
        y,
    )
    assert_no_worse(found, 0.01)


class SampledRegressor(tree.DecisionTreeRegressor):
    """A tree that samples nodes of fewer rows than it does otherwise."""

    _sampling_policy = early_policy()


def test_large_nodes_of_a_regressor():
    X, y = make_regression(40_000, 10, n_informative=5, noise=20.0, random_state=0)
    shared = {"max_depth": 8}
    found = differences(
        (SampledRegressor, shared),
        (sk_tree.DecisionTreeRegressor, shared),
        X,
        y,
    )
    assert_no_worse(found, 0.01)
