"""Searches on a cluster answer as one index does."""

import warnings

import dask
import dask.array as da
import numpy as np
import pytest
from dask.utils import parse_bytes
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from sklearn_bandit import dask as sd
from sklearn_bandit import neighbors
from sklearn_bandit.dask._sharded_search import LARGE_GRAPH

RNG = np.random.default_rng(0)
ROWS = RNG.standard_normal((600, 300))
ROWS[300:310] = ROWS[:10]  # ties across partitions
QUERIES = RNG.standard_normal((20, 300))
NAMES = ["BanditMIPS", "BanditNearestNeighbors"]


def cut(chunks, rows=ROWS):
    return da.from_array(rows, chunks=(chunks, rows.shape[1]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("chunks", [600, 170, (1, 0, 299, 300)])
@pytest.mark.parametrize("name", NAMES)
def test_answers_of_one_index(client, name, chunks, dtype):
    rows, queries = ROWS.astype(dtype), QUERIES.astype(dtype)
    queries[:5] = rows[:5]
    search = getattr(sd, name)(n_neighbors=7, random_state=0).fit(cut(chunks, rows))
    one = getattr(neighbors, name)(n_neighbors=7, random_state=0).fit(rows)
    expected, expected_ids = one.kneighbors(queries)
    values, ids = search.kneighbors(queries)
    assert_array_equal(ids, expected_ids)
    assert_allclose(values, expected, rtol=1e-6)
    lazy = search.kneighbors(da.from_array(queries, chunks=(8, 300)))
    assert lazy[0].shape == (20, 7)
    assert_array_equal(lazy[1].compute(), expected_ids)
    local = search.to_local()
    assert type(local) is type(one)
    assert_array_equal(local.kneighbors(queries)[1], expected_ids)
    assert search.n_samples_fit_ == 600
    only = search.kneighbors(queries, n_neighbors=2, return_distance=False)
    assert_array_equal(only, expected_ids[:, :2])


@pytest.mark.parametrize("metric", ["cosine", "manhattan", "inner_product"])
def test_metrics(client, metric):
    search = sd.BanditNearestNeighbors(metric=metric).fit(cut(250))
    one = neighbors.BanditNearestNeighbors(metric=metric).fit(ROWS)
    for found, expected in zip(
        search.kneighbors(QUERIES), one.kneighbors(QUERIES), strict=True
    ):
        assert_array_equal(found, expected)


@pytest.mark.parametrize("name", NAMES)
def test_partitions_are_added(client, name):
    search = getattr(sd, name)(random_state=0)
    search.partial_fit(cut(100, ROWS[:250])).partial_fit(cut(200, ROWS[250:]))
    one = getattr(neighbors, name)(random_state=0).fit(ROWS)
    assert search.n_samples_fit_ == 600
    assert_array_equal(search.kneighbors(QUERIES)[1], one.kneighbors(QUERIES)[1])
    with pytest.raises(ValueError, match=r"X has 7 features, but .* expecting 300"):
        search.partial_fit(cut(100, ROWS[:, :7]))
    assert search.n_samples_fit_ == 600
    assert not hasattr(clone(search), "n_samples_fit_")


@pytest.mark.parametrize("name", NAMES)
def test_features_have_the_same_names(client, name):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(ROWS[:, :3], columns=list("abc"))
    search = getattr(sd, name)(random_state=0).fit(dd.from_pandas(frame, npartitions=2))
    other = dd.from_pandas(frame[list("cab")], npartitions=2)
    with pytest.raises(ValueError, match="feature names should match"):
        search.partial_fit(other)
    with pytest.raises(ValueError, match="feature names should match"):
        search.kneighbors(other)
    assert search.n_samples_fit_ == 600


@pytest.mark.parametrize("name", NAMES)
def test_rows_as_queries(client, name):
    search = getattr(sd, name)(n_neighbors=3, random_state=0).fit(cut((1, 299, 300)))
    one = getattr(neighbors, name)(n_neighbors=3, random_state=0).fit(ROWS)
    values, ids = search.kneighbors()
    expected, expected_ids = one.kneighbors()
    assert_array_equal(ids, expected_ids)
    assert_allclose(values, expected)
    modes = ["connectivity", "distance"]
    for mode in modes:
        for queries in (None, QUERIES):
            found = search.kneighbors_graph(queries, mode=mode)
            same = one.kneighbors_graph(queries, mode=mode)
            assert found.shape == same.shape
            assert_allclose(found.toarray(), same.toarray())


@pytest.mark.parametrize("name", NAMES)
def test_remove(client, name):
    """Again and again: numbers are those of the local class."""
    search = getattr(sd, name)(n_neighbors=4, random_state=0).fit(cut(200))
    one = getattr(neighbors, name)(n_neighbors=4, random_state=0).fit(ROWS)
    for gone in ([5, 250, 0, 599], np.arange(260, 390), 7):
        search.remove(gone)
        one.remove(gone)
        assert search.n_samples_fit_ == one.n_samples_fit_
        for queries in (QUERIES, None):
            found, expected = search.kneighbors(queries), one.kneighbors(queries)
            assert_array_equal(found[1], expected[1])
            assert_allclose(found[0], expected[0])
    with pytest.raises(ValueError, match=r"no rows with ids \[250, 5\]"):
        search.remove([250, 5, 1])
    assert search.kneighbors_graph().shape == (one.n_samples_fit_, 600)
    local = search.to_local()
    assert local.n_samples_fit_ == search.n_samples_fit_


def test_whole_partition_removed(client):
    search = sd.BanditNearestNeighbors(n_neighbors=4).fit(cut(200))
    one = neighbors.BanditNearestNeighbors(n_neighbors=4).fit(ROWS)
    search.remove(np.arange(200, 400))
    one.remove(np.arange(200, 400))
    assert_array_equal(search.kneighbors(QUERIES)[1], one.kneighbors(QUERIES)[1])
    search.partial_fit(cut(200, QUERIES))
    one.partial_fit(QUERIES)
    assert_array_equal(search.kneighbors(QUERIES)[1], one.kneighbors(QUERIES)[1])
    mips = sd.BanditMIPS(n_neighbors=4, random_state=0).fit(cut(200))
    mips.remove(np.arange(200))
    kept = neighbors.BanditMIPS(n_neighbors=4, random_state=0).fit(ROWS[200:])
    assert_array_equal(mips.kneighbors(QUERIES)[1], kept.kneighbors(QUERIES)[1] + 200)


def test_transform(client):
    search = sd.BanditMIPS(n_neighbors=4, random_state=0).fit(cut(200))
    one = neighbors.BanditMIPS(n_neighbors=4, random_state=0).fit(ROWS)
    found, expected = search.transform(QUERIES), one.transform(QUERIES)
    assert_allclose(found.toarray(), expected.toarray())


@pytest.mark.parametrize("metric", ["euclidean", "inner_product"])
def test_radius(client, metric):
    radius = 22.5 if metric == "euclidean" else 30.0
    search = sd.BanditNearestNeighbors(metric=metric, radius=radius).fit(cut(170))
    one = neighbors.BanditNearestNeighbors(metric=metric, radius=radius).fit(ROWS)
    for queries in (QUERIES, None):
        for sort in (False, True):
            found = search.radius_neighbors(queries, sort_results=sort)
            expected = one.radius_neighbors(queries, sort_results=sort)
            assert 0 < sum(map(len, expected[1])) < 600 * len(expected[1])
            for some, same in zip(found, expected, strict=True):
                assert [*map(list, some)] == [*map(list, same)]
        for mode in ("connectivity", "distance"):
            graph = search.radius_neighbors_graph(queries, mode=mode)
            same = one.radius_neighbors_graph(queries, mode=mode)
            assert_array_equal(graph.toarray(), same.toarray())
    only = search.radius_neighbors(QUERIES, 1.0, return_distance=False)
    assert len(only) == 20
    with pytest.raises(ValueError, match="return_distance must be True"):
        search.radius_neighbors(QUERIES, return_distance=False, sort_results=True)
    with pytest.raises(ValueError, match="radius must be a number"):
        search.radius_neighbors(QUERIES, "far")
    del search._shards  # what was raised refers to the estimator


def multiplications(parts, queries, delta, seed):
    """Multiplications for each query with an index of each part, on this machine."""
    one = neighbors.BanditMIPS(1, delta=delta, random_state=seed, n_jobs=1)
    counts = np.zeros(len(queries))
    for part in parts:
        one.fit(part).kneighbors(queries)
        counts += one.n_multiplications_
    return counts


def test_delta_is_divided(client):
    """Among the partitions that have rows: `delta` is the probability of an error."""
    # Vectors of rank 20 with enough coordinates: sampling decides many of the queries,
    # after more multiplications the smaller `delta` is.
    rng = np.random.default_rng(1)
    factors = rng.standard_normal((20, 10_000), dtype=np.float32)
    vectors = rng.standard_normal((490, 20), dtype=np.float32) @ factors
    vectors += 0.5 * rng.standard_normal(vectors.shape, dtype=np.float32)
    queries, parts = vectors[:40], np.split(vectors[40:], 3)
    delta = 0.2
    search = sd.BanditMIPS(1, delta=delta, random_state=0).fit(cut(150, vectors[40:]))
    ids = search.kneighbors(queries)[1][:, 0]
    assert np.mean(ids != (queries @ vectors[40:].T).argmax(axis=1)) <= delta
    counts, seed = search.n_multiplications_, search._seed
    search.remove(np.arange(150)).kneighbors(queries)
    left = search.n_multiplications_
    del search  # an error refers to it

    expected = multiplications(parts, queries, delta / 3, seed)
    assert_array_equal(counts, expected)
    undivided = multiplications(parts, queries, delta, seed)
    assert undivided.mean() < counts.mean() < 0.9 * vectors[40:].size
    assert_array_equal(left, multiplications(parts[1:], queries, delta / 2, seed))


def test_no_warning_of_many_queries(client):
    search = sd.BanditMIPS(1, random_state=0).fit(cut(300))
    queries = np.resize(QUERIES, (5000, 300))
    assert queries.nbytes > parse_bytes(dask.config.get(LARGE_GRAPH))
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "Sending large graph")
        ids = search.kneighbors(queries)[1][:, 0]
    assert_array_equal(ids, (queries @ ROWS.T).argmax(axis=1))


@pytest.mark.parametrize("name", NAMES)
def test_what_cannot_be_searched(client, name):
    search = getattr(sd, name)()
    with pytest.raises(TypeError, match="X must be a dask array"):
        search.fit(ROWS)
    bad = ROWS.copy()
    bad[500, 3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        search.fit(cut(100, bad))
    assert not hasattr(search, "n_samples_fit_")
    search.fit(cut(100))
    with pytest.raises(ValueError, match="features"):
        search.kneighbors(QUERIES[:, :5])
    with pytest.raises(ValueError, match="n_samples_fit = 600"):
        search.kneighbors(QUERIES, n_neighbors=601)
    with pytest.raises(ValueError, match="n_samples_fit = 599"):
        search.kneighbors(n_neighbors=600)
    with pytest.raises(ValueError, match="Expected n_neighbors > 0"):
        search.kneighbors(QUERIES, n_neighbors=0)
    with pytest.raises(TypeError, match="n_neighbors does not take"):
        search.kneighbors(QUERIES, n_neighbors=True)
    with pytest.raises(TypeError, match="Queries must be in memory"):
        search.kneighbors_graph(cut(100))
    with pytest.raises(ValueError, match="Unsupported mode, must be one of"):
        search.kneighbors_graph(mode="other")
    for wrong, message in (
        ([0.5], "integer"),
        ([3, 3], "only once"),
        ([600], "There are no"),
        (range(600), "must remain"),
    ):
        with pytest.raises(ValueError, match=message):
            search.remove(wrong)
    assert search.remove([]).n_samples_fit_ == 600
    with pytest.raises(TypeError, match="pickle to_local"):
        search.__getstate__()
    del search._shards  # what was raised refers to the estimator
