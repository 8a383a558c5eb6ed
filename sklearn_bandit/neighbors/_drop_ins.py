"""scikit-learn's estimators by neighbours, with the search of this package.

Where scikit-learn would compute all distances (more than 15 features, or
``algorithm="brute"``) and the metric is euclidean, manhattan or cosine, neighbours come
from an `Index`. All else is scikit-learn's own.
"""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn import neighbors
from sklearn.utils import check_random_state

from .._compat import brute_force_rows, search_elsewhere, validate_data
from .._core.documentation import DocumentationLinkMixin
from .._core.thread_start import start_threads
from .._core.typing import MatrixLike
from .._core.unchanged import unchanged_on_failure
from ._calls import check_n_neighbors
from ._nearest_neighbors import FLOATS, exact_dtype, find_nearest
from ._quantized.index import Index

# Names of scikit-learn's metrics, and ours.
METRICS = {
    "euclidean": "euclidean",
    "l2": "euclidean",
    "manhattan": "manhattan",
    "cityblock": "manhattan",
    "l1": "manhattan",
    "cosine": "cosine",
}


class IndexedNeighbors(DocumentationLinkMixin):
    """Neighbours from an index where there would be brute force."""

    def fit(self, X: MatrixLike, y: ArrayLike | None = None) -> Self:
        """Fit the estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. Sparse data and (n_samples, n_samples) matrices of
            ``metric="precomputed"`` are left to scikit-learn.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets, of classifiers and regressors.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        with unchanged_on_failure(self):
            self._index = None
            super().fit(X, y)
            rows = brute_force_rows(self)
            metric = self.effective_metric_
            if (
                rows is not None
                and isinstance(metric, str)
                and metric in METRICS
                and not sparse.issparse(rows)
                and not self.effective_metric_params_
            ):
                if rows.dtype not in FLOATS:
                    dtype = exact_dtype(rows)
                    rows = rows.astype(dtype if dtype is np.float32 else np.float64)
                rows = np.ascontiguousarray(rows)
                settings = {"metric": METRICS[metric], "delta": 0.0}
                # Which rows are sampled changes no answer.
                rng = check_random_state(0)
                self._index = Index.of(rows, settings, rng, start_threads(self.n_jobs))
                search_elsewhere(self)
        return self

    def kneighbors(
        self,
        X: MatrixLike | None = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Find the nearest rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_queries, n_features), default=None
            The queries. None takes the rows themselves, each without itself.
        n_neighbors : int, default=None
            Number of neighbours; None takes that of the constructor.
        return_distance : bool, default=True
            Whether to return the distances, too.

        Returns
        -------
        neigh_dist : ndarray of shape (n_queries, n_neighbors)
            Distances in ascending order. Only if `return_distance`.
        neigh_ind : ndarray of shape (n_queries, n_neighbors)
            Indices of the rows; ties in ascending order.
        """
        index = getattr(self, "_index", None)
        if index is None:
            return super().kneighbors(X, n_neighbors, return_distance)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        k = check_n_neighbors(k, index.n_rows - (X is None))
        if X is not None:
            X = validate_data(
                self,
                X,
                accept_sparse="csr",
                dtype=exact_dtype(X),
                order="C",
                reset=False,
            )
            if sparse.issparse(X):
                X = X.toarray()
        distances, indices = find_nearest(index, X, k, self.n_jobs)
        return (distances, indices) if return_distance else indices

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # What scikit-learn before 1.7 takes, too, and does not say.
        tags.input_tags.sparse = True
        return tags


class KNeighborsClassifier(IndexedNeighbors, neighbors.KNeighborsClassifier):
    """Classifier by a vote of the nearest neighbours, which are found through bytes.

    :class:`sklearn.neighbors.KNeighborsClassifier` with the search of
    :class:`BanditNearestNeighbors` where that would compute all distances: with more
    than 15 features or ``algorithm="brute"``, dense data and a euclidean, manhattan or
    cosine metric. The neighbours are the same.

    Read more in the :ref:`user guide <neighbors>`.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours that vote.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        How a vote counts: as any other, by the inverse of the distance, or by a
        function of the distances.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        As in scikit-learn. Trees are scikit-learn's; "brute" is replaced.
    leaf_size : int, default=30
        Of trees.
    p : float, default=2
        Power of the Minkowski metric.
    metric : str or callable, default="minkowski"
        As in scikit-learn.
    metric_params : dict, default=None
        Further arguments of the metric; with any, the search is scikit-learn's.
    n_jobs : int, default=None
        Number of threads; None means all.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    effective_metric_ : str or callable
        The metric, simplified.
    effective_metric_params_ : dict
        Its further arguments.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during fit, if they were all strings.
    n_samples_fit_ : int
        Number of rows.
    outputs_2d_ : bool
        Whether y has several outputs.

    See Also
    --------
    BanditNearestNeighbors : The search alone.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_bandit.neighbors import KNeighborsClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = KNeighborsClassifier().fit(X[:1000], y[:1000])
    >>> bool(model.score(X[1000:], y[1000:]) > 0.95)
    True
    """


class KNeighborsRegressor(IndexedNeighbors, neighbors.KNeighborsRegressor):
    """Regression by a mean of the nearest neighbours, which are found through bytes.

    :class:`sklearn.neighbors.KNeighborsRegressor` with the search of
    :class:`BanditNearestNeighbors` where that would compute all distances: with more
    than 15 features or ``algorithm="brute"``, dense data and a euclidean, manhattan or
    cosine metric. The neighbours are the same.

    Read more in the :ref:`user guide <neighbors>`.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours whose targets are averaged.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        How a target counts: as any other, by the inverse of the distance, or by a
        function of the distances.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        As in scikit-learn. Trees are scikit-learn's; "brute" is replaced.
    leaf_size : int, default=30
        Of trees.
    p : float, default=2
        Power of the Minkowski metric.
    metric : str or callable, default="minkowski"
        As in scikit-learn.
    metric_params : dict, default=None
        Further arguments of the metric; with any, the search is scikit-learn's.
    n_jobs : int, default=None
        Number of threads; None means all.

    Attributes
    ----------
    effective_metric_ : str or callable
        The metric, simplified.
    effective_metric_params_ : dict
        Its further arguments.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during fit, if they were all strings.
    n_samples_fit_ : int
        Number of rows.

    See Also
    --------
    BanditNearestNeighbors : The search alone.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_bandit.neighbors import KNeighborsRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> KNeighborsRegressor(algorithm="brute").fit(X, y).predict(X[:2]).shape
    (2,)
    """


class KNeighborsTransformer(IndexedNeighbors, neighbors.KNeighborsTransformer):
    """Graph of the nearest neighbours, which are found through bytes.

    :class:`sklearn.neighbors.KNeighborsTransformer` with the search of
    :class:`BanditNearestNeighbors` where that would compute all distances. The graph is
    what estimators with ``metric="precomputed"`` take: DBSCAN, TSNE, Isomap, UMAP.

    Read more in the :ref:`user guide <neighbors>`.

    Parameters
    ----------
    mode : {"distance", "connectivity"}, default="distance"
        Whether the entries of the graph are distances or ones.
    n_neighbors : int, default=5
        Number of neighbours of each row. With "distance" there is one more, the row
        itself.
    algorithm : {"auto", "ball_tree", "kd_tree", "brute"}, default="auto"
        As in scikit-learn. Trees are scikit-learn's; "brute" is replaced.
    leaf_size : int, default=30
        Of trees.
    metric : str or callable, default="minkowski"
        As in scikit-learn.
    p : float, default=2
        Power of the Minkowski metric.
    metric_params : dict, default=None
        Further arguments of the metric; with any, the search is scikit-learn's.
    n_jobs : int, default=None
        Number of threads; None means all.

    Attributes
    ----------
    effective_metric_ : str or callable
        The metric, simplified.
    effective_metric_params_ : dict
        Its further arguments.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during fit, if they were all strings.
    n_samples_fit_ : int
        Number of rows.

    See Also
    --------
    BanditNearestNeighbors : The search alone.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn_bandit.neighbors import KNeighborsTransformer
    >>> X, _ = load_digits(return_X_y=True)
    >>> KNeighborsTransformer(n_neighbors=10).fit_transform(X).shape
    (1797, 1797)
    """
