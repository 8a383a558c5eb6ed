"""Probabilities of output layers are the classifier's own."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier

from sklearn_bandit.linear_model import MIPSPredictor


@pytest.fixture(scope="module")
def data():
    return make_classification(
        400, 30, n_informative=10, n_classes=6, n_clusters_per_class=1, random_state=0
    )


@pytest.mark.parametrize(
    "classifier",
    [
        LogisticRegression(max_iter=500),
        SGDClassifier(loss="log_loss", random_state=0),
        LinearDiscriminantAnalysis(),
    ],
)
@pytest.mark.parametrize("n_inputs", [1, 50])
def test_equal(data, classifier, n_inputs):
    X, y = data
    predictor = MIPSPredictor(classifier, random_state=0).fit(X, y)
    expected = classifier.fit(X, y).predict_proba(X[:n_inputs])
    assert_array_equal(predictor.predict_proba(X[:n_inputs]), expected)
    assert_array_equal(predictor.predict_log_proba(X[:n_inputs]), np.log(expected))
    found = predictor.predict(X[:n_inputs])
    assert_array_equal(found, classifier.predict(X[:n_inputs]))


def test_sparse(data):
    X, y = data
    predictor = MIPSPredictor(LogisticRegression(max_iter=500)).fit(X, y)
    assert_array_equal(
        predictor.predict_proba(sparse.csr_matrix(X)),
        predictor.estimator_.predict_proba(sparse.csr_matrix(X)),
    )


def test_zeros_have_the_logarithm_minus_infinity(data):
    X, y = data
    predictor = MIPSPredictor(LogisticRegression(max_iter=500)).fit(X, y)
    log_probabilities = predictor.predict_log_proba(X * 1e4)
    assert not np.isnan(log_probabilities).any()
    assert np.isneginf(log_probabilities).any()


def test_only_with_a_classifier_that_has_them(data):
    assert not hasattr(MIPSPredictor(RidgeClassifier()).fit(*data), "predict_proba")
