"""The list of estimators."""

import inspect

import pytest
import sklearn.utils
from sklearn.base import is_classifier, is_regressor

import sklearn_bandit
from sklearn_bandit.utils import all_estimators, listed_in_sklearn


def can_be_made(estimator):
    """Whether an estimator needs no arguments, as meta-estimators do."""
    return "estimator" not in inspect.signature(estimator).parameters


def test_all_estimators_are_those_of_the_public_interface():
    found = dict(all_estimators())
    assert list(found) == sorted(found)
    assert found["RandomForestClassifier"] is (
        sklearn_bandit.ensemble.RandomForestClassifier
    )
    assert {"BanditKMedoids", "BanditMIPS", "BanditGridSearchCV"} <= set(found)
    assert all(each.__module__.startswith("sklearn_bandit.") for each in found.values())


@pytest.mark.parametrize(
    ("kind", "check"), [("classifier", is_classifier), ("regressor", is_regressor)]
)
def test_kinds(kind, check):
    found = dict(all_estimators(kind))
    assert found
    assert all(check(each()) for each in found.values() if can_be_made(each))


def test_several_kinds():
    both = {*all_estimators("classifier"), *all_estimators("regressor")}
    assert set(all_estimators(["classifier", "regressor"])) == both


@pytest.mark.parametrize("kind", ["forest", ["classifier", "forest"], []])
def test_unknown_kind(kind):
    with pytest.raises(ValueError, match="type_filter must be among"):
        all_estimators(kind)


def test_listed_in_sklearn_and_then_no_longer():
    own = sklearn.utils.all_estimators()
    with listed_in_sklearn():
        assert sklearn.utils.all_estimators() == own + all_estimators()
        assert sklearn.utils.all_estimators("cluster")[-1] in all_estimators("cluster")
    assert sklearn.utils.all_estimators() == own


def test_the_list_is_restored_after_an_error():
    original = sklearn.utils.all_estimators
    with pytest.raises(KeyError), listed_in_sklearn():
        raise KeyError
    assert sklearn.utils.all_estimators is original
