"""Fitted estimators as those of scikit-learn, which every other tool knows.

Trees, forests and boosted models are scikit-learn's inside: subclasses that fit in
another way. Tools that look at the class and not at what it is (PMML, hummingbird, some
model stores) refuse them. What they take is the same model in scikit-learn's own class.
"""

import sys

from sklearn.base import BaseEstimator

from sklearn_bandit._compat import check_is_fitted
from sklearn_bandit._core.documentation import DocumentationLinkMixin


class ToSklearnMixin(DocumentationLinkMixin):
    """Give an estimator that derives from one of scikit-learn's ``to_sklearn``."""

    # Attributes that mean nothing to scikit-learn's estimator.
    _own_attributes = ("n_insertions_", "n_sampled_nodes_")

    def to_sklearn(self) -> BaseEstimator:
        """Return the fitted model as scikit-learn's own estimator.

        For tools that know scikit-learn's classes and no others. Predictions are the
        same; the model can be loaded where sklearn-bandit is not installed.

        Returns
        -------
        BaseEstimator
            The estimator of scikit-learn that this one derives from, with the
            parameters that both have and the same fitted trees, which are shared and
            not copied. A model of trees whose ``category_encoder_`` has categories is
            refused: scikit-learn's estimator would take these for numbers.
        """
        check_is_fitted(self)
        refuse_categories(self)
        return convert(self)


def refuse_categories(model):
    """Raise if a model puts numbers in the place of categories before its trees.

    What the trees alone are converted to would take the categories for these numbers.
    """
    if getattr(model, "category_encoder_", None) is not None:
        raise ValueError(
            "The model was fitted to categories, which its trees see as numbers that "
            "the converted model would not put in their place. Keep "
            "category_encoder_, set it to None in a copy of the model, convert the "
            "copy, and give it category_encoder_.transform(X)."
        )


def convert(model):
    """Return a fitted model as the estimator of scikit-learn that it derives from.

    Parameters
    ----------
    model : estimator
        Derives from an estimator of scikit-learn.

    Returns
    -------
    estimator
        Has the parameters that both have and the fitted attributes, but for those of
        the model alone.
    """
    owner = next(
        each
        for each in type(model).__mro__
        if each.__module__.startswith("sklearn.") and issubclass(each, BaseEstimator)
    )
    # Extra trees derive from decision trees; scikit-learn has a class for each.
    module = sys.modules[owner.__module__]
    converted = getattr(module, type(model).__name__, owner)()
    parameters = model.get_params(deep=False)
    known = converted.get_params(deep=False)
    converted.set_params(**{name: parameters[name] for name in known})
    own = set(parameters) | set(vars(converted)) | set(model._own_attributes)
    for name, value in vars(model).items():
        if name not in own:
            setattr(converted, name, _convert_value(value))
    if hasattr(converted, "estimators_"):
        # A budget may have ended the forest earlier.
        converted.n_estimators = len(converted.estimators_)
    return converted


def _convert_value(value):
    if isinstance(value, ToSklearnMixin):
        return convert(value)
    if isinstance(value, list) and value and isinstance(value[0], ToSklearnMixin):
        return [convert(each) for each in value]
    return value
