"""Prediction of forests: by packed trees if they pay, else tree by tree.

Either way gives what scikit-learn's forests predict, to the last bit, whatever the
number of threads: predictions are summed in the order of the trees.
"""

from numbers import Real

import numpy as np
from joblib import effective_n_jobs
from sklearn import config_context
from sklearn.base import is_classifier

from sklearn_bandit._compat import (
    Interval,
    check_is_fitted,
    is_plain_tree,
    validate_X_predict,
)
from sklearn_bandit._core.thread_start import keep_threads
from sklearn_bandit._core.threads import limit_threads
from sklearn_bandit._core.typing import MatrixLike
from sklearn_bandit.tree._prediction import (
    CannotPackError,
    PackedForms,
    PackedTrees,
    average,
    vote,
)

# Fewer rows than this have no thread of their own. A hundred trees of full depth take
# three milliseconds for them (covertype), far more than to wake a thread; not tuned.
MIN_ROWS_PER_THREAD = 1000

# To pack a node takes 30 ns, and saves 150 ns for each row and tree (a hundred trees of
# full depth on the Beijing air data; benchmark predict.forest).
NODES_PER_ROW = 5

# Fewer values are checked before prediction: numpy takes 10 microseconds for this
# number, and to have it leave them alone takes 5.
MIN_VALUES_UNCHECKED = 1 << 16

VOTING_CONSTRAINTS = {"predict_delta": [Interval(Real, 0.0, 1.0, closed="left")]}

packed_forests = PackedForms()


class ForestPrediction:
    """What the forests share: packed trees, and means over the trees."""

    def _packed(self, n_rows, is_needed=False):
        """Return the packed trees; None if they do not pay yet, or cannot be packed."""
        estimators = self.estimators_
        trees = [estimator.tree_ for estimator in estimators]

        def pays():
            n_nodes = sum(tree.node_count for tree in trees)
            return is_needed or NODES_PER_ROW * n_rows * len(trees) >= n_nodes

        def make(trees):
            is_class = is_classifier(self)
            if not all(is_plain_tree(each, is_class) for each in estimators):
                raise CannotPackError("trees that predict in a way of their own")
            return PackedTrees(trees, self.n_features_in_, is_class)

        return packed_forests.find(self, trees, pays, make)

    def _drop_packed(self):
        """Forget the packed trees."""
        packed_forests.forget(self)

    def _n_threads(self, n_rows):
        """Return the number of threads for `n_rows` rows."""
        most = n_rows // MIN_ROWS_PER_THREAD
        if most <= 1:
            return 1
        return keep_threads(limit_threads(min(most, effective_n_jobs(self.n_jobs))))

    def _validate_samples(self, X):
        """Return the samples as the trees take them, and how to check their values.

        Many values are read by kernels anyway, in several threads. They are not checked
        here, but by calling what is returned: it raises what scikit-learn would have.
        """
        check_is_fitted(self)
        if not isinstance(X, np.ndarray) or X.size < MIN_VALUES_UNCHECKED:
            return validate_X_predict(self, X), lambda: None
        with config_context(assume_finite=True):
            checked = validate_X_predict(self, X)
        return checked, lambda: validate_X_predict(self, X)

    def _average(self, X, method):
        """Average a method of the trees; shape (n_samples, n_outputs, n_values)."""
        X, check = self._validate_samples(X)
        packed = self._packed(X.shape[0])
        if packed is None:
            check()
            return average_trees(self.estimators_, X, method)
        means = average(packed, X, self._n_threads(X.shape[0]), check)
        if self.n_outputs_ == 1:
            return means if method == "predict_proba" else means[:, 0]
        if method == "predict":
            return means
        means = means.reshape(len(means), self.n_outputs_, -1)
        return [
            np.ascontiguousarray(means[:, k, :n]) for k, n in enumerate(self.n_classes_)
        ]


class ForestClassifierMixin:
    """Prediction of classes."""

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict classes: those with the largest mean probability over the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The classes. With `predict_delta` above 0 and one output they are found by
            as many trees as it takes.
        """
        if not self.predict_delta:
            return super().predict(X)
        found = self._vote(X)
        return super().predict(X) if found is None else self.classes_.take(found[0])

    def count_trees(self, X: MatrixLike) -> np.ndarray:
        """Count the trees that `predict` asks for each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of int of shape (n_samples,)
            The numbers; all trees if `predict_delta` is 0 or there are several outputs.
        """
        found = self._vote(X)
        if found is None:
            n_samples = validate_X_predict(self, X).shape[0]
            return np.full(n_samples, len(self.estimators_), dtype=np.int32)
        return found[1]

    def _vote(self, X):
        """Find classes by some of the trees; None if all have to be asked."""
        check_is_fitted(self)
        if not self.predict_delta or self.n_outputs_ > 1 or len(self.classes_) < 2:
            return None
        X, check = self._validate_samples(X)
        # What is asked must not depend on earlier calls.
        packed = self._packed(X.shape[0], is_needed=True)
        if packed is None:
            return None
        return vote(packed, X, self.predict_delta, self._n_threads(X.shape[0]), check)

    def predict_proba(self, X: MatrixLike) -> np.ndarray | list[np.ndarray]:
        """Predict class probabilities: the mean over the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or list of them
            The probabilities; with several outputs, those of each.
        """
        return self._average(X, "predict_proba")


class ForestRegressorMixin:
    """Prediction of real values."""

    def predict(self, X: MatrixLike) -> np.ndarray:
        """Predict real values: the mean over the trees.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predictions.
        """
        return self._average(X, "predict")


def average_trees(estimators, X, method):
    """Average the predictions of trees, one after the other.

    Parameters
    ----------
    estimators : list of estimators
        The trees.
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The samples, as float32.
    method : str
        Name of the method that predicts.

    Returns
    -------
    ndarray or list of ndarray
        The mean of what the method returns.
    """
    total = None
    for estimator in estimators:
        part = getattr(estimator, method)(X, check_input=False)
        outputs = part if isinstance(part, list) else [part]
        if total is None:
            total = [np.zeros(output.shape) for output in outputs]
        for output, more in zip(total, outputs, strict=True):
            output += more
    for output in total:
        output /= len(estimators)
    return total if isinstance(part, list) else total[0]
