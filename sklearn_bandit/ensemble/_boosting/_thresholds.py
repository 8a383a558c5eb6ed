"""Bin thresholds, the same as scikit-learn's, found faster.

scikit-learn sorts (with its indices) a double precision copy of every feature. Here the
values are sorted in their own type, and the positions of the quantiles in a sorted
array, which depend on nothing but its length, are asked from scikit-learn once.
"""

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from sklearn_bandit._compat import (
    ALMOST_INF,
    BINS_BY_WEIGHT,
    BinMapper,
    find_binning_thresholds,
)

# Columns that one task sorts: small enough to share among threads.
TASK_COLUMNS = 8

# Values that are worth a second thread.
MIN_PARALLEL = 100_000


def fit_bin_mapper(
    X,
    *,
    max_bins,
    is_categorical,
    known_categories,
    sample_weight,
    random_state,
    n_threads,
):
    """Find the thresholds of all features.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Numbers of any type; NaN where missing.
    max_bins : int
        Most bins of a feature, missing values not counted.
    is_categorical : ndarray of bool of shape (n_features,) or None
        Which features are categorical.
    known_categories : list or None
        Categories of each categorical feature, None for the others.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights of the rows.
    random_state : int
        Draws the rows that quantiles are taken from.
    n_threads : int
        Threads to use.

    Returns
    -------
    BinMapper
        scikit-learn's, fitted.
    """
    mapper = BinMapper(
        n_bins=max_bins + 1,
        is_categorical=is_categorical,
        known_categories=known_categories,
        random_state=random_state,
        n_threads=n_threads,
    )
    n_samples, n_features = X.shape
    weights = sample_weight if BINS_BY_WEIGHT else None
    if n_samples > mapper.subsample:
        share = None if weights is None else weights / np.sum(weights)
        rows = check_random_state(random_state).choice(
            n_samples, mapper.subsample, p=share, replace=BINS_BY_WEIGHT
        )
        X = X[np.sort(rows)]
        weights = None

    if is_categorical is None:
        is_categorical = np.zeros(n_features, dtype=bool)
        known_categories = [None] * n_features
    positions = {}
    numerical = np.flatnonzero(~is_categorical)
    tasks = [
        numerical[i : i + TASK_COLUMNS] for i in range(0, len(numerical), TASK_COLUMNS)
    ]
    n_jobs = n_threads if X.size >= MIN_PARALLEL else 1
    found = Parallel(n_jobs=n_jobs, backend="threading")(
        delayed(_find_thresholds)(X, features, max_bins, weights, positions)
        for features in tasks
    )
    thresholds = list(known_categories)
    for features, parts in zip(tasks, found, strict=True):
        for feature, part in zip(features, parts, strict=True):
            thresholds[feature] = part

    mapper.is_categorical_ = is_categorical.astype(np.uint8)
    mapper.missing_values_bin_idx_ = max_bins
    mapper.bin_thresholds_ = thresholds
    mapper.n_bins_non_missing_ = np.array(
        [len(t) + (not c) for t, c in zip(thresholds, is_categorical, strict=True)],
        dtype=np.uint32,
    )
    return mapper


def _find_thresholds(X, features, max_bins, weights, positions):
    """Find the thresholds of some features."""
    columns = np.ascontiguousarray(X[:, features[0] : features[-1] + 1].T)
    columns = columns[features - features[0]]
    if weights is not None:
        return [
            find_binning_thresholds(
                column.astype(np.float64), max_bins, sample_weight=weights
            )
            for column in columns
        ]
    # Radix sort for integers of one or two bytes.
    columns.sort(axis=1, kind="stable" if columns.dtype.itemsize <= 2 else None)
    return [_cut(column, max_bins, positions) for column in columns]


def _cut(column, max_bins, positions):
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
    else:
        n = len(column)
        if n not in positions:
            # Quantiles of 0, 1, 2, ... are the positions of quantiles.
            positions[n] = find_binning_thresholds(
                np.arange(n, dtype=np.float64), max_bins
            )
        below = np.floor(positions[n]).astype(np.intp)
        above = np.ceil(positions[n]).astype(np.intp)
        low = column[below].astype(np.float64)
        high = column[above].astype(np.float64)
        # numpy's interpolation at one half, to the last digit.
        thresholds = np.where(below == above, low, high - (high - low) * 0.5)
        if BINS_BY_WEIGHT:  # older versions keep equal thresholds, as empty bins
            thresholds = np.unique(thresholds)
    return np.clip(thresholds, None, ALMOST_INF, out=thresholds)
