"""Trees and forests: where all values fit a worker, the local model; else a near one.

Values travel in the narrowest type in which trees read the same numbers: bytes stay
bytes, all others become ``float32``.

- If all of them fit the memory of a worker, they are written to a file of each machine,
  which its workers map (``_held_forest``). Each puts them into bins as a local fit
  does; then trees grow, some in each task. The forest is the local one, node by node.
  A single tree needs one worker.
- If they do not, ``_large_trees`` grows the tops of trees on a sample.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from dask.delayed import delayed
from distributed.comm import get_address_host

from sklearn_bandit._compat import MAX_INT, _fit_context
from sklearn_bandit._core.unchanged import unchanged_on_failure
from sklearn_bandit.tree._building import as_read, row_stride

from ._base import DaskEstimator
from ._client import Tasks
from ._collections import Partitions, make_partitions
from ._held_forest import (
    NotSharedError,
    hold_by_machine,
    hold_by_worker,
    join_blocks,
    narrow,
)
from ._large_trees import fit_large

# Memory of a worker that a fit takes for each row beside values and bins: targets as
# they arrive, joined and encoded (8 bytes each), labels, counts and numbers of the rows
# of a tree. Counted. With values alone (three times their size) a tree on 100,000,000
# x 10 bytes was taken to need 3 GB, and was killed again and again by a limit of 4 GB.
ROW_BYTES = 40

# A file that is mapped cannot be removed on Windows: there none is shared.
SHARES_FILES = os.name == "posix"

# Tasks for each thread of the cluster: workers end at about the same time, for one that
# is done takes over tasks of others. Each takes the scheduler less than a millisecond.
TASKS_PER_THREAD = 8


class DaskTreesMixin(DaskEstimator):
    """What trees and forests share: fitting on dask collections; a single tree."""

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
            self._set_feature_names(partitions)
        return self

    def _fit_whole(self, tasks, local, partitions, workers):
        """Fit the local estimator on one worker."""
        blocks = tasks.compute(partitions.map(narrow))
        fitted = tasks.submit(fit_whole, local, blocks)
        return next(tasks.gather([fitted]))

    def _seeded_local(self):
        """Return the local estimator with random choices that are the same anywhere."""
        local = self.to_local()
        if local.random_state is None:
            local.random_state = int(np.random.default_rng().integers(MAX_INT))
        elif not isinstance(local.random_state, Integral):
            # Each worker has a copy of the generator; the next fit has other choices.
            self.random_state.randint(MAX_INT)
        return local


class DaskForestMixin(DaskTreesMixin):
    """A forest."""

    def _fit_whole(self, tasks, local, partitions, workers):
        """Have the values on each machine, grow the trees as tasks."""
        local = local.set_params(n_jobs=None, verbose=0)
        is_one_by_one = self.max_insertions is not None or self.n_estimators == "auto"
        n_trees = 0 if is_one_by_one else self.n_estimators
        if local._is_warm():
            n_trees -= len(local.estimators_)
        if n_trees <= 0:
            # What the trees so far cost, or say, decides whether there is a next.
            return super()._fit_whole(tasks, local, partitions, workers)
        if SHARES_FILES:
            shares = share_trees(n_trees, workers)
            machines = {}
            for worker, _ in shares:
                there = machines.setdefault(worker.machine, {})
                there[worker.address] = worker.n_threads
            with suppress(NotSharedError), Tasks(tasks.client) as attempt:
                file = hold_by_machine(attempt, local, partitions, machines)
                held = {worker.address: file for worker, _ in shares}
                return self._grow(attempt, held, shares)
        # A worker or a folder was lost: every worker has to do with its own memory.
        shares = share_trees(n_trees, list_workers(tasks))
        addresses = [worker.address for worker, _ in shares]
        held = hold_by_worker(tasks, local, partitions, addresses)
        return self._grow(tasks, held, shares)

    @staticmethod
    def _grow(tasks, held, shares):
        """Grow shares of the trees on their workers; return the fitted attributes."""
        grown = [
            tasks.submit(
                grow_some,
                held[worker.address],
                some,
                workers=[worker.address],
                allow_other_workers=True,
            )
            for worker, lists in shares
            for some in lists
        ]
        fitted = tasks.submit(finish_forest, next(iter(held.values())), grown)
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


def fit_whole(local, blocks):
    """On a worker: fit a local estimator, return its attributes."""
    whole = join_blocks(blocks)
    return vars(local.fit(whole.X, whole.y, whole.sample_weight))


def grow_some(held, numbers):
    """On a worker: grow some of the trees."""
    return [held.forest._grow_one(held.prepared, number) for number in numbers]


def finish_forest(held, grown):
    """On a worker: return the attributes of the fitted forest."""
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
