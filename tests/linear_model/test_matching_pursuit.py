"""Matching pursuit against a brute-force one and scikit-learn's orthogonal one."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import OrthogonalMatchingPursuit
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn_bandit.linear_model._row_sample import FIRST_ROWS

from sklearn_bandit.datasets import make_simple_song
from sklearn_bandit.linear_model import BanditMatchingPursuit, _matching_pursuit

ORDER = ["G4", "C5", "E4", "E5", "C4"]


@parametrize_with_checks(
    [BanditMatchingPursuit(), BanditMatchingPursuit(orthogonal=False)]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def brute_force(X, y, n_steps, fit_intercept):
    """Matching pursuit by the definition."""
    X, y = X.astype(np.float64), y.astype(np.float64)
    if fit_intercept:
        X, y = X - X.mean(axis=0), y - y.mean()
    residual, coefs, order = y.copy(), np.zeros(X.shape[1]), []
    for _ in range(n_steps):
        products = X.T @ residual
        best = np.argmax(np.abs(products))
        step = products[best] / (X[:, best] @ X[:, best])
        coefs[best] += step
        residual -= step * X[:, best]
        order.append(best)
    return coefs, list(dict.fromkeys(order))


@pytest.fixture(scope="module", params=[np.float32, np.float64])
def problem(request):
    """50,000 rows, 60 correlated atoms, 6 of which make up the signal."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50_000, 60)) + 0.5 * rng.standard_normal((50_000, 1)) + 0.3
    weights = np.zeros(60)
    weights[[3, 50, 11, 42, 7, 29]] = 5, -4, 3, -2.2, 1.5, 1
    y = X @ weights + 0.5 * rng.standard_normal(50_000) + 2
    return np.asfortranarray(X, request.param), y.astype(request.param)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_orthogonal_agrees_with_scikit_learn(problem, fit_intercept):
    X, y = problem
    ours = BanditMatchingPursuit(
        n_nonzero_coefs=6, fit_intercept=fit_intercept, random_state=0
    )
    ours.fit(X, y)
    theirs = OrthogonalMatchingPursuit(n_nonzero_coefs=6, fit_intercept=fit_intercept)
    theirs.fit(X.astype(np.float64), y.astype(np.float64))
    assert_array_equal(np.sort(ours.support_), np.flatnonzero(theirs.coef_))
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-4)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-4)
    assert_allclose(ours.predict(X), theirs.predict(X), atol=1e-2)
    assert ours.n_iter_ == 6


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("delta", [0.01, 0])
def test_plain_agrees_with_brute_force(problem, fit_intercept, delta):
    X, y = problem
    pursuit = BanditMatchingPursuit(
        n_nonzero_coefs=12,
        orthogonal=False,
        fit_intercept=fit_intercept,
        delta=delta,
        random_state=0,
    ).fit(X, y)
    coefs, order = brute_force(X, y, 12, fit_intercept)
    assert_array_equal(pursuit.support_, order)
    assert_allclose(pursuit.coef_, coefs, atol=1e-4)


def test_order_of_orthogonal_support(problem):
    X, y = problem
    pursuit = BanditMatchingPursuit(n_nonzero_coefs=4, random_state=0).fit(X, y)
    centred = X.astype(np.float64) - X.mean(axis=0, dtype=np.float64)
    signal = y - y.mean(dtype=np.float64)
    residual = signal
    for n_chosen, atom in enumerate(pursuit.support_):
        products = np.abs(centred.T @ residual)
        assert atom == np.argmax(products)
        chosen = centred[:, pursuit.support_[: n_chosen + 1]]
        residual = signal - chosen @ np.linalg.lstsq(chosen, signal, rcond=None)[0]


def test_small_problems_agree_with_scikit_learn():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 30))
    y = X[:, [4, 9, 20]] @ [3.0, -2.0, 1.0]
    ours = BanditMatchingPursuit(n_nonzero_coefs=3).fit(X, y)
    theirs = OrthogonalMatchingPursuit(n_nonzero_coefs=3).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-10)
    assert_array_equal(ours.support_[0], 4)


@pytest.mark.parametrize("orthogonal", [True, False])
def test_tol(problem, orthogonal):
    X, y = problem
    tol = 0.3 * len(y)
    pursuit = BanditMatchingPursuit(tol=tol, orthogonal=orthogonal, random_state=0)
    pursuit.fit(X, y)
    left = y - pursuit.predict(X)
    assert left @ left <= tol * 1.001
    one_less = BanditMatchingPursuit(
        n_nonzero_coefs=pursuit.n_iter_ - 1, orthogonal=orthogonal, random_state=0
    ).fit(X, y)
    left = y - one_less.predict(X)
    assert left @ left > tol


def test_assumed_finite_input_makes_no_difference(problem):
    X, y = problem
    pursuit = BanditMatchingPursuit(n_nonzero_coefs=3, random_state=0)
    expected = clone(pursuit).fit(X, y)
    with config_context(assume_finite=True):
        for layout in (np.asfortranarray, np.ascontiguousarray):
            found = clone(pursuit).fit(layout(X), y)
            assert_array_equal(found.support_, expected.support_)
            assert_array_equal(found.coef_, expected.coef_)
            assert found.n_features_in_ == X.shape[1]
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            pursuit.fit(np.asfortranarray(X), y[:-1])
        with pytest.raises(ValueError, match="features"):
            found.predict(X[:, 1:])


def test_several_targets(problem):
    X, y = problem
    other = (X[:, 8] - 3 * X[:, 30]).astype(X.dtype)
    both = BanditMatchingPursuit(n_nonzero_coefs=2, random_state=0).fit(
        X, np.column_stack([y, other])
    )
    assert both.coef_.shape == (2, 60)
    assert_array_equal(both.support_[1], [30, 8])
    alone = BanditMatchingPursuit(n_nonzero_coefs=2, random_state=0).fit(X, y)
    assert_array_equal(both.support_[0], alone.support_)
    assert_allclose(both.coef_[0], alone.coef_, rtol=1e-5)
    assert both.predict(X[:5]).shape == (5, 2)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("orthogonal", [True, False])
@pytest.mark.parametrize("coef", ["exact", "sampled"])
def test_song(seed, orthogonal, coef):
    X, y, notes = make_simple_song(interval=3.0, n_notes=40)
    pursuit = BanditMatchingPursuit(
        n_nonzero_coefs=5,
        orthogonal=orthogonal,
        coef=coef,
        fit_intercept=False,
        random_state=seed,
    ).fit(X, y)
    assert list(notes[pursuit.support_]) == ORDER
    # G4 plays all the time, the others half of it.
    expected = [3, 1.25, 1, 0.75, 0.5]
    tolerance = 0.01 if coef == "exact" else 0.15
    assert_allclose(pursuit.coef_[pursuit.support_], expected, atol=tolerance)
    # The exact method computes all atoms in each of five steps.
    assert pursuit.n_multiplications_ < X.size / (1 if coef == "exact" else 5)


@pytest.mark.parametrize("orthogonal", [True, False])
@pytest.mark.parametrize("n_rows", [64, 4_096])
def test_guessed_supports_only_save_time(monkeypatch, orthogonal, n_rows):
    # Coefficients of 64 rows make for wrong guesses.
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((140_000, 30), dtype=np.float32))
    y = X @ np.linspace(1, 2, 30, dtype=np.float32)
    pursuit = BanditMatchingPursuit(
        n_nonzero_coefs=8, orthogonal=orthogonal, random_state=0
    )
    monkeypatch.setattr(_matching_pursuit, "GUESS_ROWS", n_rows)
    guessed = clone(pursuit).fit(X, y)
    monkeypatch.setattr(_matching_pursuit, "MAX_STEPS_GUESSED", 1)
    pursuit.fit(X, y)
    assert guessed.n_multiplications_ != pursuit.n_multiplications_
    assert_array_equal(guessed.support_, pursuit.support_)
    assert_array_equal(guessed.coef_, pursuit.coef_)


def test_sampled_cost_does_not_grow():
    counts = []
    for interval in (2.0, 8.0):
        X, y, _ = make_simple_song(interval=interval, n_notes=24)
        pursuit = BanditMatchingPursuit(
            n_nonzero_coefs=5, coef="sampled", random_state=0
        )
        counts.append(pursuit.fit(X, y).n_multiplications_)
    assert counts[1] < 1.5 * counts[0]


def test_sampled_rows_fewer_than_a_portion():
    # Rows that are more than the sample for coefficients, but too few for two rounds.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((FIRST_ROWS - 1, 10))
    pursuit = BanditMatchingPursuit(
        n_nonzero_coefs=2, coef="sampled", sample_size=64, random_state=0
    )
    pursuit.fit(X, 3 * X[:, 7] + X[:, 2])
    assert_array_equal(pursuit.support_, [7, 2])
    assert_allclose(pursuit.coef_[[7, 2]], [3, 1])


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_sampled_coefficients_fit_the_sample(problem, fit_intercept):
    # They are those of least squares on some rows: within their sampling error.
    X, y = problem
    pursuit = BanditMatchingPursuit(
        n_nonzero_coefs=6, coef="sampled", fit_intercept=fit_intercept, random_state=0
    ).fit(X, y)
    exact = BanditMatchingPursuit(
        n_nonzero_coefs=6, fit_intercept=fit_intercept, random_state=0
    )
    exact.fit(X, y)
    # Two atoms are within one per cent of each other when they are chosen.
    assert_array_equal(np.sort(pursuit.support_), np.sort(exact.support_))
    assert_allclose(pursuit.coef_, exact.coef_, atol=0.05)
    assert_allclose(pursuit.intercept_, exact.intercept_, atol=0.1)


@pytest.mark.parametrize("sample_size", [600, 1_500])
def test_sampled_rows_are_from_everywhere(sample_size):
    # The signal is another one in the second half: so is half of the sample.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40_000, 4))
    y = X[:, 0] * np.repeat([1.0, 3.0], 20_000)
    coefs = [
        BanditMatchingPursuit(
            n_nonzero_coefs=1,
            coef="sampled",
            sample_size=sample_size,
            random_state=seed,
        )
        .fit(X, y)
        .coef_[0]
        for seed in range(20)
    ]
    assert_allclose(np.mean(coefs), 2, atol=0.05)


def test_sampled_tol_estimates_the_residual(problem):
    X, y = problem
    # Noise leaves half of this, and without the weakest of the six atoms it is more.
    tol = 0.5 * len(y)
    pursuit = BanditMatchingPursuit(tol=tol, coef="sampled", random_state=0).fit(X, y)
    assert pursuit.n_iter_ == 6


def test_sampled_multiplications_are_counted(problem):
    # One step: every atom at the first 512 rows (at least), then two products.
    X, y = problem
    pursuit = BanditMatchingPursuit(
        n_nonzero_coefs=1, coef="sampled", random_state=0
    ).fit(X, y)
    n_sampled = pursuit.n_multiplications_ - 2 * 8192
    assert n_sampled >= 60 * 512
    assert n_sampled % 512 == 0


def test_sampled_atoms_that_depend_on_others():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 6))
    X[:, 5] = X[:, 0] + X[:, 1]
    y = 3 * X[:, 0] + 2 * X[:, 1] + X[:, 2]
    with pytest.warns(RuntimeWarning, match="ended early"):
        pursuit = BanditMatchingPursuit(
            n_nonzero_coefs=6, coef="sampled", random_state=0
        ).fit(X, y)
    assert_allclose(pursuit.predict(X[:100]), y[:100], atol=1e-6)
    assert pursuit.n_iter_ == len(pursuit.support_)


def test_random_state_instance(problem):
    X, y = problem
    fits = [
        BanditMatchingPursuit(
            n_nonzero_coefs=6, coef="sampled", random_state=np.random.RandomState(seed)
        ).fit(X, y)
        for seed in (3, 3, 4)
    ]
    assert_array_equal(fits[0].coef_, fits[1].coef_)
    assert (fits[0].coef_ != fits[2].coef_).any()


def test_seeded(problem):
    X, y = problem
    fits = [
        BanditMatchingPursuit(n_nonzero_coefs=6, coef="sampled", random_state=3).fit(
            X, y
        )
        for _ in range(2)
    ]
    assert_array_equal(fits[0].coef_, fits[1].coef_)


def test_nothing_left_to_explain():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 8))
    y = 2 * X[:, 3]
    with pytest.warns(RuntimeWarning, match="ended early"):
        pursuit = BanditMatchingPursuit(n_nonzero_coefs=4, fit_intercept=False).fit(
            X, y
        )
    assert pursuit.support_[0] == 3
    assert_allclose(pursuit.coef_[3], 2)
    assert_allclose(np.delete(pursuit.coef_, 3), 0, atol=1e-12)


@pytest.mark.parametrize("scale", [1e30, 1e-30])
@pytest.mark.parametrize("n_rows", [500, 60_000])
@pytest.mark.parametrize("coef", ["exact", "sampled"])
@pytest.mark.parametrize("orthogonal", [True, False])
def test_huge_and_tiny_norms_in_single_precision(scale, n_rows, coef, orthogonal):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 8)).astype(np.float32)
    y = 3 * X[:, 5] - 2 * X[:, 1]
    pursuit = BanditMatchingPursuit(
        n_nonzero_coefs=2, coef=coef, orthogonal=orthogonal, random_state=0
    ).fit(np.float32(scale) * X, y)
    assert_array_equal(pursuit.support_, [5, 1])
    assert_allclose(pursuit.coef_[[5, 1]] * scale, [3, -2], rtol=0.2)


def test_duplicate_atoms():
    rng = np.random.default_rng(0)
    atom = rng.standard_normal((5000, 1))
    X = np.hstack([atom, atom, rng.standard_normal((5000, 1))])
    with pytest.warns(RuntimeWarning, match="ended early"):
        pursuit = BanditMatchingPursuit(n_nonzero_coefs=3).fit(
            X, X[:, 0] + 0.5 * X[:, 2]
        )
    assert_allclose(pursuit.predict(X), X[:, 0] + 0.5 * X[:, 2], atol=1e-8)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_nonzero_coefs": 9}, "more than the number of atoms"),
        ({"n_nonzero_coefs": 0}, "n_nonzero_coefs"),
        ({"coef": "guessed"}, "coef"),
        ({"delta": 1}, "delta"),
        ({"delta": 0, "coef": "sampled"}, "delta=0"),
        ({"delta": -0.1}, "delta"),
        ({"tol": -1.0}, "tol"),
        ({"sample_size": 63}, "sample_size"),
        ({"orthogonal": "yes"}, "orthogonal"),
        ({"fit_intercept": None}, "fit_intercept"),
        ({"random_state": -1}, "random_state"),
        ({"n_jobs": 1.5}, "n_jobs"),
    ],
)
def test_bad_parameters(parameters, message):
    X = np.random.default_rng(0).standard_normal((50, 8))
    with pytest.raises(ValueError, match=message):
        BanditMatchingPursuit(**parameters).fit(X, X[:, 0])
