"""What every estimator for dask collections has in common with the local one."""

import inspect
import pickle

import pytest
from sklearn.base import clone

import sklearn_bandit
from sklearn_bandit import dask as bandit_dask

NAMES = [
    name for name in bandit_dask.__all__ if isinstance(getattr(bandit_dask, name), type)
]


def local_class(name):
    """The class of the same name in another sub-package."""
    return dict(sklearn_bandit.utils.all_estimators())[name]


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_the_local_ones_and_the_client(name):
    owner, local = getattr(bandit_dask, name), local_class(name)
    assert owner._local_class is local
    expected = local().get_params(deep=False)
    found = owner().get_params(deep=False)
    assert set(expected) | {"client"} <= set(found)
    assert set(found) - set(expected) <= {"client", "max_rows"}
    assert {key: found[key] for key in expected} == expected
    kinds = inspect.signature(owner).parameters.values()
    assert all(kind.kind is not kind.VAR_KEYWORD for kind in kinds)


@pytest.mark.parametrize("name", NAMES)
def test_clone_pickle_and_repr(name):
    model = getattr(bandit_dask, name)()
    for other in (clone(model), pickle.loads(pickle.dumps(model))):
        assert type(other) is type(model)
        assert other.get_params() == model.get_params()
    assert name in repr(model)


@pytest.mark.parametrize("name", NAMES)
def test_unknown_parameters_are_refused(name):
    with pytest.raises(TypeError, match="nonsense"):
        getattr(bandit_dask, name)(nonsense=1)


@pytest.mark.parametrize("name", NAMES)
def test_documented(name):
    owner = getattr(bandit_dask, name)
    assert owner.__doc__
    assert "client" in owner.__doc__
    assert owner.fit.__doc__
