"""Every private or version-dependent scikit-learn name, in one place.

The rest of the package imports these from here, so that a release of scikit-learn that
moves one of them is met by editing this file alone. Supported: scikit-learn 1.6 and
later.
"""

from copy import copy

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

from sklearn._loss.loss import BaseLoss
from sklearn.ensemble._forest import (
    MAX_INT,
    _generate_sample_indices,
    _get_n_samples_bootstrap,
)
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


def callbacks_of(estimator):
    """Return the callbacks that are registered on an estimator."""
    return getattr(estimator, "_skl_callbacks", [])


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
    "DRAWS_BY_WEIGHT",
    "MAX_INT",
    "NODE_DTYPE",
    "Tree",
    "bootstrap_indices",
    "bootstrap_size",
    "callbacks_of",
    "class_weights",
]


# In recent versions bin thresholds depend on the weights of the samples.
BINS_BY_WEIGHT = "sample_weight" in signature(find_binning_thresholds).parameters

__all__ += [
    "ALMOST_INF",
    "BINS_BY_WEIGHT",
    "PREDICTOR_RECORD_DTYPE",
    "SCORERS",
    "BaseLoss",
    "BinMapper",
    "TreePredictor",
    "check_monotonic_cst",
    "check_y",
    "find_binning_thresholds",
]


# -- model selection ------------------------------------------------------------------

# What scikit-learn's searches say when no fit of a batch succeeded. They do not tell
# it otherwise from other errors.
ALL_FITS_FAILED = "fits failed"


def metric_of(scorer):
    """Return the metric of a scorer made by `make_scorer`, None for other scorers."""
    return getattr(scorer, "_score_func", None)


def with_metric(scorer, metric):
    """Return a copy of a scorer with another metric."""
    scorer = copy(scorer)
    scorer._score_func = metric
    return scorer


def named_scorers(scorer):
    """Return the scorers of a search by name, None if there is a single one."""
    return getattr(scorer, "_scorers", None)


def with_named_scorers(scorer, scorers):
    """Return a copy of the scorer for several metrics with other scorers."""
    scorer = copy(scorer)
    scorer._scorers = scorers
    return scorer


__all__ += [
    "ALL_FITS_FAILED",
    "metric_of",
    "named_scorers",
    "with_metric",
    "with_named_scorers",
]
