"""Run a search from its first medoids to its last, once or several times."""

from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from .._compat import callbacks_of
from ._bandit_pam import BanditSearch
from ._distances import RowCache
from ._eager import EagerSearch
from ._init import plus_plus_medoids, random_medoids
from ._medoid_state import SMALL, MedoidState, SmallMedoidState
from ._pam import ExactSearch, FullMatrix
from ._reference_sample import Sample

# Up to this many samples "auto" computes everything. Seconds of one thread, "pam" and
# "bandit", k = 10, medians of six subsets: at n = 2,000 MNIST 0.20 and 0.26, covertype
# 0.10 both; at n = 5,000 1.21 and 0.92, 0.65 and 0.40. Benchmark: `kmedoids.cut_over`.
# Beyond it is "eager", whose loss is that of "bandit" on average in a part of the time.
AUTO_EXACT = 3000

# Of the cache, the part for exact rows; the rest is for tiles.
ROW_SHARE = 0.25


@dataclass
class Outcome:
    """What a start ended with.

    Attributes
    ----------
    medoids, labels : ndarray
        Positions of the medoids, and the nearest of them of each position.
    loss : float
        Sum of the weighted distances to them.
    n_iter, n_swaps : int
        SWAP iterations, and how many of them made a swap.
    converged : bool
        Whether the last iteration found nothing to improve.
    """

    medoids: np.ndarray
    labels: np.ndarray
    loss: float
    n_iter: int
    n_swaps: int
    converged: bool


def choose_algorithm(algorithm, n_samples):
    """Return the algorithm that "auto" stands for, or the one that is given."""
    if algorithm != "auto":
        return algorithm
    return "pam" if n_samples <= AUTO_EXACT else "eager"


class Sources:
    """What all searches of a fit share: exact rows, and the sample of references.

    Parameters
    ----------
    estimator : BanditKMedoids
        Has the parameters; its `cache_size` is divided here.
    algorithm : {"pam", "bandit", "eager"}
        Which search.
    distances : Distances
        Where distances come from.
    n_threads : int
        OpenMP threads.
    n_heavy : int, default=0
        Leading positions that are no random choice; see `draw_order`.
    """

    def __init__(self, estimator, algorithm, distances, n_threads, n_heavy=0):
        self.algorithm = algorithm
        self.order = distances.order
        self.n_threads = n_threads
        self.matrix = self.rows = self.sample = None
        cache_size = estimator.cache_size
        if algorithm != "pam":
            self.rows = RowCache(distances, ROW_SHARE * cache_size)
            room = (1 - ROW_SHARE) * cache_size
            block = estimator.batch_size
            self.sample = Sample(distances, block, room, n_threads, n_heavy)
        elif distances.n**2 * distances.dtype.itemsize > cache_size:
            self.rows = RowCache(distances, cache_size)
        elif distances.n <= SMALL:
            self.matrix = distances.matrix()
        else:
            self.rows = FullMatrix(distances)


def make_search(estimator, sources, weights, n_clusters):
    """Build the search of a number of clusters.

    Parameters
    ----------
    estimator : BanditKMedoids
        Has the parameters.
    sources : Sources
        Distances.
    weights : ndarray of shape (n,)
        Weight of the sample at each position.
    n_clusters : int
        Number of medoids.
    """
    order, n_threads = sources.order, sources.n_threads
    if sources.matrix is not None:
        clusters = SmallMedoidState(sources.matrix, order, weights, n_clusters)
        return ExactSearch(clusters, estimator.tol)
    clusters = MedoidState(sources.rows, order, weights, n_clusters, n_threads)
    if sources.sample is None:
        return ExactSearch(clusters, estimator.tol)
    kind = {"bandit": BanditSearch, "eager": EagerSearch}[sources.algorithm]
    parameters = estimator.tol, estimator.delta, estimator.max_exact
    return kind(clusters, sources.sample, *parameters)


class Starts:
    """All starts of a fit, of which the best is kept.

    Parameters
    ----------
    estimator : BanditKMedoids
        Has the parameters, and whom to tell.
    make : callable
        Makes the search of a number of clusters.
    candidates : sequence of int
        Numbers of clusters.
    init : str or ndarray
        A name, or positions of the first medoids.
    random_state : RandomState or None
        Draws first medoids.

    Attributes
    ----------
    best : Outcome or None
        The best start so far of the present number of clusters.
    n_truncated : int
        Searches that were cut short.
    """

    def __init__(self, estimator, make, candidates, init, random_state):
        self.estimator = estimator
        self.make = make
        self.candidates = candidates
        self.init = init
        self.random_state = random_state
        self.search = self.best = None
        self.n_truncated = 0
        self._is_over = False

    def run(self, shown, hand_over):
        """Run them.

        Parameters
        ----------
        shown : dict
            What callbacks get to see.
        hand_over : callable
            Makes fitted attributes of medoids and their loss, for callbacks.

        Returns
        -------
        list of Outcome
            The best of each number of clusters; fewer if a callback has stopped it.
        """
        estimator, outcomes = self.estimator, []
        n_init = self._n_init()
        n_steps = n_init * sum(k + estimator.max_iter for k in self.candidates)

        def fitted():
            now = self.best if self._is_over else self.search.clusters
            if len(now.medoids) < self.search.clusters.n_clusters:
                return None
            return hand_over(now.medoids, now.loss)

        with estimator._progress(n_steps, fitted=fitted, **shown) as progress:
            # Without callbacks: reporting takes longer than a step on small data.
            is_watched = estimator.verbose or callbacks_of(estimator)
            step = progress.step if is_watched else nullcontext
            for k in self.candidates:
                self.search, self.best = self.make(k), None
                for _ in range(n_init):
                    outcome = self._run_one(progress, step)
                    if self.best is None or outcome.loss < self.best.loss:
                        self.best = outcome
                    if progress.should_stop:
                        break
                outcomes.append(self.best)
                self.n_truncated += self.search.n_truncated
                if progress.should_stop:
                    break
            self._is_over = True
        return outcomes

    def _n_init(self):
        """Return the number of starts: several only if the first medoids are random."""
        n_init = self.estimator.n_init
        if n_init == "auto":
            is_random = isinstance(self.init, str) and self.init == "random"
            return 10 if is_random else 1
        if not isinstance(self.init, str) or self.init == "build":
            return 1
        return n_init

    def _run_one(self, progress, step):
        """Run one start to its end."""
        search, clusters = self.search, self.search.clusters
        self._choose_first(step)
        n_iter = n_swaps = 0
        improved = clusters.n_clusters < clusters.n
        max_iter = self.estimator.max_iter
        while improved and n_iter < max_iter and not progress.should_stop:
            with step("swap"):
                improved = search.swap_step()
            n_iter += 1
            n_swaps += improved
        search.finish()
        return Outcome(
            np.array(clusters.medoids),
            clusters.labels.copy(),
            clusters.loss,
            n_iter,
            n_swaps,
            not improved or progress.should_stop,
        )

    def _choose_first(self, step):
        """Choose the first medoids."""
        search, init = self.search, self.init
        if isinstance(init, str) and init == "build":
            search.start()
            for _ in range(search.clusters.n_clusters):
                with step("build"):
                    search.build_step()
            return
        if isinstance(init, str):
            draw = random_medoids if init == "random" else plus_plus_medoids
            init = draw(search.clusters, self.random_state)
        search.start(init)
