"""Gradient boosting of any parameters on any data."""

import numpy as np
from fuzz_checks import (
    accepted,
    attempt,
    build,
    fitted,
    require_answers,
    require_equal_fits,
    require_finite,
)
from fuzz_profile import fuzzed
from fuzz_strategies import BOOSTERS, DENSE, PLAIN, learning_cases
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import (
    BaseHistGradientBoosting,
)
from test_fuzz_trees import ANY_WEIGHTS, MISSING, build_monotone, check_monotone
from threadpoolctl import threadpool_limits

FEW = {"max_iter": 3}
SMALL = {"most_rows": 700, "most_features": 33}
TAME = {"learning_rate": 0.1, "l2_regularization": 0.0}


@fuzzed(
    learning_cases(
        BOOSTERS,
        missing=MISSING,
        infinite=True,
        fixed=FEW,
        layouts=DENSE,
        most_rows=4097,
        most_features=257,
    ),
    n_short=60,
)
def test_an_answer_or_a_clear_error(case):
    model, X, _, _ = accepted(fitted, case)
    accepted(require_answers, model, X)
    require_finite("train_score_", model.train_score_)


@fuzzed(
    learning_cases(
        BOOSTERS,
        missing=("none", "some"),
        weights=ANY_WEIGHTS,
        target_values=("normal", "few"),
        fixed={"max_iter": 5, "class_weight": None} | TAME,
        **PLAIN,
        **SMALL,
    ),
    n_short=20,
)
def test_monotone_where_asked(case):
    model, X, y, weights, signs = build_monotone(case)
    accepted(attempt, model.fit, X, y, weights)
    check_monotone(model, X, signs)


@fuzzed(
    learning_cases(
        BOOSTERS,
        weights=("some zero",),
        target_values=("normal",),
        fixed={
            "max_iter": 3,
            "early_stopping": False,
            "solver": "exact",
            "min_samples_leaf": 1,
            "class_weight": None,
            "max_features": 1.0,
        }
        | TAME,
        **PLAIN | {"values": ("few", "bytes")},
        **SMALL,
    )
)
def test_a_row_of_no_weight_is_not_there(case):
    """Rows without weight that bring no value of their own change nothing."""
    model, X, y, weights = build(case)
    used = np.flatnonzero(weights > 0)
    X = np.vstack([X[used], X[used]])
    y = np.concatenate([y[used], y[used][::-1]])
    weights = np.repeat([1.0, 0.0], len(used))
    try:
        model.fit(X, y, weights)
    except (TypeError, ValueError):  # a quantile loss without a quantile, say
        return
    half = slice(0, len(used))
    other = build(case)[0].fit(X[half], y[half], weights[half])
    first, second = (each._raw_predict(X[half]) for each in (model, other))
    np.testing.assert_allclose(
        np.mean(first), np.mean(second), rtol=1e-4, atol=1e-4 * np.abs(first).max()
    )


@fuzzed(
    learning_cases(
        BOOSTERS,
        missing=MISSING,
        weights=ANY_WEIGHTS,
        fixed=FEW,
        layouts=DENSE,
        **SMALL,
    )
)
def test_equal_fits_have_equal_pickles(case):
    require_equal_fits(fitted, case)


@fuzzed(
    learning_cases(
        BOOSTERS,
        missing=("none", "some"),
        weights=ANY_WEIGHTS,
        fixed=FEW,
        target_values=("normal", "few"),
        layouts=DENSE,
        most_rows=16_001,
        most_features=64,
    )
)
def test_any_number_of_threads_gives_the_same_model(case):
    with threadpool_limits(1, "openmp"):
        first, X, _, _ = accepted(fitted, case)
    for n_threads in (2, 3):
        with threadpool_limits(n_threads, "openmp"):
            other = fitted(case)[0]
        np.testing.assert_array_equal(first.predict(X), other.predict(X))


@fuzzed(
    learning_cases(
        BOOSTERS,
        missing=("none", "some"),
        weights=ANY_WEIGHTS,
        fixed=FEW,
        target_values=("normal", "few"),
        layouts=DENSE,
        **SMALL,
    ),
    n_short=25,
)
def test_packed_trees_predict_as_the_trees_themselves(case):
    model, X, _, _ = accepted(fitted, case)
    # The second call packs the trees, if the first did not.
    answers = [accepted(attempt, model._raw_predict, X) for _ in range(2)]
    expected = np.zeros_like(answers[0]) + model._baseline_prediction
    rows = np.asarray(model._preprocess_X(X, reset=False))
    expected = np.asfortranarray(expected)
    BaseHistGradientBoosting._predict_iterations(
        model, rows, model._predictors, expected, False, 1
    )
    for found in answers:
        np.testing.assert_array_equal(found, expected)
