"""Searches whose rows are on the workers of a cluster: the estimators."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from sklearn_bandit import neighbors
from sklearn_bandit.neighbors import check_mode

from ._sharded_search import ShardedSearch


class BanditMIPS(ShardedSearch, local_class=neighbors.BanditMIPS):
    """Maximum inner product search among atoms on the workers of a cluster.

    :class:`sklearn_bandit.neighbors.BanditMIPS` with an index for each partition of the
    atoms. Queries go to all of them, with `delta` divided among them, and the best
    answers are kept: the answer is wrong with probability at most `delta`.

    Read more in the :ref:`user guide <dask>`.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The client; None for the current one.
    **parameters : object
        As for the local class. A partition is searched in one thread, whatever
        `n_jobs` is.

    Attributes
    ----------
    n_features_in_ : int
        Dimension of the atoms.
    n_samples_fit_ : int
        Number of atoms at present.
    n_multiplications_ : ndarray of shape (n_queries,)
        Multiplications of coordinates in the last call of `kneighbors` with queries in
        memory, in all partitions.

    See Also
    --------
    sklearn_bandit.neighbors.BanditMIPS : The same in memory.

    Notes
    -----
    An index is made anew, from its partition, if its worker is lost.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn_bandit.dask import BanditMIPS
    >>> client = Client(processes=False, dashboard_address=None)
    >>> atoms = da.random.default_rng(0).normal(size=(400, 1000), chunks=(100, 1000))
    >>> search = BanditMIPS(n_neighbors=1, random_state=0).fit(atoms)
    >>> products, indices = search.kneighbors(atoms[:3].compute())
    >>> indices.ravel().tolist()
    [0, 1, 2]
    >>> del search
    >>> client.close()
    """

    _largest_first = True

    def kneighbors(
        self,
        X: Any = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> Any:
        """Find the atoms with the largest inner products.

        Parameters
        ----------
        X : array-like or dask collection of shape (n_queries, n_features), default=None
            The queries. None takes the rows themselves, each without itself: every
            partition then goes to all workers.
        n_neighbors : int, default=None
            Number of atoms for each query; None takes that of the constructor.
        return_distance : bool, default=True
            Whether to return the inner products, too.

        Returns
        -------
        products : ndarray or dask array of shape (n_queries, n_neighbors)
            Inner products, in descending order. Only if `return_distance`.
        ids : ndarray or dask array of shape (n_queries, n_neighbors)
            Ids of the atoms; ties in increasing order.
        """
        return self._search(X, n_neighbors, return_distance)

    def kneighbors_graph(
        self,
        X: Any = None,
        n_neighbors: int | None = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
    ) -> sparse.csr_matrix:
        """Return the atoms with the largest inner products as a sparse matrix.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            The queries, in memory. None takes the atoms themselves.
        n_neighbors : int, default=None
            Number of atoms for each query; None takes that of the constructor.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether the entries are ones or, in the place of distances, inner products.

        Returns
        -------
        graph : CSR matrix of shape (n_queries, n_ids)
            One row a query, one column an id.
        """
        return self._graph(X, n_neighbors, mode)

    def transform(self, X: Any) -> sparse.csr_matrix:
        """Return the largest inner products of samples with the atoms.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The samples, in memory.

        Returns
        -------
        CSR matrix of shape (n_samples, n_ids)
            The graph of :meth:`kneighbors_graph` with ``mode="distance"``.
        """
        return self.kneighbors_graph(X, mode="distance")

    def remove(self, ids: Any) -> Self:
        """Remove atoms; the others keep their ids.

        Parameters
        ----------
        ids : int or array-like of int
            Ids of atoms that are present, each once. At least one atom must remain.

        Returns
        -------
        self : object
            The estimator.
        """
        return self._remove(ids)

    def _divided(self):
        return {"delta": self.delta / sum(1 for one in self._shards if one.n_rows)}

    def _note(self, counts):
        self.n_multiplications_ = np.sum(counts, axis=0)


class BanditNearestNeighbors(
    ShardedSearch, local_class=neighbors.BanditNearestNeighbors
):
    """Exact nearest neighbours among rows on the workers of a cluster.

    :class:`sklearn_bandit.neighbors.BanditNearestNeighbors` with an index for each
    partition of the rows. Queries go to all of them, and the nearest rows are kept.

    Read more in the :ref:`user guide <dask>`.

    Parameters
    ----------
    client : distributed.Client or None, default=None
        The client; None for the current one.
    **parameters : object
        As for the local class. `delta` is not divided: a neighbour is missed if it is
        missed in its own partition. A partition is searched in one thread, whatever
        `n_jobs` is.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    n_samples_fit_ : int
        Number of rows at present.

    See Also
    --------
    sklearn_bandit.neighbors.BanditNearestNeighbors : The same in memory.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn_bandit.dask import BanditNearestNeighbors
    >>> client = Client(processes=False, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(1000, 64), chunks=(250, 64))
    >>> search = BanditNearestNeighbors(n_neighbors=1).fit(X)
    >>> search.kneighbors(X[:3].compute(), return_distance=False).ravel().tolist()
    [0, 1, 2]
    >>> del search
    >>> client.close()
    """

    def kneighbors(
        self,
        X: Any = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> Any:
        """Find the nearest rows.

        Parameters
        ----------
        X : array-like or dask collection of shape (n_queries, n_features), default=None
            The queries. None takes the rows themselves, each without itself: every
            partition then goes to all workers.
        n_neighbors : int, default=None
            Number of neighbours; None takes that of the constructor.
        return_distance : bool, default=True
            Whether to return the distances, too.

        Returns
        -------
        distances : ndarray or dask array of shape (n_queries, n_neighbors)
            Distances in ascending order (inner products in descending order). Only if
            `return_distance`.
        ids : ndarray or dask array of shape (n_queries, n_neighbors)
            Numbers of the rows; ties in ascending order.
        """
        return self._search(X, n_neighbors, return_distance)

    def kneighbors_graph(
        self,
        X: Any = None,
        n_neighbors: int | None = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
    ) -> sparse.csr_matrix:
        """Return the nearest rows as a sparse matrix.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            The queries, in memory. None takes the rows themselves, each without itself.
        n_neighbors : int, default=None
            Number of neighbours; None takes that of the constructor.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether the entries are ones or distances.

        Returns
        -------
        graph : CSR matrix of shape (n_queries, n_ids)
            One column an id. After :meth:`remove` some columns are empty.
        """
        return self._graph(X, n_neighbors, mode)

    def radius_neighbors(
        self,
        X: Any = None,
        radius: float | None = None,
        return_distance: bool = True,
        sort_results: bool = False,
    ) -> Any:
        """Find all rows within a radius.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            The queries, in memory. None takes the rows themselves, each without itself.
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
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        values, ids = self._within(X, radius, sort_results)
        return (values, ids) if return_distance else ids

    def radius_neighbors_graph(
        self,
        X: Any = None,
        radius: float | None = None,
        mode: Literal["connectivity", "distance"] = "connectivity",
        sort_results: bool = False,
    ) -> sparse.csr_matrix:
        """Return all rows within a radius as a sparse matrix.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            The queries, in memory. None takes the rows themselves, each without itself.
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
        values, ids = self._within(X, radius, sort_results)
        ends = np.cumsum([0, *map(len, ids)])
        flat = np.concatenate(ids) if len(ids) else np.empty(0, dtype=np.int64)
        data = np.ones(len(flat))
        if mode == "distance" and len(ids):
            data = np.concatenate(values)
        return sparse.csr_matrix((data, flat, ends), shape=(len(ids), self._n_ids()))

    def remove(self, ids: Any) -> Self:
        """Remove rows; the others keep their ids.

        Parameters
        ----------
        ids : int or array-like of int
            Ids of rows that are present, each once. At least one row must remain.

        Returns
        -------
        self : object
            The estimator.
        """
        return self._remove(ids)

    @property
    def _largest_first(self):
        return self.metric == "inner_product"
