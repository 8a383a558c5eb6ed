"""Arms: moments, change of leader, elimination."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn_bandit.bandit._arms import Arms

from sklearn_bandit.bandit import effective_size, paired_radius

N_ARMS = 12


def batches(rng, sizes, offset=0.0):
    common = [rng.standard_normal(size) for size in sizes]
    return [c + offset + rng.standard_normal((N_ARMS, len(c))) for c in common]


def direct(costs, leader, delta, n_total):
    """Gaps and radii from the whole history at once."""
    differences = costs - costs[leader]
    n = costs.shape[1]
    centred = differences - differences.mean(axis=1, keepdims=True)
    radii = [
        paired_radius(
            d.var(ddof=1), n, effective_size((d**2).sum(), (d**4).sum()), delta, n_total
        )
        for d in centred
    ]
    radii[leader] = 0
    return differences.mean(axis=1), np.array(radii)


@pytest.mark.parametrize("offset", [0.0, 1e7])
@pytest.mark.parametrize("k", [1, 3, N_ARMS])
def test_gaps_and_radii_after_changes_of_leader(k, offset):
    """However often the leader changed, gaps are those of one common baseline."""
    rng = np.random.default_rng(0)
    arms = Arms(N_ARMS, paired=True)
    history, leaders = [], set()
    for batch in batches(rng, [50, 50, 100, 200], offset):
        arms.add(batch, k)
        history.append(batch)
        costs = np.hstack(history)
        leader = np.argsort(costs.mean(axis=1))[k - 1]
        leaders.add(leader)
        arms.update_radii("paired", 0.01, 10_000.0)
        gaps, radii = direct(costs, leader, 0.01, 10_000)
        assert_allclose(arms.gaps, gaps, atol=1e-8)
        # The moments are taken about the first batch's mean, not the last's.
        assert_allclose(arms.radii, radii, rtol=0.05)
        assert_allclose(arms.means, costs.mean(axis=1), rtol=1e-12)
    assert len(leaders) > 1 or k == N_ARMS


@pytest.mark.parametrize("n", [40, 300, 5000])
def test_radii_are_never_narrower_than_the_formula(n):
    """Quantiles are looked up at degrees of freedom that are rounded down."""
    arms = Arms(N_ARMS, paired=True)
    costs = np.random.default_rng(2).standard_normal((N_ARMS, n))
    arms.add(costs, 1)
    arms.update_radii("paired", 1e-5, np.inf)
    leader = np.argmin(costs.mean(axis=1))
    exact = direct(costs, leader, 1e-5, np.inf)[1]
    assert (arms.radii >= exact * (1 - 1e-9)).all()
    finite = np.isfinite(exact)
    assert_allclose(arms.radii[finite], exact[finite], rtol=0.02)


def test_elimination_keeps_histories_aligned():
    rng = np.random.default_rng(1)
    arms = Arms(N_ARMS, paired=True)
    quality = rng.permutation(np.arange(N_ARMS)) * 0.15
    history = np.empty((N_ARMS, 0))
    survivors = np.arange(N_ARMS)
    for size in (64, 64, 128, 256, 512):
        batch = quality[:, None] + rng.standard_normal((N_ARMS, size))
        history = np.hstack([history, batch])
        arms.add(batch[survivors], 2)
        arms.update_radii("paired", 0.01, np.inf)
        kept = arms.eliminate(2)
        survivors = survivors[kept]
        assert_array_equal(arms.ids, survivors)
        costs = history[survivors]
        leader = np.argsort(costs.mean(axis=1))[1]
        assert_allclose(arms.gaps, direct(costs, leader, 0.01, np.inf)[0], atol=1e-9)
    assert 2 <= len(survivors) < N_ARMS
    assert {int(np.argmin(quality))} <= set(survivors)


def test_an_arm_falls_by_the_kth_upper_bound():
    """Brute force over random bounds, by way of marginal intervals."""
    rng = np.random.default_rng(2)
    for k in (1, 2, 5):
        costs = rng.standard_normal((N_ARMS, 200)) + np.arange(N_ARMS)[:, None] / 4
        arms = Arms(N_ARMS, paired=False)
        arms.add(costs, k)
        arms.update_radii("normal", 0.01, np.inf)
        gaps, radii = arms.gaps, arms.radii
        bar = np.sort(gaps + radii)[k - 1]
        arms.eliminate(k)
        assert_array_equal(arms.ids, np.flatnonzero(gaps - radii <= bar))
        assert k <= arms.n_survivors < N_ARMS


def test_equal_arms_all_survive():
    arms = Arms(N_ARMS, paired=True)
    arms.add(np.tile(np.random.default_rng(0).random(100), (N_ARMS, 1)), 1)
    arms.update_radii("paired", 0.01, np.inf)
    arms.eliminate(1)
    assert arms.n_survivors == N_ARMS


def test_wrong_number_of_rows():
    with pytest.raises(ValueError, match="costs of 12 arms"):
        Arms(N_ARMS, paired=True).add(np.zeros((3, 4)), 1)
