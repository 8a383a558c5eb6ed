"""Probabilities of the best classes are within bounds, or the classifier's own."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import softmax
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier

from sklearn_bandit.linear_model import MIPSPredictor, _class_sample
from sklearn_bandit.linear_model._class_sample import ClassSample
from sklearn_bandit.linear_model._output_layer import has_softmax

N_CLASSES, N_FEATURES, K = 40_000, 8, 5


def classifier_of(weights, intercepts, kind=LogisticRegression):
    model = kind()
    model.coef_, model.intercept_ = weights, intercepts
    model.classes_ = np.arange(len(weights))
    model.n_features_in_ = weights.shape[1]
    return model


def layer(kind, seed=0):
    """Return a classifier and inputs."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((N_CLASSES, N_FEATURES))
    intercepts = np.zeros(N_CLASSES)
    if kind == "frequencies":
        intercepts = -np.log(1.0 + rng.permutation(N_CLASSES)) - 3.0
    scale = {"frequencies": 0.12, "flat": 0.1, "peaked": 12.0, "wide": 1.2}[kind]
    inputs = scale * rng.standard_normal((12, N_FEATURES))
    return classifier_of(weights, intercepts), inputs


@pytest.fixture
def of_any_size(monkeypatch):
    monkeypatch.setattr(_class_sample, "MIN_WEIGHTS", 1)


def fitted(model, **parameters):
    return MIPSPredictor(model, prefit=True, random_state=0, **parameters).fit()


@pytest.mark.parametrize("kind", ["frequencies", "flat"])
def test_errors_are_within_their_bounds(of_any_size, kind):
    model, inputs = layer(kind)
    predictor = fitted(model)
    for x in inputs:
        classes, probabilities, (error,) = predictor.predict_top_proba(x[None], K)
        expected = model.predict_proba(x[None])[0]
        assert 0.0 < error <= 0.05
        assert_array_equal(classes[0], np.argsort(-expected, kind="stable")[:K])
        ratios = probabilities[0] / expected[classes[0]]
        assert np.abs(ratios - 1.0).max() <= error + 1e-9  # rounding
        # One sum for all of them.
        assert_allclose(ratios, ratios[0], rtol=1e-9)


@pytest.mark.parametrize("kind", ["frequencies", "wide"])
def test_failures_are_at_most_delta(of_any_size, kind):
    delta, n_draws = 0.2, 50
    model, inputs = layer(kind)
    search = fitted(model)
    n_failures = n_answers = 0
    sums = []
    for seed in range(n_draws):
        sample = ClassSample(
            search.search_._index.segments[0].rows,
            search._has_intercepts,
            np.random.default_rng(seed),
        )
        for x in inputs:
            query = search._with_ones(x[None])
            found, probabilities, error = sample.probabilities(
                search.search_, query, K, 0.2, delta
            )
            if found is None:
                continue
            expected = softmax(model.coef_ @ x + model.intercept_)[found]
            ratio = probabilities[0] / expected[0]
            sums.append(1.0 / ratio)
            n_answers += 1
            n_failures += abs(ratio - 1.0) > error
    assert n_answers >= n_draws
    assert n_failures <= delta * n_answers
    # Estimates are of the sum itself: on average they are not off.
    assert abs(np.mean(sums) - 1.0) <= 0.02


def test_rare_classes_that_no_sample_draws(of_any_size):
    # Half of the sum is in 400 classes of tiny intercepts, most of them not among the
    # best that the search returns. All draws agree with each other, and are wrong.
    rng = np.random.default_rng(0)
    weights = 0.01 * rng.standard_normal((N_CLASSES, N_FEATURES))
    intercepts = rng.normal(0.0, 0.1, N_CLASSES)
    hidden = rng.permutation(N_CLASSES)[:400]
    intercepts[hidden] = -30.0
    weights[hidden, 0] = 30.0 + np.log(N_CLASSES / 400)
    model = classifier_of(weights, intercepts)
    predictor = fitted(model)
    x = np.eye(1, N_FEATURES)
    sample = predictor._class_sample
    assert not np.isin(sample.classes, hidden).any()
    found, _, error = sample.probabilities(
        predictor.search_, predictor._with_ones(x), K, 0.05, 0.01
    )
    assert found is None
    assert error > 0.05
    _, probabilities, errors = predictor.predict_top_proba(x, K)
    assert_array_equal(errors, 0.0)
    expected = np.sort(model.predict_proba(x)[0])[::-1][:K]
    assert_allclose(probabilities[0], expected, rtol=1e-12)


def own(model, X, k):
    expected = model.predict_proba(X)
    places = np.argsort(-expected, axis=1, kind="stable")[:, :k]
    return model.classes_[places], np.take_along_axis(expected, places, axis=1)


def assert_own(answer, model, X, k=K):
    classes, probabilities, errors = answer
    expected = own(model, X, k)
    assert_array_equal(classes, expected[0])
    assert_array_equal(probabilities, expected[1])
    assert_array_equal(errors, np.zeros(X.shape[0]))


def test_where_probabilities_are_the_own(of_any_size):
    model, inputs = layer("frequencies")
    predictor = fitted(model)
    assert predictor.predict_top_proba(inputs[:1])[2][0] > 0.0
    assert_own(predictor.predict_top_proba(inputs[:3]), model, inputs[:3])
    assert_own(predictor.predict_top_proba(inputs[:1], tol=0), model, inputs[:1])
    few = sparse.csr_matrix(inputs[:1])
    assert_own(predictor.predict_top_proba(few), model, few)
    for parameters in ({"delta": 0.0}, {"layout": "sample"}):
        other = fitted(model, **parameters)
        assert_own(other.predict_top_proba(inputs[:1]), model, inputs[:1])
    # Scores that vary too much for a sample.
    other, far = layer("peaked")
    assert_own(fitted(other).predict_top_proba(far[:1]), other, far[:1])
    # A tolerance that no sample of this size reaches.
    assert_own(predictor.predict_top_proba(inputs[:1], tol=1e-4), model, inputs[:1])
    # All classes.
    n = N_CLASSES
    assert_own(predictor.predict_top_proba(inputs[:2], n), model, inputs[:2], n)


def test_small_layers_have_no_sample():
    model, inputs = layer("frequencies")
    predictor = fitted(model)
    assert predictor._class_sample is None
    assert_own(predictor.predict_top_proba(inputs[:1]), model, inputs[:1])


def test_a_softmax_is_computed_without_the_classifiers_methods(monkeypatch):
    # These would check the input once more.
    model, inputs = layer("frequencies")
    expected = own(model, inputs, K)
    predictor = fitted(model)
    monkeypatch.setattr(LogisticRegression, "predict_proba", None)
    for X in (inputs[:1], inputs):
        classes, probabilities, errors = predictor.predict_top_proba(X, K)
        assert_array_equal(classes, expected[0][: len(X)])
        assert_allclose(probabilities, expected[1][: len(X)], rtol=1e-12)
        assert_array_equal(errors, 0.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_few_classes(n_classes):
    X, y = make_classification(
        200, 6, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=0
    )
    model = LogisticRegression().fit(X, y)
    predictor = fitted(model)
    assert predictor._has_softmax == (n_classes > 2)
    assert_own(predictor.predict_top_proba(X, n_classes), model, X, n_classes)
    model.sparsify()
    predictor = fitted(model)
    assert not predictor._has_softmax
    assert_own(predictor.predict_top_proba(X, n_classes), model, X, n_classes)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_that_are_not_finite(value, dtype):
    model, inputs = layer("flat")
    predictor = fitted(model)
    X = inputs[:1].astype(dtype)
    X[0, 3] = value
    for method in (predictor.predict_top_proba, predictor.predict):
        with pytest.raises(ValueError, match=r"contains (NaN|infinity)"):
            method(X)


def test_other_arrays_are_converted_and_checked():
    model, inputs = layer("flat")
    predictor = fitted(model)
    expected = predictor.predict_top_proba(inputs, K)
    wide = np.zeros((len(inputs), 2 * N_FEATURES))
    wide[:, ::2] = inputs
    for X in (np.asfortranarray(inputs), wide[:, ::2], inputs.tolist()):
        for found, answer in zip(
            predictor.predict_top_proba(X, K), expected, strict=True
        ):
            assert_allclose(found, answer)
    with pytest.raises(ValueError, match="has 16 features, but"):
        predictor.predict_top_proba(wide, K)
    with pytest.raises(ValueError, match="0 sample"):
        predictor.predict_top_proba(inputs[:0], K)


def test_other_probabilities_than_a_softmax(of_any_size):
    def logistic():
        return SGDClassifier(loss="log_loss")

    model, inputs = layer("frequencies")
    assert has_softmax(model, model.coef_)
    model = classifier_of(model.coef_, model.intercept_, kind=logistic)
    assert not has_softmax(model, model.coef_)
    predictor = fitted(model)
    assert_own(predictor.predict_top_proba(inputs[:1]), model, inputs[:1])


def test_float32_and_pickles(of_any_size):
    model, inputs = layer("frequencies")
    model.coef_ = model.coef_.astype(np.float32)
    model.intercept_ = model.intercept_.astype(np.float32)
    x = inputs[:1].astype(np.float32)
    predictor = fitted(model)
    answer = predictor.predict_top_proba(x)
    again = pickle.loads(pickle.dumps(predictor)).predict_top_proba(x)
    refitted = predictor.fit().predict_top_proba(x)
    for one, two, three in zip(answer, again, refitted, strict=True):
        assert_array_equal(one, two)
        assert_array_equal(one, three)
    expected = model.predict_proba(x)[0, answer[0][0]]
    assert np.abs(answer[1][0] / expected - 1.0).max() <= answer[2][0] <= 0.05


def test_products_that_overflow(of_any_size):
    model, inputs = layer("frequencies")
    predictor = fitted(model)
    x = 1e4 * inputs[:1]
    classes, probabilities, errors = predictor.predict_top_proba(x)
    expected = own(model, x, K)
    assert_array_equal(classes[0, 0], expected[0][0, 0])
    assert np.abs(probabilities[0, 0] / expected[1][0, 0] - 1.0) <= errors[0] + 1e-9


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_scores_far_above_all_that_are_drawn(of_any_size, fit_intercept):
    rng = np.random.default_rng(0)
    weights = 0.01 * rng.standard_normal((N_CLASSES, N_FEATURES))
    intercepts = rng.normal(0.0, 0.1, N_CLASSES) * fit_intercept
    weights[[3, 5], 0] = 2000.0, 2000.5
    intercepts[[3, 5]] = 0.0
    model = classifier_of(weights, intercepts)
    x = np.eye(1, N_FEATURES)
    classes, probabilities, errors = fitted(model).predict_top_proba(x, 2)
    assert_array_equal(classes, [[5, 3]])
    assert_allclose(probabilities[0], softmax([0.5, 0.0]), rtol=1e-9)
    assert errors[0] <= 0.05


def test_bad_arguments():
    model, inputs = layer("flat")
    predictor = fitted(model)
    for tol in (-0.1, 1.0, np.nan, "small", None, True):
        with pytest.raises(ValueError, match="tol must be a number in"):
            predictor.predict_top_proba(inputs, tol=tol)
    for method in (predictor.predict_top_proba, predictor.top_classes):
        with pytest.raises(ValueError, match="more than the 40000 classes"):
            method(inputs, N_CLASSES + 1)
        with pytest.raises(ValueError, match="at least 1"):
            method(inputs, 0)
        with pytest.raises(TypeError, match="must be an integer"):
            method(inputs, 2.0)
    ridge = MIPSPredictor(RidgeClassifier())
    assert not hasattr(ridge, "predict_top_proba")
