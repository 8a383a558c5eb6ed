"""Estimators of dask collections, of any parameters, on any rows cut anywhere."""

import atexit
from functools import cache

import numpy as np
import pytest
from fuzz_checks import (
    Refused,
    accepted,
    attempt,
    build,
    require_answers,
    require_equal_pickles,
    require_finite,
)
from fuzz_data import make_matrix
from fuzz_profile import fuzzed
from fuzz_strategies import (
    BOOSTERS,
    FORESTS,
    PLAIN_VALUES,
    TREES,
    clustering_cases,
    learning_cases,
    search_cases,
)
from hypothesis import strategies as st

from sklearn_bandit import neighbors

pytest.importorskip("distributed", reason="the extra dask is not installed")

import dask.array as da
import distributed

from sklearn_bandit import dask as sd

ON_CLUSTERS = tuple(each for each in TREES + FORESTS if hasattr(sd, each.__name__))

# Types that dask arrays of numbers have; their blocks are laid out by rows.
ARRAYS = {
    "layouts": ("C",),
    "dtypes": ("float64", "float32", "int8", "uint8", "int64", "bool"),
    "most_rows": 700,
    "most_features": 33,
}


@cache
def client():
    """Return a client of two workers that are threads of this process."""
    made = distributed.Client(
        processes=False,
        n_workers=2,
        threads_per_worker=1,
        dashboard_address=":0",
        memory_limit=0,
    )
    atexit.register(made.close)
    return made


@st.composite
def cut_cases(draw, cases):
    """Draw a case, and where X, targets and weights are cut: shares of their rows."""
    ends = st.lists(st.sampled_from((0.0, 0.1, 0.5, 0.99, 1.0)), max_size=4)
    return draw(cases) | {"cuts": [sorted(draw(ends)) for _ in range(3)]}


def cut(array, ends):
    """Return a dask array with blocks that end there; some may be empty."""
    if array is None:
        return None
    array = np.asarray(array)
    rows = [0, *(int(end * len(array)) for end in ends), len(array)]
    return da.from_array(array, chunks=(tuple(np.diff(rows)), *array.shape[1:]))


def fitted_on_cluster(case, cuts):
    """Return the local form of a case's estimator, fitted on the cluster; and X."""
    estimator, X, y, weights = build(case)
    model = getattr(sd, case["estimator"])(**estimator.get_params(), client=client())
    collections = [
        cut(part, ends) for part, ends in zip((X, y, weights), cuts, strict=True)
    ]
    if y is None:
        attempt(model.fit, collections[0], sample_weight=collections[2])
    else:
        attempt(model.fit, *collections)
    return model.to_local(), X


@fuzzed(
    cut_cases(
        learning_cases(ON_CLUSTERS, most_outputs=3, missing=("none", "some"), **ARRAYS)
    ),
    n_short=12,
)
def test_trees_are_the_local_ones(case):
    estimator, X, y, weights = build(case)
    try:
        attempt(estimator.fit, X, y, sample_weight=weights)
    except Refused:
        estimator = None
    try:
        found, _ = fitted_on_cluster(case, case["cuts"])
    except Refused:
        assert estimator is None, "refused on the cluster only"
        return
    assert estimator is not None, "refused by the local class only"
    np.testing.assert_array_equal(found.predict(X), estimator.predict(X))


@fuzzed(
    cut_cases(
        learning_cases(
            BOOSTERS, fixed={"max_iter": 3}, missing=("none", "some"), **ARRAYS
        )
    ),
    n_short=10,
)
def test_boosting_is_the_same_wherever_rows_are_cut(case):
    found, X = accepted(fitted_on_cluster, case, case["cuts"])
    require_answers(found, X)
    other, _ = fitted_on_cluster(case, [[]] * 3)
    require_equal_pickles(found._predictors, other._predictors)


@fuzzed(cut_cases(clustering_cases(**ARRAYS)), n_short=8)
def test_medoids_are_samples_wherever_rows_are_cut(case):
    found, X = accepted(fitted_on_cluster, case, case["cuts"])
    require_finite("inertia_", found.inertia_)
    np.testing.assert_array_equal(X[found.medoid_indices_], found.cluster_centers_)
    other, _ = fitted_on_cluster(case, [[]] * 3)
    np.testing.assert_array_equal(found.medoid_indices_, other.medoid_indices_)


def answers(search, rows, more, queries, as_rows):
    """Fit, add rows, remove some; return answers, or `Refused` as soon as it is."""
    try:
        attempt(search.fit, as_rows(rows))
        attempt(search.partial_fit, as_rows(more))
        attempt(search.remove, np.arange(0, len(rows), 3))
        return attempt(search.kneighbors, queries)
    except Refused:
        return Refused


@fuzzed(
    cut_cases(
        search_cases(
            kind=neighbors.BanditNearestNeighbors,
            fixed={"delta": 0.0},
            values=PLAIN_VALUES,
            layouts=("C",),
            dtypes=("float64", "float32"),
        )
    ),
    n_short=8,
)
def test_neighbours_are_those_of_one_index(case):
    rows, queries = make_matrix(case["X"]), make_matrix(case["queries"])
    params = {"random_state": 0} | case["params"]
    shards = sd.BanditNearestNeighbors(**params, client=client())
    one = neighbors.BanditNearestNeighbors(**params)
    data = rows, queries[:2], queries
    found = answers(shards, *data, lambda some: cut(some, case["cuts"][0]))
    expected = answers(one, *data, lambda some: some)
    if Refused in (found, expected):
        assert found is expected
        return
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
