"""Searches whose rows are on the workers: an index for each partition.

A query goes to all partitions and comes back with the best of each, of which the best
are kept. An answer is wrong only if one of the partitions answers wrongly: with `delta`
divided among them this happens with probability at most `delta`, by the union bound.
"""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, NamedTuple, Self

import dask.array as da
import numpy as np
from dask.delayed import delayed
from sklearn.utils import check_random_state

from sklearn_bandit import neighbors
from sklearn_bandit._compat import (
    _fit_context,
    check_is_fitted,
    validate_data,
)

from ._base import DaskEstimator
from ._client import Tasks
from ._collections import Block, is_collection, make_partitions, row_blocks

MAX_SEED = np.iinfo(np.int32).max


class ShardedSearch(DaskEstimator):
    """What the searches share: an index for each partition, and merged answers."""

    # Whether the largest values come first.
    _largest_first: ClassVar[bool] = False

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: None = None) -> Self:
        """Make an index of each partition, where it is.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            The rows. They stay on the workers as long as the estimator has them.
        y : None
            Ignored; for consistency.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        seed = int(check_random_state(self.random_state).randint(MAX_SEED))
        return self._add(X, seed, [], 0)

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X: Any, y: None = None) -> Self:
        """Add partitions behind those that are there.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            The new rows.
        y : None
            Ignored; for consistency.

        Returns
        -------
        self : object
            The estimator.
        """
        if not hasattr(self, "_shards"):
            return self.fit(X)
        return self._add(X, self._seed, self._shards, self.n_samples_fit_)

    def _add(self, X, seed, shards, n_before):
        """Have the partitions of X behind some shards."""
        with Tasks(self._resolve_client()) as tasks:
            partitions = make_partitions(tasks, X)
            n_features = partitions.n_features
            if shards and n_features != self.n_features_in_:
                raise ValueError(
                    f"X has {n_features} features, but {type(self).__name__} is "
                    f"expecting {self.n_features_in_} features as input."
                )
            model = self._local_class(**self._local_parameters(seed))
            futures = tasks.compute(partitions.map(_index, model))
            # An index that could not be made says so now.
            for _ in tasks.gather([tasks.submit(_n_rows, one) for one in futures]):
                pass
            added = list(zip(futures, partitions.n_rows.tolist(), strict=True))
            tasks.hand_over(futures)
        self._seed = seed
        self._shards = [*shards, *added]
        if not shards:
            self._dtype = np.result_type(partitions.dtype, np.float32)
        self.n_samples_fit_ = n_before + partitions.n_samples
        if not shards:
            self.n_features_in_ = n_features
            vars(self).pop("feature_names_in_", None)
            if partitions.feature_names is not None:
                self.feature_names_in_ = partitions.feature_names
        return self

    def _local_parameters(self, seed):
        names = self._local_class().get_params()
        parameters = {name: getattr(self, name) for name in names}
        return {**parameters, "random_state": seed, "n_jobs": 1}

    def _divided(self):
        """Parameters of the searches in single partitions."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        if hasattr(self, "_shards"):
            raise TypeError(
                "The rows of a search on a cluster are not pickled with it: pickle "
                "to_local(), which brings them here."
            )
        return super().__getstate__()

    def to_local(self) -> Any:
        """Bring all rows to the client, into one index.

        Returns
        -------
        object
            Of the local class of the same name, fitted.
        """
        check_is_fitted(self, "_shards")
        with Tasks(self._resolve_client()) as tasks:
            futures = [tasks.submit(_rows, future) for future, _ in self._shards]
            rows = np.concatenate(list(tasks.gather(futures)))
        names = self._local_class().get_params()
        local = self._local_class(**{name: getattr(self, name) for name in names})
        return local.fit(rows)

    def _check_k(self, n_neighbors):
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        if not isinstance(k, int | np.integer) or isinstance(k, bool):
            raise TypeError(f"n_neighbors must be an integer, got {type(k)} instead.")
        if not 1 <= k <= self.n_samples_fit_:
            raise ValueError(
                f"n_neighbors must be at least 1 and at most the number of rows, "
                f"{self.n_samples_fit_}, got {k} instead."
            )
        return int(k)

    def _search(self, X, n_neighbors, return_distance):
        """Answer; lazily if the queries are a dask collection."""
        check_is_fitted(self, "_shards")
        k = self._check_k(n_neighbors)
        if X is None:
            raise ValueError(
                "X=None, the fitted rows as queries, is not supported on a cluster: "
                "pass the rows."
            )
        changed = self._divided()
        firsts = np.cumsum([0, *(n for _, n in self._shards)])[:-1].tolist()
        if is_collection(X):
            found = self._search_blocks(X, k, changed, firsts)
            return found if return_distance else found[1]
        X = validate_data(self, X, dtype=self._dtype, order="C", reset=False)
        with Tasks(self._resolve_client()) as tasks:
            query = tasks.submit(_same, X)
            futures = [
                tasks.submit(_query, future, query, min(k, n), changed, first)
                for (future, n), first in zip(self._shards, firsts, strict=True)
            ]
            parts = list(tasks.gather(futures))
        values, ids = _merge(parts, k, self._largest_first)
        self._note(parts)
        return (values, ids) if return_distance else ids

    def _note(self, parts):
        """Take note of what the answers cost."""

    def _search_blocks(self, X, k, changed, firsts):
        """Answer for the blocks of a collection, when they are computed."""
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X must have the shape (n_queries, {self.n_features_in_})."
            )
        query = delayed(_query, pure=False, traverse=False)
        merge = delayed(_merge, pure=False, nout=2)
        blocks, n_rows = row_blocks(X)
        empty = np.empty((0, k), self._dtype), np.empty((0, k), np.int64)
        answers = []
        for block in blocks:
            parts = [
                query(delayed(future), block, min(k, n), changed, first)
                for (future, n), first in zip(self._shards, firsts, strict=True)
            ]
            answers.append(merge(parts, k, self._largest_first))
        return tuple(
            da.concatenate(
                [
                    da.from_delayed(some[i], (n, k), meta=shown)
                    for some, n in zip(answers, n_rows, strict=True)
                ],
                allow_unknown_chunksizes=True,
            )
            for i, shown in enumerate(empty)
        )


class Shard(NamedTuple):
    """A partition on its worker.

    Parameters
    ----------
    search : object
        A fitted local estimator, with an index of the rows.
    rows : ndarray of shape (n_rows, n_features)
        The rows; the index has no other copy of them.
    """

    search: Any
    rows: np.ndarray


def _index(block: Block, model: Any) -> Shard:
    """On a worker: make the index of a partition."""
    rows = np.ascontiguousarray(block.X)
    return Shard(copy(model).fit(rows), rows)


def _n_rows(shard):
    return len(shard.rows)


def _rows(shard):
    return shard.rows


def _same(X):
    return X


def _query(shard, X, k, changed, first):
    """On a worker: best rows of a partition, numbered as in the collection."""
    X = np.asarray(X)
    if len(X) == 0:
        return np.empty((0, k)), np.empty((0, k), dtype=np.int64), np.zeros(0)
    search = copy(shard.search)
    for name, value in changed.items():
        setattr(search, name, value)
    values, ids = search.kneighbors(X, n_neighbors=k)
    return values, ids + first, getattr(search, "n_multiplications_", None)


def _merge(parts, k, largest_first):
    """Keep the best of all partitions; ties in ascending order of ids."""
    values = np.concatenate([part[0] for part in parts], axis=1)
    ids = np.concatenate([part[1] for part in parts], axis=1)
    keys = -values if largest_first else values
    order = np.lexsort((ids, keys), axis=1)[:, :k]
    return np.take_along_axis(values, order, 1), np.take_along_axis(ids, order, 1)


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
        X : array-like or dask collection of shape (n_queries, n_features)
            The queries.
        n_neighbors : int, default=None
            Number of atoms for each query; None takes that of the constructor.
        return_distance : bool, default=True
            Whether to return the inner products, too.

        Returns
        -------
        products : ndarray or dask array of shape (n_queries, n_neighbors)
            Inner products, in descending order. Only if `return_distance`.
        indices : ndarray or dask array of shape (n_queries, n_neighbors)
            Positions of the atoms; ties in increasing order.
        """
        return self._search(X, n_neighbors, return_distance)

    def _divided(self):
        return {"delta": self.delta / len(self._shards)}

    def _note(self, parts):
        self.n_multiplications_ = np.sum([part[2] for part in parts], axis=0)


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
        X : array-like or dask collection of shape (n_queries, n_features)
            The queries.
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

    @property
    def _largest_first(self):
        return self.metric == "inner_product"
