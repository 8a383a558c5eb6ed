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


def require_few_failures(atoms, queries, n_fits, n_neighbors=1, **parameters):
    """Fail if searches that cannot give up fail too often; return multiplications."""
    best = np.partition(queries @ atoms.T, -n_neighbors, axis=1)[:, -n_neighbors]
    n_failed, counts = 0, []
    for seed in range(n_fits):
        search = BanditMIPS(n_neighbors, random_state=seed, **parameters).fit(atoms)
        search._may_give_up = False
        for query, least in zip(queries, best, strict=True):
            products, _ = search.kneighbors(query[None])
            n_failed += products[0, -1] < least - 1e-3 * abs(least)
            counts.append(search.n_multiplications_[0])
    assert binom.sf(n_failed - 1, len(counts), search.delta) > 0.01
    return counts


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("delta", [0.1, 0.01])
@pytest.mark.parametrize("make", [low_rank, normal])
def test_failures_are_at_most_delta(make, delta, k):
    atoms, queries = make()
    counts = require_few_failures(atoms, queries, n_fits=4, delta=delta, n_neighbors=k)
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
    settings = {"delta": delta, "n_neighbors": k, "layout": "zero-copy"}
    counts = require_few_failures(atoms, queries, n_fits=6, **settings)
    assert np.median(counts) < 0.6 * atoms.size


@pytest.mark.parametrize("layout", ["auto", "zero-copy"])
def test_failures_of_sparse_queries(layout):
    # A sample sees little of what carries such a query: the guards must notice.
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((150, 6000)).astype(np.float32)
    queries = rng.standard_normal((40, 6000)) * (rng.random((40, 6000)) < 0.02)
    queries = queries.astype(np.float32)
    require_few_failures(atoms, queries, n_fits=5, layout=layout)


@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_guards_where_the_mass_of_the_products_is_rare(rare_products, noise):
    """Counted over fits: all queries of one fit share its sample of coordinates.

    The products differ too little for the sample, and the guards must notice.
    """
    rng = np.random.default_rng(0)
    n_fits, delta, n_failed = 200, 0.001, 0
    for seed in range(n_fits):
        drawn = rare_products(rng, 8192, share=0.06, noise=noise)
        atoms, query = (each.astype(np.float32) for each in drawn)
        search = BanditMIPS(1, delta=delta, random_state=seed).fit(atoms)
        n_failed += search.kneighbors(query[None])[1][0, 0] != 1
    assert binom.sf(n_failed - 1, n_fits, delta) > 0.01


@pytest.mark.parametrize("sampling", ["uniform", "weighted"])
def test_failures_where_rare_products_are_sampled(rare_products, sampling):
    """The same where the products differ by enough: samples decide, not the guards."""
    n_fits, n_others, deltas = 40, 9, (0.1, 0.01)
    n_failed, counts = dict.fromkeys(deltas, 0), []
    for seed in range(n_fits):
        drawn = rare_products(
            np.random.default_rng(seed), 100_000, 0.1, 0.3, n_others, others=0.2
        )
        atoms, query = (each.astype(np.float32) for each in drawn)
        search = BanditMIPS(1, sampling=sampling, random_state=seed).fit(atoms)
        search._may_give_up = False
        for delta in deltas:
            found = search.set_params(delta=delta).kneighbors(query[None])[1][0, 0]
            n_failed[delta] += found != n_others
            counts.append(search.n_multiplications_[0])
    for delta in deltas:
        assert binom.sf(n_failed[delta] - 1, n_fits, delta) > 0.01
    assert np.mean(counts) < 0.3 * atoms.size


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
