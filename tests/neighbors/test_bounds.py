"""Bounds of neighbours on data that is made to break them.

With k = n every row is computed, and no bound is asked. A search for fewer has to find
the first of the same list, to the last bit.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn_bandit.neighbors._quantized._exact import available_variants, use_variant

from sklearn_bandit.neighbors import BanditNearestNeighbors

METRICS = ("euclidean", "cosine", "manhattan", "inner_product")


def dynamic_range(n, d, rng):
    """Features whose sizes differ by thirty powers of ten."""
    return rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-15, 15, d)


def row_range(n, d, rng):
    """Rows whose sizes differ by thirty powers of ten."""
    return rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-15, 15, (n, 1))


def denormals(n, d, rng):
    """Values that single precision holds with few bits, some of them zero."""
    return rng.integers(-40, 41, (n, d)) * 2.0**-149


def cancelling(n, d, rng):
    """Pairs of opposite large features: inner products cancel."""
    half = rng.standard_normal((n, (d + 1) // 2)) * 1e7
    return np.hstack([half, 1 - half])[:, :d] + rng.standard_normal((n, d)) * 1e-3


def constants(n, d, rng):
    """Features that are constant, but for one."""
    X = np.tile(rng.standard_normal(d) * 1e3, (n, 1))
    X[:, rng.integers(d)] += rng.standard_normal(n)
    return X


def duplicates(n, d, rng):
    """Three rows, again and again: ties at every rank."""
    return rng.standard_normal((3, d))[rng.integers(3, size=n)]


def neighbouring_floats(n, d, rng):
    """Rows that differ by single roundings."""
    X = np.tile(rng.standard_normal(d).astype(np.float32), (n, 1))
    up = rng.random((n, d)) < 0.3
    return np.where(up, np.nextafter(X, np.float32(np.inf)), X)


def offset(n, d, rng):
    """Small differences on top of a million."""
    return 1e6 + rng.standard_normal((n, d))


def one_huge_row(n, d, rng):
    """One row so large that the codes of its segment hold little else."""
    X = rng.standard_normal((n, d))
    X[rng.integers(n)] *= 1e11
    return X


def integers(n, d, rng):
    """The largest integers of single precision, and their neighbours."""
    return rng.choice([-(2.0**24), 2.0**24, 2.0**24 - 1, 0.0, 1.0], (n, d))


def heavy_tails(n, d, rng):
    """Entries without a mean."""
    return rng.standard_cauchy((n, d))


def clusters(n, d, rng):
    """Tight clusters far from each other."""
    centres = rng.standard_normal((4, d)) * 100
    return centres[rng.integers(4, size=n)] + 1e-6 * rng.standard_normal((n, d))


KINDS = (
    dynamic_range, row_range, denormals, cancelling, constants, duplicates,
    neighbouring_floats, offset, one_huge_row, integers, heavy_tails, clusters,
)  # fmt: skip


def queries_near(X, rng):
    """Rows, rows with another rounding, rows between rows, and zero."""
    some = X[rng.integers(len(X), size=8)]
    some[2:4] = np.nextafter(some[2:4], X.dtype.type(0))
    some[4:6] += X[0]
    some[4:6] *= X.dtype.type(0.5)
    some[7] = 0
    return some


def check_all(X, queries, metric, k):
    """Compare with the search that computes every row, in batches and one by one."""
    search = BanditNearestNeighbors(metric=metric, random_state=0).fit(X)
    keys, ids = search.kneighbors(queries, len(X))
    assert_array_equal(np.sort(ids, axis=1), np.tile(np.arange(len(X)), (len(ids), 1)))
    found = search.kneighbors(queries, k)
    assert_array_equal(found[1], ids[:, :k])
    assert_array_equal(found[0], keys[:, :k])
    for i in range(len(queries)):
        found = search.kneighbors(queries[i : i + 1], k)
        assert_array_equal(found[1], ids[i : i + 1, :k])
        assert_array_equal(found[0], keys[i : i + 1, :k])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=8, deadline=None)
@given(
    n=st.integers(20, 500), d=st.integers(1, 80), seed=st.integers(0, 2**32 - 1),
    k=st.integers(1, 12), variant=st.sampled_from(available_variants()),
)  # fmt: skip
def test_nothing_is_lost(kind, metric, dtype, n, d, seed, k, variant):
    rng = np.random.default_rng(seed)
    X = np.ascontiguousarray(kind(n, d, rng), dtype=dtype)
    use_variant(variant)
    try:
        check_all(X, queries_near(X, rng), metric, k)
    finally:
        use_variant()


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "inner_product"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_seeded_batches_and_heads(kind, metric):
    """Enough rows for a first bar from everywhere, and for a head where it pays."""
    rng = np.random.default_rng(5)
    X = np.ascontiguousarray(kind(8300, 260, rng), dtype=np.float32)
    check_all(X, queries_near(X, rng), metric, 5)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("variant", available_variants())
def test_sums_of_most_features_do_not_overflow(metric, variant):
    """Codes and query bytes at their limits, of one sign, for the most features."""
    rng = np.random.default_rng(0)
    signs = rng.choice([-1.0, 1.0], (70, 1))
    X = (signs * np.ones((70, 65_000)) + 1e-3 * signs**2).astype(np.float32)
    X[:, :5] += rng.standard_normal((70, 5)).astype(np.float32) * 0.1
    use_variant(variant)
    try:
        check_all(X, queries_near(X, rng), metric, 4)
    finally:
        use_variant()


@pytest.mark.parametrize("scale", [1.0, 2.0**-1060, 2.0**-500, 2.0**400])
def test_queries_are_prepared_for_each_segment(scale):
    """Under cosine a query is scaled in place: for the next segment it stays right."""
    rng = np.random.default_rng(1)
    parts = [rng.standard_normal((200, 9)) for _ in range(3)]
    search = BanditNearestNeighbors(metric="cosine", random_state=0).fit(parts[0])
    for part in parts[1:]:
        search.partial_fit(part)
    assert len(search._index.segments) > 1
    queries = np.rint(rng.standard_normal((12, 9)) * 100) * scale
    keys, ids = search.kneighbors(queries, 6)
    units = np.rint(queries / scale)
    assert_array_equal(search.kneighbors(units, 6)[1], ids)
    assert_array_equal(search.kneighbors(units, 6)[0], keys)
