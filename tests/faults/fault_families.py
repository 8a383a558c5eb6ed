"""One estimator of every family, small or large enough to be caught at work."""

import numpy as np

from sklearn_bandit.cluster import BanditKMedoids
from sklearn_bandit.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomPatchesRegressor,
)
from sklearn_bandit.linear_model import BanditMatchingPursuit
from sklearn_bandit.neighbors import BanditMIPS, BanditNearestNeighbors
from sklearn_bandit.tree import DecisionTreeClassifier, DecisionTreeRegressor


def make_family(name):
    """Return a new estimator of a family."""
    return {
        "tree": lambda: DecisionTreeClassifier(random_state=0),
        "tree, absolute error": lambda: DecisionTreeRegressor(
            criterion="absolute_error", random_state=0
        ),
        "tree, best first": lambda: DecisionTreeRegressor(
            max_leaf_nodes=10**6, random_state=0
        ),
        "forest": lambda: RandomForestClassifier(5, n_jobs=2, random_state=0),
        "extra trees": lambda: ExtraTreesClassifier(5, n_jobs=2, random_state=0),
        "patches": lambda: RandomPatchesRegressor(5, n_jobs=2, random_state=0),
        "boosting": lambda: HistGradientBoostingRegressor(
            max_iter=10, early_stopping=False, random_state=0
        ),
        "boosting, samples": lambda: HistGradientBoostingClassifier(
            max_iter=10, solver="mab", early_stopping=False, random_state=0
        ),
        "k-medoids": lambda: BanditKMedoids(5, algorithm="bandit", random_state=0),
        "k-medoids, exact": lambda: BanditKMedoids(5, algorithm="pam", random_state=0),
        "neighbors": lambda: BanditNearestNeighbors(n_jobs=2, random_state=0),
        "search": lambda: BanditMIPS(random_state=0),
        "pursuit": lambda: BanditMatchingPursuit(
            n_nonzero_coefs=5, orthogonal=True, n_jobs=2, random_state=0
        ),
    }[name]()


FAMILIES = (
    "tree",
    "tree, absolute error",
    "tree, best first",
    "forest",
    "extra trees",
    "patches",
    "boosting",
    "boosting, samples",
    "k-medoids",
    "k-medoids, exact",
    "neighbors",
    "search",
    "pursuit",
)


def make_data(name, n_samples, n_features, seed=0):
    """Return X and y for an estimator of a family."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    if name in ("k-medoids", "k-medoids, exact", "neighbors", "search"):
        return X.astype(np.float32), None
    y = X[:, :3].sum(axis=1) + rng.standard_normal(n_samples)
    if hasattr(make_family(name), "predict_proba"):
        y = (y > 0).astype(np.int64)
    return X, y


def answer(model, X):
    """Return what a fitted estimator says of X."""
    if isinstance(model, BanditMIPS | BanditNearestNeighbors):
        return np.concatenate(model.kneighbors(X[:20], 3), axis=1)
    return model.predict(X)
