"""What calls of the searches share: checks of their arguments, and graphs."""

from numbers import Integral

import numpy as np
from scipy import sparse

# When a larger share of the rows that are laid out together was removed, the others are
# laid out anew.
MOST_REMOVED = 0.5


def check_n_neighbors(k, n_others):
    """Return the number of neighbours, if there are as many."""
    if type(k) is not int and (not isinstance(k, Integral) or isinstance(k, bool)):
        raise TypeError(
            f"n_neighbors does not take {type(k)} value, enter integer value"
        )
    if k <= 0:
        raise ValueError(f"Expected n_neighbors > 0. Got {k}")
    if k > n_others:
        raise ValueError(
            f"Expected n_neighbors <= n_samples_fit, but n_neighbors = {k}, "
            f"n_samples_fit = {n_others}"
        )
    return int(k)


def check_ids(ids, present):
    """Return ids of rows that can be removed, as an array.

    Parameters
    ----------
    ids : int or array-like of int
        As given by the caller.
    present : ndarray of int
        Ids of the rows that are there.

    Returns
    -------
    ndarray of int64
        The ids; all are present, each stands once, and some others are left.
    """
    ids = np.atleast_1d(np.asarray(ids))
    if ids.size == 0:
        return ids.astype(np.int64)
    if ids.ndim != 1 or ids.dtype.kind not in "iu":
        raise ValueError("ids must be an integer or a list of integers.")
    if len(np.unique(ids)) < len(ids):
        raise ValueError("A row can be removed only once; ids are repeated.")
    is_known = np.isin(ids, present)
    if not is_known.all():
        raise ValueError(
            f"There are no rows with ids {ids[~is_known][:5].tolist()}: they were "
            "removed before, or never added."
        )
    if len(ids) == len(present):
        raise ValueError("At least one row must remain.")
    return ids.astype(np.int64)


def check_mode(mode):
    """Refuse what is no mode of a graph."""
    if mode not in ("connectivity", "distance"):
        raise ValueError(
            f'Unsupported mode, must be one of "connectivity", or "distance" but got '
            f'"{mode}" instead'
        )


def neighbors_graph(values, ids, n_ids):
    """Return the same number of neighbours of every query as a sparse matrix.

    Parameters
    ----------
    values : ndarray of shape (n_queries, n_neighbors) or None
        Entries of the matrix; None for ones.
    ids : ndarray of shape (n_queries, n_neighbors)
        Columns of the entries.
    n_ids : int
        Number of columns.

    Returns
    -------
    CSR matrix of shape (n_queries, n_ids)
        The graph; entries of a row in the order of the arrays.
    """
    data = np.ones(ids.size) if values is None else values.ravel()
    ends = np.arange(0, ids.size + 1, ids.shape[1])
    return sparse.csr_matrix((data, ids.ravel(), ends), shape=(len(ids), n_ids))
