"""Atoms and signals of any size; fits that fail or are interrupted."""

import signal

import numpy as np
import pytest
from fault_processes import run_apart
from fault_programs import interrupt_pursuits
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_bandit.linear_model import BanditMatchingPursuit

KINDS = ["exact", "sampled", "plain"]


def pursuit(kind, **parameters):
    return BanditMatchingPursuit(
        orthogonal=kind != "plain",
        coef="sampled" if kind == "sampled" else "exact",
        sample_size=1024,
        random_state=0,
        **({"n_nonzero_coefs": 3} | parameters),
    )


def song(n_rows, n_targets=1):
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((n_rows, 12)))
    coefs = np.zeros((12, n_targets))
    coefs[[2, 5, 7]] = np.array([[9.0, 5.0, 2.5]]).T * (1 + np.arange(n_targets))
    y = X @ coefs + 1 + 0.01 * rng.standard_normal((n_rows, n_targets))
    return X, y[:, 0] if n_targets == 1 else y


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_rows", [60, 40_000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("exponent", [-900, -120, 110, 125, 900, 1000])
def test_signals_of_any_size(kind, n_rows, dtype, exponent):
    """Only the coefficients change, by the same factor."""
    X, y = song(n_rows)
    X = np.asfortranarray(X, dtype)
    expected = pursuit(kind).fit(X.astype(np.float64), y)
    found = pursuit(kind).fit(X, np.ldexp(y, exponent))
    assert_array_equal(found.support_, expected.support_)
    scale = np.abs(expected.coef_).max()
    coefs = np.ldexp(found.coef_.astype(np.float64), -exponent)
    assert_allclose(coefs, expected.coef_, atol=1e-4 * scale)
    intercept = np.ldexp(found.intercept_, -exponent)
    assert_allclose(intercept, expected.intercept_, atol=1e-4 * scale)
    assert np.isfinite(found.predict(X)).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_rows", [60, 40_000])
@pytest.mark.parametrize("exponent", [-900, -500, 500, 900])
def test_atoms_of_any_size(kind, n_rows, exponent):
    X, y = song(n_rows)
    expected = pursuit(kind).fit(X, y)
    found = pursuit(kind).fit(np.ldexp(X, exponent), y)
    assert_array_equal(found.support_, expected.support_)
    coefs = np.ldexp(found.coef_, exponent)
    assert_allclose(coefs, expected.coef_, rtol=1e-9, atol=1e-9)
    assert_allclose(found.intercept_, expected.intercept_, rtol=1e-6)


def test_targets_of_different_sizes_and_tolerances():
    X, y = song(200, 3)
    shifts = np.array([0, 600, -600])
    expected = pursuit("exact").fit(X, y)
    found = pursuit("exact").fit(X, np.ldexp(y, shifts))
    for target in range(3):
        assert_array_equal(found.support_[target], expected.support_[target])
    assert_allclose(np.ldexp(found.coef_, -shifts[:, None]), expected.coef_)
    tol = 0.5 * len(X) * 2.5**2
    for exponent in (0, 100, 400, -400):
        found = pursuit("exact", n_nonzero_coefs=None, tol=np.ldexp(tol, 2 * exponent))
        found.fit(X, np.ldexp(y[:, 0], exponent))
        # What 2.5 times an atom leaves is about twice the tolerance; nothing, below it.
        assert found.n_iter_ == 3


def test_coefficients_out_of_range_are_refused():
    X, y = song(60)
    estimator = pursuit("exact")
    with pytest.raises(ValueError, match="scale X up or y down"):
        estimator.fit(X * 1e-200, y * 1e200)
    assert not [name for name in vars(estimator) if name.endswith("_")]


def test_no_signal_at_all():
    X, _ = song(60)
    with pytest.warns(RuntimeWarning, match="ended early"):
        estimator = pursuit("exact").fit(X, np.zeros(60))
    assert_array_equal(estimator.coef_, 0)
    assert estimator.intercept_ == 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
def test_interrupted_fits_leave_a_whole_estimator():
    """That of the last fit that ended: width and coefficients belong together."""
    code, whole = run_apart(interrupt_pursuits)
    assert code == 0
    assert whole == [True] * 10


def test_failed_fits_change_nothing(monkeypatch):
    X, y = song(60)
    estimator = pursuit("exact").fit(X, y)
    before = dict(vars(estimator))

    def fail(*_):
        raise MemoryError

    monkeypatch.setattr(BanditMatchingPursuit, "_store", fail)
    with pytest.raises(MemoryError):
        estimator.fit(X[:, :5], y)
    assert vars(estimator).keys() == before.keys()
    assert all(vars(estimator)[name] is before[name] for name in before)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("precompute", [False, True])
@pytest.mark.parametrize("n_rows", [3, 511, 5000])
def test_rounding_of_constant_columns_takes_no_coefficient(n_rows, precompute, dtype):
    X = np.tile(np.array([0.1, 1 / 3, 7.7], dtype=dtype), (n_rows, 1))
    y = np.full(n_rows, 0.7, dtype=dtype)
    model = BanditMatchingPursuit(n_nonzero_coefs=2, precompute=precompute, delta=0.0)
    model.set_params(fit_intercept=True)
    with pytest.warns(RuntimeWarning, match="ended early"):
        model.fit(X, y)
    assert not model.coef_.any()
    np.testing.assert_allclose(model.intercept_, y[0], rtol=1e-6)


@pytest.mark.parametrize("precompute", [False, True])
def test_an_atom_is_found_beside_a_huge_constant(precompute):
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.normal(size=(5000, 3)))
    y = X[:, 2].copy()
    X[:, 2] *= 1e-6
    X[:, 0] = 1e9 / 3
    X[:, 1] *= 1e-7
    model = BanditMatchingPursuit(n_nonzero_coefs=1, precompute=precompute, delta=0.0)
    model.set_params(fit_intercept=True).fit(X, y)
    np.testing.assert_array_equal(model.support_, [2])
    np.testing.assert_allclose(model.coef_[2], 1e6)
