"""Exact neighbours against brute force in double precision."""

import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import neighbors as theirs
from sklearn.datasets import load_digits
from sklearn_bandit.neighbors._quantized._exact import available_variants, use_variant

from sklearn_bandit.neighbors import BanditNearestNeighbors
from sklearn_bandit.neighbors._quantized import estimates

METRICS = ("euclidean", "cosine", "manhattan", "inner_product")


@pytest.fixture(params=available_variants())
def variant(request):
    """Run with the kernels of each instruction set that the processor has."""
    yield use_variant(request.param)
    use_variant()


def brute(X, queries, metric):
    """Return all distances (or minus inner products) in double precision."""
    X, queries = X.astype(np.float64), queries.astype(np.float64)
    if metric == "inner_product":
        return -queries @ X.T
    if metric == "cosine":
        sizes = np.linalg.norm(X, axis=1), np.linalg.norm(queries, axis=1)
        X, queries = (
            v / np.where(s > 0, s, 1)[:, None]
            for v, s in zip((X, queries), sizes, strict=True)
        )
        return 1 - queries @ X.T
    steps = queries[:, None] - X[None]
    if metric == "manhattan":
        return np.abs(steps).sum(axis=2)
    return np.sqrt((steps**2).sum(axis=2))


def check(search, X, queries, k, rtol=1e-12, atol=None):
    """Compare distances with brute force, and ids with the distances they stand for."""
    distances, ids = search.kneighbors(queries, k)
    keys = -distances if search.metric == "inner_product" else distances
    every = brute(X, queries, search.metric)
    if atol is None:
        atol = 1e-13 * (1 + np.abs(every).max()) if every.size else 0
    assert_allclose(keys, np.sort(every, axis=1)[:, :k], rtol=rtol, atol=atol)
    assert_allclose(keys, np.take_along_axis(every, ids, 1), rtol=rtol, atol=atol)
    for row, own in zip(keys, ids, strict=True):
        assert len(set(own)) == k
        assert_array_equal(np.lexsort((own, row)), np.arange(k))
    return distances, ids


def decaying(n, d, rng, dtype=np.float32):
    """Return rows whose variance is in few directions."""
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    scales = np.exp(-np.arange(d) / 10.0) + 1e-3
    return ((rng.standard_normal((n, d)) * scales) @ rotation + 0.1).astype(dtype)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (65, 3), (1000, 50), (4500, 129)])
def test_brute_force(variant, metric, dtype, n, d):
    rng = np.random.default_rng(n)
    X, queries = (rng.standard_normal((m, d)).astype(dtype) + 1 for m in (n, 13))
    search = BanditNearestNeighbors(metric=metric).fit(X)
    k = min(n, 10)
    distances, ids = check(search, X, queries, k)
    for i in range(len(queries)):
        single = search.kneighbors(queries[i : i + 1], k)
        assert_array_equal(single[0], distances[i : i + 1])
        assert_array_equal(single[1], ids[i : i + 1])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "inner_product"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_head(variant, metric, dtype):
    """Rows with few large directions are searched through a head, and stay exact."""
    rng = np.random.default_rng(0)
    vectors = decaying(5030, 320, rng, dtype)
    X, queries = vectors[:5000], vectors[5000:]
    search = BanditNearestNeighbors(metric=metric, random_state=0).fit(X)
    assert search._index.segments[0].head is not None
    distances, ids = check(search, X, queries, 7)
    for i in range(5):
        single = search.kneighbors(queries[i : i + 1], 7)
        assert_array_equal(single[0][0], distances[i])
        assert_array_equal(single[1][0], ids[i])


def test_variants_and_threads_agree_to_the_last_bit():
    rng = np.random.default_rng(0)
    vectors = decaying(5150, 300, rng)
    X, queries = vectors[:5000], vectors[5000:]
    for metric in METRICS:
        answers = []
        for name in available_variants():
            use_variant(name)
            for n_jobs in (1, 2):
                search = BanditNearestNeighbors(metric=metric, n_jobs=n_jobs).fit(X)
                answers.append(search.kneighbors(queries))
        use_variant()
        for distances, ids in answers[1:]:
            assert_array_equal(distances, answers[0][0])
            assert_array_equal(ids, answers[0][1])


kinds = st.sampled_from(
    (
        "normal",
        "integers",
        "heavy",
        "duplicates",
        "offset",
        "zeros",
        "outlier",
        "sparse",
    )
)


def draw_rows(kind, n, d, rng):
    X = rng.standard_normal((n, d))
    if kind == "integers":
        X = rng.integers(-2, 3, (n, d)).astype(float)
    elif kind == "heavy":
        X = rng.standard_t(1.1, (n, d))
    elif kind == "duplicates":
        X = X[rng.integers(max(n // 4, 1), size=n)]
    elif kind == "offset":
        X += 1e4
    elif kind == "zeros":
        X[rng.random(n) < 0.3] = 0
    elif kind == "outlier":
        X[0] *= 1e9
    elif kind == "sparse":
        X[rng.random((n, d)) < 0.9] = 0
    return X


@settings(max_examples=60, deadline=None)
@given(
    kind=kinds,
    metric=st.sampled_from(METRICS),
    n=st.integers(1, 400),
    d=st.integers(1, 70),
    seed=st.integers(0, 1000),
    single=st.booleans(),
    scale=st.sampled_from((1.0, 1e-30, 1e30, 1e-4)),
)
def test_any_data(kind, metric, n, d, seed, single, scale):
    rng = np.random.default_rng(seed)
    dtype = np.float32 if single else np.float64
    largest = 3e38  # that single precision holds
    X, queries = (
        np.clip(draw_rows(kind, m, d, rng) * scale, -largest, largest).astype(dtype)
        for m in (n, 6)
    )
    queries = np.concatenate([queries, X[:3]])
    k = int(rng.integers(1, n + 1))
    search = BanditNearestNeighbors(metric=metric).fit(X)
    size = float(np.abs(X).max()) + float(np.abs(queries).max())
    unit = {"cosine": 1, "inner_product": size * size * d}.get(metric, 0)
    every = brute(X, queries, metric)
    keys, ids = search.kneighbors(queries, k)
    keys = -keys if metric == "inner_product" else keys
    tolerances = {"rtol": 1e-12, "atol": 1e-13 * unit}
    assert_allclose(keys, np.sort(every, axis=1)[:, :k], **tolerances)
    assert_allclose(keys, np.take_along_axis(every, ids, 1), **tolerances)


@pytest.mark.parametrize("scale", [1e-170, 1e-200, 1e120])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
def test_huge_and_tiny_norms(metric, scale):
    rng = np.random.default_rng(0)
    X, queries = rng.standard_normal((300, 20)), rng.standard_normal((5, 20))
    plain = BanditNearestNeighbors(metric=metric).fit(X).kneighbors(queries)
    scaled = BanditNearestNeighbors(metric=metric).fit(X * scale)
    distances, ids = scaled.kneighbors(queries * scale)
    assert_array_equal(ids, plain[1])
    factor = 1 if metric == "cosine" else scale
    assert_allclose(distances, plain[0] * factor, rtol=1e-12)


@pytest.mark.parametrize(("dtype", "size"), [(np.float32, 1e36), (np.float64, 1e40)])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_rare_huge_rows(dtype, size, k):
    """Rows so large that single precision holds no bound, and no sample has them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 20))
    X[[3, 77, 401, 999]] *= size
    X, queries = X.astype(dtype), rng.standard_normal((12, 20)).astype(dtype)
    search = BanditNearestNeighbors(k, metric="inner_product", random_state=0).fit(X)
    expected = np.argsort(brute(X, queries, "inner_product"), axis=1)[:, :k]
    assert_array_equal(search.kneighbors(queries)[1], expected)
    assert_array_equal(search.kneighbors(queries[:1])[1], expected[:1])


def test_denormal_rows():
    """Sizes one over which is infinite; some differences are 0."""
    rng = np.random.default_rng(0)
    X, queries = (rng.standard_normal((n, 20)) * 1e-311 for n in (300, 5))
    X[:, ::3] = queries[:, ::3] = 0
    for metric in ("manhattan", "euclidean"):
        ids = BanditNearestNeighbors(4, metric=metric).fit(X).kneighbors(queries)[1]
        every = brute(X * 2.0**1000, queries * 2.0**1000, metric)
        assert_array_equal(ids, np.argsort(every, axis=1, kind="stable")[:, :4])


def test_products_that_underflow_are_ties():
    rng = np.random.default_rng(0)
    X, queries = rng.standard_normal((300, 20)) * 1e-150, np.full((5, 20), 1e-190)
    search = BanditNearestNeighbors(4, metric="inner_product").fit(X)
    products, ids = search.kneighbors(queries)
    assert_array_equal(products, np.zeros((5, 4)))
    assert_array_equal(ids, np.tile(np.arange(4), (5, 1)))


def test_too_large_values_are_refused():
    X = np.ones((10, 3))
    with pytest.raises(ValueError, match="cannot hold"):
        BanditNearestNeighbors().fit(X * 1e160)
    with pytest.raises(ValueError, match="cannot hold"):
        BanditNearestNeighbors().fit(X).kneighbors(X * 1e160)


def test_queries_far_away():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 20))
    queries = rng.standard_normal((5, 20)) * 1e13
    check(BanditNearestNeighbors().fit(X), X, queries, 3)


def test_many_features():
    """More features than the sums of codes could hold."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((70, 66_000)).astype(np.float32)
    search = BanditNearestNeighbors(3).fit(X)
    assert_array_equal(search.kneighbors(X)[1][:, 0], np.arange(70))


def test_ties_go_to_the_lowest_id():
    X = np.tile(np.arange(5.0)[:, None], (40, 20))
    for metric in ("euclidean", "manhattan"):
        ids = BanditNearestNeighbors(7, metric=metric).fit(X).kneighbors(X[2:3])[1]
        assert_array_equal(ids[0], 2 + 5 * np.arange(7))


def test_zero_vectors_under_cosine():
    X = np.eye(20)
    X[3] = 0
    search = BanditNearestNeighbors(20, metric="cosine").fit(X)
    distances, ids = search.kneighbors(np.zeros((1, 20)))
    assert_array_equal(distances, np.ones((1, 20)))
    assert_array_equal(ids[0], np.arange(20))
    assert search.kneighbors(X[:1])[0][0, 0] == 0


@pytest.mark.parametrize("metric", METRICS)
def test_radius(variant, metric):
    rng = np.random.default_rng(0)
    X, queries = rng.standard_normal((700, 30)), rng.standard_normal((9, 30))
    every = brute(X, queries, metric)
    limit = np.quantile(every, 0.1)
    radius = -limit if metric == "inner_product" else limit
    search = BanditNearestNeighbors(radius=radius, metric=metric).fit(X)
    distances, ids = search.radius_neighbors(queries, sort_results=True)
    for i in range(len(queries)):
        expected = np.flatnonzero(every[i] <= limit)
        assert_array_equal(np.sort(ids[i]), expected)
        order = distances[i] if metric != "inner_product" else -distances[i]
        assert (np.diff(order) >= 0).all()
    graph = search.radius_neighbors_graph(queries, mode="distance")
    assert graph.shape == (9, 700)
    assert graph.nnz == sum(map(len, ids))
    assert_array_equal(
        search.radius_neighbors(queries, return_distance=False)[0], np.sort(ids[0])
    )


def test_same_as_scikit_learn():
    X = load_digits().data
    for metric in ("euclidean", "manhattan", "cosine"):
        mine = BanditNearestNeighbors(metric=metric).fit(X)
        other = theirs.NearestNeighbors(metric=metric, algorithm="brute").fit(X)
        for queries in (None, X[:100] + 0.25):
            assert_allclose(
                mine.kneighbors(queries)[0], other.kneighbors(queries)[0], atol=1e-6
            )
        graphs = [s.kneighbors_graph(mode="distance") for s in (mine, other)]
        assert graphs[0].shape == graphs[1].shape
        assert_allclose(graphs[0].sum(axis=1), graphs[1].sum(axis=1), rtol=1e-5)


@pytest.mark.parametrize("metric", METRICS)
def test_add_and_remove(metric):
    rng = np.random.default_rng(0)
    X, queries = rng.standard_normal((900, 24)), rng.standard_normal((6, 24))
    search = BanditNearestNeighbors(4, metric=metric).fit(X[:300])
    present = np.arange(300)
    n = 300
    for step in range(6):
        search.partial_fit(X[n : n + 100].astype(np.float64))
        present = np.concatenate([present, np.arange(n, n + 100)])
        n += 100
        gone = rng.choice(present, 20 if step else 200, replace=False)
        search.remove(gone)
        present = np.setdiff1d(present, gone)
        assert search.n_samples_fit_ == len(present)
        distances, ids = search.kneighbors(queries)
        expected = BanditNearestNeighbors(4, metric=metric).fit(X[present])
        assert_array_equal(ids, present[expected.kneighbors(queries)[1]])
        assert_array_equal(distances, expected.kneighbors(queries)[0])
        assert_array_equal(
            search.kneighbors(return_distance=False),
            present[expected.kneighbors(return_distance=False)],
        )
    copy = pickle.loads(pickle.dumps(search))
    assert_array_equal(copy.kneighbors(queries)[1], search.kneighbors(queries)[1])


def test_remove_refuses():
    X = np.random.default_rng(0).standard_normal((10, 4))
    search = BanditNearestNeighbors(2).fit(X)
    search.remove(3)
    for ids, message in (
        (3, "no rows with ids"),
        ([1, 1], "only once"),
        (99, "no rows with ids"),
        (-1, "no rows with ids"),
        ([0.5], "integer"),
        ([0, 1, 2, 4, 5, 6, 7, 8, 9], "must remain"),
    ):
        with pytest.raises(ValueError, match=message):
            search.remove(ids)
    assert search.n_samples_fit_ == 9


def test_bad_input():
    X = np.random.default_rng(0).standard_normal((10, 20))
    search = BanditNearestNeighbors(3).fit(X)
    for bad in (np.nan, np.inf):
        queries = X[:2].copy()
        queries[1, 3] = bad
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            search.kneighbors(queries)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            search.radius_neighbors(queries)
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            BanditNearestNeighbors().fit(queries)
    with pytest.raises(ValueError, match="features"):
        search.kneighbors(X[:, :5])
    with pytest.raises(ValueError, match="n_samples_fit"):
        search.kneighbors(X, 11)
    with pytest.raises(ValueError, match="n_samples_fit"):
        search.kneighbors(None, 10)
    with pytest.raises(ValueError, match="> 0"):
        search.kneighbors(X, 0)
    with pytest.raises(TypeError, match="integer"):
        search.kneighbors(X, 2.5)
    with pytest.raises(ValueError, match="mode"):
        search.kneighbors_graph(X, mode="product")
    with pytest.raises(ValueError, match="radius"):
        search.radius_neighbors(X, "far")
    assert_array_equal(search.kneighbors(X)[1][:, 0], np.arange(10))


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.int64, np.float16, bool])
def test_other_types(dtype):
    X = np.random.default_rng(0).integers(0, 2, (200, 20)).astype(dtype)
    search = BanditNearestNeighbors(3).fit(X)
    check(search, X, X[:9], 3)


def test_precisions_mix():
    """A query in double precision is not rounded to that of the rows."""
    X = np.zeros((3, 20), dtype=np.float32)
    X[1, 0], X[2, 0] = 1, 1 + 2**-23
    query = np.zeros((1, 20))
    query[0, 0] = 1 + 0.75 * 2**-23
    search = BanditNearestNeighbors(2).fit(X)
    assert_array_equal(search.kneighbors(query)[1], [[2, 1]])
    assert search.kneighbors(query)[0][0, 0] == 0.25 * 2**-23


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_calibrated_head_misses_at_most_delta(metric):
    rng = np.random.default_rng(0)
    vectors = decaying(8600, 300, rng)
    X, queries = vectors[:8000], vectors[8000:]
    exact = BanditNearestNeighbors(10, metric=metric).fit(X).kneighbors(queries)[1]
    search = BanditNearestNeighbors(10, metric=metric, delta=0.01, random_state=0)
    found = search.fit(X).kneighbors(queries)[1]
    assert 0 < search._index.segments[0].head.ratio < 1
    missed = [len(set(a) - set(b)) for a, b in zip(exact, found, strict=True)]
    assert np.mean(missed) / 10 <= 0.01


def test_head_is_not_used_without_structure():
    X = np.random.default_rng(0).standard_normal((4200, 256)).astype(np.float32)
    assert BanditNearestNeighbors().fit(X)._index.segments[0].head is None


def test_memory_beside_the_rows():
    X = np.random.default_rng(0).standard_normal((20_000, 50)).astype(np.float32)
    for metric in METRICS:
        index = BanditNearestNeighbors(metric=metric).fit(X)._index
        assert index.nbytes <= 0.35 * X.nbytes


def test_bounds_hold(variant, monkeypatch):
    """Near ties within the error of the codes, far above that of double precision."""
    monkeypatch.setattr(estimates, "LEAST_STEP", 0.01)
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((40, 33)), 50, axis=0)
    X += 1e-9 * rng.standard_normal(X.shape)
    for metric in METRICS:
        search = BanditNearestNeighbors(metric=metric).fit(X)
        check(search, X, X[::97].copy(), 1)


def test_threads_share_an_estimator():
    rng = np.random.default_rng(0)
    X, queries = rng.standard_normal((3000, 30)), rng.standard_normal((40, 30))
    search = BanditNearestNeighbors(3).fit(X[:2000])
    before = search.kneighbors(queries)[1]
    after = BanditNearestNeighbors(3).fit(X).kneighbors(queries)[1]
    wrong = []

    def ask():
        for _ in range(20):
            found = search.kneighbors(queries)[1]
            if not (np.array_equal(found, before) or np.array_equal(found, after)):
                wrong.append(found)

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    search.partial_fit(X[2000:])
    for thread in threads:
        thread.join()
    assert not wrong
    assert_array_equal(search.kneighbors(queries)[1], after)
