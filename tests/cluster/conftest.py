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

    The first of equal candidates is taken, and the first medoid of equal ones removed.
    """
    n = len(D)
    weights = np.ones(n) if weights is None else weights

    def loss(medoids):
        return weights @ D[:, medoids].min(axis=1)

    medoids = [] if init is None else list(init)
    path = []
    while len(medoids) < k:
        others = [x for x in range(n) if x not in medoids]
        losses = [loss([*medoids, x]) for x in others]
        medoids.append(others[int(np.argmin(losses))])
        path.append(list(medoids))
    while len(medoids) < n:
        best = loss(medoids) - 1e-12 * abs(loss(medoids)), None, None
        for x in set(range(n)) - set(medoids):
            for l in range(k):
                found = loss([*medoids[:l], x, *medoids[l + 1 :]])
                if found < best[0]:
                    best = found, x, l
        if best[1] is None:
            break
        medoids[best[2]] = best[1]
        path.append(list(medoids))
    return path
