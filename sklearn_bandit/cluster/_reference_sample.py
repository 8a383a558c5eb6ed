"""The sample that all searches share: distances of all arms to the leading references.

The references are the leading positions of one random order for the whole fit, so a
distance computed for one search serves all others: the permutation-invariant cache of
BanditPAM++ [1]_.

References
----------
.. [1] M. Tiwari et al., "BanditPAM++: Faster k-medoids Clustering", NeurIPS (2023).
"""

from math import ceil, prod

import numpy as np

from ._control_variate import ControlVariate
from ._distances import ARM_TILE, TileCache
from ._sampled_passes import accumulate, reduce_bounds, reduce_means

# Sums that take more memory than this are given back after each search.
REUSED_BYTES = 1 << 28

# Tiles that are computed, kept and passed over together: 32 MB with 512 references.
CHUNK_TILES = 32


class Sample:
    """Distances of all arms to the leading references, and passes over them.

    Parameters
    ----------
    distances : Distances
        Where they come from.
    block : int
        References of a block; samples grow by whole blocks.
    cache_size : int
        Bytes for tiles.
    n_threads : int
        OpenMP threads.
    """

    def __init__(self, distances, block, cache_size, n_threads):
        self.distances = distances
        self.n = distances.n
        self.block = min(block, distances.n)
        self.tiles = TileCache(distances, cache_size, n_threads)
        self._arms = np.arange(distances.n)
        self._n_threads = n_threads
        self._memory = {}

    def means(self, clusters, stop, arms, *, build):
        """Mean reward of some arms on the leading references.

        Parameters
        ----------
        clusters : MedoidState
            The medoids so far.
        stop : int
            Number of references.
        arms : range
            Positions.
        build : bool
            Rewards of BUILD; else those of SWAP, less the present distances.

        Returns
        -------
        means : ndarray of shape (len(arms),)
            The least over the swaps of an arm, times the distances' scale; infinite for
            medoids.
        removed : ndarray of shape (len(arms),)
            The medoid that the best swap removes.
        sums : ndarray
            What the means were computed from; until the next call.
        """
        means = np.empty(len(arms))
        removed = np.empty(len(arms), dtype=np.intc)
        sums = self._zeros("known", len(arms), clusters, build, 1)
        base = None if build else clusters.present()
        self._add(
            self._arms[arms.start : arms.stop], sums, clusters, base, 0, stop, build
        )
        reduce_means(sums, 1.0 / stop, means, removed)
        medoids = [x - arms.start for x in clusters.medoids if x in arms]
        means[medoids] = np.inf
        return means, removed, sums

    def survivors(self, clusters, base, n_known, known=None, *, build):
        """Compare all arms with the base arm on the leading references.

        Parameters
        ----------
        clusters : MedoidState
            The medoids so far.
        base : ndarray of shape (n,)
            Rewards of the base arm, times the distances' scale.
        n_known : int
            Leading references on which the medoids or the choice of the base arm may
            have depended: whole blocks. One more makes the sample.
        known : ndarray, default=None
            The sums of all arms on these references, if `means` has computed them; it
            is changed.
        build : bool
            Rewards of BUILD rather than SWAP.

        Returns
        -------
        Survivors
            All arms.
        """
        stop = min(n_known + self.block, self.n)
        proxy = ControlVariate(self.distances, clusters, base, n_known, build=build)
        if known is None:
            known = self._zeros("known", self.n, clusters, build, 1)
            self._add(self._arms, known, clusters, base, 0, n_known, build)
        else:
            # They are relative to changing nothing, or to zero.
            weights, nearest, *_ = clusters.references(0, n_known)
            gaps = (0.0 if build else nearest) - base[:n_known].astype(np.float64)
            known[:, 0] += weights @ gaps
        group = 6 if proxy.exists else 3
        sums = self._zeros("sums", self.n, clusters, build, group)
        survivors = Survivors(
            self._arms, known, sums, n_known, self.n, proxy, self._n_threads
        )
        self.extend(survivors, clusters, base, stop, build=build)
        return survivors

    def rebase(self, survivors, clusters, base, new_base, *, build):
        """Compare some arms with another one from now on.

        It was chosen on the references so far: they are known, and the sample begins
        anew.
        """
        stop = survivors.n_used
        weights, *_ = clusters.references(0, stop)
        gaps = base[:stop].astype(np.float64) - new_base[:stop]
        proxy = ControlVariate(self.distances, clusters, new_base, stop, build=build)
        survivors.restart(weights @ gaps, proxy)

    def whole_blocks(self, n_references):
        """Round a number of references up to whole blocks, as far as there are any."""
        return min(ceil(n_references / self.block) * self.block, self.n)

    def extend(self, survivors, clusters, base, stop, *, build):
        """Add the references up to `stop` to the sums of the survivors alone."""
        arms, sums, start = survivors.arms, survivors.sums, survivors.n_used
        self._add(arms, sums, clusters, base, start, stop, build, survivors.proxy)
        survivors.n_used = stop

    def _add(self, arms, sums, clusters, base, start, stop, build, proxy=None):
        """Add the references from `start` to `stop` to the sums of some arms."""
        for t in range(0, len(sums), CHUNK_TILES):
            chunk = arms[t * ARM_TILE : (t + CHUNK_TILES) * ARM_TILE]
            part = sums[t : t + CHUNK_TILES]
            for first in range(start, stop, self.block):
                last = min(first + self.block, self.n)
                tiles = self.tiles(chunk, first, last)
                self._accumulate(
                    tiles, first, last, len(chunk), clusters, base, build, proxy, part
                )

    def _zeros(self, purpose, n_arms, clusters, build, group):
        """Sums of all arms to begin with.

        Their memory serves all searches, unless there is very much of it: getting it
        anew would take longer than the passes.
        """
        n_groups = 1 if build else 1 + clusters.n_clusters
        shape = -(-n_arms // ARM_TILE), n_groups * group, ARM_TILE
        if 8 * prod(shape) > REUSED_BYTES:
            return np.zeros(shape)
        memory = self._memory.get(purpose, np.empty(0))
        if len(memory) < prod(shape):
            self._memory[purpose] = memory = np.empty(prod(shape))
        sums = memory[: prod(shape)].reshape(shape)
        sums[:] = 0.0
        return sums

    def _accumulate(
        self, tiles, first, last, n_arms, clusters, base, build, proxy, sums
    ):
        k = 0 if build else clusters.n_clusters
        weights, nearest, second, labels = clusters.references(first, last)
        base = np.zeros_like(nearest) if base is None else base[first:last]
        slopes, origins, power = base, base, 0
        if proxy is not None:
            slopes, origins = proxy.slopes[first:last], proxy.origins[first:last]
            power = proxy.power
        accumulate(
            tiles,
            weights,
            nearest,
            second,
            labels,
            base,
            slopes,
            origins,
            power,
            k,
            np.argsort(labels, kind="stable"),
            n_arms,
            sums,
            self._n_threads,
        )


class SampleRows:
    """Rows over the leading references alone, in place of a `RowCache`."""

    dtype = np.dtype(np.float32)
    scale = 1.0

    def __init__(self, sample, n_references):
        self._distances = sample.distances
        self.n = min(n_references, sample.n)

    def __call__(self, arms):
        """Scaled distances of each arm, of shape (len(arms), n)."""
        tiles = self._distances.tiles(np.asarray(arms), 0, self.n)
        columns = tiles.transpose(0, 2, 1).reshape(-1, self.n)
        return columns[: len(arms)]


class Survivors:
    """Arms that are still in a search, and their sums.

    Attributes
    ----------
    arms : ndarray
        Positions.
    means, lower : ndarray
        Least mean and least lower bound over the swaps of each arm, relative to the
        base arm and times the distances' scale.
    n_used : int
        References in the sums.
    """

    def __init__(self, arms, known, sums, n_known, n_total, proxy, n_threads):
        self.arms = arms
        self.known = known
        self.sums = sums
        self.n_known = n_known
        self.n_used = n_known
        self.n_total = n_total
        self.proxy = proxy
        self.means = self.lower = None
        self._totals = proxy.totals(arms)
        self._n_threads = n_threads

    def __len__(self):
        return len(self.arms)

    def eliminate(self, quantiles, slack, dense):
        """Drop the arms that are worse than the base arm.

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
        self.means = np.empty(len(self))
        self.lower = np.empty(len(self))
        reduce_bounds(
            self.known,
            self.n_known,
            self.sums,
            self.n_used - self.n_known,
            self.n_total,
            quantiles,
            self.proxy.counts(self.n_used),
            self._totals,
            self.means,
            self.lower,
            self._n_threads,
        )
        survive = self.lower <= slack
        is_dense = len(self) == self.n_total and survive.mean() > dense
        if not is_dense or self.n_used == self.n_total:
            self.keep(np.flatnonzero(survive))

    def restart(self, shift, proxy):
        """Make the sample known, its sums less those of a new base arm."""
        n_groups = self.known.shape[1]
        group = self.sums.shape[1] // n_groups
        self.known = self.known + self.sums[:, ::group]
        self.known[:, 0] += shift
        n_planes = n_groups * (6 if proxy.exists else 3)
        self.sums = np.zeros((len(self.known), n_planes, ARM_TILE))
        self.n_known = self.n_used
        self.proxy = proxy
        self._totals = proxy.totals(self.arms)

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
