"""The exact solver grows scikit-learn's trees.

The data have no ties: with targets drawn from a continuous distribution no two splits
are equally good.
"""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import ensemble
from sklearn.datasets import make_classification, make_regression
from sklearn.inspection import partial_dependence
from threadpoolctl import threadpool_limits

from sklearn_bandit._compat import BINS_BY_WEIGHT
from sklearn_bandit.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn_bandit.ensemble._boosting import booster

OURS = {True: HistGradientBoostingClassifier, False: HistGradientBoostingRegressor}
THEIRS = {
    True: ensemble.HistGradientBoostingClassifier,
    False: ensemble.HistGradientBoostingRegressor,
}
N_SAMPLES, N_FEATURES = 2000, 10


@pytest.fixture(autouse=True)
def one_thread():
    """Small fits of many parallel regions crawl where tests share the processors."""
    with threadpool_limits(1, user_api="openmp"):
        yield


@pytest.fixture(scope="module")
def regression():
    X, y = make_regression(
        N_SAMPLES, N_FEATURES, n_informative=6, noise=20.0, random_state=0
    )
    return X, np.exp(y / np.abs(y).max())


@pytest.fixture(scope="module")
def classes():
    return make_classification(
        N_SAMPLES, N_FEATURES, n_informative=6, n_classes=4, random_state=0
    )


def both(is_classifier, *data, **parameters):
    """Fit ours and scikit-learn's."""
    parameters = {"max_iter": 10, "random_state": 0} | parameters
    fit = {"sample_weight": data[2]} if len(data) > 2 else {}
    return (
        OURS[is_classifier](**parameters).fit(*data[:2], **fit),
        THEIRS[is_classifier](**parameters).fit(*data[:2], **fit),
    )


def assert_same_trees(ours, theirs):
    assert len(ours._predictors) == len(theirs._predictors) > 0
    for mine, reference in zip(ours._predictors, theirs._predictors, strict=True):
        for tree, expected in zip(mine, reference, strict=True):
            assert tree.nodes.dtype == expected.nodes.dtype
            assert len(tree.nodes) == len(expected.nodes) > 1
            for field in tree.nodes.dtype.names:
                if field in ("value", "gain"):
                    assert_allclose(
                        tree.nodes[field], expected.nodes[field], rtol=1e-6, atol=1e-9
                    )
                else:
                    assert_array_equal(tree.nodes[field], expected.nodes[field], field)
            assert_array_equal(tree.raw_left_cat_bitsets, expected.raw_left_cat_bitsets)
            assert_array_equal(
                tree.binned_left_cat_bitsets, expected.binned_left_cat_bitsets
            )
    assert_allclose(ours.train_score_, theirs.train_score_)
    assert_allclose(ours.validation_score_, theirs.validation_score_)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "gamma", "poisson", "quantile"]
)
def test_losses_of_regression(regression, loss, weighted):
    quantile = {"quantile": 0.3} if loss == "quantile" else {}
    weights = np.random.RandomState(0).rand(N_SAMPLES) if weighted else None
    assert_same_trees(*both(False, *regression, weights, loss=loss, **quantile))


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_losses_of_classification(classes, n_classes, class_weight):
    X, y = classes
    assert_same_trees(*both(True, X, y % n_classes, class_weight=class_weight))


@pytest.mark.parametrize(
    "parameters",
    [
        {"max_features": 0.4},
        {"l2_regularization": 3.0, "max_depth": 3, "min_samples_leaf": 3},
        {"max_leaf_nodes": None},
        {"max_bins": 20},
        {"learning_rate": 0.5, "max_leaf_nodes": 4},
        {"interaction_cst": [{0, 1, 2}, {2, 3, 4}]},
        {"interaction_cst": "pairwise", "max_features": 0.5},
        {"monotonic_cst": [1, -1] + [0] * (N_FEATURES - 2)},
        {"early_stopping": True},
        {"early_stopping": True, "scoring": "neg_mean_absolute_error"},
        {"early_stopping": True, "scoring": None, "validation_fraction": None},
        {"early_stopping": True, "scoring": lambda m, X, y: -abs(m.predict(X)).sum()},
    ],
    ids=",".join,
)
def test_parameters(regression, parameters):
    assert_same_trees(*both(False, *regression, **parameters))


def test_missing_values_and_categories(regression):
    rng = np.random.RandomState(0)
    X, y = regression
    X, y = X.copy(), y.copy()
    X[:, 1] = rng.randint(30, size=N_SAMPLES)
    X[:, 4] = rng.randint(5, size=N_SAMPLES)
    y += X[:, 1] % 3
    categories = {"categorical_features": [1, 4]}
    ours, theirs = both(False, X, y, **categories)
    assert_same_trees(ours, theirs)
    X[rng.rand(*X.shape) < 0.2] = np.nan
    ours, theirs = both(False, X, y, **categories)
    assert_same_trees(ours, theirs)
    X[0] = np.nan
    X[1, [1, 4]] = 77  # never seen
    assert_allclose(ours.predict(X), theirs.predict(X))
    assert_same_trees(*both(False, X[2:], y[2:]))


def test_categories_of_a_frame(regression):
    pandas = pytest.importorskip("pandas")
    X, y = regression
    frame = pandas.DataFrame(X, columns=[f"x{i}" for i in range(N_FEATURES)])
    names = np.array(["a", "b", "c", "d"])
    codes = np.random.RandomState(0).randint(4, size=N_SAMPLES)
    frame["kind"] = pandas.Categorical(names[codes])
    ours, theirs = both(False, frame, y + codes % 2)
    assert_same_trees(ours, theirs)
    assert ours.feature_importances_.argmax() == N_FEATURES
    assert_array_equal(ours.is_categorical_, theirs.is_categorical_)


def test_sparse_columns(regression):
    """Features with one frequent bin are stored without it."""
    rng = np.random.RandomState(0)
    X, y = regression
    counts = (rng.rand(N_SAMPLES, 40) < 0.1) * rng.randint(1, 9, (N_SAMPLES, 40))
    counts = counts.astype(float)
    counts[rng.rand(N_SAMPLES, 40) < 0.01] = np.nan
    y = y + (counts[:, 0] > 3)
    ours, theirs = both(False, np.c_[X, counts], y)
    assert_same_trees(ours, theirs)
    dense, _ = both(False, np.c_[X, rng.rand(N_SAMPLES, 40)], y)
    assert ours.n_insertions_ < 0.5 * dense.n_insertions_


@pytest.mark.parametrize("dtype", ["u1", "i1", "i2", "u2", "i4", "i8", "f4", ">f8"])
def test_types_are_read_as_they_are(regression, dtype):
    X, y = regression
    X = (X * 30 + 100).clip(0, 127).astype(dtype)
    assert_same_trees(*both(False, X, y, max_iter=3))


def test_large_data_take_quantiles_of_a_sample(classes):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((240_000, 2)).astype(np.float32)
    X[:, 1] = X[:, 1].round(2)
    y = X[:, 0] + X[:, 1] ** 2 + rng.standard_normal(len(X))
    weights = rng.rand(len(X)) if BINS_BY_WEIGHT else None
    for w in (None, weights):
        ours, theirs = both(False, X, y, w, max_iter=2, early_stopping=False)
        for mine, reference in zip(
            ours._bin_mapper.bin_thresholds_,
            theirs._bin_mapper.bin_thresholds_,
            strict=True,
        ):
            assert_array_equal(mine, reference)
        assert_same_trees(ours, theirs)


def test_warm_start(regression):
    ours, theirs = both(
        False, *regression, max_iter=5, warm_start=True, early_stopping=True
    )
    for model in (ours, theirs):
        model.set_params(max_iter=12).fit(*regression)
    assert_same_trees(ours, theirs)
    cold, _ = both(False, *regression, max_iter=12, early_stopping=True)
    assert_same_trees(cold, theirs)
    assert ours.n_insertions_ == cold.n_insertions_
    with pytest.raises(ValueError, match="max_iter=3 must be larger"):
        ours.set_params(max_iter=3).fit(*regression)
    assert ours.n_iter_ == 12


def test_validation_data(regression):
    X, y = regression
    held_out = {"X_val": X[1500:], "y_val": y[1500:]}
    ours = HistGradientBoostingRegressor(random_state=0).fit(
        X[:1500], y[:1500], **held_out
    )
    assert ours.do_early_stopping_
    expected = ((ours.predict(X[1500:]) - y[1500:]) ** 2).mean() / 2
    assert_allclose(-ours.validation_score_[-1], expected)
    for name in held_out:
        with pytest.raises(ValueError, match=f"{name} is provided"):
            ours.fit(X, y, **{name: held_out[name]})
    with pytest.raises(ValueError, match="early_stopping is False"):
        ours.set_params(early_stopping=False).fit(X, y, **held_out)


def test_large_counts_are_summed_in_double_precision():
    """A million equal gradients: sums in single precision would be off by percents."""
    n = 1_000_000
    X = np.repeat(np.arange(4, dtype=np.float32), n // 4)[:, None]
    y = (np.arange(n) % 10 == 0) * 0.1 + X[:, 0].astype(float)
    model = HistGradientBoostingRegressor(
        max_iter=1, learning_rate=1.0, early_stopping=False, solver="exact"
    ).fit(X, y)
    means = y.reshape(4, -1).mean(axis=1)
    # The gradients themselves are single precision.
    assert_allclose(model.predict(np.arange(4.0)[:, None]), means, rtol=1e-5)


@pytest.mark.parametrize("n_threads", [2, 3])
def test_same_model_for_any_number_of_threads(classes, n_threads, monkeypatch):
    X, y = classes
    X = np.repeat(X, 10, axis=0) + np.random.RandomState(0).rand(20_000, N_FEATURES)
    y = np.repeat(y, 10)
    first = HistGradientBoostingClassifier(max_iter=3, random_state=0).fit(X, y)
    module = "sklearn_bandit.ensemble._boosting.fitting.start_threads"
    monkeypatch.setattr(module, lambda n_jobs: n_threads)
    other = HistGradientBoostingClassifier(max_iter=3, random_state=0).fit(X, y)
    assert_array_equal(first.decision_function(X), other.decision_function(X))
    assert first.n_insertions_ == other.n_insertions_


def test_staged_predictions_and_partial_dependence(classes):
    X, y = classes
    ours, theirs = both(True, X, y % 2)
    for mine, reference in zip(
        ours.staged_predict_proba(X), theirs.staged_predict_proba(X), strict=True
    ):
        assert_allclose(mine, reference)
    mine, reference = (
        partial_dependence(model, X, [0], method="recursion")["average"]
        for model in (ours, theirs)
    )
    assert_allclose(mine, reference)


def test_feature_importances(regression):
    X, y = regression
    y = y + 10 * X[:, 3]
    model = HistGradientBoostingRegressor(max_iter=10).fit(X, y)
    assert_allclose(model.feature_importances_.sum(), 1.0)
    assert model.feature_importances_.argmax() == 3


def test_a_failed_fit_changes_nothing(regression):
    X, y = regression
    model = HistGradientBoostingRegressor(max_iter=3).fit(X, y)
    before = model.predict(X)

    def fail(*_):
        raise RuntimeError("no score")

    model.set_params(warm_start=True, max_iter=9, early_stopping=True, scoring=fail)
    with pytest.raises(RuntimeError, match="no score"):
        model.fit(X, y)
    assert model.n_iter_ == 3
    assert_array_equal(model.predict(X), before)


def test_categories_have_no_monotonic_constraint(regression):
    X, y = regression
    X = X.copy()
    X[:, 0] = X[:, 0].round() + 10
    model = HistGradientBoostingRegressor(
        categorical_features=[0], monotonic_cst=[1] + [0] * (N_FEATURES - 1)
    )
    with pytest.raises(ValueError, match="Categorical features cannot have"):
        model.fit(X, y)


@pytest.mark.parametrize("is_classifier", [False, True])
def test_weights_with_a_column_that_says_nothing(regression, is_classifier):
    """All of it is missing, or is where there is weight."""
    X, y = regression
    X, weights = X.copy(), np.ones(N_SAMPLES)
    weights[:100] = 0.0
    X[:, 1] = np.nan
    X[100:, 2] = np.nan
    y = y > np.median(y) if is_classifier else y
    parameters = {"max_iter": 3, "random_state": 0}
    model = OURS[is_classifier](**parameters).fit(X, y, weights)
    # Of columns of zeros nothing can be learned either.
    X[:, [1, 2]] = 0.0
    assert_same_trees(model, OURS[is_classifier](**parameters).fit(X, y, weights))


@pytest.fixture
def equal_thresholds():
    """Where the first feature is 0, the second has no value between 0 and 3."""
    rng = np.random.default_rng(0)
    X = np.column_stack([np.repeat([0.0, 1.0], 300), rng.integers(0, 4, 600)])
    X[:300, 1] = np.resize([0.0, 3.0, np.nan], 300)
    y = 100.0 * X[:, 0] + rng.random(600)
    y[:300] += X[:300, 1] == 3  # missing values go with 0
    return X, y


@pytest.mark.parametrize("first", [False, True])
def test_which_of_equal_thresholds(equal_thresholds, first, monkeypatch):
    monkeypatch.setattr(booster, "FIRST_OF_EQUAL_THRESHOLDS", first)
    X, y = equal_thresholds
    model = HistGradientBoostingRegressor(max_iter=1, max_leaf_nodes=3).fit(X, y)
    root, left, *_ = model._predictors[0][0].nodes
    assert (root["feature_idx"], left["feature_idx"]) == (0, 1)
    assert left["missing_go_to_left"]
    assert left["num_threshold"] == (0.5 if first else 2.5)


def test_equal_thresholds_as_the_installed_version(equal_thresholds):
    X, y = equal_thresholds
    assert_same_trees(*both(False, X, y, max_iter=1, max_leaf_nodes=3))


@pytest.mark.parametrize("scoring", ["neg_median_absolute_error", "r2", "loss"])
def test_early_stopping_by_weighted_scores(regression, scoring):
    weights = np.random.RandomState(0).rand(N_SAMPLES)
    ours, theirs = both(
        False, *regression, weights, early_stopping=True, scoring=scoring
    )
    assert_same_trees(ours, theirs)
    # A copy predicts by its own trees, not by those of the model.
    copied = copy.copy(ours)
    copied._predictors = []
    assert np.ptp(copied.predict(regression[0])) == 0.0


def test_validation_data_are_refused_without_early_stopping(regression):
    X, y = regression
    model = HistGradientBoostingRegressor(early_stopping=False)
    with pytest.raises(ValueError, match="at the same time early_stopping is False"):
        model.fit(X, y, X_val=X, y_val=y)
