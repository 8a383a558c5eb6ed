"""Every private or version-dependent scikit-learn name, in one place.

The rest of the package imports these from here, so that a release of scikit-learn that
moves one of them is met by editing this file alone. Supported: scikit-learn 1.6 and
later.
"""

from sklearn.base import _fit_context
from sklearn.utils._param_validation import (
    HasMethods,
    Hidden,
    Interval,
    Options,
    StrOptions,
    validate_params,
)
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    _is_arraylike_not_scalar,
    check_is_fitted,
    validate_data,
)

try:  # scikit-learn 1.9 and later
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    HAS_CALLBACKS = True
except ImportError:
    HAS_CALLBACKS = False

    class CallbackSupportMixin:
        """Without scikit-learn's callbacks there is no ``set_callbacks`` either."""

    def with_callbacks(method):
        """Leave the method as it is."""
        return method


# -- cluster --------------------------------------------------------------------------
from sklearn.metrics.pairwise import _VALID_METRICS as VALID_METRICS

__all__ = [
    "HAS_CALLBACKS",
    "VALID_METRICS",
    "CallbackSupportMixin",
    "HasMethods",
    "Hidden",
    "Interval",
    "Options",
    "StrOptions",
    "_check_feature_names_in",
    "_check_sample_weight",
    "_fit_context",
    "_is_arraylike_not_scalar",
    "check_is_fitted",
    "validate_data",
    "validate_params",
    "with_callbacks",
]

# -- trees, forests and boosting ------------------------------------------------------

from inspect import signature

import numpy as np
import sklearn
from sklearn._loss.loss import BaseLoss, HalfBinomialLoss, HalfMultinomialLoss
from sklearn.ensemble._forest import (
    MAX_INT,
    _generate_sample_indices,
    _get_n_samples_bootstrap,
)
from sklearn.ensemble._hist_gradient_boosting import gradient_boosting
from sklearn.ensemble._hist_gradient_boosting.binning import (
    _BinMapper as BinMapper,
)
from sklearn.ensemble._hist_gradient_boosting.binning import (
    _find_binning_thresholds as find_binning_thresholds,
)
from sklearn.ensemble._hist_gradient_boosting.common import (
    ALMOST_INF,
    PREDICTOR_RECORD_DTYPE,
)
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.metrics._scorer import _SCORERS as SCORERS
from sklearn.tree._tree import NODE_DTYPE, Tree
from sklearn.utils.validation import _check_monotonic_cst as check_monotonic_cst
from sklearn.utils.validation import _check_y as check_y

# From scikit-learn 1.8 on, a bootstrap sample is drawn in proportion to the weights;
# before, it is drawn uniformly and the trees get the weights.
DRAWS_BY_WEIGHT = "sample_weight" in signature(_generate_sample_indices).parameters


def make_tree(n_features, n_classes, n_outputs):
    """Return a `Tree` without nodes.

    From scikit-learn 1.10 on it is told how many categories each feature has; -1 says
    that a feature is numerical.
    """
    if "left_cat_bitset" in NODE_DTYPE.names:
        n_categories = np.full(n_features, -1, dtype=np.intp)
        return Tree(n_features, n_classes, n_outputs, n_categories)
    return Tree(n_features, n_classes, n_outputs)


# Attributes that an estimator has during a fit that callbacks watch.
CALLBACK_STATE = ("_callback_fit_ctx", "_skl_callbacks_to_teardown")


def callbacks_of(estimator):
    """Return the callbacks that are registered on an estimator."""
    return getattr(estimator, "_skl_callbacks", [])


def is_watched(estimator):
    """Return whether callbacks, or those of a meta-estimator, want to know of a fit."""
    return HAS_CALLBACKS and bool(
        callbacks_of(estimator) or hasattr(estimator, "_parent_callback_ctx")
    )


def class_weights(forest, y, sample_weight):
    """Return the weights that a forest's `class_weight` gives to the samples."""
    if DRAWS_BY_WEIGHT:
        return forest._validate_y_class_weight(y, sample_weight)[1]
    return forest._validate_y_class_weight(y)[1]


def bootstrap_size(n_samples, max_samples, sample_weight):
    """Return the number of draws of a bootstrap sample."""
    if DRAWS_BY_WEIGHT:
        return _get_n_samples_bootstrap(n_samples, max_samples, sample_weight)
    return _get_n_samples_bootstrap(n_samples, max_samples)


def bootstrap_indices(random_state, n_samples, n_draws, sample_weight):
    """Return the samples of a tree's bootstrap sample, as scikit-learn's forests do."""
    if DRAWS_BY_WEIGHT:
        return _generate_sample_indices(random_state, n_samples, n_draws, sample_weight)
    return _generate_sample_indices(random_state, n_samples, n_draws)


__all__ += [
    "CALLBACK_STATE",
    "DRAWS_BY_WEIGHT",
    "MAX_INT",
    "NODE_DTYPE",
    "Tree",
    "bootstrap_indices",
    "bootstrap_size",
    "callbacks_of",
    "class_weights",
    "is_watched",
    "make_tree",
]


# In recent versions bin thresholds depend on the weights of the samples.
BINS_BY_WEIGHT = "sample_weight" in signature(find_binning_thresholds).parameters

# From scikit-learn 1.10 on, boosting takes the first of thresholds that are equally
# good; before, the last if missing values go left. No name tells the versions apart.
FIRST_OF_EQUAL_THRESHOLDS = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (
    1,
    10,
)


def stopping_scorer(booster):
    """Return what scikit-learn's boosting judges early stopping by."""
    return gradient_boosting.check_scoring(booster, booster.scoring)


def print_iteration(booster, start):
    """Print trees and scores of a booster's last iteration, which began at `start`."""
    booster._print_iteration_stats(start)


__all__ += [
    "ALMOST_INF",
    "BINS_BY_WEIGHT",
    "FIRST_OF_EQUAL_THRESHOLDS",
    "PREDICTOR_RECORD_DTYPE",
    "SCORERS",
    "BaseLoss",
    "BinMapper",
    "HalfBinomialLoss",
    "HalfMultinomialLoss",
    "TreePredictor",
    "check_monotonic_cst",
    "check_y",
    "find_binning_thresholds",
    "print_iteration",
    "stopping_scorer",
]
