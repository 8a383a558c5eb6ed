"""Code of users, for mypy (``make lint``) to check; run as a test, too."""

import inspect
from importlib import import_module
from typing import assert_type

import numpy as np
import pytest
from numpy.typing import NDArray

import sklearn_bandit
from sklearn_bandit.bandit import BestArmResult, best_arm, paired_radius
from sklearn_bandit.cluster import BanditKMedoids
from sklearn_bandit.datasets import make_normal_custom
from sklearn_bandit.ensemble import RandomForestClassifier
from sklearn_bandit.inspection import (
    StabilityResult,
    feature_selection_stability,
    select_largest,
)
from sklearn_bandit.neighbors import BanditMIPS
from sklearn_bandit.tree import DecisionTreeRegressor

SUB_PACKAGES = [
    name
    for name in sklearn_bandit.__all__
    if inspect.ismodule(getattr(sklearn_bandit, name))
]


def test_functions_keep_their_types() -> None:
    costs = np.random.default_rng(0).random((10, 50))
    result = best_arm(lambda arms, refs: costs[np.ix_(arms, refs)], 10, 50, k=2)
    assert_type(result, BestArmResult)
    assert_type(result.n_pulls, int)
    assert_type(paired_radius(1.0, 100, 30, 0.01), float)
    atoms, queries = make_normal_custom(5, 100, random_state=0)
    assert_type(atoms, np.ndarray)
    assert queries.shape == (1, 100)
    selections = select_largest([[0.1, 0.7, 0.2], [0.5, 0.0, 0.5]], 2)
    assert_type(selections, NDArray[np.bool_])
    stability = feature_selection_stability(selections)
    assert_type(stability, StabilityResult)
    assert_type(stability.interval, tuple[float, float])


def test_fit_returns_the_estimator() -> None:
    X = np.arange(40.0).reshape(20, 2)
    y = (X[:, 0] > 20).astype(int)
    forest = RandomForestClassifier(n_estimators=2, random_state=0).fit(X, y)
    assert_type(forest, RandomForestClassifier)
    tree = DecisionTreeRegressor(random_state=0).fit(X.tolist(), y.tolist())
    assert_type(tree, DecisionTreeRegressor)
    clusters = BanditKMedoids(n_clusters=2, random_state=0).fit(X)
    assert_type(clusters, BanditKMedoids)
    assert_type(clusters.predict(X), np.ndarray)
    search = BanditMIPS(n_neighbors=1, random_state=0).fit(X)
    assert_type(search, BanditMIPS)


def own_methods(estimator):
    """Public methods that our classes define, not scikit-learn's."""
    for name in dir(estimator):
        for parent in estimator.__mro__:
            if name in vars(parent):
                break
        method = inspect.unwrap(getattr(estimator, name))
        ours = parent.__module__.startswith("sklearn_bandit.")
        if ours and not name.startswith("_") and inspect.isfunction(method):
            yield method


def missing(function):
    """The names of a signature that have no annotation."""
    signature = inspect.signature(function)
    names = [
        name
        for name, parameter in signature.parameters.items()
        if name != "self" and parameter.annotation is parameter.empty
    ]
    if signature.return_annotation is signature.empty:
        names.append("return")
    return names


@pytest.mark.parametrize("name", SUB_PACKAGES)
def test_public_names_are_annotated(name):
    package = import_module(f"sklearn_bandit.{name}")
    found = {}
    for public in package.__all__:
        value = inspect.unwrap(getattr(package, public))
        functions = own_methods(value) if inspect.isclass(value) else [value]
        for function in functions:
            # Cython's functions have their types in a stub beside the kernel.
            if inspect.isfunction(function) and (names := missing(function)):
                found[function.__qualname__] = names
    assert not found
