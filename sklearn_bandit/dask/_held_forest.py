"""A forest whose trees grow on several workers, and the values that these share.

The values of all samples are in one file of each machine. A worker writes the rows that
it has, or is sent from other machines, where they belong; then all workers of the
machine map the file. What else a tree grows on, above all bins, each worker makes for
itself when its first tree grows: that is faster than to write and to map it.

Where files cannot be shared, every worker is sent all rows.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from dask.sizeof import sizeof
from distributed import Future, get_worker

from sklearn_bandit.tree._building import as_read

from ._client import Tasks
from ._collections import Block, Partitions


class NotSharedError(Exception):
    """Values are not in a file of this machine, or are not all there."""


class Written(NamedTuple):
    """On a worker: a block whose values are in a file.

    Parameters
    ----------
    path : str
        The file; a later one may have been made in its place.
    y, sample_weight : ndarray or None
        Targets and weights of the block.
    """

    path: str
    y: np.ndarray | None
    sample_weight: np.ndarray | None


@dataclass(frozen=True)
class SharedValues:
    """Values of all samples in a file, for the workers of a machine.

    Parameters
    ----------
    path : str
        The file: values row by row.
    dtype : dtype
        Their type.
    shape : tuple of int
        Numbers of samples and features.
    """

    path: str
    dtype: np.dtype
    shape: tuple[int, int]

    @classmethod
    def create(cls, dtype: np.dtype, shape: tuple[int, int]) -> SharedValues:
        """On a worker: make an empty file, which is there as long as the result is.

        The folder is that of the worker, which dask removes with it.
        """
        folder = tempfile.mkdtemp(dir=get_worker().local_directory)
        values = cls(os.path.join(folder, "values"), dtype, shape)
        weakref.finalize(values, shutil.rmtree, folder, ignore_errors=True)
        Path(values.path).touch()
        return values

    def write(self, block: Block, start: int, after: Any = None) -> Written:
        """On a worker of the machine: write the rows of a block.

        Parameters
        ----------
        block : Block
            The rows, in the type of the file.
        start : int
            Number of the first.
        after : object
            Not used: what is to be computed before.

        Returns
        -------
        Written
            What was written where.
        """
        try:
            # Not through a map, which ends the process if the disk is full.
            with open(self.path, "r+b") as file:
                file.seek(start * self.shape[1] * self.dtype.itemsize)
                file.write(np.ascontiguousarray(block.X).data)
        except OSError as error:
            raise NotSharedError from error
        return Written(self.path, block.y, block.sample_weight)

    def map(self) -> np.ndarray | None:
        """Return the values; None if this machine does not have them."""
        try:
            return np.memmap(self.path, self.dtype, mode="r", shape=self.shape)
        except OSError:
            return None


class HeldForest:
    """On a worker: a forest whose trees are to grow.

    Parameters
    ----------
    forest : BanditForest
        The local forest.
    X : ndarray, or list of SharedValues
        The samples; in files, one of each machine.
    y, sample_weight : ndarray or None
        Their targets and weights.
    """

    def __init__(self, forest, X, y, sample_weight):
        self.forest = forest
        self.X = X
        self.y = y
        self.sample_weight = sample_weight
        self._prepared = None
        self._preparing = Lock()

    def __sizeof__(self):
        n_bytes = sum(map(sizeof, (self.X, self.y, self.sample_weight)))
        if self._prepared is not None:
            packed = self._prepared.training_set.packed
            n_bytes += packed.rows.nbytes + packed.columns.nbytes
        return n_bytes

    def __reduce__(self):
        # Another worker prepares the fit by itself.
        return HeldForest, (self.forest, self.X, self.y, self.sample_weight)

    @property
    def prepared(self):
        """What the forest is fitted with, made by the first task that asks for it.

        The others of this worker wait for that: it has their threads.
        """
        with self._preparing:
            if self._prepared is None:
                self.forest.n_jobs = get_worker().state.nthreads
                self._prepared = self.forest._prepare(
                    self._map(), self.y, self.sample_weight
                )
            return self._prepared

    def _map(self):
        if isinstance(self.X, np.ndarray):
            return self.X
        for values in self.X:
            mapped = values.map()
            if mapped is not None:
                return mapped
        raise NotSharedError


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


def hold_by_machine(
    tasks: Tasks,
    local: Any,
    partitions: Partitions,
    machines: dict[str, dict[str, int]],
) -> Future:
    """Have all values in a file of each machine.

    Parameters
    ----------
    tasks : Tasks
        Of the fit.
    local : BanditForest
        The local forest.
    partitions : Partitions
        All samples.
    machines : dict of str to dict
        The workers of each machine: their addresses, and how many threads they have.

    Returns
    -------
    distributed.Future
        Of a `HeldForest`, which raises `NotSharedError` where there is no file.
    """
    blocks = tasks.compute(partitions.map(narrow))
    dtype = as_read(np.empty((0, 0), dtype=partitions.dtype)).dtype
    shape = partitions.n_samples, partitions.n_features
    files, written, paths = [], [], []
    for threads in machines.values():
        there = {"workers": list(threads), "allow_other_workers": True}
        file = tasks.submit(SharedValues.create, dtype, shape, **there)
        files.append(file)
        # As many chains as threads: a task that waits would be given to any worker that
        # is idle, of another machine, too.
        n_chains = sum(threads.values())
        written.append([])
        paths.append([])
        for i, (block, start) in enumerate(zip(blocks, partitions.starts, strict=True)):
            before = paths[-1][i - n_chains] if i >= n_chains else None
            one = tasks.submit(
                SharedValues.write, file, block, int(start), before, **there
            )
            written[-1].append(one)
            paths[-1].append(tasks.submit(_path_of, one))
    for block in blocks:
        tasks.release(block)
    # The targets of one machine are enough.
    return tasks.submit(_hold_files, local, files, paths, written[0])


def hold_by_worker(
    tasks: Tasks, local: Any, partitions: Partitions, workers: Sequence[str]
) -> dict[str, Future]:
    """Have all values in the memory of each worker.

    Parameters
    ----------
    tasks, local, partitions
        As for `hold_by_machine`.
    workers : sequence of str
        Addresses of the workers.

    Returns
    -------
    dict of str to distributed.Future
        Of the `HeldForest` of each.
    """
    blocks = tasks.compute(partitions.map(narrow))
    return {
        worker: tasks.submit(
            _hold_blocks, local, blocks, workers=[worker], allow_other_workers=True
        )
        for worker in workers
    }


def _path_of(written):
    """On a worker: where a block was written."""
    return written.path


def _hold_files(local, files, paths, written):
    """On a worker: hold a forest whose values are in files, if all were written."""
    for file, some in zip(files, paths, strict=True):
        if any(path != file.path for path in some):
            raise NotSharedError  # made anew, after a worker was lost
    y, sample_weight = (
        None if parts[0] is None else np.concatenate(parts)
        for parts in list(zip(*written, strict=True))[1:]
    )
    return HeldForest(local, files, y, sample_weight)


def _hold_blocks(local, blocks):
    """On a worker: hold a forest whose values are in memory."""
    return HeldForest(local, *join_blocks(blocks))
