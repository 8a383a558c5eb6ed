"""Probabilities of output layers agree with the classifier's, within the tolerance."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn_bandit.neighbors._quantized._exact import (
    available_variants,
    use_variant,
)

from sklearn_bandit.linear_model import MIPSPredictor, _predictor
from sklearn_bandit.linear_model._probabilities import OutputLayer, find_link
from sklearn_bandit.neighbors import BanditNearestNeighbors, rough_scores

N_CLASSES = 5000
K = 5


def layer(spread, seed=0, n_features=48, dtype=np.float64):
    """Return weights of different norms, and inputs."""
    rng = np.random.default_rng(seed)
    weights = rng.standard_normal((N_CLASSES, n_features))
    weights *= rng.gamma(2.0, size=(N_CLASSES, 1))
    inputs = rng.standard_normal((8, n_features))
    weights *= spread / (inputs @ weights.T).std()
    return weights.astype(dtype), inputs.astype(dtype)


def index_of(weights):
    search = BanditNearestNeighbors(1, metric="inner_product", random_state=0)
    return search.fit(weights)._index


@pytest.mark.parametrize("variant", available_variants())
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [3, 48, 300])  # the last may have a head
def test_rough_scores_are_within_their_errors(variant, dtype, n_features):
    weights, inputs = layer(3.0, n_features=n_features, dtype=dtype)
    if n_features == 300:
        # Few directions: a head pays.
        weights = weights @ np.diag(0.97 ** np.arange(300)).astype(dtype)
    weights[11] = 0.0
    index = index_of(np.ascontiguousarray(weights))
    use_variant(variant)
    try:
        for query in (*inputs, inputs[0] * 1e-20, inputs[0] * 1e6, inputs[0] * 0):
            for n_threads in (1, 2):
                scores, errors = rough_scores(index, query, n_threads)
                expected = weights.astype(np.float64) @ query.astype(np.float64)
                assert (np.abs(scores - expected) <= errors).all()
            sizes = np.linalg.norm(weights, axis=1) * np.linalg.norm(query)
            # They say something: a small share of what products could be.
            assert np.median(errors) <= 0.02 * np.median(sizes) + 1e-9
        weights[7] *= 1e6
        index = index_of(np.ascontiguousarray(weights))
        scores, errors = rough_scores(index, inputs[0], 1)
        expected = weights.astype(np.float64) @ inputs[0].astype(np.float64)
        assert (np.abs(scores - expected) <= errors).all()
    finally:
        use_variant()


def test_queries_without_scores():
    index = index_of(layer(1.0)[0])
    for query in (np.full(48, 1e200), np.full(48, np.nan)):
        with pytest.raises(ArithmeticError):
            rough_scores(index, query, 1)
    with pytest.raises(ValueError, match="other features"):
        rough_scores(index, np.ones(47), 1)


@pytest.mark.parametrize("link", ["softmax", "logistic"])
@pytest.mark.parametrize("spread", [0.1, 2.0, 10.0, 100.0])
@pytest.mark.parametrize("tol", [0.001, 0.01, 0.1])
def test_the_bounds_hold(link, spread, tol):
    weights, inputs = layer(spread)
    output = OutputLayer(index_of(weights), -1.0, link)
    n_answers = 0
    for query in inputs:
        scores = weights @ query - 1.0
        terms = softmax(scores) if link == "softmax" else expit(scores)
        expected = terms / terms.sum()
        found, n_exact = output.probabilities(query, K, tol, 1)
        if found is None:
            continue
        n_answers += 1
        assert n_exact <= N_CLASSES // 16
        assert_allclose(found.sum(), 1.0, rtol=1e-6)
        best = np.argsort(-expected)[:K]
        # The rounding of single precision is in the last bits of terms.
        assert np.abs(found[best] / expected[best] - 1.0).max() <= tol + 1e-6
        assert np.abs(found - expected).sum() <= 2 * tol + 1e-6
        if expected[best[0]] > 2 * expected[best[1]]:
            assert found.argmax() == best[0]
    # Errors of flat layers are small, of peaked ones there are few that count.
    assert n_answers == len(inputs) or tol < 0.1 or link == "logistic"


def test_tighter_tolerances_take_more_exact_scores():
    weights, inputs = layer(3.0)
    output = OutputLayer(index_of(weights), 0.0, "softmax")
    n_exact = [output.probabilities(inputs[0], K, tol, 1)[1] for tol in (0.2, 1e-3)]
    assert n_exact[0] < n_exact[1]


def test_weights_that_bytes_cannot_hold():
    weights, inputs = layer(1.0)
    weights[3] *= 1e25
    output = OutputLayer(index_of(weights), 0.0, "softmax")
    assert output.probabilities(inputs[0], K, 0.1, 1)[0] is None
    assert output.probabilities(inputs[0] * 1e200, K, 0.1, 1)[0] is None


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
    predictor = MIPSPredictor(classifier).fit(X, y)
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
@pytest.mark.parametrize("has_intercepts", [True, False])
def test_through_the_estimator(few, link, has_intercepts, monkeypatch):
    weights, inputs = layer(2.0)
    kind = LogisticRegression() if link == "softmax" else SGDClassifier(loss="log_loss")
    classifier = clone(kind).fit(*few)
    rng = np.random.default_rng(0)
    classifier.coef_ = weights
    classifier.intercept_ = rng.normal(-2.0, 1.0, N_CLASSES) * has_intercepts
    classifier.classes_ = np.arange(N_CLASSES)
    classifier.n_features_in_ = weights.shape[1]
    monkeypatch.setattr(_predictor, "MIN_ROUGH_WEIGHTS", 1)
    predictor = MIPSPredictor(classifier, prefit=True, proba_tol=0.05).fit()
    assert predictor._output_layer.link == link
    inputs, expected = inputs[:8], classifier.predict_proba(inputs[:8])
    one_by_one = np.vstack([predictor.predict_proba(x[None]) for x in inputs])
    assert (one_by_one != expected).any()
    best = predictor.top_classes(inputs)
    ratios = np.take_along_axis(one_by_one / expected, best, axis=1)
    assert np.abs(ratios - 1.0).max() <= 0.05
    if link == "softmax":  # logistic functions of large scores are all one
        assert_array_equal(one_by_one.argmax(axis=1), predictor.predict(inputs))
    # Those of several together are the classifier's own.
    assert_array_equal(predictor.predict_proba(inputs), expected)
    assert_allclose(
        predictor.predict_log_proba(inputs[:1]), np.log(one_by_one[:1]), rtol=1e-12
    )
    again = pickle.loads(pickle.dumps(predictor))
    assert_array_equal(again.predict_proba(inputs[:1]), one_by_one[:1])
    predictor.set_params(proba_tol=0.0)
    own = classifier.predict_proba(inputs[:1])
    assert_array_equal(predictor.predict_proba(inputs[:1]), own)
