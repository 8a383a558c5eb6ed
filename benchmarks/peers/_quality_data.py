"""Data that models on samples are compared with exact ones on.

Each function returns a training and a test part for a seed, X, X_test, y, y_test, or
what targets are drawn from.
"""

import numpy as np
from sklearn.model_selection import train_test_split

from ..data import load

# Minutes from which on a flight is late.
LATE = 15

# Minutes above which a delay is of the next class: a little, late, very late.
DELAYS = (1, LATE + 1, 61)


def real(name, seed):
    """Split a real data set anew for each seed."""
    data = load(name)
    if name == "flights2001_3m":
        X, y = data.X, (data.delay > LATE).astype(np.uint8)
    elif name == "beijing_air":
        known = ~np.isnan(data.y)
        X = np.column_stack([data.X, data.wd, data.station])[known]
        y = data.y[known].astype(np.float64)
    elif name == "sgemm":
        X, y = data.X, np.log(data.y.astype(np.float64))
    else:
        X, y = data.X, data.y
    return train_test_split(X.astype(np.float32), y, test_size=0.2, random_state=seed)


def covertype_binary(seed):
    """Lodgepole pine against the others."""
    X, X_test, y, y_test = real("covtype", seed)
    return X, X_test, (y == 2).astype(np.uint8), (y_test == 2).astype(np.uint8)


def flights_by_delay(seed):
    """Flights in four classes: not late at all, a little, late, and very late."""
    data = load("flights2001_3m")
    y = np.digitize(data.delay, DELAYS).astype(np.uint8)
    X = data.X.astype(np.float32)
    return train_test_split(X, y, test_size=0.2, random_state=seed)


def normals(n, n_features, n_test, seed):
    """Return normal features of a training and a test part together."""
    rng = np.random.default_rng(100 + seed)
    X = rng.standard_normal((n + n_test, n_features), dtype=np.float32)
    return rng, X


def cut(X, y, n):
    """Cut drawn data into a training and a test part."""
    return X[:n], X[n:], y[:n], y[n:]


def main_effects(n, seed):
    """As ``boosting.synthetic``, with other draws and weights for each seed."""
    rng, X = normals(n, 28, 200_000, seed)
    score = X[:, :12] @ rng.uniform(0.2, 0.6, 12).astype(np.float32)
    score += X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3] + np.abs(X[:, 4]) - 0.8
    y = score + rng.logistic(size=len(X)) > 0
    return cut(X, y.astype(np.uint8), n)


# Strengths of the signal of each made class, and what is added to its score. The last
# class has 2 to 3% of the rows.
STRENGTHS = (1.5, 1.2, 0.9, 0.6, 0.3, 1.0)
SHIFTS = (0.0, 0.0, 0.0, 0.0, 0.0, -2.7)


def classes(n, seed):
    """Six classes, some with more signal than others, of which one is rarer."""
    rng, X = normals(n, 20, 200_000, seed)
    scores = np.empty((len(X), len(SHIFTS)), dtype=np.float32)
    for k, (strength, shift) in enumerate(zip(STRENGTHS, SHIFTS, strict=True)):
        weights = rng.normal(scale=0.3, size=X.shape[1]).astype(np.float32)
        a, b, c = rng.choice(X.shape[1], 3, replace=False)
        score = X @ weights + 0.5 * X[:, a] * X[:, b] + 0.5 * np.abs(X[:, c])
        scores[:, k] = strength * score + shift
    # The class with the largest score, with this noise, follows the softmax of scores.
    y = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
    return cut(X, y.astype(np.uint8), n)


def smooth(X):
    """Return a smooth function of five features."""
    f = 0.6 * X[:, 0] + 0.4 * X[:, 1] * X[:, 2] + 0.4 * np.sin(2.0 * X[:, 3])
    return f + 0.3 * np.abs(X[:, 4])


# Standard deviation of the logarithm of lognormal targets.
LOG_NOISE = 0.8


def lognormal_noise(X):
    """Mean and variance of lognormal targets."""
    mean = np.exp(smooth(X) + LOG_NOISE**2 / 2.0)
    return mean, mean**2 * np.expm1(LOG_NOISE**2)


def curve(kind, n, seed, n_test=200_000):
    """A smooth function of five of ten features, and a target of some kind."""
    rng, X = normals(n, 10, n_test, seed)
    f = smooth(X)
    if kind == "poisson":
        y = rng.poisson(np.exp(f)).astype(np.float64)
    elif kind == "lognormal":
        y = np.exp(f + LOG_NOISE * rng.standard_normal(len(X)))
    else:  # noise that depends on a feature
        y = f + (0.5 + 0.5 * (X[:, 5] > 0)) * rng.standard_normal(len(X))
    return cut(X, y, n)


# What is added to the score of rare positives to have so large a share of them, about.
RARE_SHIFT = {0.005: -8.0, 0.001: -10.0}


def rare_noise(share, X):
    """Mean and variance of targets, rare positives."""
    score = 1.6 * X[:, 0] + X[:, 1] * X[:, 2] + 0.8 * np.abs(X[:, 3]) + 0.7 * X[:, 4]
    mean = 1.0 / (1.0 + np.exp(-(score + RARE_SHIFT[share])))
    return mean, mean * (1.0 - mean)


def rare(n, share, seed):
    """Positives with a given share, about."""
    rng, X = normals(n, 12, n // 2, seed)
    y = rng.uniform(size=len(X)) < rare_noise(share, X)[0]
    return cut(X, y.astype(np.uint8), n)
