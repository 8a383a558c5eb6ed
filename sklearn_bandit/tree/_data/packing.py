"""Packing the samples of an estimator: what it refuses, in how many threads."""

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite

from sklearn_bandit._core.thread_start import start_threads

from .packed_rows import pack

# Kernels number the rows by 32 bits and the features by 16.
MAX_SAMPLES = np.iinfo(np.int32).max
MAX_FEATURES = np.iinfo(np.uint16).max + 1

# Forests that may sample keep to the bins from here on, where their first nodes are
# sampled. Ranks would take 1.7 to 2.8 times as long (`RANKED_ROWS` of `packed_rows`),
# and the trees of a forest make up for a coarse threshold near the root.
RANKED_FOREST_ROWS = 8_000

# Matrices with fewer values are packed in milliseconds: threads would not pay.
MIN_PARALLEL = 1_000_000


def check_size(n_samples, n_features):
    """Raise if rows or features do not fit the index types of the kernels."""
    if n_samples > MAX_SAMPLES:
        raise ValueError(
            f"At most {MAX_SAMPLES} samples are supported, not {n_samples}."
        )
    if n_features > MAX_FEATURES:
        raise ValueError(
            f"At most {MAX_FEATURES} features are supported; got {n_features}."
        )


def pack_samples(estimator, X, max_bins, n_threads, random_state, weights=None):
    """Put samples into bins, refusing what the estimator cannot learn from."""
    check_size(*X.shape)
    if X.shape[0] * X.shape[1] < MIN_PARALLEL:
        n_threads = 1
    n_threads = start_threads(n_threads)
    # Random thresholds and the thesis's rule keep to the bins.
    tree = getattr(estimator, "estimator", estimator)
    rank = tree.splitter == "best" and estimator.solver != "mab-thesis"
    if tree is not estimator and estimator.solver != "exact":
        rank &= X.shape[0] <= RANKED_FOREST_ROWS
    packed = pack(X, max_bins, n_threads, random_state, weights=weights, rank=rank)
    allows_missing = (
        not issparse(X) and estimator.__sklearn_tags__().input_tags.allow_nan
    )
    has_missing = packed.has_missing.any() or (
        weights is not None and not weights.all()
    )
    if has_missing and not allows_missing:
        assert_all_finite(X, estimator_name=type(estimator).__name__, input_name="X")
    return packed
