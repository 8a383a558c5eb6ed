"""Batches of queries whose codes rule hardly any row out: products take their place."""

import numpy as np
import pytest

from sklearn_bandit.neighbors import BanditNearestNeighbors

METRICS = ["euclidean", "cosine", "inner_product"]


def keys_of(rows, queries, metric):
    """Distances, or minus inner products, in double precision."""
    rows, queries = rows.astype(np.float64), queries.astype(np.float64)
    if metric == "euclidean":
        return np.array([np.sqrt(((rows - q) ** 2).sum(axis=1)) for q in queries])
    products = queries @ rows.T
    if metric == "inner_product":
        return -products
    norms = np.linalg.norm(rows, axis=1) * np.linalg.norm(queries, axis=1)[:, None]
    return 1.0 - products / norms


def loose_data(kind, dtype):
    """Rows and queries without a mean, of very different sizes, or in clusters."""
    rng = np.random.default_rng(0)
    if kind == "clusters":
        # Half of the rows have the same codes.
        rows = 1e-3 * rng.standard_normal((20_000, 24))
        rows += np.where(rng.random((20_000, 1)) < 0.5, 1.0, 3.0)
    elif kind == "sizes":
        sizes = 10.0 ** rng.uniform(-3, 3, (20_000, 1))
        rows = rng.standard_normal((20_000, 24)) * sizes
    else:
        scale = {"cauchy": 1.0, "tiny": 1e-30, "huge": 1e30}[kind]
        rows = rng.standard_cauchy((20_000, 24)) * scale
    return rows[60:].astype(dtype), rows[:60].astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["cauchy", "sizes", "clusters", "tiny", "huge"])
@pytest.mark.parametrize("metric", METRICS)
def test_batches_find_the_nearest(metric, kind, dtype):
    rows, queries = loose_data(kind, dtype)
    search = BanditNearestNeighbors(7, metric=metric, random_state=0).fit(rows)
    found = search.kneighbors(queries)[1]
    keys = keys_of(rows, queries, metric)
    nearest = np.sort(keys, axis=1)[:, :7]
    np.testing.assert_allclose(
        np.take_along_axis(keys, found, axis=1), nearest, rtol=1e-9, atol=1e-12
    )
    alone = [search.kneighbors(query[None])[1][0] for query in queries[:20]]
    np.testing.assert_array_equal(found[:20], alone)


@pytest.mark.parametrize("metric", ["cosine", "inner_product"])
def test_rows_that_single_precision_does_not_hold(metric):
    """Their products would be minus infinity, and they are the best of all."""
    rows, queries = loose_data("cauchy", np.float64)
    queries[:, 0], queries[:, 1] = -0.01, 50.0
    rows[[5000, 12345]] = 0.0
    search = BanditNearestNeighbors(3, metric=metric, random_state=0)
    unit = search.fit(rows)._index.segments[0].space.unit
    # The first overflows and meets a negative number; the second does not.
    rows[[5000, 12345], :2] = 1e39 * unit, 1e38 * unit
    search.fit(rows)
    assert search._index.segments[0].space.unit == unit
    keys = keys_of(rows, queries, metric)
    np.testing.assert_allclose(
        np.take_along_axis(keys, search.kneighbors(queries)[1], axis=1),
        np.sort(keys, axis=1)[:, :3],
        rtol=1e-9,
        atol=1e-12,
    )


@pytest.mark.parametrize("metric", METRICS)
def test_removed_and_own_rows_are_no_answers(metric):
    rows, queries = loose_data("cauchy", np.float32)
    search = BanditNearestNeighbors(5, metric=metric, random_state=0).fit(rows)
    gone = np.unique(search.kneighbors(queries)[1])
    search.remove(gone)
    found = search.kneighbors(queries)[1]
    assert not np.isin(found, gone).any()
    keys = keys_of(rows, queries, metric)
    keys[:, gone] = np.inf
    np.testing.assert_allclose(
        np.take_along_axis(keys, found, axis=1), np.sort(keys, axis=1)[:, :5], rtol=1e-9
    )
    own = BanditNearestNeighbors(5, metric=metric, random_state=0).fit(rows)
    assert not (own.kneighbors()[1] == np.arange(len(rows))[:, None]).any()
