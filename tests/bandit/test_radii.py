"""Radii: formulas, limits, and coverage counted by simulation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from sklearn_bandit.bandit import (
    bernstein_radius,
    effective_size,
    finite_population,
    hoeffding_radius,
    normal_quantile,
    normal_radius,
    paired_radius,
    quantile_table,
    split_delta,
    step_delta,
    student_quantile,
)

N_REPETITIONS = 4000


@pytest.mark.parametrize("delta", [0.9, 0.5, 0.49, 0.3, 0.05, 1e-4, 1e-9, 1e-30])
def test_quantiles_are_those_of_scipy(delta):
    assert_allclose(normal_quantile(delta), stats.norm.isf(delta), 1e-9, 1e-12)
    for df in (1, 2.5, 4.5, 15, 30, 300, 1e4, 1e7):
        assert_allclose(
            student_quantile(delta, df), stats.t.isf(delta, df), 1e-7, 1e-12
        )


def test_quantiles_are_on_the_safe_side():
    table = quantile_table(1e-4)
    assert (np.diff(table) <= 0).all()
    for size in (4, 17, 100, 999, 1024):
        assert table[size] >= student_quantile(1e-4, size - 1)
        assert table[size] <= 1.3 * student_quantile(1e-4, size - 1)


def test_delta_zero_never_decides():
    assert normal_quantile(0.0) == np.inf
    assert student_quantile(0.0, 10) == np.inf
    assert hoeffding_radius(1.0, 50, 0.0) == np.inf
    assert bernstein_radius(1.0, 1.0, 50, 0.0) == np.inf
    assert normal_radius(1.0, 50, 0.0) == np.inf
    assert paired_radius(1.0, 50, 50, 0.0) == np.inf


def test_shares_of_delta_add_up():
    known = sum(split_delta(0.1, 7, t, 5) for t in range(1, 6)) * 7
    assert_allclose(known, 0.1)
    anytime = sum(split_delta(0.1, 7, t) for t in range(1, 200_000)) * 7
    assert anytime < 0.1
    assert_allclose(anytime, 0.1, rtol=1e-4)


@pytest.mark.parametrize("n_expected", [0, 1, 30])
def test_shares_of_steps_add_up(n_expected):
    shares = np.array([step_delta(0.1, t, n_expected) for t in range(1, 200_000)])
    assert (np.diff(shares) < 0).all()
    assert shares.sum() < 0.1
    assert_allclose(shares.sum(), 0.1, rtol=1e-3)
    assert shares[: n_expected + 1].sum() > 0.04


def test_finite_population():
    assert finite_population(10, np.inf) == 1
    assert finite_population(100, 100) == 0
    assert_allclose(finite_population(75, 100), 0.5)


def test_effective_size():
    ones = np.zeros(1000)
    ones[:20] = 1
    assert_allclose(effective_size((ones**2).sum(), (ones**4).sum()), 20)
    normal = np.random.default_rng(0).standard_normal(100_000)
    size = effective_size((normal**2).sum(), (normal**4).sum())
    assert_allclose(size, 100_000 / 3, rtol=0.05)
    assert effective_size(0.0, 0.0) == 0


def test_all_references_leave_no_doubt():
    assert hoeffding_radius(1.0, 100, 0.01, 100) == 0
    assert bernstein_radius(1.0, 1.0, 100, 0.01, 100) == 0
    assert normal_radius(1.0, 100, 0.01, 100) == 0
    assert paired_radius(1.0, 100, 100, 0.01, 100) == 0


def test_without_replacement_is_never_wider():
    for n_used in (10, 40, 60, 99):
        assert hoeffding_radius(1, n_used, 0.01, 100) <= hoeffding_radius(
            1, n_used, 0.01
        )
        assert bernstein_radius(1, 1, n_used, 0.01, 100) <= bernstein_radius(
            1, 1, n_used, 0.01
        )
        assert normal_radius(1, n_used, 0.01, 100) < normal_radius(1, n_used, 0.01)


def test_paired_radius_needs_effective_observations():
    assert paired_radius(1.0, 1000, 15.9, 0.01) == np.inf
    assert np.isfinite(paired_radius(1.0, 1000, 16, 0.01))
    assert paired_radius(1.0, 1000, 20, 0.01) > paired_radius(1.0, 1000, 900, 0.01)


def test_hoeffding_formula():
    assert_allclose(hoeffding_radius(2.0, 8, 0.1), 2 * np.sqrt(2 * np.log(10) / 8))


def test_bernstein_radius_refuses_what_a_bet_refuses():
    """The best of its bets against the mean at the bound wins 1 / delta or more."""
    rng = np.random.default_rng(0)
    for n, share, delta in [(50, 0.5, 0.1), (400, 0.05, 1e-3), (3000, 0.01, 1e-6)]:
        x = (rng.random(n) < share) * rng.random(n)
        reach = 1 - x.mean()
        m = x.mean() + bernstein_radius(x.var(ddof=1), reach, n, delta)
        bets = 0.8 / reach * 0.5 ** np.arange(12)
        wealth = np.log1p(bets[:, None] * (m - x)).sum(axis=1)
        assert m < 1
        assert wealth.max() > np.log(1 / delta)


def test_bernstein_radius_is_never_wider_than_the_reach():
    assert bernstein_radius(0.25, 1.0, 1, 1e-6) == 1
    assert_allclose(bernstein_radius(0.25, 1.0, 75, 1e-300, 100), 0.25)
    assert bernstein_radius(0.0, 0.0, 10, 0.01) == 0


@pytest.mark.parametrize("variance", [1e-4, 1e-2, 0.25])
def test_bernstein_radius_against_maurer_and_pontil(variance):
    for n in (100, 10_000, 1_000_000):
        log_term = np.log(2 / 1e-4)
        theirs = np.sqrt(2 * variance * log_term / n) + 7 * log_term / (3 * (n - 1))
        assert bernstein_radius(variance, 1.0, n, 1e-4) < 1.15 * min(theirs, 1.0)


POPULATIONS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "uniform": lambda rng, shape: rng.uniform(-1, 1, shape),
    "bernoulli": lambda rng, shape: (rng.random(shape) < 0.3).astype(float),
    "exponential": lambda rng, shape: rng.exponential(1, shape),
}
BOUNDED = {"uniform": (2.0, 1.0), "bernoulli": (1.0, 0.5)}  # range, sub-Gaussian scale


def count_failures(name, n_used, n_total, radius_of):
    """Share of samples whose mean is too high, or too low, by more than the radius."""
    rng = np.random.default_rng(n_used)
    draw = POPULATIONS[name]
    if n_total is None:
        samples = draw(rng, (N_REPETITIONS, n_used))
        mean = {"bernoulli": 0.3, "exponential": 1.0}.get(name, 0.0)
    else:
        population = draw(rng, n_total)
        mean = population.mean()
        keys = rng.random((N_REPETITIONS, n_total))
        samples = population[np.argpartition(keys, n_used, axis=1)[:, :n_used]]
    errors = samples.mean(axis=1) - mean
    radii = np.array([radius_of(sample) for sample in samples])
    return (errors > radii).mean(), (-errors > radii).mean()


def assert_at_most(rates, delta):
    """One-sided binomial test at a level of one in ten thousand."""
    for rate in rates:
        limit = stats.binom.isf(1e-4, N_REPETITIONS, delta) / N_REPETITIONS
        assert rate <= limit


@pytest.mark.parametrize("n_total", [None, 150])
@pytest.mark.parametrize("name", sorted(BOUNDED))
@pytest.mark.parametrize("delta", [0.2, 0.02])
def test_coverage_of_rigorous_radii(name, n_total, delta):
    cost_range, sigma = BOUNDED[name]
    total = n_total or np.inf
    for n_used in (20, 100):
        rates = count_failures(
            name,
            n_used,
            n_total,
            lambda x: hoeffding_radius(sigma, len(x), delta, total),
        )
        assert_at_most(rates, delta)
        rates = count_failures(
            name,
            n_used,
            n_total,
            lambda x: bernstein_radius(
                x.var(ddof=1), cost_range, len(x), delta, total
            ),
        )
        assert_at_most(rates, delta)


@pytest.mark.parametrize("n_total", [None, 400])
@pytest.mark.parametrize("name", ["normal", "uniform", "bernoulli"])
@pytest.mark.parametrize("delta", [0.2, 0.02])
def test_coverage_of_normal_radius(name, n_total, delta):
    rates = count_failures(
        name,
        200,
        n_total,
        lambda x: normal_radius(x.var(ddof=1), len(x), delta, n_total or np.inf),
    )
    # Asymptotic: near the target from both sides.
    assert_at_most(rates, 1.25 * delta)
    assert min(rates) > 0.5 * delta


@pytest.mark.parametrize("n_total", [None, 400])
@pytest.mark.parametrize("name", ["normal", "uniform", "bernoulli"])
@pytest.mark.parametrize("delta", [0.2, 0.02])
def test_coverage_of_paired_radius(name, n_total, delta):
    def radius(x):
        d = x - x.mean()
        size = effective_size((d**2).sum(), (d**4).sum())
        return paired_radius(x.var(ddof=1), len(x), size, delta, n_total or np.inf)

    rates = count_failures(name, 200, n_total, radius)
    assert_at_most(rates, delta)
    assert min(rates) > 0.4 * delta  # the practical one is not wasteful


def test_paired_radius_of_skewed_differences():
    """A skewed population misses on its heavy side; the guard keeps that small."""

    def radius(x):
        d = x - x.mean()
        size = effective_size((d**2).sum(), (d**4).sum())
        return paired_radius(x.var(ddof=1), len(x), size, 0.02)

    rates = count_failures("exponential", 400, None, radius)
    assert_at_most(rates, 2 * 0.02)


@pytest.mark.parametrize("n_total", [np.inf, 2000])
@pytest.mark.parametrize("share", [0.001, 0.01, 0.03, 0.3])
@pytest.mark.parametrize("delta", [0.2, 0.02])
def test_coverage_of_bernstein_radius_of_rare_values(share, n_total, delta):
    """Hardly any sample sees the rare part; the radius knows that there may be one."""
    rng = np.random.default_rng(0)
    n_rare = int(share * 2000)
    for n_used in (64, 500, 1500):
        if np.isinf(n_total):
            seen = rng.binomial(n_used, share, 10 * N_REPETITIONS)
        else:
            seen = rng.hypergeometric(
                n_rare, 2000 - n_rare, n_used, 10 * N_REPETITIONS
            )
        means = np.arange(n_used + 1) / n_used
        variances = means * (1 - means) * n_used / (n_used - 1)
        radii = np.array(
            [
                bernstein_radius(variance, max(mean, 1 - mean), n_used, delta, n_total)
                for mean, variance in zip(means, variances, strict=True)
            ]
        )
        errors = means[seen] - share
        assert (errors > radii[seen] + 1e-12).mean() <= delta
        assert (-errors > radii[seen] + 1e-12).mean() <= delta


def test_anytime_union_bound_holds_over_all_looks():
    """The share of runs in which any round's interval fails is at most delta."""
    delta, n_rounds, batch = 0.2, 12, 16
    rng = np.random.default_rng(1)
    failed = np.zeros(N_REPETITIONS, dtype=bool)
    total = np.zeros(N_REPETITIONS)
    n_used = 0
    for t in range(1, n_rounds + 1):
        total += rng.uniform(-1, 1, (N_REPETITIONS, batch)).sum(axis=1)
        n_used += batch
        failed |= total / n_used > hoeffding_radius(
            1.0, n_used, split_delta(delta, 1, t)
        )
    assert_at_most([failed.mean()], delta)
