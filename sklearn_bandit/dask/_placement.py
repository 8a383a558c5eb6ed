"""Where the blocks are that a fit reads again and again: each moves once at most.

Dask gives tasks of a worker that has many of them to one that has none, and sends their
data along, in each pass anew. A pass over blocks in memory is therefore a few chains of
tasks, as many as a worker has threads: no task waits that could be taken away. Blocks
are shared out evenly before, once.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from dask.delayed import delayed
from distributed import Future

from ._client import Tasks
from ._collections import Block, Partitions


def settle(tasks: Tasks, partitions: Partitions) -> tuple[Partitions, list[list[int]]]:
    """Have each thread of the cluster its share of the blocks, if they are in memory.

    Parameters
    ----------
    tasks : Tasks
        Of the fit.
    partitions : Partitions
        The data.

    Returns
    -------
    partitions : Partitions
        The same rows; blocks that had to move are where they are from now on.
    chains : list of list of int
        Numbers of the blocks that are to be read one after the other: those of a
        thread; each for itself if they are not in memory.
    """
    homes = _find(tasks, partitions)
    threads = tasks.client.nthreads()
    if homes is None or not threads.keys() >= set(homes):
        return partitions, [[i] for i in range(len(partitions))]
    shares = share_out(partitions.n_rows, homes, threads)
    blocks = list(partitions.blocks)
    for worker, numbers in shares.items():
        for i in numbers:
            if homes[i] != worker:
                blocks[i] = delayed(_send(tasks, partitions, i, worker))
    chains = [
        numbers[thread :: threads[worker]]
        for worker, numbers in shares.items()
        for thread in range(threads[worker])
    ]
    return replace(partitions, blocks=blocks), [chain for chain in chains if chain]


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

    def load(worker, more=0):
        return (sum(n_rows[i] for i in shares[worker]) + more) / threads[worker]

    while True:
        most = max(shares, key=load)
        least = min(shares, key=load)
        # The smallest: one that does not make the other the one that has most.
        moved = min(shares[most], key=lambda i: n_rows[i])
        if load(least, n_rows[moved]) >= load(most):
            break
        shares[most].remove(moved)
        shares[least].append(moved)
    return {worker: sorted(numbers) for worker, numbers in shares.items()}


def _find(tasks: Tasks, partitions: Partitions) -> list[str] | None:
    """Workers that have the values of the blocks; None if some are in no memory."""
    where = tasks.client.who_has()
    homes = [min(where.get(X.key, ()), default="") for X, *_ in partitions.blocks]
    return homes if all(homes) else None


def _send(tasks: Tasks, partitions: Partitions, i: int, worker: str) -> Future:
    """Have a block in the memory of another worker."""
    block = partitions.call(i, _keep)
    return tasks.compute([block], workers=[worker], allow_other_workers=True)[0]


def _keep(block: Block) -> Block:
    """On a worker: the block, to be kept there."""
    return block
