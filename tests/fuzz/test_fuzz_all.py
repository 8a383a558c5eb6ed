"""No estimator is left out, and the strategies draw what they are meant to."""

import importlib
import inspect
import pkgutil

import pytest
from fuzz_strategies import CLASSES, choices
from sklearn.base import BaseEstimator

import sklearn_bandit

# Meta-estimators, which fit and ask others; their own tests have odd data.
COMPOSED = {"BanditGridSearchCV", "BanditRandomizedSearchCV", "MIPSPredictor"}


def test_every_estimator_is_fuzzed():
    public = set()
    for package in pkgutil.iter_modules(sklearn_bandit.__path__):
        if package.ispkg and not package.name.startswith("_"):
            try:
                module = importlib.import_module(f"sklearn_bandit.{package.name}")
            except ImportError:  # of an optional dependency
                continue
            public |= {
                name
                for name in module.__all__
                if inspect.isclass(getattr(module, name))
                and issubclass(getattr(module, name), BaseEstimator)
            }
    assert public - COMPOSED <= set(CLASSES)


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_every_parameter_has_limits(name):
    """Those of the constraints: valid, and more than one where there is a choice."""
    estimator_class = CLASSES[name]
    drawn = choices(estimator_class)
    parameters = set(inspect.signature(estimator_class).parameters)
    # Arrays and pairs have no limits of their own.
    assert parameters - set(drawn) <= {"init", "k_range"}
    for values in drawn.values():
        assert values
    first = {parameter: values[0] for parameter, values in drawn.items()}
    last = {parameter: values[-1] for parameter, values in drawn.items()}
    for chosen in (first, last):
        chosen = {k: v for k, v in chosen.items() if k in parameters}
        estimator_class(**chosen)._validate_params()
