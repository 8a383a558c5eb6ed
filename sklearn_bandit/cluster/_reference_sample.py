"""The sample that all searches share: distances of all arms to the leading references.

The references are the leading positions of one random order for the whole fit, so a
distance computed for one search serves all others: the permutation-invariant cache of
BanditPAM++ [1]_.

References
----------
.. [1] M. Tiwari et al., "BanditPAM++: Faster k-medoids Clustering", NeurIPS (2023).
"""

from dataclasses import dataclass
from math import ceil, prod

import numpy as np

from ..bandit import ControlVariate
from ._arm_bounds import reduce_means
from ._distance_variate import distance_variate
from ._distances import ARM_TILE, TileCache
from ._medoid_state import MedoidState
from ._sampled_passes import accumulate, pack_references
from ._survivors import Survivors

# Sums that take more memory than this are given back after each search.
REUSED_BYTES = 1 << 28

# Tiles that are computed, kept and passed over together: 32 MB with 512 references.
CHUNK_TILES = 32


@dataclass(frozen=True)
class Comparison:
    """What the sums of a search are of: costs relative to those of a leader.

    Attributes
    ----------
    clusters : MedoidState
        The medoids so far.
    leader : ndarray of shape (n,)
        Costs of the leader, times the distances' scale.
    variate : ControlVariate
        Known of the costs; absent where no regression is wanted.
    build : bool
        Costs of BUILD; else those of SWAP.
    """

    clusters: MedoidState
    leader: np.ndarray
    variate: ControlVariate
    build: bool

    @property
    def n_clusters(self):
        """Number of medoids that may be removed; 0 for BUILD."""
        return 0 if self.build else self.clusters.n_clusters

    def references(self, start, stop, power):
        """Return some references as the kernels read them."""
        part = slice(start, stop)
        return pack_references(
            self.clusters.references(start, stop),
            self.leader[part],
            self.variate.slopes[part],
            self.variate.origins[part],
            power,
            self.build,
        )


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
    n_heavy : int, default=0
        Leading references that are there for their weight, 0 or a block. The others
        are in random order.
    """

    def __init__(self, distances, block, cache_size, n_threads, n_heavy=0):
        self.distances = distances
        self.n = distances.n
        self.block = min(block, distances.n)
        self.n_heavy = n_heavy
        self.tiles = TileCache(distances, cache_size, n_threads)
        self._arms = np.arange(distances.n)
        self._n_threads = n_threads
        self._memory = {}

    def means(self, clusters, stop, arms, *, build):
        """Mean cost of some arms on the leading references.

        Parameters
        ----------
        clusters : MedoidState
            The medoids so far.
        stop : int
            Number of references.
        arms : range
            Positions.
        build : bool
            Costs of BUILD; else those of SWAP, less the present distances.

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
        sums = self._plain_sums(clusters, 0, stop, arms, build)
        return *self._best_means(clusters, sums, 1.0 / stop, arms), sums

    def estimates(self, clusters, first, n_references, arms):
        """Estimate the change by the best swap of some arms.

        Parameters
        ----------
        clusters : MedoidState
            The medoids so far.
        first, n_references : int
            Which references, and how many; the heavy ones are added.
        arms : range
            Positions.

        Returns
        -------
        means, removed : ndarray of shape (len(arms),)
            As of `means`.
        """
        n_heavy = self.n_heavy
        first = min(first, max(self.n - n_references, 0) // self.block * self.block)
        stop = min(first + n_references, self.n)
        sums = self._plain_sums(clusters, first, stop, arms, build=False)
        if n_heavy:
            # The sample stands for all but the heavy ones.
            sums *= (self.n - n_heavy) / (stop - first)
            self._add(self._plain(clusters, False), self._range(arms), sums, 0, n_heavy)
        scale = 1.0 / (self.n if n_heavy else stop - first)
        return self._best_means(clusters, sums, scale, arms)

    def _plain_sums(self, clusters, start, stop, arms, build):
        """Sums of the costs of some arms over some references, without moments."""
        sums = self._zeros("known", len(arms), clusters, build, 1)
        comparison = self._plain(clusters, build)
        self._add(comparison, self._range(arms), sums, start, stop)
        return sums

    def _plain(self, clusters, build):
        """Compare with changing nothing."""
        present = np.zeros(clusters.n, np.float32) if build else clusters.present()
        variate = ControlVariate.absent(clusters.n)
        return Comparison(clusters, present, variate, build)

    def _range(self, arms):
        return self._arms[arms.start : arms.stop]

    def _best_means(self, clusters, sums, scale, arms):
        """Least mean of each arm, and the medoid that is removed."""
        means = np.empty(len(arms))
        removed = np.empty(len(arms), dtype=np.intc)
        reduce_means(sums, scale, means, removed)
        medoids = [x - arms.start for x in clusters.medoids if x in arms]
        means[medoids] = np.inf
        return means, removed

    def survivors(self, clusters, leader, n_known, known=None, *, build, first=None):
        """Compare all arms with the leader on the leading references.

        Parameters
        ----------
        clusters : MedoidState
            The medoids so far.
        leader : ndarray of shape (n,)
            Costs of the leader, times the distances' scale.
        n_known : int
            Leading references on which the medoids or the choice of the leader may
            have depended: whole blocks. One more makes the sample.
        known : ndarray, default=None
            The sums of all arms on these references, if `means` has computed them; it
            is changed.
        build : bool
            Costs of BUILD rather than SWAP.
        first : int, default=None
            Position at which the sample begins: whole blocks, and no less than
            `n_known`, which it is by default. What is between is not looked at.

        Returns
        -------
        Survivors
            All arms.
        """
        comparison = self._comparison(clusters, leader, n_known, build)
        if known is None:
            known = self._zeros("known", self.n, clusters, build, 1)
            self._add(comparison, self._arms, known, 0, n_known)
        else:
            # They are relative to changing nothing, or to zero.
            references = clusters.references(0, n_known)
            present = 0.0 if build else references.nearest
            gaps = present - leader[:n_known].astype(np.float64)
            known[:, 0] += references.weights @ gaps
        group = 6 if comparison.variate.exists else 3
        sums = self._zeros("sums", self.n, clusters, build, group)
        first = n_known if first is None else first
        survivors = Survivors(
            self._arms, known, sums, n_known, first, comparison, self._n_threads
        )
        self.extend(survivors, min(first + self.block, self.n))
        return survivors

    def change_leader(self, survivors, leader):
        """Compare some arms with another one from now on.

        It was chosen on the references so far: they are known, and the sample begins
        anew.

        Parameters
        ----------
        survivors : Survivors
            The arms.
        leader : ndarray of shape (n,)
            Costs of the new leader.
        """
        stop, before = survivors.n_used, survivors.comparison
        weights = before.clusters.references(0, stop).weights
        gaps = before.leader[:stop].astype(np.float64) - leader[:stop]
        survivors.restart(
            weights @ gaps,
            self._comparison(before.clusters, leader, stop, before.build),
        )

    def whole_blocks(self, n_references):
        """Round a number of references up to whole blocks, as far as there are any."""
        return min(ceil(n_references / self.block) * self.block, self.n)

    def extend(self, survivors, stop):
        """Add the references up to `stop` to the sums of the survivors alone."""
        start = survivors.n_used
        self._add(survivors.comparison, survivors.arms, survivors.sums, start, stop)
        survivors.n_used = stop

    def _comparison(self, clusters, leader, n_known, build):
        """Compare with a leader, with a control variate if there is one."""
        variate = distance_variate(
            self.distances, clusters, leader, n_known, build=build
        )
        return Comparison(clusters, leader, variate, build)

    def _add(self, comparison, arms, sums, start, stop):
        """Add the references from `start` to `stop` to the sums of some arms."""
        power = self.distances.power
        for t in range(0, len(sums), CHUNK_TILES):
            chunk = arms[t * ARM_TILE : (t + CHUNK_TILES) * ARM_TILE]
            part = sums[t : t + CHUNK_TILES]
            for first in range(start, stop, self.block):
                last = min(first + self.block, self.n)
                accumulate(
                    self.tiles(chunk, first, last),
                    # Fewer than a block if `stop` is within it.
                    comparison.references(first, min(last, stop), power),
                    comparison.n_clusters,
                    len(chunk),
                    part,
                    self._n_threads,
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
