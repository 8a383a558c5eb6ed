"""BanditMatchingPursuit of any parameters on any atoms and signals."""

import numpy as np
from fuzz_checks import accepted, attempt, require_equal_fits, require_finite
from fuzz_data import lay_out, make_matrix
from fuzz_profile import fuzzed
from fuzz_strategies import PLAIN_VALUES, pursuit_cases

from sklearn_bandit.linear_model import BanditMatchingPursuit

# Parameters at which the fit is that of the textbook: residuals can be recomputed.
EXACT = {"coef": "exact", "delta": 0.0, "tol": None}


def build(case):
    model = BanditMatchingPursuit(**{"random_state": 0} | case["params"])
    X = make_matrix(case["X"])
    rng = np.random.default_rng(case["X"]["seed"])
    n_targets = max(case["n_targets"], 1)
    coef = rng.standard_normal((X.shape[1], n_targets))
    coef[3:] = 0.0
    with np.errstate(all="ignore"):
        size = max(np.nanmax(np.abs(X)), 1e-300)
        y = np.nan_to_num(X / size, posinf=1, neginf=-1) @ coef
        y += case["noise"] * rng.standard_normal(y.shape)
        y *= case["scale"]
    return model, X, y[:, 0] if case["n_targets"] == 0 else y


def fitted(case, **changes):
    model, X, y = build(case)
    model.set_params(**changes)
    attempt(model.fit, lay_out(X, case["X"]["dtype"], case["X"]["layout"]), y)
    return model, X, y


@fuzzed(pursuit_cases(infinite=True, missing=("none",) * 9 + ("some",)), n_short=60)
def test_an_answer_or_a_clear_error(case):
    model, X, _ = accepted(fitted, case)
    predicted = accepted(attempt, model.predict, X)
    require_finite("coef_", model.coef_)
    require_finite("intercept_", model.intercept_)
    require_finite("predict", predicted)


@fuzzed(
    pursuit_cases(
        fixed=EXACT,
        values=PLAIN_VALUES,
        layouts=("C", "F"),
        scales=(1.0, 1e-10, 1e10),
        dtypes=("float64",),
    ),
    n_short=40,
)
def test_support_and_residuals_are_those_of_the_coefficients(case):
    model, X, y = accepted(fitted, case)
    Y = y.reshape(len(y), -1)
    coefs = np.atleast_2d(model.coef_)
    supports = [model.support_] if y.ndim == 1 else model.support_
    predicted = model.predict(X).reshape(Y.shape)
    intercept = np.broadcast_to(model.intercept_, len(supports))
    for i, support in enumerate(supports):
        assert set(np.flatnonzero(coefs[i])) <= set(support.tolist())
        np.testing.assert_allclose(
            predicted[:, i],
            X @ coefs[i] + intercept[i],
            atol=1e-9 * max(1e-300, np.abs(Y).max()),
        )
        # As the model does: numpy adds up a strided array in another order.
        mean = np.ascontiguousarray(Y[:, i]).mean()
        base = Y[:, i] - mean * model.fit_intercept
        residual = Y[:, i] - predicted[:, i]
        assert np.linalg.norm(residual) <= np.linalg.norm(base) * (1 + 1e-6) + 1e-300
        if model.orthogonal and len(support):
            atoms = X[:, support] - X[:, support].mean(axis=0) * model.fit_intercept
            room = 1e-5 * np.linalg.norm(atoms, axis=0) * np.linalg.norm(Y[:, i])
            assert (np.abs(atoms.T @ residual) <= room + 1e-300).all()


@fuzzed(pursuit_cases(values=PLAIN_VALUES, scales=(1.0,)))
def test_equal_fits_have_equal_pickles(case):
    require_equal_fits(fitted, case)


@fuzzed(pursuit_cases(values=PLAIN_VALUES, scales=(1.0,)))
def test_any_number_of_jobs_chooses_the_same_atoms(case):
    first = accepted(fitted, case, n_jobs=1)[0]
    for n_jobs in (2, 3):
        other = fitted(case, n_jobs=n_jobs)[0]
        np.testing.assert_array_equal(first.coef_, other.coef_)
