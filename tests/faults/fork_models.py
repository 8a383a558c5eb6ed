"""Models of every kind of kernel, on data that are large enough for threads.

But for the pursuit, which has none below 2**28 products.
"""

import numpy as np

from sklearn_bandit.cluster import BanditKMedoids
from sklearn_bandit.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomPatchesClassifier,
)
from sklearn_bandit.linear_model import BanditMatchingPursuit
from sklearn_bandit.neighbors import BanditMIPS, BanditNearestNeighbors
from sklearn_bandit.tree import DecisionTreeRegressor


def make_samples(n_samples=50_500):
    """Return samples, real targets and three classes."""
    X = np.random.default_rng(0).standard_normal((n_samples, 20))
    y = X[:, 0] * X[:, 1] + X[:, 2]
    return X, y, (y > 0) + (y > 1)


def boosting(loss="squared_error", **parameters):
    model = HistGradientBoostingRegressor(
        loss, max_iter=3, random_state=0, **parameters
    )
    X, y, _ = make_samples()
    return model.fit(X, y).predict(X)


def boosting_of_classes():
    model = HistGradientBoostingClassifier(max_iter=2, random_state=0)
    X, _, labels = make_samples()
    return np.stack(list(model.fit(X, labels).staged_predict_proba(X)))


def medoids(algorithm, n_samples=10_000, **parameters):
    model = BanditKMedoids(
        3, algorithm=algorithm, n_jobs=2, random_state=0, **parameters
    )
    X = make_samples(n_samples)[0]
    return model.fit(X).predict(X)


def forest(kind, **parameters):
    model = kind(n_estimators=2, max_depth=4, n_jobs=2, random_state=0, **parameters)
    X, _, labels = make_samples()
    return model.fit(X, labels).predict_proba(X)


def tree(n_samples=50_500, **parameters):
    model = DecisionTreeRegressor(random_state=0, **parameters)
    X, y, _ = make_samples(n_samples)
    return model.fit(X, y).predict(X)


def products(**parameters):
    rng = np.random.default_rng(0)
    model = BanditMIPS(1, n_jobs=2, random_state=0, **parameters)
    atoms = rng.standard_normal((4_000, 500)) + 3 * rng.standard_normal((4_000, 1))
    queries = rng.standard_normal((1_100, 500)) + 1.0
    return model.fit(atoms).kneighbors(queries)[1]


def nearest(**parameters):
    X = np.random.default_rng(0).standard_normal((4_000, 100))
    model = BanditNearestNeighbors(3, n_jobs=2, random_state=0, **parameters)
    return model.fit(X).kneighbors(X[:400] + 0.1)[1]


def pursuit(**parameters):
    atoms = np.random.default_rng(0).standard_normal((20_000, 20))
    parameters |= {"n_nonzero_coefs": 4, "n_jobs": 2, "random_state": 0}
    model = BanditMatchingPursuit(**parameters)
    return model.fit(atoms, atoms[:, :8] @ np.arange(1, 9)).coef_


# Each returns what the fitted model says.
MODELS = {
    "boosting": boosting,
    "boosting of medians": lambda: boosting("absolute_error"),
    "boosting on samples": lambda: boosting(solver="mab", batch_size=8192),
    "boosting that stops": lambda: boosting(
        early_stopping=True, scoring=lambda m, X, y: 0.0
    ),
    "boosting of classes": boosting_of_classes,
    "k-medoids, bandit": lambda: medoids("bandit"),
    "k-medoids, eager": lambda: medoids("eager"),
    "k-medoids, exact": lambda: medoids("pam", 1_000),
    "k-medoids, manhattan": lambda: medoids("eager", metric="manhattan"),
    "random forest": lambda: forest(RandomForestClassifier),
    "extra trees": lambda: forest(ExtraTreesClassifier),
    "random patches": lambda: forest(
        RandomPatchesClassifier, patch_samples=1.0, patch_features=1.0
    ),
    "tree": tree,
    "exact tree": lambda: tree(solver="exact", max_depth=6),
    "tree, best first": lambda: tree(max_leaf_nodes=1_000),
    "tree, absolute error": lambda: tree(3_000, criterion="absolute_error"),
    "inner products": products,
    "inner products, zero-copy": lambda: products(layout="zero-copy"),
    "neighbours": nearest,
    "neighbours, manhattan": lambda: nearest(metric="manhattan"),
    "pursuit": pursuit,
    "orthogonal pursuit": lambda: pursuit(orthogonal=True),
}
