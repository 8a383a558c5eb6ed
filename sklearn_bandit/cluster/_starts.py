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
# 0.10 both; at n = 5,000 1.21 and 0.92, 0.65 and 0.40. Benchmark: `kmedoids.cut-over`.
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


def make_search(estimator, algorithm, distances, weights, n_threads, n_heavy=0):
    """Build the search of a fit, within the estimator's `cache_size`.

    Parameters
    ----------
    estimator : BanditKMedoids
        Has the parameters.
    algorithm : {"pam", "bandit", "eager"}
        Which search.
    distances : Distances
        Where distances come from.
    weights : ndarray of shape (n,)
        Weight of the sample at each position.
    n_threads : int
        OpenMP threads.
    n_heavy : int, default=0
        Leading positions that are no random choice; see `draw_order`.
    """
    n_clusters, cache_size = estimator.n_clusters, estimator.cache_size
    if algorithm == "pam":
        fits = distances.n**2 * distances.dtype.itemsize <= cache_size
        if fits and distances.n <= SMALL:
            matrix = distances.matrix()
            clusters = SmallMedoidState(matrix, distances.order, weights, n_clusters)
            return ExactSearch(clusters, estimator.tol)
        rows = FullMatrix(distances) if fits else RowCache(distances, cache_size)
    else:
        rows = RowCache(distances, ROW_SHARE * cache_size)
    clusters = MedoidState(rows, distances.order, weights, n_clusters, n_threads)
    if algorithm == "pam":
        return ExactSearch(clusters, estimator.tol)
    room = (1 - ROW_SHARE) * cache_size
    sample = Sample(distances, estimator.batch_size, room, n_threads, n_heavy)
    kind = {"bandit": BanditSearch, "eager": EagerSearch}[algorithm]
    parameters = estimator.tol, estimator.delta, estimator.max_exact
    return kind(clusters, sample, *parameters)


class Starts:
    """All starts of a fit, of which the best is kept.

    Parameters
    ----------
    estimator : BanditKMedoids
        Has the parameters, and whom to tell.
    search : ExactSearch or BanditSearch
        What makes the steps.
    init : str or ndarray
        A name, or positions of the first medoids.
    random_state : RandomState or None
        Draws first medoids.

    Attributes
    ----------
    best : Outcome or None
        The best start so far.
    """

    def __init__(self, estimator, search, init, random_state):
        self.estimator = estimator
        self.search = search
        self.init = init
        self.random_state = random_state
        self.best = None
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
        Outcome
            The best.
        """
        estimator, clusters = self.estimator, self.search.clusters
        n_init = self._n_init()
        n_steps = n_init * (estimator.n_clusters + estimator.max_iter)

        def fitted():
            now = self.best if self._is_over else clusters
            return hand_over(now.medoids, now.loss)

        with estimator._progress(n_steps, fitted=fitted, **shown) as progress:
            # With nobody to tell, telling would take longer than a step of small data.
            is_watched = estimator.verbose or callbacks_of(estimator)
            step = progress.step if is_watched else nullcontext
            for _ in range(n_init):
                outcome = self._run_one(progress, step)
                if self.best is None or outcome.loss < self.best.loss:
                    self.best = outcome
                if progress.should_stop:
                    break
            self._is_over = True
        return self.best

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
