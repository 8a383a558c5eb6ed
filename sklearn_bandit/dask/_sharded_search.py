"""Searches whose rows are on the workers: an index for each partition.

A query goes to all partitions and comes back with the best of each, of which the best
are kept. An answer is wrong only if one of the partitions answers wrongly: with `delta`
divided among them this happens with probability at most `delta`, by the union bound.

Rows are removed by a task that makes another index of the one before: what is lost with
a worker is made again, removals included.
"""

from __future__ import annotations

import sys
from copy import copy
from typing import Any, ClassVar, NamedTuple, Self

import dask
import dask.array as da
import distributed
import numpy as np
from dask.delayed import delayed
from sklearn.utils import check_random_state

from sklearn_bandit._compat import (
    MAX_INT,
    _fit_context,
    check_is_fitted,
    validate_data,
)
from sklearn_bandit.neighbors import (
    check_ids,
    check_mode,
    check_n_neighbors,
    neighbors_graph,
)

from ._base import DaskEstimator
from ._client import Tasks
from ._collections import (
    Block,
    is_collection,
    make_partitions,
    make_row,
    row_blocks,
)

# Setting of dask: bytes of a graph from which on it warns.
LARGE_GRAPH = "distributed.admin.large-graph-warning-threshold"


class Shard(NamedTuple):
    """What the client knows of a partition.

    Parameters
    ----------
    future : distributed.Future or None
        Of an `Index`; None if no row is left.
    n_rows, n_ids : int
        Rows that are present, and numbers that they are chosen from.
    """

    future: distributed.Future | None
    n_rows: int
    n_ids: int


class Index(NamedTuple):
    """A partition on its worker.

    Parameters
    ----------
    search : object
        A fitted local estimator, with an index of the rows.
    rows : ndarray of shape (n_rows, n_features)
        The rows that are present; until some are removed the index has no other copy.
    """

    search: Any
    rows: np.ndarray


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
        seed = int(check_random_state(self.random_state).randint(MAX_INT))
        return self._add(X, seed, [])

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
        return self._add(X, self._seed, self._shards)

    def _add(self, X, seed, shards):
        """Have the partitions of X behind some shards."""
        with Tasks(self._resolve_client()) as tasks:
            partitions = make_partitions(tasks, X)
            if shards:
                self._check_features(X)
            model = self._make_local(random_state=seed, n_jobs=1)
            futures = tasks.compute(partitions.map(_index, model))
            # An index that could not be made says so now.
            for _ in tasks.gather([tasks.submit(_n_rows, one) for one in futures]):
                pass
            added = [
                Shard(future, n, n)
                for future, n in zip(futures, partitions.n_rows.tolist(), strict=True)
            ]
            tasks.hand_over(futures)
        self._seed = seed
        if not shards:
            self._removed = np.empty(0, dtype=np.int64)
            self._dtype = np.result_type(partitions.dtype, np.float32)
            self.n_features_in_ = partitions.n_features
            self._set_feature_names(partitions)
        self._set_shards([*shards, *added])
        return self

    def _check_features(self, X):
        """Raise if a collection has other features than the rows."""
        validate_data(self, make_row(X), dtype=None, reset=False)

    def _set_shards(self, shards):
        """Search in these from now on."""
        self._shards = shards
        self.n_samples_fit_ = sum(one.n_rows for one in shards)

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
            Of the local class of the same name, fitted. If rows were removed, the
            others are numbered anew.
        """
        check_is_fitted(self, "_shards")
        with Tasks(self._resolve_client()) as tasks:
            futures = [tasks.submit(_rows, one.future) for _, one in self._present()]
            rows = np.concatenate(list(tasks.gather(futures)))
        return self._make_local().fit(rows)

    def _n_ids(self):
        return sum(one.n_ids for one in self._shards)

    def _present(self):
        """Shards that have rows, each with the number of its first id."""
        firsts = np.cumsum([0, *(one.n_ids for one in self._shards)])[:-1].tolist()
        pairs = zip(firsts, self._shards, strict=True)
        return [(first, one) for first, one in pairs if one.n_rows]

    def _remove(self, ids):
        """Remove rows, by tasks that make new indices of those that are there."""
        check_is_fitted(self, "_shards")
        present = np.setdiff1d(np.arange(self._n_ids()), self._removed)
        ids = np.sort(check_ids(ids, present))
        if len(ids) == 0:
            return self
        shards, first = [], 0
        with Tasks(self._resolve_client()) as tasks:
            for one in self._shards:
                here = ids[(ids >= first) & (ids < first + one.n_ids)] - first
                gone = self._removed[self._removed >= first] - first
                first += one.n_ids
                if len(here) == 0:
                    shards.append(one)
                    continue
                if len(here) == one.n_rows:
                    shards.append(Shard(None, 0, one.n_ids))
                    continue
                # Where the rows are, among those that are present.
                places = here - np.searchsorted(np.sort(gone), here)
                future = tasks.submit(_without, one.future, here, places)
                shards.append(Shard(future, one.n_rows - len(here), one.n_ids))
            new = [one.future for one in shards if one.future is not None]
            for _ in tasks.gather([tasks.submit(_n_rows, one) for one in new]):
                pass
            tasks.hand_over(new)
        self._removed = np.union1d(self._removed, ids)
        self._set_shards(shards)
        return self

    def _search(self, X, n_neighbors, return_distance):
        """Answer; lazily if the queries are a dask collection."""
        check_is_fitted(self, "_shards")
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        k = check_n_neighbors(k, self.n_samples_fit_ - (X is None))
        if is_collection(X):
            found = self._search_blocks(X, k)
            return found if return_distance else found[1]
        values, ids, counts = [], [], []
        for parts in self._ask(X, _query, k):
            some = _merge(parts, k, self._largest_first)
            values.append(some[0])
            ids.append(some[1])
            counts.append([part[2] for part in parts])
        self._note([np.concatenate(some) for some in zip(*counts, strict=True)])
        ids = np.concatenate(ids)
        return (np.concatenate(values), ids) if return_distance else ids

    def _note(self, counts):
        """Take note of what the answers of each partition cost."""

    def _ask(self, X, function, *args):
        """Yield, for all queries or for each partition, the answers of all partitions.

        Queries are in memory, or the rows themselves if they are None.
        """
        if is_collection(X):
            raise TypeError("Queries must be in memory: compute them, a few at a time.")
        changed, shards = self._divided(), self._present()
        if X is not None:
            X = validate_data(self, X, dtype=self._dtype, order="C", reset=False)
        with Tasks(self._resolve_client()) as tasks:
            if X is not None:
                # They are part of the graph, so that they are not lost with a worker.
                with dask.config.set({LARGE_GRAPH: sys.maxsize}):
                    queries = [tasks.submit(_same, X)]
            else:
                queries = [tasks.submit(_rows, one.future) for _, one in shards]
            asked = [
                [
                    tasks.submit(
                        function,
                        one.future,
                        None if X is None and i == j else query,
                        first,
                        changed,
                        *args,
                    )
                    for j, (first, one) in enumerate(shards)
                ]
                for i, query in enumerate(queries)
            ]
            for futures in asked:
                yield list(tasks.gather(futures))

    def _within(self, X, radius, by_value):
        """Values and ids of all rows within a radius: arrays of arrays."""
        check_is_fitted(self, "_shards")
        values, ids = [], []
        for parts in self._ask(X, _query_radius, radius):
            for some in zip(*(zip(*part, strict=True) for part in parts), strict=True):
                found = np.concatenate([part[0] for part in some])
                numbers = np.concatenate([part[1] for part in some])
                if by_value:
                    keys = -found if self._largest_first else found
                    order = np.lexsort((numbers, keys))
                    found, numbers = found[order], numbers[order]
                values.append(found)
                ids.append(numbers)
        return _ragged(values), _ragged(ids)

    def _graph(self, X, n_neighbors, mode):
        """Answers as a sparse matrix."""
        check_mode(mode)
        if is_collection(X):
            raise TypeError("Queries must be in memory: compute them, a few at a time.")
        values, ids = self._search(X, n_neighbors, True)
        values = None if mode == "connectivity" else values
        return neighbors_graph(values, ids, self._n_ids())

    def _search_blocks(self, X, k):
        """Answer for the blocks of a collection, when they are computed."""
        self._check_features(X)
        changed, shards = self._divided(), self._present()
        query = delayed(_query, pure=False, traverse=False)
        merge = delayed(_merge, pure=False, nout=2)
        blocks, n_rows = row_blocks(X)
        empty = np.empty((0, k), self._dtype), np.empty((0, k), np.int64)
        answers = []
        for block in blocks:
            parts = [
                query(delayed(one.future), block, first, changed, k)
                for first, one in shards
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


def _index(block: Block, model: Any) -> Index:
    """On a worker: make the index of a partition."""
    rows = np.ascontiguousarray(block.X)
    return Index(copy(model).fit(rows), rows)


def _without(index, ids, places):
    """On a worker: another index, without some rows: their ids, and places in rows."""
    search = copy(index.search).remove(ids)
    return Index(search, np.delete(index.rows, places, axis=0))


def _n_rows(index):
    return len(index.rows)


def _rows(index):
    return index.rows


def _same(X):
    return X


def _prepare(index, changed):
    """A copy of the search of a partition, with other parameters."""
    search = copy(index.search)
    for name, value in changed.items():
        setattr(search, name, value)
    return search


def _query(index, X, first, changed, k):
    """On a worker: best rows of a partition, numbered as in the collection.

    X is None for the rows of the partition, each without itself.
    """
    n_queries = len(index.rows) if X is None else len(X)
    k = min(k, len(index.rows) - (X is None))
    if n_queries == 0 or k == 0:
        empty = np.empty((n_queries, k))
        return empty, empty.astype(np.int64), np.zeros(n_queries)
    search = _prepare(index, changed)
    values, ids = search.kneighbors(X if X is None else np.asarray(X), n_neighbors=k)
    counts = getattr(search, "n_multiplications_", np.zeros(n_queries))
    return values, ids + first, counts


def _query_radius(index, X, first, changed, radius):
    """On a worker: all rows of a partition within a radius."""
    search = _prepare(index, changed)
    values, ids = search.radius_neighbors(X, radius)
    return list(values), [some + first for some in ids]


def _merge(parts, k, largest_first):
    """Keep the best of all partitions; ties in ascending order of ids."""
    values = np.concatenate([part[0] for part in parts], axis=1)
    ids = np.concatenate([part[1] for part in parts], axis=1)
    keys = -values if largest_first else values
    order = np.lexsort((ids, keys), axis=1)[:, :k]
    return np.take_along_axis(values, order, 1), np.take_along_axis(ids, order, 1)


def _ragged(parts):
    """Return arrays of different lengths as an array of objects."""
    out = np.empty(len(parts), dtype=object)
    for i, part in enumerate(parts):
        out[i] = part
    return out
