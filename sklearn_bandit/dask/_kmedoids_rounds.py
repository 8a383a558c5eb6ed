"""Rounds in which all rows of a dask collection are arms of SWAP.

A sample of the rows is on the client: these are the references. In each round every row
is an arm where it is, for any medoid that it may replace. On few references most arms
are dropped, on more of them most of those that are left; the rest come to the client,
which makes swaps among them by all its references. What becomes of the loss is computed
from all rows. Where that is no gain, the losses of the last few swaps are computed from
all rows. How many arms are left is a number of all partitions together, so that it
makes no difference where the data are cut.
"""

from __future__ import annotations

from copy import copy
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from dask.delayed import delayed

from sklearn_bandit.cluster import SampledSwaps

from ._collections import Block
from ._sums import add_sums, exact_sum

# References on the workers, in blocks of `batch_size`: for all arms, then for the best.
# The second take an eighth of the distances of the first, with a million rows.
BLOCKS = (1, 16)

# Most arms that are left after the first and the second references, and those whose
# loss is computed. Of all partitions together: each must name as many, for all of them
# may be its own, whereupon it makes no difference where the data are cut. Each medoid
# has an equal share of them: those whose best swap removes it.
N_LEFT = (8192, 512)
N_EXACT = 32

# Distances that a worker holds at a time.
MAX_DISTANCES = 1 << 22


class Screened(NamedTuple):
    """The arms of a partition that are left, and its loss with the present medoids.

    Parameters
    ----------
    loss : Fraction or float
        Sum of weighted distances to the nearest medoid.
    arms : list of ndarray
        Rows whose best swap removes each medoid, numbered within the partition.
    changes : list of ndarray
        What these swaps change, by the first references.
    """

    loss: Fraction | float
    arms: list[np.ndarray]
    changes: list[np.ndarray]


class Distances:
    """Distances from samples to given ones, by the local model.

    Parameters
    ----------
    model : BanditKMedoids
        Fitted.
    """

    def __init__(self, model: Any) -> None:
        # The threads of a worker share what a task is given.
        self.model = copy(model)

    def to(self, X: np.ndarray, medoids: np.ndarray) -> np.ndarray:
        """Distances from rows of X to medoids."""
        self.model.cluster_centers_ = medoids
        return self.model.transform(X)

    def by_parts(self, X, medoids):
        """Yield slices of X with their distances, as many as memory is meant for."""
        n = max(1, MAX_DISTANCES // max(1, len(medoids)))
        for start in range(0, len(X), n):
            rows = slice(start, min(start + n, len(X)))
            yield rows, self.to(X[rows], medoids)


def references_of(model: Any) -> list[int]:
    """How many references workers compare arms on: all arms, then the best."""
    return [n * model.batch_size for n in BLOCKS]


def _least(changes, rows, n):
    """Positions of the least changes, in ascending order; ties by row."""
    if len(changes) > n:
        some = np.flatnonzero(changes <= np.partition(changes, n - 1)[n - 1])
        return some[np.lexsort((rows[some], changes[some]))[:n]]
    return np.lexsort((rows, changes))


def _share(n, n_clusters):
    """How many of n arms each medoid has."""
    return max(n // n_clusters, 1)


def _loss(block: Block, model: Any, medoids: np.ndarray) -> Fraction | float:
    """On a worker: loss of a partition."""
    losses = np.empty(len(block.X))
    for rows, found in Distances(model).by_parts(block.X, medoids):
        losses[rows] = found.min(axis=1)
    if block.sample_weight is not None:
        losses *= block.sample_weight
    return exact_sum(losses)


def screen(
    block: Block, swaps: SampledSwaps, medoids: np.ndarray, n_left: int
) -> Screened:
    """On a worker: loss, and the best arms of each medoid by the first references."""
    n_clusters = len(medoids)
    changes, removed = swaps.changes(medoids, block.X, references_of(swaps.model)[0])
    if block.sample_weight is not None:
        changes[block.sample_weight == 0.0] = np.inf
    arms, kept = [], []
    for k in range(n_clusters):
        rows = np.flatnonzero((removed == k) & (changes < np.inf))
        rows = rows[_least(changes[rows], rows, n_left)]
        arms.append(rows)
        kept.append(changes[rows])
    return Screened(_loss(block, swaps.model, medoids), arms, kept)


def _said(screened: Screened) -> tuple[Fraction | float, list[np.ndarray]]:
    """On a worker: what the client is told, which are numbers alone."""
    return screened.loss, screened.changes


def _propose(
    block: Block,
    swaps: SampledSwaps,
    medoids: np.ndarray,
    limits: np.ndarray,
    screened: Screened,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """On a worker: of arms below the limits, the best by the second references.

    Returns changes, removed medoids, rows (numbered within the partition) and values.
    """
    below = [
        arms[changes <= limit]
        for limit, arms, changes in zip(
            limits, screened.arms, screened.changes, strict=True
        )
    ]
    rows = np.sort(np.concatenate(below))
    changes, removed = swaps.changes(medoids, block.X[rows], swaps.n_references)
    best = _best_of_each(changes, removed, rows, len(medoids))
    rows = rows[best]
    return changes[best], removed[best], rows, block.X[rows]


def _best_of_each(changes, removed, rows, n_clusters):
    """Positions of the best swaps that remove each medoid."""
    best = [np.empty(0, dtype=np.intp)]
    for k in range(n_clusters):
        some = np.flatnonzero(removed == k)
        share = _share(N_LEFT[1], n_clusters)
        best.append(some[_least(changes[some], rows[some], share)])
    return np.concatenate(best)


def _losses(
    block: Block, model: Any, medoids: np.ndarray, candidates: list
) -> list[list[Fraction | float]]:
    """On a worker: loss with each candidate in the place of its cluster's medoid."""
    distances = Distances(model)
    sums: list = [[Fraction(0)] * len(some) for some in candidates]
    every = np.concatenate([medoids, *candidates])
    n = len(medoids)
    for rows, found in distances.by_parts(block.X, every):
        weights = None if block.sample_weight is None else block.sample_weight[rows]
        start = n
        for k, some in enumerate(candidates):
            others = np.delete(found[:, :n], k, axis=1).min(axis=1, initial=np.inf)
            for j in range(len(some)):
                nearest = np.minimum(others, found[:, start + j])
                if weights is not None:
                    nearest = nearest * weights
                sums[k][j] = add_sums([sums[k][j], exact_sum(nearest)])
            start += len(some)
    return sums


class Rounds:
    """Rounds of swaps whose arms are all rows.

    Parameters
    ----------
    blocks : PlacedBlocks
        All samples.
    local : BanditKMedoids
        The local model, fitted to those on the client.
    rows, weights : ndarray
        Samples on the client, and their weights or None.
    numbers : ndarray of int
        Their row numbers.

    Attributes
    ----------
    medoids, numbers : ndarray
        The present medoids, and their row numbers.
    loss : Fraction, float or None
        Loss of all samples with them, once it is known.
    swaps, leading : SampledSwaps
        On all samples of the client, and on those that the workers get.
    """

    def __init__(self, blocks, local, rows, weights, numbers):
        self.tasks = blocks.tasks
        self.blocks = blocks
        self.medoids = np.asarray(local.cluster_centers_)
        self.numbers = numbers[local.medoid_indices_]
        self.distances = Distances(_for_distances(local))
        self.swaps = SampledSwaps.in_random_order(local, rows, weights)
        self.leading = self.swaps.leading(references_of(local)[1], self.distances.model)
        self.loss: Fraction | float | None = None

    def run(self, max_rounds, tol):
        """Go on until nothing is gained; return the number of rounds."""
        # It goes to each worker once, and not in each round.
        held = delayed(self.tasks.submit(_hold, self.leading))
        for i in range(max_rounds):
            arms, numbers = self._arms(held)
            if self._descend(arms, numbers, tol):
                continue
            candidates, chosen = self._candidates(arms, numbers)
            if not self._swap(candidates, chosen, tol):
                return i + 1
        self.loss = self._loss(self.medoids)
        return max_rounds

    def _loss(self, medoids):
        """Loss of all samples with some medoids."""
        futures = self.blocks.compute(_loss, [self.distances.model, medoids])
        return add_sums(list(self.tasks.gather(futures)))

    def _arms(self, held):
        """The best arms of all partitions, and their row numbers."""
        n_clusters = len(self.medoids)
        # The second references take no more distances than the first.
        n_all = self.blocks.partitions.n_samples * BLOCKS[0] // BLOCKS[1]
        n = _share(min(N_LEFT[0], n_all), n_clusters)
        screened = self.blocks.compute(screen, [held, self.medoids, n])
        told = list(
            self.tasks.gather([self.tasks.submit(_said, one) for one in screened])
        )
        self.loss = add_sums([loss for loss, _ in told])
        limits = np.full(n_clusters, np.inf)
        for k in range(n_clusters):
            changes = np.concatenate([some[k] for _, some in told])
            if len(changes) > n:
                limits[k] = np.partition(changes, n - 1)[n - 1]
        futures = self.blocks.compute(
            _propose, [held, self.medoids, limits], map(delayed, screened)
        )
        proposals = list(self.tasks.gather(futures))
        for future in screened:
            self.tasks.release(future)
        lengths = [len(one[2]) for one in proposals]
        changes, removed, numbers, arms = (
            np.concatenate(parts) for parts in zip(*proposals, strict=True)
        )
        numbers += np.repeat(self.blocks.partitions.starts, lengths)
        best = _best_of_each(changes, removed, numbers, n_clusters)
        best = best[~np.isin(numbers[best], self.numbers)]
        best = best[np.argsort(numbers[best])]
        return arms[best], numbers[best]

    def _descend(self, arms, numbers, tol):
        """Make swaps by the references; return whether all rows gain by them."""
        if not len(arms):
            return False
        chosen = self.swaps.descend(self.medoids, arms, tol)
        medoids = np.concatenate([self.medoids, arms])[chosen]
        numbers = np.concatenate([self.numbers, numbers])[chosen]
        if np.array_equal(numbers, self.numbers):
            return False
        if not self._loss(medoids) < (1 - tol) * self.loss:
            return False
        self.medoids, self.numbers = medoids, numbers
        return True

    def _candidates(self, arms, numbers):
        """Of some arms the best by all references, by the medoid that is removed."""
        n_clusters = len(self.medoids)
        if not len(arms):
            return [arms] * n_clusters, [numbers] * n_clusters
        changes, removed = self.swaps.changes(
            self.medoids, arms, self.swaps.n_references
        )
        candidates, chosen = [], []
        for k in range(n_clusters):
            some = np.flatnonzero(removed == k)
            n = _share(N_EXACT, n_clusters)
            some = some[_least(changes[some], numbers[some], n)]
            candidates.append(arms[some])
            chosen.append(numbers[some])
        return candidates, chosen

    def _swap(self, candidates, numbers, tol):
        """Put better medoids in; return whether there were any."""
        futures = self.blocks.compute(
            _losses, [self.distances.model, self.medoids, candidates]
        )
        found = list(self.tasks.gather(futures))
        best: list[tuple] = []
        for k, some in enumerate(numbers):
            sums = [add_sums([one[k][j] for one in found]) for j in range(len(some))]
            if sums and min(sums) < self.loss:
                j = sums.index(min(sums))
                best.append((sums[j], k, j))
        best.sort(key=lambda one: one[:2])
        if not best or not best[0][0] < (1 - tol) * self.loss:
            return False
        # All together gain most, unless they are in each other's way.
        for chosen in (best, best[:1]):
            medoids, rows = self.medoids.copy(), self.numbers.copy()
            for _, k, j in chosen:
                medoids[k], rows[k] = candidates[k][j], numbers[k][j]
            if len(chosen) > 1 and not self._loss(medoids) <= best[0][0]:
                continue
            self.medoids, self.numbers = medoids, rows
            return True
        return False


def _hold(swaps: SampledSwaps) -> SampledSwaps:
    """On a worker: the references, to be kept there."""
    return swaps


def _for_distances(local):
    """Return a copy of a fitted model that has all that distances need."""
    model = copy(local)
    del model.labels_
    model.n_jobs = 1
    return model
