"""Data whose codes say little: rows are read, differences are outside of the codes."""

from threading import Thread

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_bandit.neighbors import BanditNearestNeighbors
from sklearn_bandit.neighbors._quantized.estimates import middle

METRICS = ["euclidean", "cosine", "manhattan", "inner_product"]
N_ROWS = 5000
N_QUERIES = 12


def keys_of(rows, query, metric):
    """Distances, or minus inner products, in double precision."""
    rows, query = rows.astype(np.float64), query.astype(np.float64)
    if metric == "euclidean":
        return np.sqrt(((rows - query) ** 2).sum(axis=1))
    if metric == "manhattan":
        return np.abs(rows - query).sum(axis=1)
    products = (rows * query).sum(axis=1)
    if metric == "inner_product":
        return -products
    norms = np.sqrt((rows**2).sum(axis=1) * (query**2).sum())
    return 1.0 - np.divide(products, norms, out=np.zeros(len(rows)), where=norms > 0)


def draw(shape, n, d, seed):
    """Rows of one of the shapes."""
    rng = np.random.default_rng(seed)
    normal = rng.standard_normal((n, d))
    if shape == "cauchy":
        return rng.standard_cauchy((n, d))
    if shape == "sizes":
        return normal * 10.0 ** rng.uniform(-3, 3, (n, 1))
    if shape == "huge feature":
        normal[:, 0] *= 1e4
        return normal
    if shape == "tight clusters":
        # Half of the rows have the same codes.
        return 1e-3 * normal + np.where(rng.random((n, 1)) < 0.5, 1.0, 3.0)
    if shape == "copies":
        return normal[rng.integers(20, size=n)]
    if shape == "zeros":
        return normal * (rng.random((n, d)) < 0.02)
    return rng.integers(0, 256, (n, d))


SHAPES = [
    "cauchy",
    "sizes",
    "huge feature",
    "tight clusters",
    "copies",
    "zeros",
    "integers",
]


def assert_nearest(rows, queries, metric, k):
    """Compare with brute force; single queries and batches are the same."""
    search = BanditNearestNeighbors(k, metric=metric, random_state=0, n_jobs=1)
    distances, found = search.fit(rows).kneighbors(queries)
    for query, own, ids in zip(queries, distances, found, strict=True):
        keys = keys_of(rows, query, metric)
        size = np.abs(keys).max()
        nearest = np.sort(keys)[:k]
        np.testing.assert_allclose(keys[ids], nearest, rtol=1e-9, atol=1e-12 * size)
        assert len(set(ids)) == k
        one_distances, one = search.kneighbors(query[None])
        np.testing.assert_array_equal(one[0], ids)
        np.testing.assert_array_equal(one_distances[0], own)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("metric", METRICS)
def test_the_nearest_are_found(metric, shape, dtype):
    rows = draw(shape, N_ROWS + N_QUERIES, 21, seed=0).astype(dtype)
    assert_nearest(rows[N_QUERIES:], rows[:N_QUERIES], metric, 10)


@settings(max_examples=40, deadline=None)
@given(
    metric=st.sampled_from(METRICS),
    shape=st.sampled_from(SHAPES),
    n=st.integers(20, 3000),
    d=st.integers(1, 70),
    k=st.integers(1, 20),
    scale=st.sampled_from([1e-25, 1e-3, 1.0, 1e12]),
    seed=st.integers(0, 1000),
)
def test_any_shape(metric, shape, n, d, k, scale, seed):
    rows = (scale * draw(shape, n + 5, d, seed)).astype(np.float32)
    assert_nearest(rows[5:], rows[:5], metric, k)


@pytest.mark.parametrize("metric", METRICS)
def test_queries_of_double_precision_among_single(metric):
    """The query is rounded when the rows are read: its distances are not."""
    rows = draw("tight clusters", N_ROWS, 21, seed=0).astype(np.float32)
    queries = draw("tight clusters", N_QUERIES, 21, seed=1)
    assert_nearest(rows, queries, metric, 5)


@pytest.mark.parametrize("metric", METRICS)
def test_removed_rows_are_not_found(metric):
    rows = draw("tight clusters", N_ROWS, 16, seed=0)
    search = BanditNearestNeighbors(5, metric=metric, random_state=0).fit(rows)
    first = search.kneighbors(rows[:1])[1][0]
    search.remove(first)
    keys = keys_of(rows, rows[0], metric)
    keys[first] = np.inf
    expected = np.lexsort((np.arange(len(rows)), keys))[:5]
    np.testing.assert_allclose(
        keys[search.kneighbors(rows[:1])[1][0]], keys[expected], rtol=1e-12, atol=1e-14
    )


def test_several_threads_query_one_search():
    rows = draw("tight clusters", N_ROWS, 32, seed=0)
    search = BanditNearestNeighbors(5, random_state=0, n_jobs=1).fit(rows)
    expected = search.kneighbors(rows[:40])[1]
    found = [None] * 4

    def ask(i):
        found[i] = np.vstack([search.kneighbors(rows[j : j + 1])[1] for j in range(40)])

    threads = [Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for ids in found:
        np.testing.assert_array_equal(ids, expected)


def test_a_huge_row_leaves_the_centre_where_it_was():
    rows = np.random.default_rng(0).standard_normal((2000, 8)) + 5.0
    usual = middle(rows)
    rows[0] *= 1e6
    np.testing.assert_allclose(middle(rows), usual, atol=0.2)
    assert np.abs(rows.mean(axis=0) - usual).min() > 1e3
