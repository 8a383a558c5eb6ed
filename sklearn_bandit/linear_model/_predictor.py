"""Output layers as maximum inner product search (thesis, chapter 5)."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._compat import check_is_fitted, validate_data
from ..neighbors import BanditMIPS


class MIPSPredictor:
    """Predict with a fitted linear classifier without computing all its scores.

    The class that a linear classifier predicts is the one whose weights have the
    largest inner product with the input, intercepts included: a maximum inner product
    search. It pays for many classes and wide inputs (thousands of each).

    Parameters
    ----------
    classifier : estimator
        A fitted linear classifier with ``coef_``, ``intercept_`` and ``classes_``, one
        row of weights a class: LogisticRegression, RidgeClassifier, SGDClassifier,
        LinearSVC.
    **parameters
        Parameters of :class:`sklearn_bandit.neighbors.BanditMIPS`, for example `delta`:
        the probability that a prediction is not the classifier's own.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classifier's classes.
    search_ : BanditMIPS
        The search over the weights; ``search_.n_multiplications_`` tells the cost of
        the last call.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn_bandit.linear_model import MIPSPredictor
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(20, size=300)
    >>> X = rng.standard_normal((20, 5000))[y] + rng.standard_normal((300, 5000))
    >>> classifier = RidgeClassifier().fit(X, y)
    >>> predictor = MIPSPredictor(classifier, random_state=0)
    >>> bool((predictor.predict(X[:50]) == classifier.predict(X[:50])).all())
    True
    """

    def __init__(self, classifier: Any, **parameters: Any) -> None:
        check_is_fitted(classifier)
        weights = np.atleast_2d(classifier.coef_)
        self.classifier = classifier
        self.classes_ = classifier.classes_
        if len(weights) == 1 and len(self.classes_) == 2:
            # One row decides between two classes by its sign.
            weights = np.vstack([np.zeros_like(weights), weights])
        if len(weights) != len(self.classes_):
            raise ValueError(
                f"Expected {len(self.classes_)} rows of weights, one row of weights a "
                f"class; got {len(weights)}."
            )
        intercepts = np.zeros(len(weights), dtype=weights.dtype)
        intercepts[-np.size(classifier.intercept_) :] = classifier.intercept_
        # The intercept is the weight of an input that is always one.
        self.search_ = BanditMIPS(n_neighbors=1, **parameters)
        self.search_.fit(np.column_stack([weights, intercepts]))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the class of each row of X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The inputs.

        Returns
        -------
        ndarray of shape (n_samples,)
            The classes.
        """
        return self.top_classes(X, 1)[:, 0]

    def top_classes(self, X: ArrayLike, k: int) -> np.ndarray:
        """Find the k classes with the largest scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The inputs.
        k : int
            Number of classes.

        Returns
        -------
        ndarray of shape (n_samples, k)
            The classes of each row, best first.
        """
        dtype = self.search_._index.dtype
        X = validate_data(self.classifier, X, dtype=dtype, order="C", reset=False)
        queries = np.column_stack([X, np.ones(len(X), dtype=dtype)])
        indices = self.search_.kneighbors(queries, k, return_distance=False)
        return self.classes_[indices]
