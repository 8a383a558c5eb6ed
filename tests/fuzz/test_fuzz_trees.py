"""Trees of any parameters on any data."""

from itertools import pairwise

import numpy as np
from fuzz_checks import (
    NotApplicable,
    accepted,
    build,
    fitted,
    require_answers,
    require_equal_fits,
    weight_of_nodes,
)
from fuzz_profile import fuzzed
from fuzz_strategies import PLAIN, TREES, learning_cases
from sklearn.base import is_classifier

from sklearn_bandit._compat import MONOTONE_TAKES_MISSING

MISSING = ("none", "none", "some", "column", "all")
SMALL = {"most_rows": 700, "most_features": 64}
ANY_WEIGHTS = ("none", "counts", "some zero", "real")


def dense(X):
    return X.toarray() if hasattr(X, "toarray") else np.asarray(X)


def require_paths(tree, X, weights):
    """The rows that reach a node are those that it was grown on."""
    weights = np.ones(len(tree.apply(X))) if weights is None else weights
    counts = weight_of_nodes(tree, X, weights > 0)
    np.testing.assert_array_equal(counts, tree.tree_.n_node_samples)
    total = weight_of_nodes(tree, X, weights)
    np.testing.assert_allclose(total, tree.tree_.weighted_n_node_samples, rtol=1e-6)


@fuzzed(
    learning_cases(TREES, missing=MISSING, infinite=True, most_outputs=3), n_short=60
)
def test_an_answer_or_a_clear_error(case):
    tree, X, y, weights = accepted(fitted, case)
    predicted = accepted(require_answers, tree, X)
    assert np.isfinite(tree.tree_.impurity).all()
    assert np.isfinite(tree.tree_.value).all()
    if not is_classifier(tree):
        used = y if weights is None else y[weights > 0]
        # Products of weights and targets may vanish.
        room = 1e-6 * np.abs(used).max() + 1e-290
        assert (predicted >= used.min(axis=0) - room).all()
        assert (predicted <= used.max(axis=0) + room).all()


@fuzzed(
    learning_cases(
        TREES,
        missing=MISSING,
        weights=ANY_WEIGHTS,
        target_values=("normal", "few"),
        fixed={"ccp_alpha": 0.0, "class_weight": None},
    ),
    n_short=40,
)
def test_rows_take_the_path_that_they_were_grown_on(case):
    tree, X, _, weights = accepted(fitted, case)
    require_paths(tree, X, weights)


def build_monotone(case):
    """Return what `build` does, of two classes at most, and constraints at random."""
    model, X, y, weights = build(case)
    if is_classifier(model):
        y = (np.unique(y, return_inverse=True)[1] > 0).astype(int)
        if len(np.unique(y)) < 2:
            raise NotApplicable
    signs = np.random.default_rng(case["X"]["seed"]).integers(-1, 2, X.shape[1])
    model.set_params(monotonic_cst=signs)
    return model, X, y, weights, signs


def check_monotone(model, X, signs, levels=7):
    """Predictions along one feature go the way that is asked for."""
    base = X[: min(len(X), 40)].copy()
    for feature in np.flatnonzero(signs):
        column = X[:, feature]
        column = column[np.isfinite(column)]
        if not len(column):
            continue
        answers = []
        for level in np.quantile(column, np.linspace(0, 1, levels)):
            base[:, feature] = level
            if is_classifier(model):
                answers.append(model.predict_proba(base)[:, 1])
            else:
                answers.append(model.predict(base))
        for low, high in pairwise(answers):
            room = 1e-7 * (1 + np.abs(high))
            assert (signs[feature] * (high - low) >= -room).all()


@fuzzed(
    learning_cases(
        TREES,
        missing=("none", "none", "some"),
        weights=ANY_WEIGHTS,
        target_values=("normal", "few"),
        fixed={"ccp_alpha": 0.0, "class_weight": None},
        **PLAIN,
        **SMALL,
    ),
    n_short=40,
)
def test_monotone_where_asked(case):
    tree, X, y, weights, signs = build_monotone(case)
    try:
        tree.fit(X, y, weights)
    except ValueError as error:
        # Which data and parameters go with constraints is scikit-learn's choice.
        known = ["onotonic", "oisson", "mab-thesis"]
        known += [] if MONOTONE_TAKES_MISSING else ["missing values"]
        assert any(word in str(error) for word in known)  # noqa: PT017
        return
    check_monotone(tree, X, signs)


@fuzzed(
    learning_cases(
        TREES[:2],
        missing=("none", "some"),
        weights=("some zero", "counts"),
        target_values=("normal", "few"),
        fixed={
            "max_features": None,
            "splitter": "best",
            "solver": "exact",
            "class_weight": None,
            "min_samples_split": 2,
            "min_samples_leaf": 1,
        },
        **PLAIN,
        **SMALL,
    ),
    n_short=40,
)
def test_a_row_of_no_weight_is_not_there(case):
    tree, X, y, weights = build(case)
    used = weights > 0
    if is_classifier(tree) and set(y) != set(y[used]):
        return  # classes are counted in all rows, as by scikit-learn
    tree, X, y, weights = accepted(fitted, case)
    other = build(case)[0].fit(X[used], y[used], weights[used])
    np.testing.assert_array_equal(other.tree_.feature, tree.tree_.feature)
    np.testing.assert_array_equal(other.tree_.threshold, tree.tree_.threshold)
    np.testing.assert_allclose(other.tree_.value, tree.tree_.value, rtol=1e-9)


@fuzzed(learning_cases(TREES, missing=MISSING, weights=ANY_WEIGHTS, most_outputs=2))
def test_equal_fits_have_equal_pickles(case):
    require_equal_fits(fitted, case)


@fuzzed(
    learning_cases(
        TREES,
        missing=("none", "some"),
        weights=ANY_WEIGHTS,
        target_values=("normal", "few"),
        most_rows=700,
        dtypes=("float32",),
    )
)
def test_layout_and_precision_do_not_matter(case):
    """Layouts of one matrix, and float64 of float32 values, give the same tree."""
    tree, X, y, weights = accepted(fitted, case)
    X = dense(X)
    other = build(case)[0].fit(np.ascontiguousarray(X, dtype=float), y, weights)
    np.testing.assert_array_equal(other.tree_.feature, tree.tree_.feature)
    np.testing.assert_array_equal(other.tree_.threshold, tree.tree_.threshold)
