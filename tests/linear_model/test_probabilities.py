"""Probabilities of output layers agree with the classifier's, within the tolerance."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier

from sklearn_bandit.linear_model import MIPSPredictor, _predictor
from sklearn_bandit.linear_model._probabilities import OutputLayer, find_link

N_CLASSES = 600
DELTA = 0.01
TOL = 0.05


def layer(spread, seed=0, n_features=64, rank=8):
    """Return weights of low rank plus noise, intercepts, and inputs."""
    rng = np.random.default_rng(seed)
    factors = rng.standard_normal((rank, n_features))
    weights = rng.standard_normal((N_CLASSES, rank)) @ factors
    weights += 0.5 * rng.standard_normal(weights.shape)
    inputs = rng.standard_normal((100, rank)) @ factors
    inputs += 0.5 * rng.standard_normal(inputs.shape)
    weights *= spread / (inputs @ weights.T).std()
    return weights, rng.standard_normal(N_CLASSES), inputs


def ask(output, weights, intercepts, inputs, k=5):
    scores = inputs @ weights.T + intercepts
    found = np.argsort(-scores, axis=1)[:, :k]
    best = np.take_along_axis(scores, found, axis=1)
    return found, *output.probabilities(inputs, found, best, DELTA, TOL)


@pytest.mark.parametrize("spread", [0.1, 1.0, 3.0, 30.0])
def test_errors_are_within_the_tolerance_as_often_as_promised(spread):
    n_wrong = n_sampled = 0
    for seed in range(5):
        weights, intercepts, inputs = layer(spread, seed)
        output = OutputLayer(weights, intercepts, "softmax", seed)
        found, probabilities, n_computed = ask(output, weights, intercepts, inputs)
        expected = softmax(inputs @ weights.T + intercepts, axis=1)
        ratios = np.take_along_axis(probabilities / expected, found, axis=1)
        # What is computed in full is off by rounding.
        n_wrong += (np.abs(ratios - 1) > TOL + 1e-9).any(axis=1).sum()
        n_sampled += (n_computed < N_CLASSES).sum()
        assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-6)
        others = probabilities.copy()
        np.put_along_axis(others, found, 0, axis=1)
        last = np.take_along_axis(probabilities, found[:, -1:], axis=1)
        assert (others <= last * (1 + 1e-6)).all()
    assert n_sampled > 0  # of 500
    # Three standard deviations above the promised rate.
    assert n_wrong <= 500 * DELTA + 3 * np.sqrt(500 * DELTA)


def test_a_flat_spectrum_is_computed_in_full():
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((N_CLASSES, 400))
    inputs = rng.standard_normal((10, 400))
    intercepts = np.zeros(N_CLASSES)
    output = OutputLayer(weights, intercepts, "softmax", 0)
    found, probabilities, n_computed = ask(output, weights, intercepts, inputs, k=2)
    expected = softmax(inputs @ weights.T, axis=1)
    in_full = n_computed == N_CLASSES
    assert in_full.any()
    assert_allclose(probabilities[in_full], expected[in_full], atol=1e-12)
    ratios = np.take_along_axis(probabilities / expected, found, axis=1)
    assert np.abs(ratios - 1).max() < TOL


@pytest.fixture(scope="module")
def few():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(8), 20)
    return rng.standard_normal((8, 30))[y] + rng.standard_normal((160, 30)), y


@pytest.mark.parametrize(
    ("classifier", "link"),
    [
        (LogisticRegression(), "softmax"),
        (LinearDiscriminantAnalysis(), "softmax"),
        (SGDClassifier(loss="log_loss", random_state=0), "logistic"),
        (SGDClassifier(loss="modified_huber", random_state=0), None),
    ],
)
def test_links_and_exact_probabilities(few, classifier, link):
    X, y = few
    predictor = MIPSPredictor(classifier, delta=0).fit(X, y)
    fitted = predictor.estimator_
    assert find_link(fitted, fitted.coef_) == link
    expected = fitted.predict_proba(X)
    assert_array_equal(predictor.predict_proba(X), expected)
    with np.errstate(divide="ignore"):
        assert_array_equal(predictor.predict_log_proba(X), np.log(expected))


def test_classifiers_without_probabilities(few):
    X, y = few
    for classifier in (RidgeClassifier(), SGDClassifier(loss="hinge")):
        assert not hasattr(MIPSPredictor(classifier).fit(X, y), "predict_proba")
        assert not hasattr(MIPSPredictor(classifier), "predict_log_proba")


@pytest.mark.parametrize("link", ["softmax", "logistic"])
def test_sampled_through_the_estimator(few, link, monkeypatch):
    weights, intercepts, inputs = layer(2.0)
    kind = LogisticRegression() if link == "softmax" else SGDClassifier(loss="log_loss")
    classifier = clone(kind).fit(*few)
    classifier.coef_, classifier.intercept_ = weights, intercepts
    classifier.classes_ = np.arange(N_CLASSES)
    classifier.n_features_in_ = weights.shape[1]
    monkeypatch.setattr(_predictor, "is_worth_sampling", lambda weights: True)
    predictor = MIPSPredictor(classifier, prefit=True, random_state=0).fit()
    assert predictor._output_layer.link == link
    one_by_one = np.vstack([predictor.predict_proba(x[None]) for x in inputs[:8]])
    expected = classifier.predict_proba(inputs)
    best = expected[:8].argmax(axis=1)
    rows = np.arange(8)
    assert np.abs(one_by_one[rows, best] / expected[rows, best] - 1).max() < TOL
    assert (one_by_one != expected[:8]).any()
    assert_allclose(one_by_one, predictor.predict_proba(inputs[:8]), rtol=1e-9)
    assert_array_equal(one_by_one.argmax(axis=1), predictor.predict(inputs[:8]))
    # Many inputs are computed in full.
    assert_array_equal(predictor.predict_proba(inputs), expected)
