"""Models of every kind of kernel, on data that are large enough for threads.

But for the pursuit, which has none below 2**28 products.
"""

from unittest.mock import patch

import numpy as np

from sklearn_bandit.cluster import BanditKMedoids, SampledSwaps
from sklearn_bandit.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomPatchesClassifier,
)
from sklearn_bandit.linear_model import BanditMatchingPursuit
from sklearn_bandit.neighbors import BanditMIPS, BanditNearestNeighbors
from sklearn_bandit.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn_bandit.tree._building import subtrees
from sklearn_bandit.tree._policy import SamplingPolicy


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


def make_divided_tree():
    """Return a tree and samples on which its subtrees take histograms over.

    The targets are noise: no sample decides a node.
    """
    model = DecisionTreeClassifier(max_depth=5, random_state=0)
    model._sampling_policy = SamplingPolicy(
        min_rows_by_square=1, min_divided_values=6 * 20_000
    )
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (80_000, 6)).astype(np.float32)
    return model, X, rng.integers(0, 2, len(X))


def divided_tree():
    model, X, y = make_divided_tree()
    with patch.object(subtrees, "divide", wraps=subtrees.divide) as divide:
        model.fit(X, y)
    handed_on = [len(call.args[3]) for call in divide.call_args_list]
    assert sum(handed_on) > 2
    return np.append(model.predict_proba(X[:100]), model.n_insertions_)


def make_swaps(n_samples=3_000):
    """Return swaps on a sample, medoids, and arms that are not in it."""
    model = BanditKMedoids(3, n_jobs=2, random_state=0)
    X = make_samples(2 * n_samples)[0]
    model.fit(X[:500])
    return SampledSwaps.in_random_order(model, X[:n_samples]), X[-3:], X[n_samples:-3]


def sampled_swaps():
    swaps, medoids, arms = make_swaps()
    means, removed = swaps.changes(medoids, arms, 1_024)
    return np.concatenate([means, removed, swaps.descend(medoids, arms[:500], 0.0)])


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
    "k-medoids, swaps on a sample": sampled_swaps,
    "random forest": lambda: forest(RandomForestClassifier),
    "extra trees": lambda: forest(ExtraTreesClassifier),
    "random patches": lambda: forest(
        RandomPatchesClassifier, patch_samples=1.0, patch_features=1.0
    ),
    "tree": tree,
    "tree, subtrees of noise": divided_tree,
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
