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
from ._survivors import Screened, Survivors

# Sums that take more memory than this are given back after each search.
REUSED_BYTES = 1 << 28

# Tiles that are computed, kept and passed over together: 8 MB with 512 references.
CHUNK_TILES = 8

# Blocks of references that arms are screened on if there is no control variate.
PLAIN_BLOCKS = 2

# Where more than the first share of the arms may improve, and less than the second do
# by estimate, the arms are screened on twice as many references, up to `MOST_BLOCKS`.
CROWDED_SHARE = 0.25
GOOD_SHARE = 0.05
MOST_BLOCKS = 4


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

    @property
    def group(self):
        """Planes of a group of sums with moments; see `accumulate`."""
        return 6 if self.variate.exists else 3

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


@dataclass(frozen=True)
class StopTest:
    """Whether any swap improves the loss.

    Attributes
    ----------
    clusters : MedoidState
        The medoids.
    n_known : int
        Leading references that are not estimated: whole blocks.
    first : int
        Position at which the sample of the others begins: whole blocks, and no less
        than `n_known`. What is between is not looked at.
    quantiles : ndarray
        Radius in units of the standard error, by effective size.
    slack : float
        Arms with a lower bound up to this may improve.
    """

    clusters: MedoidState
    n_known: int
    first: int
    quantiles: np.ndarray
    slack: float


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
        # Compared with changing nothing.
        present = np.zeros(clusters.n, np.float32) if build else clusters.present()
        variate = ControlVariate.absent(clusters.n)
        comparison = Comparison(clusters, present, variate, build)
        sums = self._zeros("known", len(arms), comparison, 1)
        self._add(comparison, self._range(arms), sums, 0, stop)
        means = np.empty(len(arms))
        removed = np.empty(len(arms), dtype=np.intc)
        reduce_means(sums, 1.0 / stop, means, removed)
        medoids = [x - arms.start for x in clusters.medoids if x in arms]
        means[medoids] = np.inf
        return means, removed, sums

    def _range(self, arms):
        return self._arms[arms.start : arms.stop]

    def survivors(self, clusters, leader, n_known, known, *, build):
        """Compare all arms with the leader on the leading references.

        Parameters
        ----------
        clusters : MedoidState
            The medoids so far.
        leader : ndarray of shape (n,)
            Costs of the leader, times the distances' scale.
        n_known : int
            Leading references on which the choice of the leader may have depended:
            whole blocks. One more makes the sample.
        known : ndarray
            The sums of all arms on these references, from `means`; it is changed.
        build : bool
            Costs of BUILD rather than SWAP.

        Returns
        -------
        Survivors
            All arms.
        """
        comparison = self._comparison(clusters, leader, n_known, build)
        # They are relative to changing nothing, or to zero.
        references = clusters.references(0, n_known)
        present = 0.0 if build else references.nearest
        gaps = present - leader[:n_known].astype(np.float64)
        known[:, 0] += references.weights @ gaps
        sums = self._zeros("sums", self.n, comparison, comparison.group)
        survivors = Survivors(
            self._arms, known, sums, n_known, n_known, comparison, self._n_threads
        )
        self.extend(survivors, min(n_known + self.block, self.n))
        return survivors

    def screen(self, test, arms):
        """Compare some arms with the present medoids on the references of a test.

        A part of the arms at a time: what is dropped needs no memory. The medoids are
        dropped, too.

        Parameters
        ----------
        test : StopTest
            What it is about.
        arms : range
            Positions.

        Returns
        -------
        Screened
            The arms that may improve the loss.
        """
        clusters, n_known = test.clusters, test.n_known
        comparison = self._comparison(clusters, clusters.present(), n_known, False)
        n_blocks = 1 if comparison.variate.exists else PLAIN_BLOCKS
        stop = min(test.first + n_blocks * self.block, self.n)
        most = min(test.first + MOST_BLOCKS * self.block, self.n)
        screened = Screened()
        for start in range(0, len(arms), CHUNK_TILES * ARM_TILE):
            chunk = self._range(arms[start : start + CHUNK_TILES * ARM_TILE])
            known = self._zeros("known", len(chunk), comparison, 1)
            self._add(comparison, chunk, known, 0, n_known, self.distances.kept)
            sums = self._zeros("sums", len(chunk), comparison, comparison.group)
            part = Survivors(
                chunk, known, sums, n_known, test.first, comparison, self._n_threads
            )
            self.extend(part, stop, keep=self.distances.kept)
            part.bound(test.quantiles)
            while start == 0 and stop < most and _is_crowded(part, test.slack):
                # The others will need as many references.
                stop = self.whole_blocks(2 * stop - test.first)
                self.extend(part, stop, keep=self.distances.kept)
                part.bound(test.quantiles)
            may_improve = part.lower <= test.slack
            may_improve &= ~np.isin(chunk, clusters.medoids)
            screened.add(part, np.flatnonzero(may_improve))
        return screened.close()

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

    def extend(self, survivors, stop, *, keep=True):
        """Add the references up to `stop` to the sums of the survivors alone.

        Their distances need not be kept.
        """
        start, arms = survivors.n_used, survivors.arms
        self._add(survivors.comparison, arms, survivors.sums, start, stop, keep)
        survivors.n_used = stop

    def complete(self, survivors):
        """Add the references before the sample, so that all have been looked at."""
        start, stop = survivors.n_known, survivors.first
        comparison, arms = survivors.comparison, survivors.arms
        kept = self.distances.kept
        self._add(comparison, arms, survivors.sums, start, stop, kept)
        survivors.first = start

    def _comparison(self, clusters, leader, n_known, build):
        """Compare with a leader, with a control variate if there is one."""
        variate = distance_variate(
            self.distances, clusters, leader, n_known, build=build
        )
        return Comparison(clusters, leader, variate, build)

    def _add(self, comparison, arms, sums, start, stop, keep=True):
        """Add the references from `start` to `stop` to the sums of some arms."""
        power = self.distances.power
        for t in range(0, len(sums), CHUNK_TILES):
            chunk = arms[t * ARM_TILE : (t + CHUNK_TILES) * ARM_TILE]
            part = sums[t : t + CHUNK_TILES]
            for first in range(start, stop, self.block):
                last = min(first + self.block, self.n)
                accumulate(
                    self.tiles(chunk, first, last, keep=keep),
                    # Fewer than a block if `stop` is within it.
                    comparison.references(first, min(last, stop), power),
                    comparison.n_clusters,
                    len(chunk),
                    part,
                    self._n_threads,
                )

    def _zeros(self, purpose, n_arms, comparison, group):
        """Sums of all arms to begin with.

        Their memory serves all searches, unless there is very much of it: getting it
        anew would take longer than the passes.
        """
        n_planes = (1 + comparison.n_clusters) * group
        shape = -(-n_arms // ARM_TILE), n_planes, ARM_TILE
        if 8 * prod(shape) > REUSED_BYTES:
            return np.zeros(shape)
        memory = self._memory.get(purpose, np.empty(0))
        if len(memory) < prod(shape):
            self._memory[purpose] = memory = np.empty(prod(shape))
        sums = memory[: prod(shape)].reshape(shape)
        sums[:] = 0.0
        return sums


def _is_crowded(part, slack):
    """Whether so many arms are undecided that all of them should be sampled further."""
    n_good = np.count_nonzero(part.means <= slack)
    n_left = np.count_nonzero(part.lower <= slack)
    return n_good < GOOD_SHARE * len(part) and n_left > CROWDED_SHARE * len(part)


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
