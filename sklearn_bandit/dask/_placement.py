"""Where the blocks are that a fit reads again and again: each moves once at most.

Dask gives tasks of a worker that has many of them to one that has none, and sends their
data along, in each pass anew. A pass over blocks in memory is therefore a few chains of
tasks, as many as a worker has threads: no task waits that could be taken away. Blocks
are shared out evenly before, once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from dask.delayed import delayed
from distributed import Future

from ._client import Tasks
from ._collections import Block, Partitions


class PlacedBlocks:
    """The blocks of partitions; if they are in memory, each where it is to be read.

    Parameters
    ----------
    tasks : Tasks
        Of the fit.
    partitions : Partitions
        The data.

    Attributes
    ----------
    partitions : Partitions
        The same rows; blocks that had to move are where they are from now on.
    chains : list of (str, list of int)
        A worker and the numbers of blocks that one of its threads reads, one after the
        other. If they are not in memory, each block for itself, and "" for any worker.
    """

    def __init__(self, tasks: Tasks, partitions: Partitions) -> None:
        self.tasks = tasks
        self.partitions = partitions
        self.chains = [("", [i]) for i in range(len(partitions))]
        keys = [X.key for X, *_ in partitions.blocks]
        # Blocks that are being computed, after `persist`, will be in memory.
        known = [key for key in keys if key in tasks.client.futures]
        tasks.wait(Future(key, tasks.client) for key in known)
        where = tasks.client.who_has()
        homes = [min(where.get(key, ()), default="") for key in keys]
        threads = tasks.client.nthreads()
        if threads.keys() >= set(homes):
            self._settle(homes, threads)

    def _settle(self, homes, threads):
        """Give each thread its share of the blocks."""
        blocks = list(self.partitions.blocks)
        shares = share_out(self.partitions.n_rows, homes, threads)
        self.chains = []
        for worker, numbers in shares.items():
            away = [i for i in numbers if homes[i] != worker]
            calls = [self.partitions.call(i, _keep) for i in away]
            for i, future in zip(away, self._compute(calls, worker), strict=True):
                blocks[i] = delayed(future)
            parts = [numbers[k :: threads[worker]] for k in range(threads[worker])]
            self.chains += [(worker, part) for part in parts if part]
        self.partitions = replace(self.partitions, blocks=blocks)

    def compute(
        self,
        function: Callable,
        shared: Iterable[Any] = (),
        each: Iterable[Any] | None = None,
    ) -> list[Future]:
        """Compute a function of each block.

        Parameters
        ----------
        function : callable
            Called with the block, the shared arguments and the one of the block.
        shared : iterable of object
            The same for all blocks; they go to each worker once.
        each : iterable of object, or None
            One more argument for each block.

        Returns
        -------
        list of distributed.Future
            Of the values, in the order of blocks.
        """
        shared = [delayed(one, pure=False, traverse=False) for one in shared]
        own = [()] * len(self.partitions) if each is None else [(one,) for one in each]
        called: dict[str, dict] = {}  # by workers, then by blocks
        for worker, chain in self.chains:
            before = None
            for i in chain:
                before = self.partitions.call(
                    i, function, *shared, *own[i], after=before
                )
                called.setdefault(worker, {})[i] = before
        futures = {}
        for worker, calls in called.items():
            some = self._compute(list(calls.values()), worker)
            futures.update(zip(calls, some, strict=True))
        return [futures[i] for i in range(len(futures))]

    def _compute(self, calls, worker):
        # What is lost with a worker is computed elsewhere.
        there = {"workers": [worker], "allow_other_workers": True} if worker else {}
        return self.tasks.compute(calls, **there)


def share_out(
    n_rows: np.ndarray, homes: list[str], threads: dict[str, int]
) -> dict[str, list[int]]:
    """Share blocks out among workers, by threads; most stay where they are.

    Parameters
    ----------
    n_rows : ndarray of int
        Rows of each block.
    homes : list of str
        The worker that has it.
    threads : dict of str to int
        Threads of each worker.

    Returns
    -------
    dict of str to list of int
        Numbers of the blocks of each worker, ascending.
    """
    shares: dict[str, list[int]] = {worker: [] for worker in sorted(threads)}
    for i, worker in enumerate(homes):
        shares[worker].append(i)
    load = {w: sum(int(n_rows[i]) for i in shares[w]) / threads[w] for w in shares}
    while True:
        most, least = max(load, key=load.get), min(load, key=load.get)
        moved = min(shares[most], key=lambda i: n_rows[i])
        n = int(n_rows[moved])
        if load[least] + n / threads[least] >= load[most]:
            return {worker: sorted(numbers) for worker, numbers in shares.items()}
        shares[most].remove(moved)
        shares[least].append(moved)
        load[most] -= n / threads[most]
        load[least] += n / threads[least]


def _keep(block: Block) -> Block:
    """On a worker: the block, to be kept there."""
    return block
