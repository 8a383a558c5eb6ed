"""Distances of sparse rows: products in double precision, mended where they cancel."""

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.preprocessing import normalize

from .scaling import out_of_range, scale_of

# Below this share of |x|^2 + |y|^2 a squared distance is computed again from the
# differences. The sums of m products are off by m eps (|x|^2 + |y|^2) at most: above
# the share, a squared distance by no more than m eps / GUARD of itself.
GUARD = 1e-3

# Distances of one call, between two checks for signals (Ctrl-C): 0.3 s for the slow
# ones of scikit-learn's metrics (canberra) with 784 features. And entries of
# differences that are held at once.
CHUNK_DISTANCES = 2**18
CHUNK_ENTRIES = 2**20


def sparse_distances(X, Y, kind):
    """Distances of sparse rows to others.

    Parameters
    ----------
    X : sparse matrix of shape (n_x, n_features)
        In CSR format.
    Y : sparse matrix or ndarray of shape (n_y, n_features)
        A few rows.
    kind : {"euclidean", "sqeuclidean", "cosine", "manhattan"}
        The metric.

    Returns
    -------
    ndarray of shape (n_x, n_y)
        In the precision of X and Y.
    """
    Y = sparse.csr_array(Y)
    dtype = np.result_type(X.dtype, Y.dtype)
    stored = [rows.data for rows in (X, Y) if rows.nnz]
    scale = scale_of(out_of_range(*stored)) if stored else 1.0
    arms = _prepared(Y, scale, kind)
    out = np.empty((X.shape[0], Y.shape[0]), dtype)
    step = max(CHUNK_DISTANCES // Y.shape[0], 1)
    for first in range(0, X.shape[0], step):
        rows = _prepared(X[first : first + step], scale, kind)
        if kind == "manhattan":
            found = manhattan_distances(rows, arms)
        else:
            found = _square_distances(rows, arms)
        if kind == "euclidean":
            found = np.sqrt(found)
        if kind == "cosine":
            found *= 0.5
            found[_are_zero(rows)] = 1.0
            found[:, _are_zero(arms)] = 1.0
        elif scale != 1.0:
            with np.errstate(over="ignore", under="ignore"):
                # The square of a scale may be out of range.
                for _ in range(2 if kind == "sqeuclidean" else 1):
                    found /= scale
        with np.errstate(over="ignore", under="ignore"):
            out[first : first + step] = found
    return out


def _prepared(rows, scale, kind):
    """Return a copy in double precision, scaled and, for the cosine, normalised."""
    rows = sparse.csr_array(rows).astype(np.float64)
    if scale != 1.0:
        rows = rows * scale
    rows.sum_duplicates()
    return normalize(rows) if kind == "cosine" else rows


def _square_distances(rows, arms):
    """Squared Euclidean distances of rows in range."""
    norms = _square_norms(rows)[:, None] + _square_norms(arms)
    found = norms - 2 * (rows @ arms.T).toarray()
    i, j = np.nonzero(found < GUARD * norms)
    step = max(CHUNK_ENTRIES // max(_longest(rows) + _longest(arms), 1), 1)
    for first in range(0, len(i), step):
        part = slice(first, first + step)
        found[i[part], j[part]] = _square_norms(rows[i[part]] - arms[j[part]])
    return found


def _square_norms(rows):
    return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()


def _longest(rows):
    """Return the largest number of entries of a row."""
    return int(np.diff(rows.indptr).max(initial=0))


def _are_zero(rows):
    return _square_norms(rows) == 0
