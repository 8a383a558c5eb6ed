"""How often sampling is wrong, with giving up disabled; and what it estimates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from sklearn_bandit.datasets import make_normal_custom
from sklearn_bandit.neighbors import BanditMIPS
from sklearn_bandit.neighbors._dispatch import _references
from sklearn_bandit.neighbors._request import Request


def low_rank():
    rng = np.random.default_rng(0)
    factors = rng.standard_normal((10, 3000))
    vectors = rng.standard_normal((260, 10)) @ factors
    vectors = (vectors + rng.standard_normal(vectors.shape)).astype(np.float32)
    return vectors[:200], vectors[200:]


def normal():
    return make_normal_custom(200, 3000, 60, random_state=1)


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("delta", [0.1, 0.01])
@pytest.mark.parametrize("make", [low_rank, normal])
def test_failures_are_at_most_delta(make, delta, k):
    atoms, queries = make()
    bars = np.partition(queries @ atoms.T, -k, axis=1)[:, -k]
    n_failed, counts = 0, []
    for seed in range(4):
        search = BanditMIPS(k, delta=delta, random_state=seed).fit(atoms)
        search._may_give_up = False
        for query, bar in zip(queries, bars, strict=True):
            products, _ = search.kneighbors(query[None])
            n_failed += products[0, -1] < bar - 1e-3 * abs(bar)
            counts.append(search.n_multiplications_[0])
    assert binom.sf(n_failed - 1, len(counts), delta) > 0.01
    # Decided by sampling, not by computing everything.
    assert np.median(counts) < 0.6 * atoms.size


def wide():
    rng = np.random.default_rng(2)
    levels = rng.standard_normal((150, 1))
    vectors = levels + rng.standard_normal((150, 20_000))
    return vectors[:120].astype(np.float32), vectors[120:].astype(np.float32)


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("delta", [0.1, 0.01])
def test_failures_without_a_sample(delta, k):
    atoms, queries = wide()
    bars = np.partition(queries @ atoms.T, -k, axis=1)[:, -k]
    n_failed, counts = 0, []
    for seed in range(6):
        search = BanditMIPS(k, delta=delta, layout="zero-copy", random_state=seed)
        search.fit(atoms)
        search._may_give_up = False
        for query, bar in zip(queries, bars, strict=True):
            products, _ = search.kneighbors(query[None])
            n_failed += products[0, -1] < bar - 1e-3 * abs(bar)
            counts.append(search.n_multiplications_[0])
    assert binom.sf(n_failed - 1, len(counts), delta) > 0.01
    assert np.median(counts) < 0.6 * atoms.size


@pytest.mark.parametrize("layout", ["auto", "zero-copy"])
def test_failures_of_sparse_queries(layout):
    # A sample sees little of what carries such a query: the guards must notice.
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((150, 6000)).astype(np.float32)
    queries = rng.standard_normal((40, 6000)) * (rng.random((40, 6000)) < 0.02)
    queries = queries.astype(np.float32)
    bars = (queries @ atoms.T).max(axis=1)
    n_failed = 0
    for seed in range(5):
        search = BanditMIPS(1, layout=layout, random_state=seed).fit(atoms)
        search._may_give_up = False
        for query, bar in zip(queries, bars, strict=True):
            n_failed += search.kneighbors(query[None])[0][0, 0] < bar - 1e-3
    assert binom.sf(n_failed - 1, 200, search.delta) > 0.01


def products_of_rare_mass(rng, d=8192, noise=1.0, share=0.06):
    """Neither the query nor the atoms are sparse, but their products are.

    The best atom has its part of the product where the query is large, in a few
    coordinates, and noise where the query is small. The other one is flat.
    """
    signs = rng.choice([-1.0, 1.0], d)
    order = rng.permutation(d)
    large, small = order[: d // 3], order[d // 3 :]
    query, best = np.full(d, 0.03), np.zeros(d)
    query[large] = 1.0
    best[large[: int(share * len(large))]] = 1.0
    n_noise = int(0.4 * len(small))
    best[small[:n_noise]] = noise * rng.standard_normal(n_noise)
    flat = rng.uniform(0.5, 1.5, d)
    flat *= 0.8 * (best @ query) / (flat @ query)
    atoms = (np.stack([flat, best]) * signs).astype(np.float32)
    return atoms, (query * signs).astype(np.float32)


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_failures_where_the_mass_of_the_products_is_rare(noise):
    """Counted over fits: all queries of one fit share its sample of coordinates."""
    rng = np.random.default_rng(0)
    n_fits, delta, n_failed = 200, 0.001, 0
    for seed in range(n_fits):
        atoms, query = products_of_rare_mass(rng, noise=noise)
        search = BanditMIPS(1, delta=delta, random_state=seed).fit(atoms)
        n_failed += search.kneighbors(query[None])[1][0, 0] != 1
    assert binom.sf(n_failed - 1, n_fits, delta) > 0.01


def test_weighted_sampling_is_unbiased():
    atoms, queries = normal()
    query = queries[0]
    stats = np.array([0, len(query), np.abs(query).max(), np.linalg.norm(query)])
    request = Request(1, 0.01, 0.0, "weighted", 0.5, "paired", None, None, 1, True)
    estimates = []
    for seed in range(40):
        index = BanditMIPS(random_state=seed).fit(atoms)._index
        sampled = _references(index, query, stats, request)
        estimates.append((atoms[:5, sampled.starts] @ sampled.weights) / 1500)
    error = np.std(estimates, axis=0) / np.sqrt(40)
    exact = atoms[:5].astype(np.float64) @ query
    assert_allclose(np.mean(estimates, axis=0) / error, exact / error, atol=4)
