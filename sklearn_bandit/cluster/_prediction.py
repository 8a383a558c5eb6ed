"""Prediction of k-medoids: distances to the medoids, and the nearest one."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from .._compat import _check_sample_weight, check_is_fitted
from ._distances import call_metric, distances_between
from ._samples import check_samples


class MedoidPrediction(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """What a fitted :class:`BanditKMedoids` does with new samples."""

    def transform(self, X: Any) -> np.ndarray:
        """Compute the distance of each sample to each medoid.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or sequence
            New samples. If `metric` is "precomputed", their distances to all the
            samples of `fit`.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            The distances.
        """
        check_is_fitted(self)
        return self._to_medoids(check_samples(self, X, reset=False))

    def predict(self, X: Any) -> np.ndarray:
        """Return the nearest medoid of each sample.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or sequence
            New samples; see `transform`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Number of the cluster.
        """
        distances = without_nan(self.transform(X))
        return distances.argmin(axis=1).astype(np.intc)

    def score(
        self, X: Any, y: None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the negative sum of the distances to the nearest medoid.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features) or sequence
            New samples; see `transform`.
        y : Ignored
            Present for API consistency.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each sample counts.

        Returns
        -------
        score : float
            Greater is better.
        """
        nearest = without_nan(self.transform(X)).min(axis=1)
        if sample_weight is not None:
            nearest = nearest * _check_sample_weight(sample_weight, nearest)
        return -float(nearest.sum(dtype=np.float64))

    def _to_medoids(self, X):
        if callable(self.metric):
            centers = self.cluster_centers_
            return call_metric(
                self.metric, X, centers, self._params, self.metric_batched
            )
        if self.metric == "precomputed":
            return np.ascontiguousarray(X[:, self.medoid_indices_])
        return distances_between(
            X, self.cluster_centers_, self.metric, self._params, self.n_jobs
        )

    @property
    def _n_features_out(self):
        return self.n_clusters_


def without_nan(distances):
    """Return distances that can be compared."""
    if np.isnan(distances).any():
        raise ValueError("The distances contain NaN.")
    return distances
