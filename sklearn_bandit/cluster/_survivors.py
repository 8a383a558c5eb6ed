"""The arms that are still in a search."""

from typing import NamedTuple

import numpy as np

from ._arm_bounds import reduce_bounds
from ._distances import ARM_TILE


class SampleSizes(NamedTuple):
    """Numbers of references of a search."""

    known: int  # not estimated
    used: int  # the sample of the others
    total: int


class Survivors:
    """Arms that are still in a search, and their sums.

    Parameters
    ----------
    arms : ndarray
        Positions.
    known, sums : ndarray
        Sums over the known references, and over the sample of the others.
    n_known : int
        Number of known references.
    first : int
        Position at which the sample begins.
    comparison : Comparison
        What the sums are of.
    n_threads : int
        OpenMP threads.

    Attributes
    ----------
    means, lower : ndarray
        Least mean and least lower bound over the swaps of each arm, relative to the
        leader and times the distances' scale.
    n_used : int
        Position at which the sample ends.
    n_total : int
        Number of all references, which are all arms as well.
    """

    def __init__(self, arms, known, sums, n_known, first, comparison, n_threads):
        self.arms = arms
        self.known = known
        self.sums = sums
        self.n_known = n_known
        self.first = self.n_used = first
        self.n_total = comparison.clusters.n
        self.comparison = comparison
        self.means = self.lower = None
        self._totals = comparison.variate.totals(arms)
        self._n_threads = n_threads

    def __len__(self):
        return len(self.arms)

    def eliminate(self, quantiles, slack, dense):
        """Drop the arms that are worse than the leader.

        Parameters
        ----------
        quantiles : ndarray
            Radius in units of the standard error, by effective size.
        slack : float
            Arms with a lower bound up to this survive: room for rounding, so that equal
            arms are told apart by exact sums only.
        dense : float
            While more than this share of all arms survives, none is dropped: their
            tiles need no gathering then, and the distances serve later searches.
        """
        bounds = np.empty((2, len(self)))
        n_sampled = self.n_used - self.first
        reduce_bounds(
            self.known,
            self.sums,
            SampleSizes(self.n_known, n_sampled, self.n_total),
            quantiles,
            self.comparison.variate.counts(self.n_used, self.first),
            self._totals,
            bounds,
            self._n_threads,
        )
        self.means, self.lower = bounds
        survive = self.lower <= slack
        is_dense = len(self) == self.n_total and survive.mean() > dense
        if not is_dense or self.n_used == self.n_total:
            self.keep(np.flatnonzero(survive))

    def restart(self, shift, comparison):
        """Make the sample known, its sums less those of a new leader.

        Parameters
        ----------
        shift : float
            What the sums over the references so far change by.
        comparison : Comparison
            With the new leader.
        """
        n_groups = self.known.shape[1]
        group = self.sums.shape[1] // n_groups
        self.known = self.known + self.sums[:, ::group]
        self.known[:, 0] += shift
        n_planes = n_groups * (6 if comparison.variate.exists else 3)
        self.sums = np.zeros((len(self.known), n_planes, ARM_TILE))
        self.n_known += self.n_used - self.first
        self.first = self.n_used
        self.comparison = comparison
        self._totals = comparison.variate.totals(self.arms)

    def keep(self, which):
        """Keep some of the arms, given by their places among the survivors."""
        self.arms = self.arms[which]
        self.means = self.means[which]
        self.lower = self.lower[which]
        self.known = _take(self.known, which)
        self.sums = _take(self.sums, which)
        self._totals = self._totals[which]


def _take(sums, which):
    """Tiles with some of the arms of others."""
    n_tiles, n_planes = -(-len(which) // ARM_TILE), sums.shape[1]
    planes = np.zeros((n_tiles * ARM_TILE, n_planes))
    planes[: len(which)] = sums[which // ARM_TILE, :, which % ARM_TILE]
    tiles = planes.reshape(n_tiles, ARM_TILE, n_planes).transpose(0, 2, 1)
    return np.ascontiguousarray(tiles)
