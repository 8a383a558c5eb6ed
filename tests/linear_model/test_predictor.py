"""Predictions by search agree with those of the classifier, as an estimator does."""

import pickle

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from sklearn_bandit.linear_model import MIPSPredictor


@pytest.fixture(scope="module")
def many_classes():
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((60, 3000)) + rng.standard_normal((60, 1))
    y = rng.integers(60, size=400)
    X = centres[y] + rng.standard_normal((400, 3000))
    return X, np.array([f"class {label:02d}" for label in y])


@pytest.fixture(scope="module")
def few_classes():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(8), 20)
    return rng.standard_normal((8, 30))[y] + rng.standard_normal((160, 30)), y


@pytest.mark.parametrize("layout", ["auto", "bytes", "sample", "zero-copy"])
def test_many_classes_with_intercepts(many_classes, layout):
    X, y = many_classes
    classifier = RidgeClassifier().fit(X, y)
    classifier.intercept_ += 0.05 * np.arange(60)
    predictor = MIPSPredictor(
        classifier, prefit=True, layout=layout, random_state=0
    ).fit()
    assert predictor.estimator_ is classifier
    assert_array_equal(predictor.predict(X), classifier.predict(X))
    scores = classifier.decision_function(X[:20])
    best = np.argsort(-scores, axis=1)[:, :4]
    top = predictor.top_classes(X[:20], 4)
    assert_array_equal(top, classifier.classes_[best])
    assert predictor.top_classes(X[:20]).shape == (20, 5)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_two_classes(many_classes, fit_intercept):
    X, _ = many_classes
    y = X[:, :50].sum(axis=1) > 3
    classifier = LogisticRegression(fit_intercept=fit_intercept, max_iter=50)
    predictor = MIPSPredictor(classifier, delta=0).fit(X, y)
    classifier.fit(X, y)
    assert_array_equal(predictor.predict(X), classifier.predict(X))
    scores = predictor.decision_function(X)
    assert scores.shape == (len(X),)
    assert_allclose(scores, classifier.decision_function(X), atol=1e-9)


def test_scores_of_the_classes_looked_at(few_classes):
    X, y = few_classes
    predictor = MIPSPredictor(RidgeClassifier(), n_neighbors=3, delta=0).fit(X, y)
    expected = predictor.estimator_.decision_function(X)
    scores = predictor.decision_function(X)
    is_known = np.isfinite(scores)
    assert (is_known.sum(axis=1) == 3).all()
    assert_allclose(scores[is_known], expected[is_known], atol=1e-12)
    assert (scores[~is_known] == -np.inf).all()
    worst_known = np.where(is_known, expected, np.inf).min(axis=1)
    best_unknown = np.where(is_known, -np.inf, expected).max(axis=1)
    assert (worst_known >= best_unknown).all()
    every = MIPSPredictor(RidgeClassifier(), n_neighbors=99).fit(X, y)
    assert_allclose(every.decision_function(X), expected, atol=1e-12)


@pytest.mark.parametrize(
    "classifier",
    [
        RidgeClassifier(),
        LogisticRegression(),
        SGDClassifier(random_state=0),
        LinearSVC(),
        LinearDiscriminantAnalysis(),
    ],
    ids=lambda classifier: type(classifier).__name__,
)
def test_every_linear_classifier(few_classes, classifier):
    X, y = few_classes
    predictor = MIPSPredictor(classifier, delta=0).fit(X, y)
    assert not hasattr(classifier, "coef_")
    assert_array_equal(predictor.predict(X), predictor.estimator_.predict(X))
    assert predictor.score(X, y) == predictor.estimator_.score(X, y)


def test_fitted_classifiers_are_taken(few_classes):
    X, y = few_classes
    classifier = RidgeClassifier().fit(X, y)
    frozen = MIPSPredictor(FrozenEstimator(classifier), delta=0).fit(X[:3], y[:3])
    prefit = MIPSPredictor(classifier, prefit=True, delta=0).fit()
    for predictor in (frozen, prefit, clone(frozen).fit(X, y)):
        assert_array_equal(predictor.classes_, classifier.classes_)
        assert_array_equal(predictor.predict(X), classifier.predict(X))


def test_pipeline_search_clone_and_pickle(few_classes):
    X, y = few_classes
    predictor = MIPSPredictor(RidgeClassifier(), random_state=0)
    pipeline = make_pipeline(StandardScaler(), predictor)
    grid = {
        "mipspredictor__estimator__alpha": [1e-3, 1e6],
        "mipspredictor__delta": [0, 0.01],
    }
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    assert search.predict(X).shape == y.shape
    assert cross_val_score(clone(predictor), X, y, cv=3).min() > 0.8
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert_array_equal(again.predict(X), search.predict(X))


def test_sparse_input_and_weights(few_classes):
    X, y = few_classes
    X = np.where(np.abs(X) > 1, X, 0)
    predictor = MIPSPredictor(LogisticRegression(), delta=0).fit(sparse.csr_array(X), y)
    predictor.estimator_.sparsify()
    expected = predictor.estimator_.predict(X)
    assert_array_equal(predictor.predict(sparse.csr_matrix(X)), expected)
    again = MIPSPredictor(predictor.estimator_, prefit=True, delta=0).fit()
    assert_array_equal(again.predict(X), expected)


def test_sample_weights_and_routing(few_classes):
    X, y = few_classes
    weights = np.where(y < 4, 1.0, 0.0)
    weights[::20] = 1e-6
    expected = RidgeClassifier().fit(X, y, weights).coef_
    found = MIPSPredictor(RidgeClassifier()).fit(X, y, weights)
    assert_allclose(found.estimator_.coef_, expected)
    with sklearn.config_context(enable_metadata_routing=True):
        asks = RidgeClassifier().set_fit_request(sample_weight=True)
        found = MIPSPredictor(asks).fit(X, y, sample_weight=weights)
        assert_allclose(found.estimator_.coef_, expected)


def test_a_failed_fit_changes_nothing(few_classes):
    X, y = few_classes
    predictor = MIPSPredictor(RidgeClassifier()).fit(X, y)
    expected = predictor.predict(X)
    before = dict(vars(predictor))
    predictor.set_params(estimator=SVC(kernel="linear"))
    with pytest.raises(ValueError, match="one row of weights"):
        predictor.fit(X[:, :7], y)
    after = dict(vars(predictor))
    assert after.pop("estimator") is not before.pop("estimator")
    assert after == before
    assert_array_equal(predictor.predict(X), expected)


def test_bad_classifiers(few_classes):
    X, y = few_classes
    with pytest.raises(NotFittedError):
        MIPSPredictor(RidgeClassifier(), prefit=True).fit(X, y)
    with pytest.raises(ValueError, match="needs an estimator"):
        MIPSPredictor(prefit=True).fit(X, y)
    with pytest.raises(NotFittedError):
        MIPSPredictor(RidgeClassifier()).predict(X)
    with pytest.raises(ValueError, match="fit needs X and y"):
        MIPSPredictor(RidgeClassifier()).fit()
    with pytest.raises(ValueError, match="GaussianNB has no coef_"):
        MIPSPredictor(GaussianNB()).fit(X, y)
    with pytest.raises(ValueError, match="predicts several labels"):
        MIPSPredictor(RidgeClassifier()).fit(X, np.eye(8, dtype=int)[y])
    predictor = MIPSPredictor(RidgeClassifier()).fit(X, y)
    with pytest.raises(ValueError, match="features"):
        predictor.predict(X[:, 1:])
    with pytest.raises(ValueError, match="k=9 is more"):
        predictor.top_classes(X, 9)
    classifier = RidgeClassifier().fit(X, y)
    classifier.coef_ = classifier.coef_[:7]
    with pytest.raises(ValueError, match="one row of weights"):
        MIPSPredictor(classifier, prefit=True).fit()
