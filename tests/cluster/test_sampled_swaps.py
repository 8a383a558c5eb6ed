"""Swaps for arms that are not among the references: what they change, brute force."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import pairwise_distances

from sklearn_bandit.cluster import BanditKMedoids, SampledSwaps
from sklearn_bandit.cluster import _sampled_swaps as module

RNG = np.random.default_rng(0)
CENTRE = np.array([5.0, 0.0, 0.0, 0.0])
REFERENCES = CENTRE + RNG.standard_normal((3000, 4))
ARMS = CENTRE + RNG.standard_normal((700, 4))
WEIGHTS = RNG.random(3000)


def make_swaps(metric="euclidean", weights=None):
    model = BanditKMedoids(3, metric=metric, n_jobs=1, random_state=0)
    return SampledSwaps.in_random_order(
        model.fit(REFERENCES[:500]), REFERENCES, weights
    )


def losses(swaps, medoids, arms):
    """Mean distance after each swap, of shape (n_arms, n_clusters)."""
    weights = swaps.weights / swaps.weights.sum()
    to_medoids = pairwise_distances(swaps.X, medoids, metric=swaps.model.metric)
    found = []
    for arm in pairwise_distances(swaps.X, arms, metric=swaps.model.metric).T:
        swapped = np.repeat(to_medoids[None], len(medoids), axis=0)
        swapped[np.arange(len(medoids)), :, np.arange(len(medoids))] = arm
        found.append(swapped.min(axis=2) @ weights)
    return np.array(found), to_medoids.min(axis=1) @ weights


@pytest.mark.parametrize("n_clusters", [1, 4])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "chebyshev"])
def test_changes(metric, weighted, n_clusters):
    swaps = make_swaps(metric, WEIGHTS if weighted else None)
    medoids, arms = ARMS[:n_clusters], ARMS[n_clusters:60]
    means, removed = swaps.changes(medoids, arms, swaps.n_references)
    expected, present = losses(swaps, medoids, arms)
    best = expected.min(axis=1)
    # They are up to a factor, and that of one medoid up to a constant.
    if n_clusters == 1:
        assert np.corrcoef(means, best)[0, 1] > 1 - 1e-6
    else:
        factor = means @ (best - present) / np.square(best - present).sum()
        assert_allclose(means, factor * (best - present), atol=1e-4 * factor * present)
    chosen = expected[np.arange(len(arms)), removed]
    assert_allclose(chosen, best, rtol=1e-5)


def test_changes_do_not_depend_on_other_arms(monkeypatch):
    swaps = make_swaps()
    medoids, arms = ARMS[:4], ARMS[4:]
    means, removed = swaps.changes(medoids, arms, 512)
    which = RNG.permutation(len(arms))[:50]
    some = swaps.changes(medoids, arms[which], 512)
    assert_array_equal(some[0], means[which])
    assert_array_equal(some[1], removed[which])
    monkeypatch.setattr(module, "MOST_ARMS", 100)
    in_parts = swaps.changes(medoids, arms, 512)
    assert_array_equal(in_parts[0], means)
    assert_array_equal(in_parts[1], removed)


def test_leading_references_are_the_same():
    swaps = make_swaps(weights=WEIGHTS)
    leading = swaps.leading(1024, swaps.model)
    assert len(leading.X) == leading.n_references == 1024
    for n in (512, 1024):
        means, _ = leading.changes(ARMS[:4], ARMS[4:], n)
        expected, _ = swaps.changes(ARMS[:4], ARMS[4:], n)
        # Centres come from other rows.
        assert_allclose(means, expected, atol=1e-5)


def test_heavy_references_come_first():
    weights = np.ones(3000)
    weights[:64] = 100.0
    model = BanditKMedoids(3, batch_size=64, n_jobs=1, random_state=0)
    swaps = SampledSwaps.in_random_order(
        model.fit(REFERENCES[:500]), REFERENCES, weights
    )
    assert swaps.n_heavy == 64
    means, _ = swaps.changes(ARMS[:4], ARMS[4:], 512)
    all_means, _ = swaps.changes(ARMS[:4], ARMS[4:], 3000)
    assert np.corrcoef(means, all_means)[0, 1] > 0.99
    assert_allclose(means.mean(), all_means.mean(), rtol=0.1)


@pytest.mark.parametrize("weighted", [False, True])
def test_descend(weighted):
    """Best swap after best swap, as by brute force."""
    swaps = make_swaps(weights=WEIGHTS if weighted else None)
    medoids, arms = ARMS[:4], ARMS[4:150]
    points = np.concatenate([medoids, arms])
    chosen = np.arange(4)
    n_swaps = 0
    while True:
        expected, present = losses(swaps, points[chosen], points)
        arm, removed = np.unravel_index(expected.argmin(), expected.shape)
        if not expected[arm, removed] < (1 - module.SAMPLE_TOL) * present:
            break
        chosen[removed] = arm
        n_swaps += 1
    assert n_swaps > 2
    assert_array_equal(swaps.descend(medoids, arms, 0.0), chosen)
    assert_array_equal(swaps.descend(medoids, arms, 1.0), np.arange(4))


def test_descend_ends_where_estimates_promise_too_much(monkeypatch):
    """Every arm seems better than it is, as if distances were rounded down."""
    swaps = make_swaps()
    medoids, arms = ARMS[:4], ARMS[4:150]
    means = module.Sample.means
    calls = []

    def promising(self, state, stop, some, *, build):
        calls.append(some)
        assert len(calls) < 200
        found, removed, sums = means(self, state, stop, some, build=build)
        return found - 0.1, removed, sums

    expected = swaps.descend(medoids, arms, 0.0)
    monkeypatch.setattr(module.Sample, "means", promising)
    chosen = swaps.descend(medoids, arms, 0.0)
    points = np.concatenate([medoids, arms])
    loss, least = (
        losses(swaps, points[found], medoids[:1])[1] for found in (chosen, expected)
    )
    assert loss <= least * (1 + 1e-9)
