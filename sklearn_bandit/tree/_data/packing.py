"""Packing the samples of an estimator: what it refuses, in how many threads."""

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite

from sklearn_bandit._compat import MONOTONE_TAKES_MISSING
from sklearn_bandit._core.thread_start import start_threads
from sklearn_bandit._core.validation import check_n_samples

from .packed_rows import MISSING_BIN, pack

# Kernels number the rows by signed integers of 32 bits and the features by 16 bits.
MAX_INT32_ROWS = np.iinfo(np.int32).max
MAX_FEATURES = np.iinfo(np.uint16).max + 1

# Matrices with fewer values are packed in milliseconds: threads would not pay.
MIN_PARALLEL = 1_000_000


def check_size(n_samples, n_features):
    """Raise if rows or features do not fit the index types of the kernels."""
    check_n_samples(n_samples, MAX_INT32_ROWS)
    if n_features > MAX_FEATURES:
        raise ValueError(
            f"At most {MAX_FEATURES} features are supported; got {n_features}."
        )


def allows_missing(estimator, X):
    """Whether an estimator learns from missing values of X, and predicts them."""
    return (
        not issparse(X)
        and estimator.__sklearn_tags__().input_tags.allow_nan
        and (MONOTONE_TAKES_MISSING or estimator.monotonic_cst is None)
    )


def pack_samples(estimator, X, n_threads, random_state, weights=None, data=None):
    """Put samples into bins, refusing what the estimator cannot learn from.

    `data` is a packed data set, X the array in its place; None if there is none.
    """
    check_size(*X.shape)
    is_small = X.shape[0] * X.shape[1] < MIN_PARALLEL
    n_threads = 1 if is_small else start_threads(n_threads)
    policy = estimator._sampling_policy
    ranking = policy if policy.ranks_values(estimator, X.shape[0]) else None
    if data is not None:
        packed = data.packed(ranking, n_threads)
        if packed.has_missing.any() and not allows_missing(estimator, X):
            feature = np.flatnonzero(packed.has_missing)[0]
            row = (packed.columns[feature] == MISSING_BIN).argmax()
            X = data[row : row + 1]
            assert_all_finite(
                X, estimator_name=type(estimator).__name__, input_name="X"
            )
        return packed
    packed = pack(
        X,
        estimator.max_bins,
        n_threads,
        random_state,
        weights=weights,
        ranking=ranking,
    )
    has_missing = packed.has_missing.any() or (
        weights is not None and not weights.all()
    )
    if has_missing and not allows_missing(estimator, X):
        assert_all_finite(X, estimator_name=type(estimator).__name__, input_name="X")
    return packed
