"""Distances of the rows of two arrays: of samples to medoids.

A distance does not depend on what else is computed with it, nor on threads and jobs.
Those of dense rows come from the kernel of `fit`, on the same values: they are the same
to the last bit, unless differences are so small beside the largest entry (1e-19 of it
in float32, 1e-154 in float64) that their squares are zero in one of the two.
"""

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances

from ..._core.thread_start import keep_threads
from .prepared_rows import prepare_rows
from .rows import fill_rows
from .scaling import out_of_range, scale_of
from .sparse_rows import sparse_distances
from .tiles import KINDS

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

# Numbers below which one thread computes the distances: waking a second takes longer.
SERIAL_SIZE = 2**14

# Numbers of a call, between two checks for signals (Ctrl-C); those that have to be
# scaled or normalised are copied, 32 MB at a time.
CHUNK_SIZE = 2**22


def distances_between(X, Y, metric, params, n_jobs=None):
    """Distances of the rows of two arrays, in the precision of these.

    Parameters
    ----------
    X, Y : ndarray or sparse matrix
        The rows: samples, and a few others. Validated; dense ones are C-contiguous.
    metric : str
        A name that scikit-learn knows.
    params : dict
        Further arguments of the metric.
    n_jobs : int, optional
        Threads of our kernels, jobs of scikit-learn's metrics.

    Returns
    -------
    ndarray of shape (n_x, n_y)
        The distances.
    """
    if metric in FAST_METRICS and not params:
        if sparse.issparse(X):
            return sparse_distances(X, Y, FAST_METRICS[metric])
        return _dense_distances(X, Y, FAST_METRICS[metric], n_jobs)
    if metric in FAST_METRICS or metric == "nan_euclidean":
        # Matrix products, which round by what else is in a job's part.
        n_jobs = None
    return pairwise_distances(X, Y, metric=metric, n_jobs=n_jobs, **params)


def _dense_distances(X, Y, kind, n_jobs):
    """Distances of dense rows from the differences, by `fill_rows`."""
    Y = Y.toarray() if sparse.issparse(Y) else Y
    dtype = np.result_type(X, Y)
    scale = scale_of(out_of_range(X, Y))
    n_threads = keep_threads(n_jobs) if X.size >= SERIAL_SIZE else 1
    centre = np.zeros(X.shape[1])
    is_cosine = kind == "cosine"

    def prepared(rows, first, last):
        if rows.dtype == dtype and scale == 1.0 and not is_cosine:
            return rows[first:last], np.empty(0, dtype)
        which = np.arange(first, last)
        return prepare_rows(rows, which, centre, scale, is_cosine, dtype, n_threads)

    arms = prepared(Y, 0, len(Y))
    out = np.empty((len(Y), len(X)), dtype)
    step = max(CHUNK_SIZE // max(X.shape[1], len(Y)), 1)
    for first in range(0, len(X), step):
        part = slice(first, min(first + step, len(X)))
        rows = prepared(X, part.start, part.stop)
        fill_rows(*rows, KINDS[kind], *arms, out[:, part], n_threads)
    if scale != 1.0 and not is_cosine:
        # Its square may be out of range.
        for _ in range(2 if kind == "sqeuclidean" else 1):
            with np.errstate(over="ignore", under="ignore"):
                out *= 1.0 / scale
    return np.ascontiguousarray(out.T)


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
