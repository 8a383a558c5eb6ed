"""Predictions by search agree with those of the classifier."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, RidgeClassifier

from sklearn_bandit.linear_model import MIPSPredictor


@pytest.fixture(scope="module")
def many_classes():
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((60, 3000)) + rng.standard_normal((60, 1))
    y = rng.integers(60, size=400)
    X = centres[y] + rng.standard_normal((400, 3000))
    return X, np.array([f"class {label:02d}" for label in y])


def test_many_classes_with_intercepts(many_classes):
    X, y = many_classes
    classifier = RidgeClassifier().fit(X, y)
    classifier.intercept_ += 0.05 * np.arange(60)
    predictor = MIPSPredictor(classifier, random_state=0)
    assert_array_equal(predictor.predict(X), classifier.predict(X))
    scores = classifier.decision_function(X[:20])
    best = np.argsort(-scores, axis=1)[:, :4]
    top = predictor.top_classes(X[:20], 4)
    assert_array_equal(top, classifier.classes_[best])


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_two_classes(many_classes, fit_intercept):
    X, _ = many_classes
    y = X[:, :50].sum(axis=1) > 3
    classifier = LogisticRegression(fit_intercept=fit_intercept, max_iter=50).fit(X, y)
    predictor = MIPSPredictor(classifier, delta=0)
    assert_array_equal(predictor.predict(X), classifier.predict(X))


def test_bad_classifiers(many_classes):
    X, y = many_classes
    with pytest.raises(NotFittedError):
        MIPSPredictor(RidgeClassifier())
    classifier = RidgeClassifier().fit(X, y)
    with pytest.raises(ValueError, match="features"):
        MIPSPredictor(classifier).predict(X[:, 1:])
    classifier.coef_ = classifier.coef_[:7]
    with pytest.raises(ValueError, match="one row of weights"):
        MIPSPredictor(classifier)
