"""The arms that are still in a search."""

from copy import copy
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
    removed : ndarray
        The medoid that the swap of the least mean removes.
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
        self.means = self.lower = self.removed = None
        self._totals = comparison.variate.totals(arms)
        self._n_threads = n_threads

    def __len__(self):
        return len(self.arms)

    def eliminate(self, quantiles, slack, dense=1.0):
        """Drop the arms that are worse than the leader.

        Parameters
        ----------
        quantiles : ndarray
            Radius in units of the standard error, by effective size.
        slack : float
            Arms with a lower bound up to this survive: room for rounding, so that equal
            arms are told apart by exact sums only.
        dense : float, default=1.0
            While more than this share of all arms survives, none is dropped: their
            tiles need no gathering then, and the distances serve later searches.
        """
        self.bound(quantiles)
        survive = self.lower <= slack
        is_dense = len(self) == self.n_total and survive.mean() > dense
        if not is_dense or self.n_used == self.n_total:
            self.keep(np.flatnonzero(survive))

    def bound(self, quantiles):
        """Find means and lower bounds of all arms from their sums; see `eliminate`."""
        bounds = np.empty((3, len(self)))
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
        self.means, self.lower, removed = bounds
        self.removed = removed.astype(np.intc)

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
        n_planes = n_groups * comparison.group
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
        self.removed = self.removed[which]
        self.known = _take(self.known, which)
        self.sums = _take(self.sums, which)
        self._totals = self._totals[which]


class Screened:
    """Arms that are left of several parts, one part after the other.

    Their sums are put together by `survivors` only: that takes longer than the passes,
    and most screenings end with a swap.

    Attributes
    ----------
    arms, means, removed : ndarray
        As of `Survivors`.
    """

    def __init__(self):
        self.arms = self.means = self.removed = None
        self._parts, self._planes = [], []
        self._values = self._last = None

    def add(self, part, which):
        """Keep some of the arms of a part, whose sums may be overwritten afterwards.

        Parameters
        ----------
        part : Survivors
            Compared with the same leader on the same references as the others.
        which : ndarray
            Places among its arms.
        """
        names = "arms", "means", "lower", "removed", "_totals"
        self._parts.append([getattr(part, name)[which] for name in names])
        self._planes.append([_planes(part.known, which), _planes(part.sums, which)])
        self._last = part

    def close(self):
        """Say that this was the last part."""
        self._values = [np.concatenate(v) for v in zip(*self._parts, strict=True)]
        self.arms, self.means, _, self.removed, _ = self._values
        return self

    def survivors(self):
        """Return the arms with their sums."""
        joined = copy(self._last)
        joined.arms, joined.means, joined.lower, joined.removed, joined._totals = (
            self._values
        )
        joined.known, joined.sums = (
            _to_tiles(np.concatenate(planes))
            for planes in zip(*self._planes, strict=True)
        )
        return joined


def _take(sums, which):
    """Tiles with some of the arms of others."""
    return _to_tiles(_planes(sums, which))


def _planes(sums, which):
    """Sums of some arms, one after the other."""
    return sums[which // ARM_TILE, :, which % ARM_TILE]


def _to_tiles(planes):
    """Tiles of arms that are given one after the other."""
    (n_arms, n_planes), n_tiles = planes.shape, -(-len(planes) // ARM_TILE)
    tiles = np.zeros((n_tiles * ARM_TILE, n_planes))
    tiles[:n_arms] = planes
    tiles = tiles.reshape(n_tiles, ARM_TILE, n_planes).transpose(0, 2, 1)
    return np.ascontiguousarray(tiles)
