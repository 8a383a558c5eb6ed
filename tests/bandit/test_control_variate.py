"""Control variates, and the regression on them."""

import numpy as np
import pytest
from scipy import stats
from sklearn_bandit.bandit._regression import regression_estimate

from sklearn_bandit.bandit import ControlVariate

N, N_ARMS, N_KNOWN, N_GROUPS = 60, 7, 10, 3


class Products:
    """f(x, j) is the product of a number of the arm and one of the reference."""

    def __init__(self, arms, references):
        self.arms, self.references = arms, references

    def power_sums(self, weights, labels, n_groups):
        last = self.references[-len(weights) :]
        return (np.bincount(labels, weights * last, n_groups),)

    def powers_of(self, arms, sums):
        return self.arms[arms, None] * sums


def test_totals_and_counts():
    rng = np.random.default_rng(0)
    arms, references = rng.random(N_ARMS), rng.random(N)
    slopes = (rng.random(N) * (rng.random(N) < 0.7)).astype(np.float32)
    origins = rng.random(N).astype(np.float32)
    labels = rng.integers(0, N_GROUPS, N)
    variate = ControlVariate(
        Products(arms, references), slopes, origins, labels, N_GROUPS, N_KNOWN
    )
    values = slopes * (arms[:, None] * references - origins)
    expected = [
        values[:, N_KNOWN:][:, labels[N_KNOWN:] == group].sum(axis=1)
        for group in range(N_GROUPS)
    ]
    assert variate.exists
    for chosen in (np.arange(N_ARMS), np.array([1, 4])):
        np.testing.assert_allclose(
            variate.totals(chosen), np.transpose(expected)[chosen], rtol=1e-5, atol=1e-6
        )
    used = slice(N_KNOWN, 40)
    counts = np.bincount(labels[used], slopes[used] > 0, N_GROUPS)
    np.testing.assert_array_equal(variate.counts(40), counts)


def test_an_absent_one_says_nothing():
    variate = ControlVariate.absent(N)
    assert not variate.exists
    assert variate.totals(np.arange(N_ARMS)).shape == (N_ARMS, 0)
    assert len(variate.counts(N)) == 0
    assert not variate.slopes.any()


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9, 0.99])
def test_regression_covers_the_mean(correlation):
    """Radii of Student-t miss as often as they may, and shrink with the correlation."""
    rng = np.random.default_rng(0)
    n, n_trials, delta = 40, 4000, 0.05
    quantile = stats.t.ppf(1 - delta / 2, n - 2)
    n_missed, widths = 0, []
    for _ in range(n_trials):
        f = rng.standard_normal(n)
        y = correlation * f + np.sqrt(1 - correlation**2) * rng.standard_normal(n)
        mean, variance = regression_estimate(3 + y, f, 0.0)
        radius = quantile * np.sqrt(variance / (n - 1))
        n_missed += abs(mean - 3) > radius
        widths.append(radius)
    # Four standard errors of a count above its expectation.
    assert n_missed / n_trials <= delta + 4 * np.sqrt(delta / n_trials)
    left = max(1 - correlation**2, 0.1)
    assert np.mean(widths) <= 1.1 * quantile * np.sqrt(left / n)


def test_a_constant_covariate_changes_nothing():
    y = np.arange(10.0)
    mean, variance = regression_estimate(y, np.ones(10), 5.0)
    assert (mean, variance) == (y.mean(), y.var())
