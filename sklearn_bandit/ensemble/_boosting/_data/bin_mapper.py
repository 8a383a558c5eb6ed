"""Bin thresholds, the same as scikit-learn's, found faster.

scikit-learn sorts (with its indices) a double precision copy of every feature and looks
for quantiles in it. Here the values are sorted in their own type, and the quantiles are
taken from where they are in a sorted array, which depends on nothing but its length.
"""

import numpy as np
from sklearn.utils import check_random_state

from sklearn_bandit._compat import (
    ALMOST_INF,
    BINS_BY_WEIGHT,
    BinMapper,
)
from sklearn_bandit._core.tasks import run_tasks

from .sorted_columns import sort_columns

# Columns that one task sorts: enough of a row-major matrix to read memory well, and few
# enough to share among threads.
TASK_COLUMNS = 4

# Rows that quantiles are taken from: scikit-learn's number.
MAX_BIN_ROWS = BinMapper().subsample


def choose_rows(n_samples, sample_weight, random_state):
    """Choose the rows that quantiles are taken from.

    Parameters
    ----------
    n_samples : int
        Number of rows.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights of the rows.
    random_state : int
        Draws them.

    Returns
    -------
    rows : ndarray of int or None
        The rows, ascending; None for all.
    sample_weight : ndarray of shape (n_rows,) or None
        Their weights, where they count.
    """
    weights = sample_weight if BINS_BY_WEIGHT else None
    if n_samples <= MAX_BIN_ROWS:
        return None, weights
    share = None if weights is None else weights / np.sum(weights)
    rows = check_random_state(random_state).choice(
        n_samples, MAX_BIN_ROWS, p=share, replace=BINS_BY_WEIGHT
    )
    return np.sort(rows), None


def fit_bin_mapper(
    X, sample_weight, *, max_bins, is_categorical, known_categories, n_threads
):
    """Find the thresholds of all features.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Numbers of any type; NaN where missing. All count.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights of the rows.
    max_bins : int
        Most bins of a feature, missing values not counted.
    is_categorical : ndarray of bool of shape (n_features,) or None
        Which features are categorical.
    known_categories : list or None
        Categories of each categorical feature, None for the others.
    n_threads : int
        Threads to use.

    Returns
    -------
    BinMapper
        scikit-learn's, fitted.
    """
    n_features = X.shape[1]
    if is_categorical is None:
        is_categorical = np.zeros(n_features, dtype=bool)
        known_categories = [None] * n_features
    thresholds = list(known_categories)

    def find(features):
        found = _find_thresholds(X, features, max_bins, sample_weight)
        for feature, part in zip(features, found, strict=True):
            thresholds[feature] = part

    numerical = np.flatnonzero(~is_categorical)
    tasks = range(0, len(numerical), TASK_COLUMNS)
    run_tasks(find, [numerical[i : i + TASK_COLUMNS] for i in tasks], n_threads)

    return fitted_bin_mapper(thresholds, is_categorical, max_bins, n_threads)


def fitted_bin_mapper(thresholds, is_categorical, max_bins, n_threads):
    """Return scikit-learn's mapper for thresholds that are known.

    Parameters
    ----------
    thresholds : list of ndarray
        Thresholds of each feature; its categories if it is categorical.
    is_categorical : ndarray of bool of shape (n_features,)
        Which features are categorical.
    max_bins, n_threads
        As for `fit_bin_mapper`.

    Returns
    -------
    BinMapper
        scikit-learn's, fitted.
    """
    categories = [
        known if c else None
        for known, c in zip(thresholds, is_categorical, strict=True)
    ]
    mapper = BinMapper(
        n_bins=max_bins + 1,
        is_categorical=is_categorical if is_categorical.any() else None,
        known_categories=categories if is_categorical.any() else None,
        n_threads=n_threads,
    )
    mapper.is_categorical_ = is_categorical.astype(np.uint8)
    mapper.missing_values_bin_idx_ = max_bins
    mapper.bin_thresholds_ = thresholds
    mapper.n_bins_non_missing_ = np.array(
        [len(t) + (not c) for t, c in zip(thresholds, is_categorical, strict=True)],
        dtype=np.uint32,
    )
    return mapper


def _find_thresholds(X, features, max_bins, weights):
    """Find the thresholds of some features."""
    columns = np.ascontiguousarray(X[:, features[0] : features[-1] + 1].T)
    columns = columns[features - features[0]]
    if weights is not None:
        return [_cut_weighted(column, max_bins, weights) for column in columns]
    if columns.dtype in (np.float32, np.float64):
        sort_columns(columns)
    else:  # numpy has a radix sort for integers of one or two bytes
        columns.sort(axis=1, kind="stable" if columns.dtype.itemsize <= 2 else None)
    return [_cut(column, max_bins) for column in columns]


def _cut_weighted(column, max_bins, weights):
    """Thresholds of a column whose values have weights."""
    counts = ~np.isnan(column) & (weights != 0)
    column, weights = column[counts].astype(np.float64), weights[counts]
    order = np.argsort(column)
    return _cut(column[order], max_bins, weights[order])


def _cut(column, max_bins, weights=None):
    """Thresholds of a sorted column whose last values may be NaN."""
    if column.dtype.kind == "f":
        column = column[: np.searchsorted(column, np.nan)]
    is_new = np.empty(len(column), dtype=bool)
    is_new[:1] = True
    np.not_equal(column[1:], column[:-1], out=is_new[1:])
    n_distinct = np.count_nonzero(is_new)
    if n_distinct <= max_bins:
        distinct = column[is_new].astype(np.float64)
        thresholds = (distinct[:-1] + distinct[1:]) / 2.0
    elif weights is not None:
        below, above = _weighted_quantile_positions(weights, max_bins)
        thresholds = np.unique((column[below] + column[above]) / 2.0)
    else:
        below, above = _quantile_positions(len(column), max_bins)
        low = column[below].astype(np.float64)
        high = column[above].astype(np.float64)
        # numpy's interpolation at one half, to the last digit.
        thresholds = np.where(below == above, low, high - (high - low) * 0.5)
        if BINS_BY_WEIGHT:  # older versions keep equal thresholds, as empty bins
            thresholds = np.unique(thresholds)
    return np.clip(thresholds, None, ALMOST_INF, out=thresholds)


def _weighted_quantile_positions(weights, max_bins):
    """Between which two sorted values of these weights each quantile is the midpoint.

    scikit-learn's weighted percentiles, which sort all values again for each of them.
    """
    sums = np.cumsum(weights, dtype=np.float64)
    wanted = np.linspace(0, 100, num=max_bins + 1)[1:-1] / 100 * sums[-1]
    last = len(sums) - 1
    below = np.minimum(np.searchsorted(sums, wanted), last)
    # One value unless a quantile is just between two.
    is_between = sums[below] - wanted <= np.finfo(np.float64).eps
    return below, np.minimum(below + is_between, last)


def _quantile_positions(n, max_bins):
    """Between which two of `n` sorted values each quantile is the midpoint.

    These are numpy's methods "averaged_inverted_cdf" and, for older versions of
    scikit-learn, "midpoint", to the last digit.
    """
    quantiles = np.linspace(0, 100, num=max_bins + 1)[1:-1] / 100
    position = n * quantiles - 1 if BINS_BY_WEIGHT else (n - 1) * quantiles
    above = np.ceil(position).astype(np.intp)
    if BINS_BY_WEIGHT:  # one value unless a quantile is just between two
        return above, above + (above == position)
    return np.floor(position).astype(np.intp), above
