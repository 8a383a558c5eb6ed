"""Votes that are decided early: the quantile, wrong decisions, and the looks."""

import numpy as np
import pytest

from sklearn_bandit.bandit._votes import decides, look_quantile, look_schedule


def test_looks_end_with_all_voters():
    ends, thresholds = look_schedule(200, 0.01)
    assert ends == sorted(set(ends))
    assert ends[-1] == 200
    assert thresholds[-1] == np.inf
    assert look_schedule(5, 0.01) == ([5], [np.inf])


def test_few_voters_are_asked_until_the_outcome_is_certain():
    ends, thresholds = look_schedule(30, 0.1)
    assert len(ends) > 3
    assert thresholds == [np.inf] * len(ends)


def test_a_smaller_delta_has_larger_thresholds():
    strict, loose = (look_schedule(100, delta)[1][:-1] for delta in (0.001, 0.1))
    assert all(a > b for a, b in zip(strict, loose, strict=True))


@pytest.mark.parametrize("delta", [0.9, 0.2, 0.01, 1e-6, 1e-300])
@pytest.mark.parametrize("n_total", [40, 41, 200, 1000])
def test_quantiles_are_finite(n_total, delta):
    ends = look_schedule(n_total, delta)[0][:-1]
    assert 0.0 < look_quantile(ends, n_total, delta) < 2 * np.sqrt(n_total) + 2


def even_walks(n_runs, n_total, rng):
    """Leads of one class over the other; each has half of the votes in the end."""
    steps = np.tile(np.repeat([1, -1], n_total // 2), (n_runs, 1))
    return rng.permuted(steps, axis=1).cumsum(axis=1)


@pytest.mark.parametrize("n_total", [40, 100, 300])
def test_even_splits_are_decided_for_one_side_with_probability_delta(n_total):
    """The hardest case; the quantile is not larger than it has to be, either."""
    delta, n_runs = 0.05, 40_000
    leads = even_walks(n_runs, n_total, np.random.default_rng(0))
    ends, thresholds = look_schedule(n_total, delta)
    is_open, n_wrong = np.ones(n_runs, dtype=bool), 0
    for end, threshold in zip(ends[:-1], thresholds[:-1], strict=True):
        lead = leads[:, end - 1]
        is_found = is_open & (lead**2 > threshold * end)
        n_wrong += np.sum(is_found & (lead > 0))
        is_open &= ~is_found
    assert 0.5 * delta < n_wrong / n_runs <= delta + 3 * np.sqrt(delta / n_runs)


def test_a_lead_larger_than_those_not_asked_is_certain():
    assert decides(60.0, 9.0, 31, np.inf)
    assert not decides(60.0, 35.0, 40, np.inf)


def test_a_short_unanimous_sample_decides_nothing():
    thresholds = look_schedule(200, 0.0001)[1]
    assert not decides(10.0, 0.0, 190, thresholds[0])
    assert decides(41.0, 0.0, 159, thresholds[7])


def run_vote(shares, delta, rng):
    """Ask voters in a random order; return the class that is found."""
    votes = shares[rng.permutation(len(shares))].cumsum(axis=0)
    ends, thresholds = look_schedule(len(shares), delta)
    for end, threshold in zip(ends[:-1], thresholds[:-1], strict=True):
        order = np.argsort(votes[end - 1])
        best, second = votes[end - 1][order[[-1, -2]]]
        if decides(best, second, len(shares) - end, threshold):
            return order[-1]
    return np.argmax(votes[-1])


@pytest.mark.parametrize("delta", [0.05, 0.01])
@pytest.mark.parametrize("kind", ["two", "level", "many", "shares", "rare"])
def test_wrong_decisions_are_at_most_delta(delta, kind):
    """Over random orders of voters that are nearly split: the hardest cases."""
    rng = np.random.default_rng(0)
    n_wrong, n_runs = 0, 3000
    for _ in range(n_runs):
        if kind == "two":
            shares = np.eye(2)[(np.arange(200) < 99).astype(int)]
        elif kind == "level":
            shares = np.eye(3)[np.repeat([0, 1, 2], [68, 67, 65])]
        elif kind == "many":
            shares = np.eye(4)[np.repeat([0, 1, 2, 3], [62, 60, 58, 20])]
        elif kind == "shares":
            shares = rng.dirichlet([1.0, 0.98, 0.5], size=200)
        else:  # most voters see no difference; a few decide
            shares = np.full((200, 2), 0.5)
            shares[:11] = [1.0, 0.0]
            shares[11:21] = [0.0, 1.0]
        n_wrong += run_vote(shares, delta, rng) != np.argmax(shares.sum(axis=0))
    assert n_wrong <= delta * n_runs + 3 * np.sqrt(delta * n_runs)
