"""Trees and forests: where all values fit a worker, the local model; else a near one.

Values travel in the narrowest type in which trees read the same numbers: bytes stay
bytes, all others become ``float32``.

- If all of them fit the memory of a worker, one worker of each machine gathers them and
  puts them into bins as a local fit does; the others there map its files. Then trees
  grow, each as one task. The forest is the local one, node by node. A single tree needs
  one worker.
- If they do not, ``_large_trees`` grows the tops of trees on a sample.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import joblib
import numpy as np
from dask.delayed import delayed
from dask.sizeof import sizeof
from distributed import Future, get_worker
from distributed.comm import get_address_host

from sklearn_bandit._compat import MAX_INT, _fit_context
from sklearn_bandit._core.unchanged import unchanged_on_failure
from sklearn_bandit.tree._building import as_read, row_stride

from ._base import DaskEstimator
from ._client import Tasks
from ._collections import Block, Partitions, make_partitions
from ._large_trees import fit_large

# Memory of a worker that a fit takes for each row beside values and bins: targets as
# they arrive, joined and encoded (8 bytes each), labels, counts and numbers of the rows
# of a tree. Counted. With values alone (three times their size) a tree on 100,000,000
# x 10 bytes was taken to need 3 GB, and was killed again and again by a limit of 4 GB.
ROW_BYTES = 40

# Tasks for each thread of the cluster: workers end at about the same time.
TASKS_PER_THREAD = 4


class DaskTreesMixin(DaskEstimator):
    """What trees and forests share: fitting on dask collections."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Fit to dask collections.

        Parameters
        ----------
        X : dask collection of shape (n_samples, n_features)
            The training samples: an array or a data frame, NaN where one is missing.
        y : dask collection of shape (n_samples,) or (n_samples, n_outputs)
            The target values.
        sample_weight : dask collection of shape (n_samples,), default=None
            Weights of the samples; None for equal weights.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        client = self._resolve_client()
        with unchanged_on_failure(self), Tasks(client) as tasks:
            partitions = make_partitions(tasks, X, y, sample_weight)
            workers = list_workers(tasks)
            local = self._seeded_local()
            values, whole = row_bytes(partitions)
            room = min(worker.memory for worker in workers) / whole  # rows
            if partitions.n_samples <= room:
                fitted = self._fit_whole(tasks, local, partitions, workers)
            else:
                blocks = partitions.map(narrow)
                memory = sum(worker.memory for worker in workers)
                if partitions.n_samples * values <= memory / 2:
                    blocks = [delayed(block) for block in tasks.compute(blocks)]
                narrowed = replace(partitions, blocks=blocks)
                fitted = fit_large(tasks, local, narrowed, int(room * values))
            parameters = self.get_params(deep=False)
            for name, value in fitted.items():
                if name not in parameters:
                    setattr(self, name, value)
            if partitions.feature_names is not None:
                self.feature_names_in_ = partitions.feature_names
            else:
                vars(self).pop("feature_names_in_", None)
        return self

    def _seeded_local(self):
        """Return the local estimator with random choices that are the same anywhere."""
        local = self.to_local()
        if local.random_state is None:
            local.random_state = int(np.random.default_rng().integers(MAX_INT))
        elif not isinstance(local.random_state, Integral):
            # Each worker has a copy of the generator; the next fit has other choices.
            self.random_state.randint(MAX_INT)
        return local


class DaskTreeMixin(DaskTreesMixin):
    """A single tree."""

    def _fit_whole(self, tasks, local, partitions, workers):
        """Fit the local tree on one worker."""
        blocks = narrow_blocks(tasks, partitions)
        fitted = tasks.submit(fit_tree, local, blocks)
        return next(tasks.gather([fitted]))


class DaskForestMixin(DaskTreesMixin):
    """A forest."""

    def _fit_whole(self, tasks, local, partitions, workers):
        """Prepare the local fit on each worker, grow the trees as tasks."""
        local = local.set_params(n_jobs=None, verbose=0)
        blocks = narrow_blocks(tasks, partitions)
        is_one_by_one = self.max_insertions is not None or self.n_estimators == "auto"
        n_trees = 0 if is_one_by_one else self.n_estimators
        if local._is_warm():
            n_trees -= len(local.estimators_)
        if n_trees <= 0:
            # What the trees so far cost, or say, decides whether there is a next.
            fitted = tasks.submit(fit_tree, local, blocks)
            return next(tasks.gather([fitted]))
        shares = share_trees(n_trees, workers)
        try:
            return self._grow(tasks, local, blocks, shares, by_machine=True)
        except FilesLostError:
            # With a machine, or a folder: every worker has to do with its own memory.
            return self._grow(tasks, local, blocks, shares, by_machine=False)

    @staticmethod
    def _grow(tasks, local, blocks, shares, by_machine):
        """Grow shares of the trees, prepared once a machine or once a worker."""
        places = {
            worker.address: worker.machine if by_machine else worker.address
            for worker, _ in shares
        }
        prepared = {
            place: tasks.submit(
                prepare_forest,
                local,
                blocks,
                list(places.values()).count(place) > 1,
                workers=[worker for worker in places if places[worker] == place],
                allow_other_workers=True,
            )
            for place in dict.fromkeys(places.values())
        }
        grown = [
            tasks.submit(
                grow_some,
                prepared[places[worker.address]],
                some,
                workers=[worker.address],
                allow_other_workers=True,
            )
            for worker, lists in shares
            for some in lists
        ]
        first = next(iter(prepared.values()))
        fitted = tasks.submit(finish_forest, first, grown)
        return next(tasks.gather([fitted]))


@dataclass(frozen=True)
class Worker:
    """A worker of the cluster.

    Parameters
    ----------
    address : str
        Its address.
    n_threads : int
        Tasks that it runs at a time.
    memory : float
        Bytes that it may use; infinite if there is no limit.
    """

    address: str
    n_threads: int
    memory: float

    @property
    def machine(self) -> str:
        """The host of its address: workers that have the same share files."""
        return get_address_host(self.address)


def list_workers(tasks: Tasks) -> list[Worker]:
    """Return the workers of a cluster, at least one, in the order of addresses."""
    tasks.client.wait_for_workers(1)
    known = tasks.client.scheduler_info(n_workers=-1)["workers"]
    return [
        Worker(address, about["nthreads"], about["memory_limit"] or np.inf)
        for address, about in sorted(known.items())
    ]


def row_bytes(partitions: Partitions) -> tuple[int, int]:
    """Return the bytes of a row's values as they travel, and what a fit takes for it.

    That is the values as they arrive, the matrix that is made of them, and bins by row
    and by column, beside `ROW_BYTES`.
    """
    n_features = partitions.n_features
    values = n_features * as_read(np.empty((0, 0), dtype=partitions.dtype)).itemsize
    return values, 2 * values + row_stride(n_features) + n_features + ROW_BYTES


def narrow_blocks(tasks: Tasks, partitions: Partitions) -> list[Future]:
    """Have all blocks, in the type in which they travel, on the workers."""
    return tasks.compute(partitions.map(narrow))


def narrow(block: Block) -> Block:
    """On a worker: the same rows in the type in which they travel."""
    return block._replace(X=as_read(block.X))


def join_blocks(blocks: Sequence[Block]) -> Block:
    """On a worker: the rows of all blocks."""
    return Block(
        *(
            None if parts[0] is None else np.concatenate(parts)
            for parts in zip(*blocks, strict=True)
        )
    )


def fit_tree(local, blocks):
    """On a worker: fit a local estimator, return its attributes."""
    whole = join_blocks(blocks)
    return vars(local.fit(whole.X, whole.y, whole.sample_weight))


class FilesLostError(Exception):
    """The files of a prepared forest are not where they were written."""


class HeldForest:
    """On a worker: a forest whose trees are to grow.

    Parameters
    ----------
    forest : BanditForest
        The local forest.
    prepared : PreparedFit
        What it is fitted with.
    path : str or None
        The file that both are mapped from; None if they are in memory.
    """

    def __init__(self, forest, prepared, path=None):
        self.forest = forest
        self.prepared = prepared
        self.path = path

    def __sizeof__(self):
        if self.path is not None:
            return len(self.path)  # what travels, and what is in no other memory
        packed = self.prepared.training_set.packed
        return sizeof(self.prepared.X) + packed.rows.nbytes + packed.columns.nbytes

    def __reduce__(self):
        if self.path is None:
            return HeldForest, (self.forest, self.prepared)
        return open_forest, (self.path,)

    def share(self):
        """Write it to a file of this machine, for as long as the result is there.

        The folder is that of the worker, which dask removes with it.
        """
        folder = tempfile.mkdtemp(dir=get_worker().local_directory)
        path = os.path.join(folder, "forest")
        raw = self.prepared.training_set.packed.raw
        prepared = self.prepared
        if raw is not None and raw.array is prepared.X:
            prepared = replace(prepared, X=None)  # not twice
        joblib.dump((self.forest, prepared), path)
        shared = open_forest(path)
        weakref.finalize(shared, shutil.rmtree, folder, ignore_errors=True)
        return shared


def open_forest(path):
    """On a worker: map a forest that another worker of the machine has written.

    It comes with the result of a task: what is not there is told to who uses it.
    """
    try:
        forest, prepared = joblib.load(path, mmap_mode="r")
    except FileNotFoundError:
        return None
    if prepared.X is None:
        prepared = replace(prepared, X=prepared.training_set.packed.raw.array)
    return HeldForest(forest, prepared, path)


def prepare_forest(local, blocks, is_shared):
    """On a worker of each machine: gather the rows, put them into bins."""
    whole = join_blocks(blocks)
    prepared = local._prepare(whole.X, whole.y, whole.sample_weight)
    held = HeldForest(local, prepared)
    return held.share() if is_shared else held


def grow_some(held, numbers):
    """On a worker: grow some of the trees."""
    if held is None:
        raise FilesLostError
    return [held.forest._grow_one(held.prepared, number) for number in numbers]


def finish_forest(held, grown):
    """On a worker: return the attributes of the fitted forest."""
    if held is None:
        raise FilesLostError
    held.forest._finish(held.prepared, [tree for some in grown for tree in some])
    return vars(held.forest)


def share_trees(n_trees, workers):
    """Share trees among workers: (worker, lists of trees) for those that have any.

    Each worker has neighbouring trees, as many as it has threads.
    """
    n_threads = [worker.n_threads for worker in workers]
    ends = np.cumsum(n_threads) * n_trees // sum(n_threads)
    shares = []
    for worker, start, end in zip(workers, [0, *ends[:-1]], ends, strict=True):
        if start < end:
            n_tasks = min(end - start, TASKS_PER_THREAD * worker.n_threads)
            lists = np.array_split(np.arange(start, end), n_tasks)
            shares.append((worker, [list(map(int, some)) for some in lists]))
    return shares
