"""Samples, weights, numbers of clusters and first medoids of the caller, checked."""

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from .._compat import _check_sample_weight, validate_data
from ._distances import FAST_METRICS, distances_between


class Samples(BaseEstimator):
    """Stands for an estimator where only samples and a metric are given."""

    def __init__(self, metric):
        self.metric = metric


def check_samples(estimator, X, *, reset):
    """Validate samples as the metric of the estimator wants them.

    Parameters
    ----------
    estimator : BanditKMedoids
        Has the metric; gets the number and names of the features if `reset`.
    X : object
        What the caller has passed.
    reset : bool
        Whether this is `fit`.

    Returns
    -------
    array, sparse matrix or sequence
        The samples, or the matrix of precomputed distances.
    """
    metric = estimator.metric
    if callable(metric):
        return _check_objects(estimator, X, reset=reset)
    if metric == "precomputed":
        X = validate_data(
            estimator,
            X,
            reset=reset,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
        )
        if reset and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"Precomputed distances must be a square matrix, got {X.shape}."
            )
        return X
    if _are_strings(X):
        raise ValueError(
            f"X has strings, and metric={metric!r} wants numbers. Give a function of "
            "two strings as `metric`, an edit distance for example."
        )
    dtype = "numeric"
    if metric in FAST_METRICS:
        dtype = [np.float64, np.float32]
        if _is_exact_in_float32(X):
            dtype = np.float32
    return validate_data(
        estimator,
        X,
        reset=reset,
        accept_sparse="csr",
        dtype=dtype,
        order="C",
        ensure_all_finite=metric != "nan_euclidean",
    )


def _check_objects(estimator, X, *, reset):
    """Validate samples of a callable: numbers, or any sequence of objects."""
    if hasattr(X, "iloc"):
        X = X.to_numpy()
    if sparse.issparse(X):
        X = X.tocsr()
    if not hasattr(X, "shape"):
        if not hasattr(X, "__len__"):
            raise TypeError(f"Expected a sequence of objects, got {type(X)}.")
        if len(X) == 0:
            raise ValueError("Found 0 objects; at least 1 is needed.")
        return X
    if X.ndim == 2 and X.dtype.kind in "biuf":
        return validate_data(
            estimator, X, reset=reset, accept_sparse="csr", ensure_all_finite=False
        )
    if X.ndim == 0:
        raise ValueError("Expected a sequence of objects, got a single one.")
    if X.shape[0] == 0:
        raise ValueError("Found 0 objects; at least 1 is needed.")
    if X.ndim == 2 and X.shape[1] == 1:
        # As columns of tables are; the metric would see arrays around the objects.
        raise ValueError(
            f"Expected a sequence of objects, got an array of shape {X.shape}: a "
            "metric would be called with arrays of one object instead of the "
            "objects. Use X.ravel(), or a list."
        )
    return X


def check_weights(X, sample_weight, candidates):
    """Check the weights, and that there are samples enough.

    Parameters
    ----------
    X : array, sparse matrix or sequence
        The samples.
    sample_weight : array-like or None
        Their weights.
    candidates : list of int
        Numbers of clusters to try, ascending: the last is how many samples are needed.

    Returns
    -------
    weights : ndarray of shape (n_samples,)
        Between 0 and 1. Only their ratios matter for the medoids: sums of weights of
        any size stay in range.
    exponent : int
        The weights are ``weights * 2**exponent``.
    """
    n_samples = n_samples_of(X)
    weights, exponent = np.ones(n_samples), 0
    if sample_weight is not None:
        weights = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        exponent = int(np.frexp(weights.max())[1])
        weights = np.ldexp(weights, -exponent)
    n_used = np.count_nonzero(weights)
    most = candidates[-1]
    if n_used < most:
        name = "n_clusters" if len(candidates) == 1 else "the largest of k_range"
        raise ValueError(
            f"n_samples={n_used} should be >= {name}={most}"
            f"{'' if n_used == n_samples else ', counting positive weights'}."
        )
    return weights, exponent


def check_n_clusters(estimator):
    """Return the numbers of clusters to try, ascending.

    Parameters
    ----------
    estimator : BanditKMedoids
        Has `n_clusters`, `k_range` and `init`.
    """
    if not isinstance(estimator.n_clusters, str):
        return [estimator.n_clusters]
    k_range = np.asarray(estimator.k_range)
    if k_range.shape != (2,) or k_range.dtype.kind not in "iu":
        raise ValueError(
            "k_range must be the least and the largest number of clusters, got "
            f"{estimator.k_range!r}."
        )
    least, most = k_range.tolist()
    if not 2 <= least <= most:
        raise ValueError(
            f"k_range must be two numbers of at least 2, ascending, got "
            f"{estimator.k_range!r}."
        )
    if not isinstance(estimator.init, str):
        raise ValueError(
            'init must be a name with n_clusters="auto": samples or coordinates '
            "are for one number of clusters."
        )
    return list(range(least, most + 1))


def check_init(estimator, X, weights, params):
    """Return the estimator's `init`: a name, or indices of samples.

    Parameters
    ----------
    estimator : BanditKMedoids
        Has `init`, `n_clusters` and the metric.
    X : array, sparse matrix or sequence
        The samples.
    weights : ndarray of shape (n_samples,)
        Their weights.
    params : dict
        Further arguments of the metric.
    """
    init, n_clusters, n_samples = estimator.init, estimator.n_clusters, len(weights)
    if isinstance(init, str):
        return init
    is_table = not callable(estimator.metric) and estimator.metric != "precomputed"
    if is_table and getattr(init, "ndim", np.ndim(init)) == 2:
        return _nearest_samples(estimator, init, X, weights, params)
    init = np.asarray(init)
    if init.shape != (n_clusters,) or init.dtype.kind not in "iu":
        also = f", or {n_clusters} rows of coordinates" if is_table else ""
        raise ValueError(
            f"init must be {n_clusters} indices of samples, one for each "
            f"cluster{also}, got an array of shape {init.shape} and type {init.dtype}."
        )
    if len(set(init.tolist())) < len(init):
        raise ValueError("init names a sample twice.")
    if init.min() < 0 or init.max() >= n_samples:
        raise ValueError(f"init names a sample that is not in 0..{n_samples - 1}.")
    if not weights[init].all():
        raise ValueError("init names a sample of weight zero.")
    return init.astype(np.intp)


def _nearest_samples(estimator, init, X, weights, params):
    """Return the samples nearest to given coordinates, each another one."""
    try:
        init = check_samples(estimator, init, reset=False)
    except ValueError as error:
        raise ValueError(f"init is not a table like X: {error}") from error
    if init.shape[0] != estimator.n_clusters:
        raise ValueError(
            f"init has {init.shape[0]} rows of coordinates, but there are "
            f"n_clusters={estimator.n_clusters}."
        )
    used = np.flatnonzero(weights)
    to_init = distances_between(
        take_samples(X, used), init, estimator.metric, params, estimator.n_jobs
    )
    chosen = []
    for distances in to_init.T:
        # A sample that is the nearest of two is the medoid of the first.
        distances[chosen] = np.inf
        chosen.append(int(np.argmin(distances)))
    return used[chosen]


def take_samples(X, which):
    """Return some of the samples."""
    return X[which] if hasattr(X, "shape") else [X[i] for i in which]


def n_samples_of(X):
    """Return the number of samples."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def _are_strings(X):
    """Whether a list or series has strings in the place of rows."""
    if getattr(X, "ndim", 1) != 1 or not hasattr(X, "__len__") or len(X) == 0:
        return False
    first = X.iloc[0] if hasattr(X, "iloc") else X[0]
    return isinstance(first, str)


def _is_exact_in_float32(X):
    """Whether the values are small integers or half floats, which float32 holds."""
    dtype = getattr(X, "dtype", None)
    return isinstance(dtype, np.dtype) and (
        (dtype.kind in "iu" and dtype.itemsize <= 2) or dtype == np.float16
    )
