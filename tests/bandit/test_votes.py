"""Votes that are decided early: the bound, its coverage, and the looks."""

import numpy as np
import pytest

from sklearn_bandit.bandit import normal_quantile
from sklearn_bandit.bandit._votes import look_delta, look_schedule, margin_bound


def test_looks_end_with_all_voters():
    ends, quantiles = look_schedule(200, 0.01)
    assert ends == sorted(set(ends))
    assert ends[-1] == 200
    assert quantiles[-1] == np.inf
    assert look_schedule(5, 0.01) == ([5], [np.inf])


def test_a_smaller_delta_has_larger_quantiles():
    strict, loose = (look_schedule(100, delta)[1][:-1] for delta in (0.001, 0.1))
    assert all(a > b for a, b in zip(strict, loose, strict=True))


@pytest.mark.parametrize("delta", [0.2, 0.01, 1e-6, 1e-300])
@pytest.mark.parametrize("n_total", [11, 50, 200, 10_000])
def test_a_look_has_a_share_of_delta(n_total, delta):
    ends = look_schedule(n_total, delta)[0][:-1]
    assert delta / len(ends) <= look_delta(ends, n_total, delta) * (1 + 1e-9)
    assert look_delta(ends, n_total, delta) <= delta


def test_paths_pass_the_quantile_with_probability_delta():
    """Mean margins of voters in random order, all of which are normal around 0."""
    rng, n_total, delta, n_runs = np.random.default_rng(0), 200, 0.05, 20_000
    ends = np.array(look_schedule(n_total, delta)[0][:-1])
    margins = rng.standard_normal((n_runs, n_total))
    margins -= margins.mean(axis=1, keepdims=True)
    sums = margins.cumsum(axis=1)[:, ends - 1]
    scores = sums / ends / np.sqrt((1 / ends - 1 / n_total) * n_total / (n_total - 1))
    quantile = normal_quantile(look_delta(list(ends), n_total, delta))
    share = np.mean((scores > quantile).any(axis=1))
    assert 0.5 * delta < share <= delta + 3 * np.sqrt(delta / n_runs)


def test_a_lead_larger_than_those_not_asked_is_certain():
    assert margin_bound(60.0, 9.0, 69, 100, np.inf) > 0
    assert not margin_bound(60.0, 35.0, 60, 100, np.inf) > 0


def test_unanimous_voters_are_not_certain():
    assert margin_bound(3.0, 0.0, 3, 200, 4.0) < 0
    assert margin_bound(30.0, 0.0, 30, 200, 4.0) > 0


def run_vote(shares, delta, rng):
    """Ask voters in a random order; return the class that is found."""
    votes = shares[rng.permutation(len(shares))].cumsum(axis=0)
    ends, quantiles = look_schedule(len(shares), delta)
    for end, quantile in zip(ends[:-1], quantiles[:-1], strict=True):
        order = np.argsort(votes[end - 1])
        best, second = votes[end - 1][order[[-1, -2]]]
        if margin_bound(best, second, end, len(shares), quantile) > 0:
            return order[-1]
    return np.argmax(votes[-1])


@pytest.mark.parametrize("delta", [0.05, 0.01])
@pytest.mark.parametrize("kind", ["two", "many", "shares", "rare"])
def test_wrong_decisions_are_at_most_delta(delta, kind):
    """Over random orders of voters that are nearly split: the hardest cases."""
    rng = np.random.default_rng(0)
    n_wrong, n_runs = 0, 3000
    for _ in range(n_runs):
        if kind == "two":
            shares = np.eye(2)[(np.arange(200) < 99).astype(int)]
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
