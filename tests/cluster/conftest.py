"""What the tests of this folder share."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs


@pytest.fixture
def brute_force_pam():
    """PAM written out: the reference."""
    return _brute_force_pam


@pytest.fixture
def hard_points():
    """Points without clusters: many candidates that are nearly as good as the best."""

    def make(n, d, seed):
        X, _ = make_blobs(n, d, centers=7, cluster_std=6.0, random_state=seed)
        return X

    return make


def _brute_force_pam(D, k, weights=None, init=None):
    """PAM on the matrix ``D[sample, medoid]``; return the medoids after each step.

    The first of equal candidates is taken, and the first medoid of equal ones removed;
    losses are equal if they differ by rounding.
    """
    n = len(D)
    weights = np.ones(n) if weights is None else weights

    def loss(medoids):
        return weights @ D[:, medoids].min(axis=1)

    medoids = [] if init is None else list(init)
    path = []
    while len(medoids) < k:
        others = [x for x in range(n) if x not in medoids]
        losses = np.array([loss([*medoids, x]) for x in others])
        equal = losses <= losses.min() + 1e-12 * abs(losses.min())
        medoids.append(others[int(np.argmax(equal))])
        path.append(list(medoids))
    while len(medoids) < n:
        swaps = [(x, l) for x in range(n) if x not in medoids for l in range(k)]
        losses = np.array(
            [loss([*medoids[:l], x, *medoids[l + 1 :]]) for x, l in swaps]
        )
        rounding = 1e-12 * abs(loss(medoids))
        if losses.min() >= loss(medoids) - rounding:
            break
        x, l = swaps[int(np.argmax(losses <= losses.min() + rounding))]
        medoids[l] = x
        path.append(list(medoids))
    return path
