"""What every estimator for dask collections has in common with the local one."""

import inspect
import pickle

import dask.array as da
import numpy as np
import pytest
from distributed import Client
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


@pytest.mark.parametrize(
    "model",
    [
        bandit_dask.DecisionTreeClassifier(max_depth=2),
        bandit_dask.HistGradientBoostingClassifier(
            solver="mab", early_stopping=True, max_iter=2
        ),
        bandit_dask.BanditKMedoids(2, max_rows=100),
        bandit_dask.BanditNearestNeighbors(1),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_client_that_is_given(threads, model):
    """It may be another than the current one, and have the samples."""
    with Client(threads, set_as_default=False) as client:
        X = client.persist(da.random.default_rng(0).normal(size=(600, 4), chunks=300))
        y = client.persist((X[:, 0] > 0).astype(int))
        model = clone(model).set_params(client=client).fit(X, y)
        assert model.to_local().get_params().keys() <= model.get_params().keys()
        if hasattr(model, "predict"):
            assert np.isfinite(model.score(X, y))
        assert hasattr(model, "score") == hasattr(model, "predict")
        del model


@pytest.mark.parametrize("name", NAMES)
def test_documented(name):
    owner = getattr(bandit_dask, name)
    assert owner.__doc__
    assert "client" in owner.__doc__
    assert owner.fit.__doc__
