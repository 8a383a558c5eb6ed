"""Forests of any parameters on any data."""

import numpy as np
from fuzz_checks import (
    accepted,
    fitted,
    require_answers,
    require_equal_fits,
    weight_of_nodes,
)
from fuzz_profile import fuzzed
from fuzz_strategies import FORESTS, PLAIN, learning_cases
from sklearn.base import is_classifier
from test_fuzz_trees import ANY_WEIGHTS, MISSING, build_monotone, check_monotone

from sklearn_bandit._compat import validate_X_predict
from sklearn_bandit.ensemble._forest_prediction import average_trees

FEW_TREES = {"n_estimators": 3}
SMALL = {"most_rows": 513, "most_features": 33}


@fuzzed(
    learning_cases(
        FORESTS,
        missing=MISSING,
        infinite=True,
        most_outputs=3,
        fixed=FEW_TREES,
        most_rows=3001,
        most_features=257,
    ),
    n_short=60,
)
def test_an_answer_or_a_clear_error(case):
    forest, X, _, _ = accepted(fitted, case)
    accepted(require_answers, forest, X)
    assert np.isfinite(forest.feature_importances_).all()


@fuzzed(
    learning_cases(
        FORESTS,
        missing=MISSING,
        infinite=True,
        most_outputs=3,
        fixed=FEW_TREES | {"categorical_features": [0]},
        most_rows=1251,
        most_features=33,
    ),
    n_short=30,
)
def test_categories_give_an_answer_or_a_clear_error(case):
    forest, X, _, _ = accepted(fitted, case)
    accepted(require_answers, forest, X)
    codes = forest.category_encoder_.codes_[0]
    assert not np.isinf(codes).any()


@fuzzed(
    learning_cases(
        FORESTS,
        missing=("none", "some"),
        weights=("none",),
        target_values=("normal", "few"),
        fixed=FEW_TREES | {"ccp_alpha": 0.0, "class_weight": None},
        **SMALL,
    ),
    n_short=25,
)
def test_rows_take_the_path_that_they_were_grown_on(case):
    forest, X, _, _ = accepted(fitted, case)
    if "Patches" in case["estimator"]:
        return  # rows of the forest are those of the patch
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float32)
    samples = forest.estimators_samples_ if forest.bootstrap else None
    for i, tree in enumerate(forest.estimators_):
        rows = np.arange(len(X)) if samples is None else np.unique(samples[i])
        counts = weight_of_nodes(tree, X[rows], np.ones(len(rows)))
        np.testing.assert_array_equal(counts, tree.tree_.n_node_samples)


@fuzzed(
    learning_cases(
        FORESTS,
        missing=("none",),
        weights=("none", "beyond uint16", "counts"),
        fixed=FEW_TREES | {"bootstrap": False, "class_weight": None, "ccp_alpha": 0.0},
        target_values=("normal", "few"),
        **PLAIN,
        **SMALL,
    ),
    n_short=20,
)
def test_root_weights_are_those_of_the_rows(case):
    forest, X, _, weights = accepted(fitted, case)
    if "Patches" in case["estimator"]:
        return
    total = len(X) if weights is None else weights.sum()
    for tree in forest.estimators_:
        np.testing.assert_allclose(tree.tree_.weighted_n_node_samples[0], total)


@fuzzed(
    learning_cases(
        FORESTS,
        missing=("none", "some"),
        weights=ANY_WEIGHTS,
        target_values=("normal", "few"),
        fixed=FEW_TREES | {"ccp_alpha": 0.0, "class_weight": None},
        **PLAIN,
        **SMALL,
    ),
    n_short=25,
)
def test_monotone_where_asked(case):
    forest, X, y, weights, signs = build_monotone(case)
    try:
        forest.fit(X, y, weights)
        if is_classifier(forest) and len(forest.classes_) != 2:
            return
    except ValueError:
        # That data and parameters are refused clearly is another test's subject.
        return
    check_monotone(forest, X, signs)


@fuzzed(
    learning_cases(
        FORESTS,
        missing=("none", "some"),
        weights=ANY_WEIGHTS,
        fixed=FEW_TREES,
        most_rows=1251,
        most_features=64,
    )
)
def test_equal_fits_have_equal_pickles(case):
    require_equal_fits(fitted, case)


@fuzzed(
    learning_cases(
        FORESTS,
        missing=("none", "some"),
        weights=ANY_WEIGHTS,
        fixed={"n_estimators": 4},
        target_values=("normal", "few"),
        most_rows=4097,
        most_features=64,
    )
)
def test_any_number_of_jobs_grows_the_same_forest(case):
    first, X, _, _ = accepted(fitted, case, n_jobs=1)
    for n_jobs in (2, 3):
        other = fitted(case, n_jobs=n_jobs)[0]
        for tree, same in zip(first.estimators_, other.estimators_, strict=True):
            np.testing.assert_array_equal(tree.tree_.feature, same.tree_.feature)
            np.testing.assert_array_equal(tree.tree_.threshold, same.tree_.threshold)
            np.testing.assert_array_equal(tree.tree_.value, same.tree_.value)
        np.testing.assert_array_equal(first.predict(X), other.predict(X))


@fuzzed(
    learning_cases(
        FORESTS,
        missing=("none", "some"),
        weights=ANY_WEIGHTS,
        most_outputs=3,
        fixed={"n_estimators": 5},
        most_rows=1251,
        most_features=64,
    ),
    n_short=25,
)
def test_packed_trees_predict_as_the_trees_themselves(case):
    forest, X, _, _ = accepted(fitted, case)
    method = "predict_proba" if is_classifier(forest) else "predict"
    # The second call packs the trees, if the first did not.
    answers = [getattr(forest, method)(X) for _ in range(2)]
    rows = validate_X_predict(forest, X)
    expected = average_trees(forest.estimators_, rows, method)
    for found in answers:
        for one, other in zip(as_list(found), as_list(expected), strict=True):
            np.testing.assert_array_equal(one, other)


def as_list(value):
    return value if isinstance(value, list) else [value]
