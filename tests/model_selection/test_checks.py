"""What scikit-learn checks of every estimator, and documentation."""

import inspect

import pytest
from numpydoc.docscrape import ClassDoc
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_bandit.model_selection import BanditGridSearchCV, BanditRandomizedSearchCV

SEARCHES = [
    BanditGridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
    BanditRandomizedSearchCV(
        Ridge(), {"alpha": [0.1, 0.5, 1.0]}, n_iter=2, cv=2, random_state=0
    ),
]


def known_failures(search):
    """Checks that scikit-learn's own search is known to fail."""
    try:
        from sklearn.utils._test_common.instance_generator import (
            _get_expected_failed_checks,
        )
    except ImportError:
        return {}
    return _get_expected_failed_checks(
        GridSearchCV(search.estimator, {"C": [0.1]}, cv=2)
    )


@parametrize_with_checks(SEARCHES, expected_failed_checks=known_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("search", SEARCHES, ids=lambda s: type(s).__name__)
def test_everything_is_documented(search):
    search.fit(*make_classification(60, random_state=0))
    document = ClassDoc(type(search))
    documented = [parameter.name for parameter in document["Parameters"]]
    assert documented == list(inspect.signature(type(search)).parameters)
    attributes = {attribute.name for attribute in document["Attributes"]}
    fitted = {name for name in vars(search) if name.endswith("_")}
    assert not fitted - attributes
    assert any(">>>" in line for line in document["Examples"])


@pytest.mark.parametrize("search", SEARCHES, ids=lambda s: type(s).__name__)
def test_parameters_of_scikit_learn_come_first(search):
    """Same names, same order, same defaults; what is new is at the end."""
    theirs = inspect.signature(type(search).__mro__[2]).parameters
    ours = inspect.signature(type(search)).parameters
    assert list(ours)[: len(theirs)] == list(theirs)
    for name, parameter in theirs.items():
        assert ours[name].default is parameter.default or (
            ours[name].default == parameter.default
        )
