"""The sample that all searches share: distances of all arms to the leading references.

The references are the leading positions of one random order for the whole fit, so a
distance computed for one search serves all others: the permutation-invariant cache of
BanditPAM++ [1]_. Distances are kept as long as `cache_size` allows and computed again
beyond it, with the same result: memory changes the time, never the medoids.

References
----------
.. [1] M. Tiwari et al., "BanditPAM++: Faster k-medoids Clustering", NeurIPS (2023).
"""

from collections import OrderedDict

import numpy as np

from ._distances import ARM_TILE
from ._searches import accumulate, reduce_bounds, reduce_means

# Tiles that are computed, kept and passed over together: 32 MB with 512 references.
CHUNK_TILES = 32

# Of the cache, the part for exact rows; the rest is for tiles.
ROW_SHARE = 0.25


class RowCache:
    """Exact rows, the most recently used kept within a number of bytes."""

    def __init__(self, distances, n_bytes):
        self._distances = distances
        self._capacity = int(n_bytes // (distances.n * distances.dtype.itemsize))
        self._rows = OrderedDict()

    def __call__(self, arms):
        """Distances of each arm to all positions, of shape (len(arms), n)."""
        missing = [arm for arm in arms if arm not in self._rows]
        if len(missing) == len(arms):
            rows = self._distances.rows(np.asarray(arms))
        else:
            rows = np.empty((len(arms), self._distances.n), self._distances.dtype)
            fresh = self._distances.rows(np.asarray(missing)) if missing else ()
            fresh = dict(zip(missing, fresh, strict=True))
            for i, arm in enumerate(arms):
                rows[i] = fresh[arm] if arm in fresh else self._rows[arm]
        for arm, row in zip(arms, rows, strict=True):
            self._keep(arm, row)
        return rows

    def _keep(self, arm, row):
        if arm in self._rows:
            self._rows.move_to_end(arm)
        elif self._capacity:
            self._rows[arm] = row.copy()
            if len(self._rows) > self._capacity:
                self._rows.popitem(last=False)


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

    Attributes
    ----------
    size : int
        References that the searches use now.
    """

    def __init__(self, distances, block, cache_size, n_threads):
        self.distances = distances
        self.n = distances.n
        self.block = min(block, distances.n)
        self.size = self.block
        self._arms = np.arange(distances.n)
        self._kept = {}
        self._room = int(cache_size)
        self._n_threads = n_threads

    def grow(self, size):
        """Use this many references from now on, or all."""
        self.size = min(size, self.n)

    def means(self, clusters, stop, *, build):
        """Mean reward of each arm on the leading references.

        Parameters
        ----------
        clusters : Clusters
            The medoids so far.
        stop : int
            Number of references.
        build : bool
            Rewards of BUILD; else those of SWAP, less the present distances.

        Returns
        -------
        means : ndarray of shape (n,)
            The least over the swaps of an arm, times the distances' scale.
        removed : ndarray of shape (n,)
            The medoid that the best swap removes.
        """
        means = np.empty(self.n)
        removed = np.empty(self.n, dtype=np.intc)
        base = None if build else clusters.present()
        for arms in self._chunks():
            sums = _empty_sums(arms, clusters, build, moments=False)
            for block in self._blocks(arms, stop):
                self._accumulate(block, clusters, base, build, sums)
            reduce_means(sums, 1.0 / stop, means[arms], removed[arms])
        return means, removed

    def survivors(self, clusters, base, n_known, quantiles, slack, *, build):
        """Arms that may be better than the base arm, after a pass over the sample.

        Parameters
        ----------
        clusters : Clusters
            The medoids so far.
        base : ndarray of shape (n,)
            Rewards of the base arm, times the distances' scale.
        n_known : int
            Leading references on which the choice of the base arm depended: a multiple
            of `block`.
        quantiles, slack
            See `Survivors.eliminate`.
        build : bool
            Rewards of BUILD rather than SWAP.

        Returns
        -------
        Survivors
        """
        parts = []
        for arms in self._chunks():
            known = _empty_sums(arms, clusters, build, moments=False)
            sums = _empty_sums(arms, clusters, build, moments=True)
            for block in self._blocks(arms, self.size):
                target = known if block[0] < n_known else sums
                self._accumulate(block, clusters, base, build, target)
            part = Survivors(self._arms[arms], known, sums, n_known, self.size, self.n)
            part.eliminate(quantiles, slack)
            parts.append(part)
        return Survivors.joined(parts)

    def extend(self, survivors, clusters, base, stop, *, build):
        """Add the references up to `stop` to the sums of the survivors alone.

        These distances are used once, and not kept.
        """
        for t in range(0, len(survivors.sums), CHUNK_TILES):
            arms = survivors.arms[t * ARM_TILE : (t + CHUNK_TILES) * ARM_TILE]
            sums = survivors.sums[t : t + CHUNK_TILES]
            for first in range(survivors.n_used, stop, self.block):
                last = min(first + self.block, stop)
                block = first, last, self.distances.tiles(arms, first, last)
                self._accumulate(block, clusters, base, build, sums)
        survivors.n_used = stop

    def _chunks(self):
        step = CHUNK_TILES * ARM_TILE
        for first in range(0, self.n, step):
            yield slice(first, min(first + step, self.n))

    def _blocks(self, arms, stop):
        """Tiles of a chunk of arms, block by block: kept ones, or computed anew."""
        for first in range(0, stop, self.block):
            last = min(first + self.block, stop)
            key = arms.start, first, last
            tiles = self._kept.get(key)
            if tiles is None:
                tiles = self.distances.tiles(self._arms[arms], first, last)
                if tiles.nbytes <= self._room:
                    self._room -= tiles.nbytes
                    self._kept[key] = tiles
            yield first, last, tiles

    def _accumulate(self, block, clusters, base, build, sums):
        first, last, tiles = block
        k = 0 if build else clusters.n_clusters
        weights, nearest, second, labels = clusters.references(first, last)
        base = np.zeros_like(nearest) if base is None else base[first:last]
        moments = sums.shape[1] == 3 * (1 + k)
        accumulate(
            tiles,
            weights,
            nearest,
            second,
            labels,
            base,
            k,
            moments,
            sums,
            self._n_threads,
        )


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

    def __init__(self, arms, known, sums, n_known, n_used, n_total):
        self.arms = arms
        self.known = known
        self.sums = sums
        self.n_known = n_known
        self.n_used = n_used
        self.n_total = n_total
        self.means = self.lower = None

    def __len__(self):
        return len(self.arms)

    @classmethod
    def joined(cls, parts):
        """Put the survivors of all chunks together."""
        first = parts[0]
        if len(parts) == 1:
            return first
        survivors = cls(
            np.concatenate([part.arms for part in parts]),
            _pack(np.concatenate([_unpack(p.known, len(p)) for p in parts], axis=1)),
            _pack(np.concatenate([_unpack(p.sums, len(p)) for p in parts], axis=1)),
            first.n_known,
            first.n_used,
            first.n_total,
        )
        survivors.means = np.concatenate([part.means for part in parts])
        survivors.lower = np.concatenate([part.lower for part in parts])
        return survivors

    def eliminate(self, quantiles, slack):
        """Drop the arms that are worse than the base arm.

        Parameters
        ----------
        quantiles : ndarray
            Radius in units of the standard error, by effective size.
        slack : float
            Arms with a lower bound up to this survive: room for rounding, so that equal
            arms are told apart by exact sums only.
        """
        means = np.empty(len(self))
        lower = np.empty(len(self))
        removed = np.empty(len(self), dtype=np.intc)
        reduce_bounds(
            self.known,
            self.n_known,
            self.sums,
            self.n_used - self.n_known,
            self.n_total,
            quantiles,
            means,
            lower,
            removed,
        )
        self.means, self.lower = means, lower
        self.keep(lower <= slack)

    def keep(self, mask):
        """Keep some of the arms: a mask or positions among the survivors."""
        n = len(self)
        self.arms = self.arms[mask]
        self.means = self.means[mask]
        self.lower = self.lower[mask]
        self.known = _pack(_unpack(self.known, n)[:, mask])
        self.sums = _pack(_unpack(self.sums, n)[:, mask])


def _empty_sums(arms, clusters, build, *, moments):
    n_tiles = -(-(arms.stop - arms.start) // ARM_TILE)
    n_planes = (1 if build else 1 + clusters.n_clusters) * (3 if moments else 1)
    return np.zeros((n_tiles, n_planes, ARM_TILE))


def _unpack(sums, n_arms):
    """Tiles to one array of shape (planes, arms)."""
    return sums.transpose(1, 0, 2).reshape(sums.shape[1], -1)[:, :n_arms]


def _pack(planes):
    """One array of shape (planes, arms) to tiles."""
    n_planes, n_arms = planes.shape
    n_tiles = -(-n_arms // ARM_TILE)
    padded = np.zeros((n_planes, n_tiles * ARM_TILE))
    padded[:, :n_arms] = planes
    tiles = padded.reshape(n_planes, n_tiles, ARM_TILE).transpose(1, 0, 2)
    return np.ascontiguousarray(tiles)
