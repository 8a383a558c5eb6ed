"""The estimator of exact neighbours: validation, parameters, and forms of answers."""

from numbers import Integral, Real
from typing import Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, check_random_state

from .._compat import Interval, StrOptions, _fit_context, check_is_fitted, validate_data
from .._core.documentation import DocumentationLinkMixin
from .._core.thread_start import keep_threads, start_threads
from .._core.typing import MatrixLike
from .._core.unchanged import unchanged_on_failure
from .._core.validation import is_plain_matrix
from ._calls import check_ids, check_mode, check_n_neighbors, neighbors_graph
from ._quantized.index import Index

# Types whose values single precision holds exactly.
SMALL_TYPES = {np.dtype(t) for t in ("i1", "u1", "i2", "u2", "f2", "?")}
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def exact_dtype(X):
    """Return the types that X may be converted to without a change of value."""
    dtype = getattr(X, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype in SMALL_TYPES:
        return np.float32
    return [np.float64, np.float32]


def find_nearest(index, X, k, n_jobs):
    """Return keys and ids; X is an array of floats in C order, or None."""
    n_threads = 1 if X is not None and len(X) == 1 else keep_threads(n_jobs)
    try:
        return index.nearest(X, k, n_threads)
    except ArithmeticError as error:
        raise _too_large(X) from error


def _too_large(X):
    """Return the error for queries that cannot be searched for, or raise a better."""
    assert_all_finite(X, input_name="X")
    return ValueError(
        "X contains values whose squares double precision cannot hold: divide queries "
        "and fitted rows by their maximum."
    )


class BanditNearestNeighbors(DocumentationLinkMixin, BaseEstimator):
    """Exact nearest neighbours, without computing most distances.

    Every row is an arm. A copy of the rows in bytes gives bounds of all distances that
    hold with certainty; the few rows that may be neighbours by these bounds are
    computed in full. Where the variance of the rows is in few directions, bounds come
    from these first. Answers are those of a brute-force search in double precision.

    Read more in the :ref:`user guide <neighbors>`.

    Parameters
    ----------
    n_neighbors : int, default=5
        Number of neighbours that :meth:`kneighbors` returns.
    radius : float, default=1.0
        Distance up to which :meth:`radius_neighbors` returns rows. Under
        "inner_product" it is the smallest inner product.
    metric : {"euclidean", "cosine", "manhattan", "inner_product"}, default="euclidean"
        What is compared. Under "cosine" a zero vector has distance 1 from everything.
        Under "inner_product" the largest products come first, and products take the
        place of distances.
    delta : float, default=0.0
        Share of neighbours that may be missed, under "euclidean" and "cosine" with at
        least 256 features; other searches are always exact. With 0 the answer is exact.
        Otherwise rows are dropped by the share of a distance that a few directions hold
        among neighbours of fitted rows. It is a target for queries that are distributed
        like the fitted rows, and void for others.
    n_jobs : int, default=None
        Number of threads for fitting and for several queries; None means all. A single
        query uses one.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample that the layout is estimated from. With ``delta=0`` it
        changes how long a search takes, not what it finds.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features seen during fit, if they were all strings.
    n_samples_fit_ : int
        Number of rows at present.

    See Also
    --------
    sklearn.neighbors.NearestNeighbors : More metrics, and trees for few features.
    sklearn_bandit.neighbors.BanditMIPS : Inner products in thousands of dimensions.
    sklearn_bandit.neighbors.KNeighborsClassifier : Classification by neighbours.
    sklearn_bandit.neighbors.KNeighborsTransformer : The graph, in a pipeline.

    Notes
    -----
    Distances are computed in double precision from the rows and queries as they were
    given, in one order of summation. Equal distances are ordered by id. Answers are the
    same, to the last bit, for any number of threads or queries at a time; with `delta`
    above 0, which of the rows are missed, if any, can depend on these.

    Several threads may query one fitted estimator. A query that is under way while
    :meth:`fit`, :meth:`partial_fit` or :meth:`remove` runs is answered from the rows
    before it. Of these three only one may run at a time: use a lock.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_bandit.neighbors import BanditNearestNeighbors
    >>> X = np.random.default_rng(0).standard_normal((1000, 64))
    >>> search = BanditNearestNeighbors(n_neighbors=2).fit(X)
    >>> distances, ids = search.kneighbors(X[:1] + 0.01)
    >>> int(ids[0, 0])
    0
    >>> search.remove([0]).kneighbors(X[:1] + 0.01)[1].tolist() == [
    ...     [int(ids[0, 1]), int(search.kneighbors(X[:1] + 0.01)[1][0, 1])]
    ... ]
    True
    """

    _parameter_constraints = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "radius": [Interval(Real, None, None, closed="both")],
        "metric": [StrOptions({"euclidean", "cosine", "manhattan", "inner_product"})],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_neighbors=5,
        *,
        radius=1.0,
        metric="euclidean",
        delta=0.0,
        n_jobs=None,
        random_state=None,
    ):
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.metric = metric
        self.delta = delta
        self.n_jobs = n_jobs
        self.random_state = random_state

    # -- rows ----

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Take the rows, with ids from 0 on.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The rows. Float32 and float64 arrays in C order (memory-mapped ones, too)
            are used as they are; they must not change afterwards.
        y : None
            Ignored; for consistency.

        Returns
        -------
        self : BanditNearestNeighbors
            The fitted estimator.
        """
        with unchanged_on_failure(self):
            X = validate_data(self, X, dtype=exact_dtype(X), order="C")
            settings = {"metric": self.metric, "delta": float(self.delta)}
            self._set_index(Index.of(X, settings, *self._means()))
        return self

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: ArrayLike, y: None = None) -> Self:
        """Add rows, which get the next ids.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The new rows; they are copied.
        y : None
            Ignored; for consistency.

        Returns
        -------
        self : BanditNearestNeighbors
            The estimator.
        """
        if not hasattr(self, "_index"):
            return self.fit(X)
        X = validate_data(self, X, dtype=exact_dtype(X), order="C", reset=False)
        self._set_index(self._index.add(X, *self._means()))
        return self

    def remove(self, ids: ArrayLike) -> Self:
        """Remove rows; the others keep their ids.

        Parameters
        ----------
        ids : int or array-like of int
            Ids of rows that are present, each once. At least one row must remain.

        Returns
        -------
        self : BanditNearestNeighbors
            The estimator.
        """
        check_is_fitted(self)
        ids = check_ids(ids, self._index.present_ids())
        if len(ids):
            self._set_index(self._index.remove(ids, *self._means()))
        return self

    def _means(self):
        """Return random numbers and threads for a layout."""
        return check_random_state(self.random_state), start_threads(self.n_jobs)

    def _set_index(self, index):
        """Search in these rows from now on."""
        self._index = index
        self.n_samples_fit_ = index.n_rows

    # -- queries ----

    def kneighbors(
        self,
        X: MatrixLike | None = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Find the nearest rows.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            The queries. None takes the rows themselves, each without itself.
        n_neighbors : int, default=None
            Number of neighbours; None takes that of the constructor.
        return_distance : bool, default=True
            Whether to return the distances, too.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            Distances in ascending order (inner products in descending order), in double
            precision. Only if `return_distance`.
        ids : ndarray of shape (n_queries, n_neighbors)
            Ids of the rows; ties in ascending order.
        """
        if not hasattr(self, "_index"):
            check_is_fitted(self)
        return self._kneighbors(self._index, X, n_neighbors, return_distance)

    def _kneighbors(self, index, X, n_neighbors, return_distance):
        """Answer from this index, even if another thread sets another one meanwhile."""
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        k = check_n_neighbors(k, index.n_rows - (X is None))
        if X is not None:
            X = self._check_queries(index, X)
        keys, ids = find_nearest(index, X, k, self.n_jobs)
        if not return_distance:
            return ids
        return self._distances(index, keys), ids

    def radius_neighbors(
        self,
        X: MatrixLike | None = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Find all rows within a radius.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            The queries. None takes the rows themselves, each without itself.
        radius : float, default=None
            The largest distance (or smallest inner product); None takes that of the
            constructor.
        return_distance : bool, default=True
            Whether to return the distances, too.
        sort_results : bool, default=False
            Order rows by distance; by id otherwise.

        Returns
        -------
        distances : ndarray of shape (n_queries,) of arrays
            Distances of each query. Only if `return_distance`.
        ids : ndarray of shape (n_queries,) of arrays
            Ids of the rows.
        """
        check_is_fitted(self)
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        index = self._index
        ends, keys, ids = self._within(index, X, radius, sort_results)
        cuts = ends[1:-1]
        neighbours = _ragged(np.split(ids, cuts))
        if not return_distance:
            return neighbours
        return _ragged(np.split(self._distances(index, keys), cuts)), neighbours

    def _within(self, index, X, radius, by_key):
        radius = self.radius if radius is None else radius
        if not isinstance(radius, Real) or isinstance(radius, bool) or radius != radius:
            raise ValueError(f"radius must be a number, got {radius!r} instead.")
        limit = -float(radius) if self._is_product(index) else float(radius)
        if X is not None:
            X = self._check_queries(index, X)
        try:
            return index.within(X, limit, by_key, keep_threads(self.n_jobs))
        except ArithmeticError as error:
            raise _too_large(X) from error

    def kneighbors_graph(
        self,
        X: MatrixLike | None = None,
        n_neighbors: int | None = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
    ) -> sparse.csr_matrix:
        """Return the nearest rows as a sparse matrix.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            The queries. None takes the rows themselves, each without itself.
        n_neighbors : int, default=None
            Number of neighbours; None takes that of the constructor.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether the entries are ones or distances.

        Returns
        -------
        graph : CSR matrix of shape (n_queries, n_ids)
            One column an id. After :meth:`remove` some columns are empty.
        """
        check_mode(mode)
        check_is_fitted(self)
        index = self._index
        distances, ids = self._kneighbors(index, X, n_neighbors, return_distance=True)
        values = distances if mode == "distance" else None
        return neighbors_graph(values, ids, index.n_ids)

    def radius_neighbors_graph(
        self,
        X: MatrixLike | None = None,
        radius: float | None = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
        sort_results: bool = False,
    ) -> sparse.csr_matrix:
        """Return all rows within a radius as a sparse matrix.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            The queries. None takes the rows themselves, each without itself.
        radius : float, default=None
            The largest distance; None takes that of the constructor.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether the entries are ones or distances.
        sort_results : bool, default=False
            Order the entries of a row by distance.

        Returns
        -------
        graph : CSR matrix of shape (n_queries, n_ids)
            One column an id.
        """
        check_mode(mode)
        check_is_fitted(self)
        index = self._index
        ends, keys, ids = self._within(index, X, radius, sort_results)
        data = np.ones(ids.size)
        if mode == "distance":
            data = self._distances(index, keys)
        shape = (len(ends) - 1, index.n_ids)
        return sparse.csr_matrix((data, ids, ends), shape=shape)

    @staticmethod
    def _is_product(index):
        return index.settings["metric"] == "inner_product"

    def _distances(self, index, keys):
        """Return distances or inner products."""
        return 0.0 - keys if self._is_product(index) else keys

    def _check_queries(self, index, X):
        """Validate queries; an array that needs no conversion takes a microsecond.

        Whether all entries are finite is checked by the search, which reads them.
        """
        has_names = hasattr(self, "feature_names_in_")
        if not has_names and is_plain_matrix(X, index.n_features, FLOATS):
            return X
        return validate_data(self, X, dtype=exact_dtype(X), order="C", reset=False)


def _ragged(parts):
    """Return arrays of different lengths as an array of objects."""
    out = np.empty(len(parts), dtype=object)
    out[:] = parts
    return out
