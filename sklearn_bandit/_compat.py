"""Every private or version-dependent scikit-learn name, in one place.

The rest of the package imports these from here, and calls private methods of
scikit-learn's classes through the functions below, so that a release of scikit-learn
that moves one of them is met by editing this file alone.
`tests/test_private_names.py` sees to that.
"""

from copy import copy
from inspect import signature

import numpy as np
import sklearn

# What the tests run on. Newer releases are tried: most private names outlive several.
OLDEST, NEWEST = "1.6", "1.9"


def _unsupported(what):
    """Return the error for a scikit-learn that lacks a name this package needs."""
    return ImportError(
        f"This version of sklearn-bandit supports scikit-learn {OLDEST} to {NEWEST}. "
        f"scikit-learn {sklearn.__version__} is installed, which lacks what it needs: "
        f"{what}. Install a supported scikit-learn or a newer sklearn-bandit."
    )


try:
    from sklearn._loss.loss import BaseLoss, HalfBinomialLoss, HalfMultinomialLoss
    from sklearn.base import _fit_context
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
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
    from sklearn.metrics.pairwise import _VALID_METRICS as VALID_METRICS
    from sklearn.model_selection._split import _validate_shuffle_split
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
    from sklearn.tree._tree import NODE_DTYPE, Tree
    from sklearn.utils import _safe_indexing
    from sklearn.utils._param_validation import (
        HasMethods,
        Hidden,
        Interval,
        Options,
        StrOptions,
        validate_params,
    )
    from sklearn.utils.extmath import _approximate_mode as approximate_mode
    from sklearn.utils.validation import (
        _check_feature_names_in,
        _check_sample_weight,
        _is_arraylike_not_scalar,
        check_is_fitted,
        validate_data,
    )
    from sklearn.utils.validation import _check_monotonic_cst as check_monotonic_cst
    from sklearn.utils.validation import _check_y as check_y
except ImportError as error:
    raise _unsupported(error) from error

try:  # scikit-learn 1.9 and later
    from sklearn.utils.validation import _check_categorical_features
except ImportError:

    def _check_categorical_features(X, categorical_features):
        """Ask a booster of before, whose method this was."""
        model = HistGradientBoostingRegressor(categorical_features=categorical_features)
        return model._check_categorical_features(X)


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


__all__ = [
    "ALL_FITS_FAILED",
    "ALMOST_INF",
    "BINS_BY_WEIGHT",
    "CALLBACK_STATE",
    "DRAWS_BY_WEIGHT",
    "FIRST_OF_EQUAL_THRESHOLDS",
    "HAS_CALLBACKS",
    "MAX_INT",
    "MONOTONE_TAKES_MISSING",
    "NODE_DTYPE",
    "PREDICTOR_RECORD_DTYPE",
    "SCORERS",
    "VALID_METRICS",
    "BaseLoss",
    "BinMapper",
    "CallbackSupportMixin",
    "HalfBinomialLoss",
    "HalfMultinomialLoss",
    "HasMethods",
    "Hidden",
    "Interval",
    "Options",
    "StrOptions",
    "Tree",
    "TreePredictor",
    "_check_feature_names_in",
    "_check_sample_weight",
    "_fit_context",
    "_is_arraylike_not_scalar",
    "add_constraints",
    "approximate_mode",
    "bootstrap_indices",
    "bootstrap_size",
    "brute_force_rows",
    "callback_context",
    "callbacks_of",
    "categorical_mask",
    "check_early_stopping_loss",
    "check_early_stopping_scorer",
    "check_interaction_cst",
    "check_is_fitted",
    "check_monotonic_cst",
    "check_y",
    "class_weights",
    "encode_y",
    "estimators_indices",
    "finalize_sample_weight",
    "find_binning_thresholds",
    "get_loss",
    "get_small_trainset",
    "is_fitted",
    "is_plain_tree",
    "is_watched",
    "make_estimator",
    "make_tree",
    "metric_of",
    "n_samples_fitted",
    "named_scorers",
    "parameter_constraints",
    "preprocess_X",
    "print_iteration",
    "prune_tree",
    "search_elsewhere",
    "set_oob_score",
    "should_stop",
    "shuffle_split_sizes",
    "stopping_scorer",
    "take_columns",
    "validate_X_predict",
    "validate_data",
    "validate_estimator",
    "validate_parameters",
    "validate_params",
    "with_callbacks",
    "with_metric",
    "with_named_scorers",
]

# From scikit-learn 1.8 on, a bootstrap sample is drawn in proportion to the weights;
# before, it is drawn uniformly and the trees get the weights.
DRAWS_BY_WEIGHT = "sample_weight" in signature(_generate_sample_indices).parameters

# Whether trees with monotonic constraints take missing values. In scikit-learn 1.6 they
# refuse to predict them.
_supports_missing = getattr(
    DecisionTreeRegressor(monotonic_cst=[1]), "_support_missing_values", None
)
MONOTONE_TAKES_MISSING = _supports_missing is None or _supports_missing(
    np.zeros((1, 1))
)

# In recent versions bin thresholds depend on the weights of the samples.
BINS_BY_WEIGHT = "sample_weight" in signature(find_binning_thresholds).parameters

# From scikit-learn 1.10 on, boosting takes the first of thresholds that are equally
# good; before, the last if missing values go left. No name tells the versions apart.
FIRST_OF_EQUAL_THRESHOLDS = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (
    1,
    10,
)

# Attributes that an estimator has during a fit that callbacks watch.
CALLBACK_STATE = ("_callback_fit_ctx", "_skl_callbacks_to_teardown")

# The private methods that the functions below call.
METHODS = {
    (DecisionTreeClassifier, DecisionTreeRegressor): ("_prune_tree",),
    (RandomForestClassifier, RandomForestRegressor): (
        "_get_estimators_indices",
        "_make_estimator",
        "_set_oob_score_and_attributes",
        "_validate_X_predict",
        "_validate_estimator",
        "_validate_y_class_weight",
    ),
    (HistGradientBoostingClassifier, HistGradientBoostingRegressor): (
        "_check_early_stopping_loss",
        "_check_early_stopping_scorer",
        "_check_interaction_cst",
        "_encode_y",
        "_finalize_sample_weight",
        "_get_loss",
        "_get_small_trainset",
        "_is_fitted",
        "_preprocess_X",
        "_print_iteration_stats",
        "_should_stop",
        "_validate_parameters",
    ),
}


def check_methods():
    """Raise now if a private method is gone, not in the middle of a fit."""
    for classes, names in METHODS.items():
        for owner in classes:
            for name in ("_parameter_constraints", *names):
                if not hasattr(owner, name):
                    raise _unsupported(f"{owner.__name__}.{name}")


check_methods()


# -- all estimators -------------------------------------------------------------------


def parameter_constraints(estimator):
    """Return which values the parameters of an estimator class may have."""
    return estimator._parameter_constraints


def add_constraints(estimator, constraints):
    """Have an estimator class check more parameters than it inherits."""
    estimator._parameter_constraints = {
        **getattr(estimator, "_parameter_constraints", {}),
        **constraints,
    }


def callbacks_of(estimator):
    """Return the callbacks that are registered on an estimator."""
    return getattr(estimator, "_skl_callbacks", [])


def is_watched(estimator):
    """Return whether callbacks, or those of a meta-estimator, want to know of a fit."""
    return HAS_CALLBACKS and bool(
        callbacks_of(estimator) or hasattr(estimator, "_parent_callback_ctx")
    )


def categorical_mask(X, categorical_features):
    """Return which features of X are categorical; None if none is."""
    return _check_categorical_features(X, categorical_features)


def take_columns(X, columns):
    """Return some columns of an array or a data frame; with a number, that one."""
    return _safe_indexing(X, columns, axis=1)


def callback_context(estimator, n_steps):
    """Return what callbacks are told of a fit of at most `n_steps` steps."""
    return estimator._init_callback_context(max_subtasks=n_steps)


# -- trees and forests ----------------------------------------------------------------


def has_category_splits():
    """Whether nodes can hold sets of categories: from scikit-learn 1.10 on."""
    return "left_cat_bitset" in NODE_DTYPE.names


def make_tree(n_features, n_classes, n_outputs, n_categories=None):
    """Return a `Tree` without nodes.

    From scikit-learn 1.10 on it is told how many categories each feature has; -1 says
    that a feature is numerical, which None says of all.
    """
    if has_category_splits():
        if n_categories is None:
            n_categories = np.full(n_features, -1, dtype=np.intp)
        return Tree(n_features, n_classes, n_outputs, n_categories)
    return Tree(n_features, n_classes, n_outputs)


def is_plain_tree(tree, is_classifier):
    """Return whether a fitted tree predicts as scikit-learn's trees of numbers do."""
    owner, name = DecisionTreeRegressor, "predict"
    if is_classifier:
        owner, name = DecisionTreeClassifier, "predict_proba"
    return (
        isinstance(tree, owner)
        and getattr(type(tree), name) is getattr(owner, name)
        and type(tree.tree_) is Tree
        and getattr(tree, "is_categorical_", None) is None
    )


def prune_tree(tree):
    """Prune a fitted tree by its `ccp_alpha`."""
    tree._prune_tree()


def validate_estimator(forest):
    """Set the prototype of a forest's trees."""
    forest._validate_estimator()


def make_estimator(forest, random_state):
    """Return a tree with a forest's parameters, not fitted, and a seed of its own."""
    return forest._make_estimator(append=False, random_state=random_state)


def validate_X_predict(forest, X):
    """Return samples as a forest's trees take them in prediction."""
    return forest._validate_X_predict(X)


def set_oob_score(forest, X, y, scoring):
    """Set a forest's out-of-bag score, by a metric unless `scoring` is None."""
    forest._set_oob_score_and_attributes(X, y, scoring_function=scoring)


def estimators_indices(forest):
    """Yield the samples that each tree of a forest was fitted to."""
    return forest._get_estimators_indices()


def n_samples_fitted(forest):
    """Return the number of samples that the trees of a forest draw from."""
    return forest._n_samples


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


# -- boosting -------------------------------------------------------------------------


def validate_parameters(model):
    """Refuse parameters that do not go together."""
    model._validate_parameters()


def is_fitted(model):
    """Return whether a model has been fitted."""
    return model._is_fitted()


def preprocess_X(model, X, reset):
    """Validate samples and encode their categories; with `reset`, return both."""
    return model._preprocess_X(X, reset=reset)


def encode_y(model, y):
    """Return targets as the loss takes them."""
    return model._encode_y(y)


def finalize_sample_weight(model, sample_weight, y):
    """Return the weights of the samples, times those of their classes."""
    return model._finalize_sample_weight(sample_weight, y)


def check_interaction_cst(model, n_features):
    """Return the sets of features that may interact."""
    return model._check_interaction_cst(n_features)


def get_loss(model, sample_weight):
    """Return the loss that a model's parameters name."""
    return model._get_loss(sample_weight=sample_weight)


def get_small_trainset(model, X_binned, y, sample_weight, seed):
    """Return the part of the training set that scorers are asked about."""
    return model._get_small_trainset(X_binned, y, sample_weight, seed)


def check_early_stopping_loss(model, **data):
    """Append the losses to the scores of a model; return whether to stop."""
    return model._check_early_stopping_loss(**data)


def check_early_stopping_scorer(model, *data, **raw_predictions):
    """Append the scorer's scores to those of a model; return whether to stop."""
    return model._check_early_stopping_scorer(*data, **raw_predictions)


def should_stop(model, scores):
    """Return whether scores have not improved for long enough."""
    return model._should_stop(scores)


def stopping_scorer(model):
    """Return what scikit-learn's boosting judges early stopping by."""
    return gradient_boosting.check_scoring(model, model.scoring)


def print_iteration(model, start):
    """Print trees and scores of a model's last iteration, which began at `start`."""
    model._print_iteration_stats(start)


def shuffle_split_sizes(n_samples, test_size):
    """Return the numbers of rows to train on and to hold out."""
    return _validate_shuffle_split(n_samples, test_size, train_size=None)


# -- neighbours -----------------------------------------------------------------------


def brute_force_rows(estimator):
    """Return the fitted rows if scikit-learn would compute all distances, else None."""
    return estimator._fit_X if estimator._fit_method == "brute" else None


def search_elsewhere(estimator):
    """Have scikit-learn's neighbours ask the estimator's own ``kneighbors``."""
    estimator._fit_method = "elsewhere"


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
