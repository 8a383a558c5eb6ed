"""Forests that judge each training sample by the trees that have not drawn it."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils import check_array, check_consistent_length

from .._compat import check_is_fitted, n_samples_fitted
from ._sample_scores import SampleScores


def check_training_set(forest, X, y):
    """Return the training samples of a forest as its trees take them.

    Raises ValueError where there are no out-of-bag samples, or X is not of the shape
    that the forest was fitted on.
    """
    is_bagging = hasattr(forest, "estimators_features_")
    if is_bagging or not hasattr(type(forest), "estimators_samples_"):
        raise ValueError(
            "Out-of-bag samples are known of random forests, extra-trees and random "
            f"patches, got {type(forest).__name__}."
        )
    check_is_fitted(forest, "estimators_")
    if not getattr(forest, "bootstrap", False):
        raise ValueError(
            "Out-of-bag samples exist only in forests fitted with bootstrap=True."
        )
    encoder = getattr(forest, "category_encoder_", None)
    if encoder is not None:
        X = encoder.transform(X)
    X = check_array(X, dtype=np.float32, order="C", ensure_all_finite="allow-nan")
    check_consistent_length(X, y)
    if X.shape[1] != forest.n_features_in_:
        raise ValueError(
            f"X has {X.shape[1]} features, but the forest was fitted on "
            f"{forest.n_features_in_}."
        )
    n_samples = _count_training_samples(forest)
    if len(X) != n_samples:
        raise ValueError(
            f"X has {len(X)} samples, but the forest was fitted on {n_samples}: pass "
            "the data that it was fitted on, in the same order."
        )
    return X


def _count_training_samples(forest):
    """Return how many samples a forest was given; one on a patch draws from a part."""
    return getattr(forest, "_n_samples_in", None) or n_samples_fitted(forest)


def out_of_bag_estimator(forest):
    """Return a forest of out-of-bag trees, and the samples that have any.

    Returns
    -------
    estimator : OutOfBagClassifier or OutOfBagRegressor
        Predicts these samples, in their order.
    samples : ndarray of shape (n_judged,)
        Positions in the training set.
    """
    n_samples = _count_training_samples(forest)
    is_out = np.ones((len(forest.estimators_), n_samples), dtype=bool)
    for line, drawn in zip(is_out, forest.estimators_samples_, strict=True):
        line[drawn] = False
    samples = np.flatnonzero(is_out.any(axis=0))
    if not len(samples):
        raise ValueError("No sample is out of bag: the forest has too few trees.")
    is_out = is_out[:, samples]
    if not is_classifier(forest):
        return OutOfBagRegressor(forest, is_out), samples
    if forest.n_outputs_ > 1:
        raise ValueError("Classifiers of several outputs have no out-of-bag score.")
    return OutOfBagClassifier(forest, is_out), samples


class OutOfBagForest(BaseEstimator):
    """Averages of the trees that have not drawn a sample.

    Parameters
    ----------
    forest : fitted forest
        The trees.
    is_out : ndarray of bool of shape (n_trees, n_samples)
        Whether a tree has not drawn a sample. Each sample is left out by one at least.
    """

    def __init__(self, forest, is_out):
        self.forest = forest
        self.is_out = is_out

    def __sklearn_is_fitted__(self):
        """Return True: the forest is."""
        return True

    def fit(self, X, y):
        """Return the estimator as it is; scorers ask for a method of this name."""
        return self

    def of(self, samples):
        """Return the estimator of other rows, each of which is one of the samples."""
        return type(self)(self.forest, self.is_out[:, samples])

    def _average(self, X, method):
        X = np.ascontiguousarray(X, dtype=np.float32)
        total = None
        for tree, is_out in zip(self.forest.estimators_, self.is_out, strict=True):
            found = getattr(tree, method)(X[is_out], check_input=False)
            if total is None:
                total = np.zeros((len(X), *found.shape[1:]))
            total[is_out] += found
        n_trees = np.count_nonzero(self.is_out, axis=0)
        return (total.T / n_trees).T


class OutOfBagClassifier(ClassifierMixin, OutOfBagForest):
    """Averages of the probabilities of trees."""

    @property
    def classes_(self):
        """Those of the forest."""
        return self.forest.classes_

    def predict_proba(self, X):
        """Predict the probabilities of the classes."""
        return self._average(X, "predict_proba")

    def predict(self, X):
        """Predict the class."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class OutOfBagRegressor(RegressorMixin, OutOfBagForest):
    """Averages of the predictions of trees."""

    def predict(self, X):
        """Predict the target."""
        return self._average(X, "predict")


class OutOfBagScores(SampleScores):
    """Scores of single rows, each by the trees that have not drawn it."""

    def _judge(self, rows):
        return self.estimator.of(rows)
