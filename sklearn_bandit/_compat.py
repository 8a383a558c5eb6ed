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


__all__ = [
    "HAS_CALLBACKS",
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
