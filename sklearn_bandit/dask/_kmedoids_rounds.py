"""Rounds in which clusters of a dask collection look for better medoids.

Every member of a partition is an arm, and samples of its cluster are its references.
Most arms are dropped where they are, on few references and then on more; of those that
are left the client drops most on all the references that it has; the loss with each of
the last few is computed from all samples, by blocks. How many are left is a number of
all partitions together, so that it makes no difference where the data are cut.
"""

from __future__ import annotations

from copy import copy
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from dask.delayed import delayed

from ._collections import Block
from ._sums import add_sums, exact_sum

# References of a cluster on the workers: for all members, then for the best of these.
REFERENCES = (64, 512)

# Members of a cluster that are left after the first and the second references, and
# those whose loss is computed. Of all partitions together: each must name as many, for
# all of them may be its own, whereupon it makes no difference where the data are cut.
N_LEFT = (1024, 64)
N_EXACT = 4

# Distances that a worker holds at a time.
MAX_DISTANCES = 1 << 22


class Labelled(NamedTuple):
    """The members of a partition, and their loss with the present medoids.

    Parameters
    ----------
    loss : Fraction or float
        Sum of weighted distances to the nearest medoid.
    members : list of ndarray
        Rows of each cluster that are left, numbered within the partition.
    sums : list of ndarray
        Sums of their distances to the first references.
    """

    loss: Fraction | float
    members: list[np.ndarray]
    sums: list[np.ndarray]


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

    def sums(self, X, weights, candidates):
        """Weighted sums of the distances from all rows of X to each candidate.

        A few candidates at a time: what else is summed makes no difference to a sum.
        """
        n = max(1, MAX_DISTANCES // max(1, len(X)))
        totals = [np.empty(0)]
        for start in range(0, len(candidates), n):
            found = self.to(X, candidates[start : start + n])
            if weights is not None:
                found = found * weights[:, None]
            totals.append(found.sum(axis=0))
        return np.concatenate(totals)


def _least(sums, rows, n):
    """Positions of the least sums, in ascending order; ties by row."""
    if len(sums) > n:
        some = np.flatnonzero(sums <= np.partition(sums, n - 1)[n - 1])
        return some[np.lexsort((rows[some], sums[some]))[:n]]
    return np.lexsort((rows, sums))


def label(block: Block, model: Any, medoids: np.ndarray, references: list) -> Labelled:
    """On a worker: loss, and the members with the least sums to few references."""
    distances = Distances(model)
    weights = block.sample_weight
    losses, labels = np.empty(len(block.X)), np.empty(len(block.X), dtype=np.intp)
    for rows, found in distances.by_parts(block.X, medoids):
        labels[rows] = found.argmin(axis=1)
        losses[rows] = found.min(axis=1)
    if weights is not None:
        losses *= weights
    kept, sums = [], []
    for k, (X, sample_weight) in enumerate(references):
        members = np.flatnonzero(labels == k)
        if weights is not None:
            members = members[weights[members] > 0.0]
        n = REFERENCES[0]
        some = X[:n], None if sample_weight is None else sample_weight[:n]
        totals = distances.sums(*some, block.X[members])
        best = _least(totals, members, N_LEFT[0])
        kept.append(members[best])
        sums.append(totals[best])
    return Labelled(exact_sum(losses), kept, sums)


def _said(labelled: Labelled) -> tuple[Fraction | float, list[np.ndarray]]:
    """On a worker: what the client is told, which are sums alone."""
    return labelled.loss, labelled.sums


def _propose(
    block: Block,
    model: Any,
    limits: np.ndarray,
    references: list,
    labelled: Labelled,
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """On a worker: of members below the limits, the least sums to all references.

    Returns sums, rows (numbered within the partition) and values for each cluster.
    """
    distances = Distances(model)
    proposed = []
    for limit, members, sums, some in zip(
        limits, labelled.members, labelled.sums, references, strict=True
    ):
        members = members[sums <= limit]
        totals = distances.sums(*some, block.X[members])
        best = _least(totals, members, N_LEFT[1])
        members = members[best]
        proposed.append((totals[best], members, block.X[members]))
    return proposed


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
    """Rounds in which clusters look for better medoids among all their members.

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
    """

    def __init__(self, blocks, local, rows, weights, numbers):
        self.tasks = blocks.tasks
        self.blocks = blocks
        self.rows, self.weights = rows, weights
        self.medoids = np.asarray(local.cluster_centers_)
        self.numbers = numbers[local.medoid_indices_]
        self.distances = Distances(_for_distances(local))
        self.loss: Fraction | float | None = None

    def run(self, max_rounds, tol):
        """Go on until nothing is gained; return the number of rounds."""
        for i in range(max_rounds):
            references = self._references()
            candidates, numbers = self._candidates(references)
            if not self._swap(candidates, numbers, tol):
                return i + 1
        self.loss = self._loss(self.medoids)
        return max_rounds

    def _loss(self, medoids):
        """Loss of all samples with some medoids."""
        labelled = self.blocks.compute(label, [self.distances.model, medoids, []])
        return add_sums([one.loss for one in self.tasks.gather(labelled)])

    def _references(self):
        """Samples of each cluster on the client, and their weights, in random order."""
        labels = np.empty(len(self.rows), dtype=np.intp)
        for rows, found in self.distances.by_parts(self.rows, self.medoids):
            labels[rows] = found.argmin(axis=1)
        order = np.random.RandomState(0).permutation(len(labels))
        parts = [order[labels[order] == k] for k in range(len(self.medoids))]
        self.parts = parts
        n = REFERENCES[-1]
        return [self._some(part[:n]) for part in parts]

    def _some(self, part):
        weights = self.weights
        return self.rows[part], None if weights is None else weights[part]

    def _candidates(self, references):
        """The best members of all partitions, by all samples on the client."""
        model, medoids = self.distances.model, self.medoids
        labelled = self.blocks.compute(label, [model, medoids, references])
        told = list(
            self.tasks.gather([self.tasks.submit(_said, one) for one in labelled])
        )
        self.loss = add_sums([loss for loss, _ in told])
        limits = np.full(len(medoids), np.inf)
        for k in range(len(medoids)):
            sums = np.concatenate([some[k] for _, some in told])
            if len(sums) > N_LEFT[0]:
                limits[k] = np.partition(sums, N_LEFT[0] - 1)[N_LEFT[0] - 1]
        futures = self.blocks.compute(
            _propose, [model, limits, references], map(delayed, labelled)
        )
        proposals = list(self.tasks.gather(futures))
        for future in labelled:
            self.tasks.release(future)
        candidates, numbers = [], []
        for k in range(len(medoids)):
            sums, rows, members = (
                np.concatenate(parts)
                for parts in zip(*(one[k] for one in proposals), strict=True)
            )
            lengths = [len(one[k][1]) for one in proposals]
            rows += np.repeat(self.blocks.partitions.starts, lengths)
            best = _least(sums, rows, N_LEFT[1])
            rows, members = rows[best], members[best]
            whole = self._some(self.parts[k])
            best = _least(self.distances.sums(*whole, members), rows, N_EXACT)
            rows, members = rows[best], members[best]
            known = rows == self.numbers[k]
            candidates.append(members[~known])
            numbers.append(rows[~known])
        return candidates, numbers

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


def _for_distances(local):
    """Return a copy of a fitted model that has all that distances need."""
    model = copy(local)
    del model.labels_
    model.n_jobs = 1
    return model
