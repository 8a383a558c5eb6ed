"""Wherever the rows are cut, whoever has them: the same model."""

import warnings

import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sklearn_bandit import dask as sd

N = 600
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, 5))
X[:, 4] = RNG.integers(4, size=N)
SCORE = X[:, 0] + X[:, 1] * X[:, 4] + 0.3 * RNG.standard_normal(N)
Y = (SCORE > 0).astype(int)
WEIGHTS = RNG.integers(3, size=N).astype(float)

BOOSTING = {"max_iter": 4, "batch_size": 64, "solver": "mab", "random_state": 0}

# Estimator, target, whether weights are taken, and the answer to compare.
MODELS = {
    "forest": (
        sd.RandomForestClassifier(n_estimators=2, random_state=0),
        Y,
        True,
        lambda model: model.predict_proba(X),
    ),
    "tree": (
        sd.DecisionTreeRegressor(random_state=0),
        SCORE,
        True,
        lambda model: model.predict(X),
    ),
    "boosted classes": (
        sd.HistGradientBoostingClassifier(**BOOSTING, early_stopping=True),
        Y,
        True,
        lambda model: model.predict_proba(X),
    ),
    "boosted numbers": (
        sd.HistGradientBoostingRegressor(**BOOSTING, max_rows=256),
        SCORE,
        True,
        lambda model: model.predict(X),
    ),
    "medoids": (
        sd.BanditKMedoids(3, max_rows=200, random_state=0),
        None,
        True,
        lambda model: model.medoid_indices_,
    ),
    "neighbours": (
        sd.BanditNearestNeighbors(3),
        None,
        False,
        lambda model: model.kneighbors(X[:20])[1],
    ),
    "products": (
        sd.BanditMIPS(2, random_state=0),
        None,
        False,
        lambda model: model.kneighbors(X[:20])[1],
    ),
}


@st.composite
def row_cuts(draw):
    """Numbers of rows of up to six partitions, of which some may be empty."""
    ends = sorted(draw(st.lists(st.integers(0, N), max_size=5)))
    return tuple(b - a for a, b in zip([0, *ends], [*ends, N], strict=True))


def fit(name, sizes, weighted, is_unknown=False):
    """Fit to collections that are cut so; X and y need not be cut alike."""
    model, y, takes_weights, answer = MODELS[name]
    rows = da.from_array(X, chunks=(sizes[0], 5))
    if is_unknown:
        rows = rows[da.from_array(np.ones(N, dtype=bool), chunks=(sizes[0],))]
    arguments = [] if y is None else [da.from_array(y, chunks=(sizes[1],))]
    options = {}
    if weighted and takes_weights:
        options["sample_weight"] = da.from_array(WEIGHTS, chunks=(sizes[2],))
    model = type(model)(**model.get_params())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return answer(model.fit(rows, *arguments, **options))


@pytest.mark.parametrize("name", MODELS)
def test_any_partitions(threads, name):
    with Client(threads):
        expected = {weighted: fit(name, [(N,)] * 3, weighted) for weighted in (0, 1)}

        @settings(max_examples=4, deadline=None, derandomize=True)
        @given(
            sizes=st.tuples(row_cuts(), row_cuts(), row_cuts()),
            weighted=st.booleans(),
            is_unknown=st.booleans(),
        )
        def check(sizes, weighted, is_unknown):
            found = fit(name, sizes, weighted, is_unknown)
            assert_array_equal(found, expected[weighted])

        check()


@pytest.fixture(scope="module", params=[1, 3])
def other_threads(request):
    """Return a cluster that does not have two workers."""
    with LocalCluster(
        processes=False,
        n_workers=request.param,
        threads_per_worker=1,
        dashboard_address=":0",
        memory_limit=0,
    ) as cluster:
        yield cluster


@pytest.mark.parametrize("name", MODELS)
def test_any_number_of_workers(threads, other_threads, name):
    sizes = [(150,) * 4, (250, 350), (N,)]
    models = []
    for cluster in (threads, other_threads):
        with Client(cluster):
            models.append(fit(name, sizes, True))
    assert_array_equal(*models)
