"""Radii of means over folds."""

from math import inf

import numpy as np
import pytest

from sklearn_bandit.bandit._fold_radius import (
    MIN_BLOCK,
    N_BLOCKS,
    FoldDifferences,
    fold_radius,
    sample_moments,
)

K = 10


@pytest.mark.parametrize("n_done", [1, 3, 6])
@pytest.mark.parametrize("ratio", [1.0, 1.5])
def test_coverage_of_the_radius(n_done, ratio):
    """The mean over all folds is within the radius at least as often as promised."""
    rng = np.random.default_rng(2)
    n_runs, size, delta, n_arms = 200, 50, 0.05, 8
    outside = n_intervals = 0
    for _ in range(n_runs):
        scale = np.sqrt((ratio - 1) / size)
        gaps = rng.normal(size=(n_arms, K, size))
        gaps += scale * rng.normal(size=(n_arms, K, 1))
        seen = gaps[:, :n_done]
        folds = seen.mean(axis=2)
        centred = seen - folds[:, :, None]
        differences = FoldDifferences(
            means=folds.mean(axis=1),
            between=folds.var(axis=1, ddof=1) if n_done > 1 else np.zeros(n_arms),
            within=(within := seen.var(axis=2, ddof=1).mean(axis=1) / size),
            by_blocks=within,
            n_effective=(centred**2).sum((1, 2)) ** 2 / (centred**4).sum((1, 2)),
            n_seen=np.full(n_arms, n_done * size),
            largest=np.abs(seen).max(axis=(1, 2)),
        )
        radii = fold_radius(differences, n_done, K, delta)
        outside += np.sum(differences.means - gaps.mean(axis=(1, 2)) > radii)
        n_intervals += n_arms
    rate = outside / n_intervals
    assert rate <= 1.2 * delta  # 1.5 is beyond what is expected of folds
    assert rate > delta / 100  # not so wide that it says nothing


def radius(n_done=3, **changes):
    values = {
        "means": 0.0,
        "between": 1e-3,
        "within": 1e-3,
        "by_blocks": 1e-3,
        "n_effective": 30.0,
        "n_seen": 90.0,
        "largest": 0.1,
    }
    values = {key: np.array([v]) for key, v in (values | changes).items()}
    return fold_radius(FoldDifferences(**values), n_done, K, 0.01)[0]


def test_radius_follows_its_parts():
    plain = radius()
    assert radius(between=1e-2) > plain
    assert radius(within=1e-2) > plain
    assert radius(by_blocks=1e-2) > plain
    assert radius(n_effective=5.0) > plain
    assert radius(largest=5.0) > plain
    assert radius(n_done=K) == 0
    assert radius(n_done=1, between=0.0) > plain
    assert radius(n_effective=2.0) == inf  # too few observations
    assert radius(within=0.0) == inf  # equal so far need not be equal
    assert radius(within=np.nan, n_done=2) == inf  # too few folds
    assert radius(within=np.nan) > plain


def test_moments_of_samples():
    differences = np.random.default_rng(0).normal(size=N_BLOCKS * MIN_BLOCK)
    moments = sample_moments(differences)
    centred = differences - differences.mean()
    assert moments.n_samples == len(differences)
    np.testing.assert_allclose(
        moments.variance, differences.var(ddof=1) / len(differences)
    )
    np.testing.assert_allclose(moments.sum_2, (centred**2).sum())
    np.testing.assert_allclose(moments.sum_4, (centred**4).sum())
    assert moments.by_blocks != moments.variance
    fewer = sample_moments(differences[:-1])
    assert fewer.by_blocks == fewer.variance  # too few for blocks


def test_blocks_see_that_neighbours_are_alike():
    values = np.random.default_rng(0).normal(size=N_BLOCKS)
    moments = sample_moments(np.repeat(values, 20))
    assert moments.by_blocks > 10 * moments.variance
