"""Conversion to ONNX by skl2onnx.

skl2onnx finds the converter of an estimator by its class. Trees, forests and boosted
models of this package are scikit-learn's inside, so that scikit-learn's converters fit:
:func:`register` says so. Needs ``pip install skl2onnx``.
"""

from functools import partial

from sklearn.base import is_classifier

from ._core.conversion import refuse_categories
from .ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomPatchesClassifier,
    RandomPatchesRegressor,
)
from .tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

__all__ = ["register"]

# The names that skl2onnx has for scikit-learn's estimators.
OPERATORS = {
    DecisionTreeClassifier: "SklearnDecisionTreeClassifier",
    DecisionTreeRegressor: "SklearnDecisionTreeRegressor",
    ExtraTreeClassifier: "SklearnExtraTreeClassifier",
    ExtraTreeRegressor: "SklearnExtraTreeRegressor",
    ExtraTreesClassifier: "SklearnExtraTreesClassifier",
    ExtraTreesRegressor: "SklearnExtraTreesRegressor",
    HistGradientBoostingClassifier: "SklearnHistGradientBoostingClassifier",
    HistGradientBoostingRegressor: "SklearnHistGradientBoostingRegressor",
    RandomForestClassifier: "SklearnRandomForestClassifier",
    RandomForestRegressor: "SklearnRandomForestRegressor",
    RandomPatchesClassifier: "SklearnRandomForestClassifier",
    RandomPatchesRegressor: "SklearnRandomForestRegressor",
}


def register() -> None:
    """Have skl2onnx convert the trees, forests and boosted models of this package.

    Call it once, before ``skl2onnx.to_onnx`` or ``convert_sklearn``. The converters are
    those of scikit-learn's estimators: what these cannot do cannot be done here either.
    A model that was fitted to categories is refused when it is converted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_bandit import onnx
    >>> from sklearn_bandit.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> onnx.register()  # doctest: +SKIP
    >>> from skl2onnx import to_onnx  # doctest: +SKIP
    >>> model = to_onnx(forest, X[:1].astype("float32"))  # doctest: +SKIP
    """
    try:
        from skl2onnx import update_registered_converter
        from skl2onnx._parse import _parse_sklearn_classifier
        from skl2onnx.common._registration import get_converter, get_shape_calculator
    except ImportError as error:
        raise ImportError(
            "Conversion to ONNX needs skl2onnx: pip install skl2onnx."
        ) from error
    for estimator, operator in OPERATORS.items():
        converter = get_converter(operator)
        is_one = is_classifier(estimator())
        update_registered_converter(
            estimator,
            operator.replace("Sklearn", "SklearnBandit"),
            get_shape_calculator(operator),
            partial(_convert, converter),
            overwrite=True,
            parser=_parse_sklearn_classifier if is_one else None,
            options=converter.get_allowed_options(),
        )


def _convert(converter, scope, operator, container):
    """Convert a model by scikit-learn's converter, unless it has categories."""
    model = operator.raw_operator
    refuse_categories(model)
    if getattr(model, "is_categorical_", None) is not None:
        raise ValueError("Boosting that was fitted to categories cannot be converted.")
    converter(scope, operator, container)
