"""The head of a search: its bound holds, on data that is made to break it.

A head is made where it pays, which hostile data prevents: here it is made always.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from sklearn_bandit.neighbors import BanditNearestNeighbors
from sklearn_bandit.neighbors._quantized import codes
from sklearn_bandit.neighbors._quantized import head as head_module

METRICS = ("euclidean", "cosine", "inner_product")


@pytest.fixture(autouse=True)
def _always_a_head(monkeypatch):
    monkeypatch.setattr(codes, "MIN_HEAD_FEATURES", 4)
    monkeypatch.setattr(codes, "MIN_HEAD_ROWS", 8)
    monkeypatch.setattr(head_module, "LEAST_GAIN", 0)


def few_factors(n, d, rng):
    """Six factors and a little noise: what a head is for."""
    X = rng.standard_normal((n, 6)) @ rng.standard_normal((6, d))
    return X + 1e-3 * rng.standard_normal((n, d))


def ill_conditioned(n, d, rng):
    """Directions whose variances fall by thirty powers of ten."""
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return (rng.standard_normal((n, d)) * np.logspace(0, -15, d)) @ rotation


def rank_deficient(n, d, rng):
    """Two directions: the others of a head are arbitrary."""
    return rng.standard_normal((n, 2)) @ rng.standard_normal((2, d))


def duplicates(n, d, rng):
    """Five rows, again and again."""
    return few_factors(5, d, rng)[rng.integers(5, size=n)]


def tiny(n, d, rng):
    """Values whose squares single precision does not hold."""
    return few_factors(n, d, rng) * 1e-25


def some_tiny_rows(n, d, rng):
    """Rows among others whose squares single precision does not hold."""
    X = few_factors(n, d, rng)
    X[rng.random(n) < 0.3] *= 1e-25
    return X


def huge(n, d, rng):
    """Values whose squares single precision does not hold, either."""
    return few_factors(n, d, rng) * 1e25


def offset(n, d, rng):
    """A centre that is far larger than what is around it."""
    return few_factors(n, d, rng) + 1e5 * rng.standard_normal(d)


def huge_constants(n, d, rng):
    """Constant features whose sums single precision does not hold."""
    X = rank_deficient(n, d, rng)
    X[:, : d // 2] = 3e38 * rng.choice([-1.0, 1.0], d // 2)
    return X


def outside(n, d, rng):
    """Neighbours that differ only outside of the directions of large variance."""
    X = rank_deficient(n, d, rng)[rng.integers(3, size=n)] * 100
    return X + 1e-2 * rng.standard_normal((n, d))


KINDS = (
    few_factors, ill_conditioned, rank_deficient, duplicates, tiny, some_tiny_rows,
    huge, offset, huge_constants, outside,
)  # fmt: skip


def make(kind, n, d, seed, dtype):
    rng = np.random.default_rng(seed)
    return np.ascontiguousarray(kind(n, d, rng), dtype=dtype), rng


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
@settings(max_examples=6, deadline=None)
@given(n=st.integers(20, 600), d=st.integers(8, 90), seed=st.integers(0, 2**32 - 1))
def test_nothing_is_lost(kind, metric, dtype, n, d, seed):
    """With k = n every row is computed; fewer are to be the first of these."""
    X, rng = make(kind, n, d, seed, dtype)
    search = BanditNearestNeighbors(metric=metric, random_state=0).fit(X)
    assert search._index.segments[0].head is not None
    queries = X[rng.integers(n, size=9)]
    queries[3:6] = np.nextafter(queries[3:6], dtype(0))
    queries[6:] = (queries[6:] * dtype(0.5)) + X[:1] * dtype(0.5)
    keys, ids = search.kneighbors(queries, n)
    for part in (slice(0, 9), *(slice(i, i + 1) for i in range(9))):
        found = search.kneighbors(queries[part], 4)
        assert_array_equal(found[1], ids[part, :4])
        assert_array_equal(found[0], keys[part, :4])


def in_long_units(X, space, is_cosine):
    """Centred rows in units, with more digits than double precision where there are."""
    rows = X.astype(np.longdouble)
    if is_cosine:
        rows /= np.sqrt((rows * rows).sum(axis=1))[:, None]
    return (rows - space.centre_array) / np.longdouble(space.unit)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(
    "kind",
    [kind for kind in KINDS if kind is not huge_constants],
    ids=lambda kind: kind.__name__,
)
@pytest.mark.parametrize("seed", range(4))
def test_the_bound_of_a_head(kind, metric, seed):
    """The inequality of `Rotation`, and each of its steps, for queries that hurt."""
    X, rng = make(kind, 300, 40, seed, np.float32)
    segment = BanditNearestNeighbors(metric=metric, random_state=0).fit(X)
    segment = segment._index.segments[0]
    head, space = segment.head, segment.space
    x = in_long_units(X, space, metric == "cosine")
    rotation = head_module.Rotation(head.basis, space, X.shape[1])
    basis = head.basis.astype(np.longdouble)
    w = rotation(X).astype(np.longdouble)
    norms = np.sqrt((x * x).sum(axis=1))
    reach, error = rotation.reach(norms), rotation.error
    off = w - x @ basis.T
    assert (np.sqrt((off * off).sum(axis=1)) <= error * reach).all()
    # What is outside of the span: twice, as once leaves roundings along it.
    span = np.linalg.qr(head.basis.astype(np.float64).T)[0].astype(np.longdouble)
    outside = x - (x @ span) @ span.T
    outside -= (outside @ span) @ span.T
    tails = head.tails[: len(X)].astype(np.longdouble)
    assert (tails >= np.sqrt((outside * outside).sum(axis=1))).all()
    candidates = [rng.standard_normal(x.shape), x, outside, off @ basis, -off @ basis]
    for y in candidates:
        rotated = y @ basis.T
        squares = (y * y).sum(axis=1)
        own = squares * (1 + error) - (rotated * rotated).sum(axis=1)
        bounds = (rotated * w).sum(axis=1)
        bounds += 2 * error * reach * np.sqrt(squares)
        bounds += np.sqrt(np.maximum(own, 0)) * tails
        assert (bounds >= (y * x).sum(axis=1)).all()


def test_tiny_rows_are_found_among_others_by_their_cosine():
    X, _ = make(some_tiny_rows, 3000, 60, 0, np.float32)
    rows = X / np.abs(X).max(axis=1, keepdims=True)
    ids = BanditNearestNeighbors(metric="cosine", random_state=0).fit(X)
    ids = ids.kneighbors(X[:50], 1, return_distance=False)
    expected = BanditNearestNeighbors(metric="cosine", random_state=0).fit(rows)
    assert_array_equal(ids[:, 0], np.arange(50))
    assert_array_equal(ids, expected.kneighbors(rows[:50], 1, return_distance=False))
