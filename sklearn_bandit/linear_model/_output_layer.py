"""A fitted linear classifier as a layer: weights, intercepts, its own probabilities."""

import warnings
from functools import partial

import numpy as np
from scipy import sparse
from scipy.special import softmax
from sklearn.utils.extmath import softmax as row_softmax

from ..neighbors import largest_scores


def read_layer(estimator):
    """Return the weights and intercepts of a classifier, one row a class.

    Parameters
    ----------
    estimator : estimator
        A fitted linear classifier; a ValueError says what else is not one.

    Returns
    -------
    weights : ndarray of shape (n_classes, n_features)
        The weights, dense.
    intercepts : ndarray of shape (n_classes,)
        The intercepts.
    """
    for name in ("coef_", "intercept_", "classes_"):
        if not hasattr(estimator, name):
            raise ValueError(
                f"Expected a linear classifier, with coef_, intercept_ and "
                f"classes_; {type(estimator).__name__} has no {name}."
            )
    weights = estimator.coef_
    if sparse.issparse(weights):
        weights = weights.toarray()
    weights = np.atleast_2d(weights)
    classes = estimator.classes_
    if len(weights) == 1 and len(classes) == 2:
        # One row decides between two classes by its sign.
        weights = np.vstack([np.zeros_like(weights), weights])
    if len(weights) != len(classes):
        raise ValueError(
            f"Expected {len(classes)} rows of weights, one row of weights a class; "
            f"got {len(weights)}."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names of features
        example = estimator.predict(np.zeros((1, weights.shape[1]), weights.dtype))
    if np.ndim(example) != 1:
        raise ValueError(
            "Expected a classifier that predicts one class for each input; this "
            "one predicts several labels."
        )
    intercepts = np.zeros(len(weights), dtype=weights.dtype)
    intercepts[-np.size(estimator.intercept_) :] = estimator.intercept_
    return weights, intercepts


def own_proba(estimator, X):
    """Compute the classifier's own probabilities of validated inputs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names of features
        return estimator.predict_proba(X)


def softmax_proba(estimator, X):
    """Compute the same of a classifier that has a softmax, in the same way.

    Its own methods would check the inputs again, which takes a fifth as long as the
    scores of 10,000 classes for a single input of 512 features.
    """
    return row_softmax(X @ estimator.coef_.T + estimator.intercept_, copy=False)


def largest_proba(estimator, X, k, is_softmax):
    """Return the k largest of the classifier's own probabilities, and their places.

    Parameters
    ----------
    estimator : estimator
        A fitted linear classifier.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Validated inputs.
    k : int
        Number of classes.
    is_softmax : bool
        Whether `has_softmax` holds.

    Returns
    -------
    probabilities : ndarray of shape (n_samples, k)
        The largest, in descending order.
    places : ndarray of intp of shape (n_samples, k)
        The classes they belong to.
    """
    proba = own_proba
    if is_softmax and not sparse.issparse(X):
        proba = softmax_proba
    return largest_scores(partial(proba, estimator), X, len(estimator.classes_), k)


def largest_products(weights, X, k):
    """Return the k largest products of sparse inputs with weights, and their places.

    All are computed: they are few multiplications.
    """
    return largest_scores(lambda some: np.asarray(some @ weights.T), X, len(weights), k)


def has_softmax(estimator, weights):
    """Whether the probabilities of a classifier are the softmax of its scores.

    That is told of three classes or more with dense weights. Scores far below zero, or
    far apart, do not tell a softmax from logistic functions. So one of two inputs gives
    the first classes scores of 1 and 3; the other is zero.
    """
    if len(weights) < 3 or sparse.issparse(estimator.coef_):
        return False
    if not (hasattr(estimator, "predict_proba") and np.ndim(estimator.coef_) == 2):
        return False
    inputs = np.zeros((2, weights.shape[1]), dtype=weights.dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names of features
        wanted = np.array([1.0, 3.0]) - estimator.decision_function(inputs)[0, :2]
        first = weights[:2].astype(np.float64)
        inputs[1] = np.linalg.lstsq(first, wanted, rcond=None)[0]
        scores = estimator.decision_function(inputs)
    expected = own_proba(estimator, inputs)
    return np.allclose(softmax(scores, axis=1), expected, rtol=1e-3, atol=1e-12)
