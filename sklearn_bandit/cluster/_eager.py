"""A local optimum under single swaps, by whichever swaps come first.

BUILD and a first descent run on the leading positions alone. Then arms are compared
with the present medoids on further references, helped by what is known of them on all
(`_distance_variate`): first some arms, then all. Those that are best by estimate are
computed exactly, and swaps are made as soon as they improve the loss; several of them
share the rows of one comparison. Where none improves, the comparison of all arms goes
on as a stop test: those whose change may be an improvement are sampled further, and
computed exactly when few. The path is not PAM's and the optimum may be another one; its
loss is as good on average.
"""

from math import ceil, log2

import numpy as np

from ..bandit import quantile_table, split_delta
from ._bandit_pam import DISTANCE_ROUNDING, BanditSearch, smallest
from ._medoid_state import MedoidState
from ._reference_sample import SampleRows, StopTest
from ._sampled_swaps import swap_on_sample

# BUILD and the first descent run on the leading positions alone, as arms and as
# references: on this number of blocks, and of references for each cluster.
TRIAL_BLOCKS = 4
TRIAL_REFERENCES = 100

# Each time that arms are looked at, there are this many times as many of them, until
# they are all: the swaps that a few arms allow cost little, and are made first.
MORE_ARMS = 8

# Arms of one look, whose exact rows are computed together: as many as a quarter of the
# block, so that small blocks mean few distances, and at most the first number, or the
# second for each cluster.
N_CANDIDATES = 32
CLUSTER_CANDIDATES = 2

# The candidates are chosen among this many times as many of the best.
POOL = 16


class EagerSearch(BanditSearch):
    """BUILD on the sample, eager swaps, and a stop test; see `BanditSearch`.

    Attributes
    ----------
    trial : MedoidState
        The medoids of BUILD and the first descent, by the leading references alone.
    """

    def __init__(self, clusters, sample, *args):
        super().__init__(clusters, sample, *args)
        n_heavy = sample.n_heavy
        n_trial = max(
            TRIAL_BLOCKS * sample.block, TRIAL_REFERENCES * clusters.n_clusters
        )
        rows = SampleRows(sample, sample.whole_blocks(n_heavy + n_trial))
        weights = clusters.weights[: rows.n].copy()
        # The others are a sample of all that are not heavy.
        weights[n_heavy:] *= (clusters.n - n_heavy) / (rows.n - n_heavy)
        self.trial = MedoidState(
            rows,
            clusters.order[: rows.n],
            weights,
            clusters.n_clusters,
            clusters.n_threads,
        )
        # The first medoids fit the references of the trial better than others: a swap
        # seems worse there than it is. Tests are on others, unless there are too few.
        self.n_known, self._first = n_heavy, rows.n
        if 2 * rows.n > sample.n:
            self.n_known = rows.n

    def start(self, medoids=None):
        """Begin from these medoids, or from none for BUILD."""
        super().start()
        self.trial.set([] if medoids is None else medoids)
        self._candidates = []
        self._n_arms = self.trial.n

    def finish(self):
        """End a start: leave its result in the clusters."""
        if not self.clusters.medoids:
            self.clusters.set(self.trial.medoids)

    def build_step(self):
        """Add the medoid that is best on the sample."""
        n = self.trial.n
        means, *_ = self.sample.means(self.trial, n, range(n), build=True)
        self.trial.add(np.argmin(means))

    def swap_step(self):
        """Make a swap that improves the loss; return whether there was one."""
        if not self.clusters.medoids:
            trial = self.trial
            if swap_on_sample(self.sample, trial, range(trial.n), self.tol):
                return True
            self.finish()
        if self._swap_one_of(self._candidates):
            return True
        while self._n_arms < self.sample.n:
            self._n_arms = min(MORE_ARMS * self._n_arms, self.sample.n)
            if self._n_arms < self.sample.n:
                screened = self.sample.screen(self._test(1), range(self._n_arms))
                if self._swap_one_of(self._best(screened)):
                    return True
        return self._swap_one_of_all()

    def _swap_one_of(self, arms):
        """Make the best swap of some arms if it improves the loss."""
        clusters = self.clusters
        changes = clusters.swap_changes(arms)
        arm, removed, change = clusters.best_change(arms, changes)
        if not clusters.is_improvement(change, self.tol):
            return False
        # Those that do not improve now hardly will after another swap.
        self._candidates = np.asarray(arms)[changes.min(axis=1) < 0]
        return clusters.swap(removed, arm)

    def _swap_one_of_all(self):
        """Make a swap if there is one that improves by more than `tol`."""
        # A test that finds a swap is followed by another: test t gets 1 / (t (t + 1)).
        self._n_swap_searches += 1
        sample, test = self.sample, self._test(self._n_swap_searches)
        screened = sample.screen(test, range(sample.n))
        best = self._best(screened)
        if self._swap_one_of(best):
            return True
        survivors = screened.survivors(without=best)
        budget = self._budget()
        while not self._is_few(survivors):
            n_sampled = survivors.n_used - survivors.first
            stop = sample.whole_blocks(survivors.n_used + n_sampled)
            budget -= len(survivors) * (stop - survivors.n_used)
            if budget < 0:
                break
            sample.extend(survivors, stop, keep=sample.distances.kept)
            survivors.eliminate(test.quantiles, test.slack)
        if len(survivors) > self.max_exact and survivors.n_used == sample.n:
            # Practically equal ones: the references that were left out decide.
            sample.complete(survivors)
            survivors.eliminate(test.quantiles, test.slack)
        return self._swap_one_of(self._to_compute(survivors))

    def _test(self, number):
        """Begin a test whether any arm improves the loss by more than `tol`."""
        clusters = self.clusters
        delta = split_delta(self.delta, 1, number)
        # The sample doubles, beginning with a block.
        n_most = max(self.sample.n - self._first, 1)
        n_rounds = 2 + max(ceil(log2(n_most / self.sample.block)), 0)
        quantiles = quantile_table(split_delta(delta, 1, 1, n_rounds))
        slack = (DISTANCE_ROUNDING - self.tol) * clusters.in_scale(abs(clusters.loss))
        return StopTest(clusters, self.n_known, self._first, quantiles, slack)

    def _best(self, screened):
        """Return the arms that are best by estimate, for each medoid to remove."""
        n_best = min(
            max(N_CANDIDATES, CLUSTER_CANDIDATES * self.clusters.n_clusters),
            max(self.sample.block // 4, 1),
        )
        return screened.arms[best_of_each(screened.means, screened.removed, n_best)]


def best_of_each(means, removed, n):
    """Positions of n small values, the least of each group before the second least."""
    best = smallest(means, POOL * n)
    best = best[np.lexsort((best, means[best]))]
    groups = removed[best]
    by_group = np.argsort(groups, kind="stable")
    first = np.searchsorted(groups[by_group], groups[by_group])
    rank = np.empty(len(best), dtype=np.intp)
    rank[by_group] = np.arange(len(best)) - first
    return best[np.argsort(rank, kind="stable")[:n]]
