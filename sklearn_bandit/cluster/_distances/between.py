"""Distances of the rows of two arrays, by scikit-learn."""

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import euclidean_distances

from .scaling import out_of_range

# Metrics with kernels of our own, by scikit-learn's names.
FAST_METRICS = {
    "euclidean": "euclidean",
    "l2": "euclidean",
    "sqeuclidean": "sqeuclidean",
    "cosine": "cosine",
    "manhattan": "manhattan",
    "l1": "manhattan",
    "cityblock": "manhattan",
}


def distances_between(X, Y, metric, params, n_jobs=None):
    """Distances of the rows of two arrays, by scikit-learn.

    It squares entries as they are; those whose squares would over- or underflow are
    scaled before.
    """
    if metric == "sqeuclidean" and sparse.issparse(X):
        return euclidean_distances(X, Y, squared=True)
    exponent = 0
    if metric in FAST_METRICS and not sparse.issparse(X) and not params:
        exponent = out_of_range(X, Y)
    if exponent:
        X, Y = (np.ldexp(x, -exponent, dtype=np.float64) for x in (X, Y))
    distances = pairwise_distances(X, Y, metric=metric, n_jobs=n_jobs, **params)
    if exponent and FAST_METRICS[metric] != "cosine":
        power = 2 if metric == "sqeuclidean" else 1
        with np.errstate(over="ignore", under="ignore"):
            distances = np.ldexp(distances, power * exponent)
    return distances


def fix_params(X, metric, params):
    """Complete the parameters that scikit-learn would estimate from each chunk anew."""
    params = dict(params or {})
    if metric in ("seuclidean", "mahalanobis") and sparse.issparse(X):
        raise TypeError(f"metric={metric!r} does not take sparse matrices.")
    if metric == "seuclidean" and "V" not in params:
        params["V"] = np.var(X, axis=0, ddof=1)
    if metric == "mahalanobis" and not {"V", "VI"} & set(params):
        params["VI"] = np.linalg.inv(np.cov(X.T)).T
    return params
