"""What is not finite is an error where it is read, and only there."""

import numpy as np
import pytest

from sklearn_bandit.linear_model import BanditMatchingPursuit

N_ROWS = 100_000


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((N_ROWS, 20)))
    return X, 3 * X[:, 4] - 2 * X[:, 7] + 0.1 * rng.standard_normal(N_ROWS)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 12_345, N_ROWS - 1])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_chosen_atoms_are_checked_at_all_rows(problem, value, row, fit_intercept):
    X, y = problem
    X[row, 7] = value
    pursuit = BanditMatchingPursuit(
        n_nonzero_coefs=2, fit_intercept=fit_intercept, random_state=0
    )
    with pytest.raises(ValueError, match="Input X contains"):
        pursuit.fit(X, y)
    assert not hasattr(pursuit, "coef_")


@pytest.mark.parametrize("coef", ["exact", "sampled"])
def test_sampled_rows_of_other_atoms_are_checked(problem, coef):
    X, y = problem
    X[::2, 11] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        BanditMatchingPursuit(n_nonzero_coefs=2, coef=coef, random_state=0).fit(X, y)


def test_signals_are_checked_at_all_rows(problem):
    X, y = problem
    y[777] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        BanditMatchingPursuit(n_nonzero_coefs=2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="contains NaN"):
        BanditMatchingPursuit(n_nonzero_coefs=2).fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize("delta", [0, 0.01])
def test_few_rows_and_exact_fits_check_everything(problem, delta):
    X, y = problem
    n = N_ROWS if delta == 0 else 20_000
    X, y = np.asfortranarray(X[:n]), y[:n]
    X[n // 2, 11] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        BanditMatchingPursuit(n_nonzero_coefs=2, delta=delta).fit(X, y)


def test_precomputed_products_give_the_same(problem):
    X, y = problem
    Y = np.column_stack([y, X[:, 3] - 0.5 * X[:, 9]])
    expected = BanditMatchingPursuit(n_nonzero_coefs=2, delta=0).fit(X, Y)
    found = BanditMatchingPursuit(n_nonzero_coefs=2, precompute=True).fit(X, Y)
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-10)
    np.testing.assert_allclose(found.intercept_, expected.intercept_, atol=1e-10)
    assert found.n_nonzero_coefs_ == 2
    with pytest.raises(ValueError, match="precompute=True"):
        BanditMatchingPursuit(coef="sampled", precompute=True).fit(X, y)
