"""PAM's path by best-arm identification (BanditPAM, thesis ch. 2; BanditPAM++).

Each BUILD step and each SWAP step is a search for the arm with the least mean cost over
all samples. A search goes in three stages:

1. *A leader.* The first block of references ranks all arms; the best few are computed
   exactly, and the best of them becomes the leader.
2. *Elimination.* All arms are compared with the leader on further references, by the
   differences of their costs on the same reference, and by what is known of them on all
   references (`_distance_variate`). An arm whose difference is above zero by more than
   its confidence radius is dropped. The sample grows for the undecided arms. Their
   distances are kept: the arms that one search could not decide early are mostly those
   of the next.
3. *Exact.* The few arms that are left are computed exactly.

If the leader is poor, very many arms are better and none of them can be dropped. Then
the best survivors by estimate are computed exactly, the best of them becomes the
leader, and the references so far count as known from there on.

A search fails only if the one best arm is dropped. The leader it is compared with was
chosen on other references than those of the test, so the comparison is a single test in
each round: the error probability is divided among searches and rounds, not among arms,
and the radii stay small. They are asymptotic (Student-t with a guard on the effective
sample size), so `delta` is a target, checked by counting.
"""

from math import ceil, log

import numpy as np

from ..bandit import quantile_table, split_delta, step_delta

# Arms computed exactly to choose the leader.
N_LEADING = 8

# Up to this number, survivors are computed exactly without further sampling. MNIST,
# n = 10,000: with 32, 64 and 128 it takes 1.13, 1.07 and 1.10 seconds, and 0.34, 0.34
# and 0.36 of the pairs.
N_FEW = 64

# From this many blocks of references on, more survivors than `max_exact` are taken for
# a sign of a poor leader. On MNIST, n = 70,000, a BUILD step had 4,838 survivors after
# 31,744 references and took half of all distances.
POOR_LEADER = 8

# Rounding of float32 distances, relative to the mean distance.
DISTANCE_ROUNDING = 1e-6

# A search samples at most this many times the distances that `max_exact` arms take, or
# as many as the second, the pairs of 16,384 samples: it is never cut short where exact
# PAM is affordable.
SAMPLE_BUDGET = 16
LEAST_BUDGET = 2**28

# The sample of a search grows by this factor from round to round. With twice, MNIST
# takes a fifth more distances (n = 10,000: 0.33-0.53 of the pairs, not 0.28-0.41).
GROWTH = 1.5


class BanditSearch:
    """BUILD and SWAP by elimination.

    Parameters
    ----------
    clusters : MedoidState
        The medoids; changed by the steps.
    sample : Sample
        The references.
    tol : float
        Least improvement of a swap, relative to the loss.
    delta : float
        Probability to leave PAM's path.
    max_exact : int
        Most arms of a search that are computed exactly.

    Attributes
    ----------
    n_known : int
        Leading references that the medoids or the leader may have been chosen on.
    n_truncated : int
        Searches in which more than `max_exact` arms were left when the budget was used
        up, so that only the best of them by estimate were computed.
    """

    # While more than this share of the arms survives, none is dropped: gathering the
    # survivors of each search would take longer than passing over all arms, whose
    # distances serve the next search too. On MNIST 0.2 takes as long.
    dense = 0.5

    def __init__(self, clusters, sample, tol, delta, max_exact):
        self.clusters = clusters
        self.sample = sample
        self.tol = tol
        self.delta = delta
        self.max_exact = max_exact
        self.n_known = sample.n_heavy + sample.block
        self.n_truncated = 0

    def start(self, medoids=None):
        """Begin from these medoids, or from none for BUILD."""
        self.clusters.set([] if medoids is None else medoids)
        self._n_swap_searches = 0

    def finish(self):
        """End a start: leave its result in the clusters."""

    def build_step(self):
        """Add the best next medoid."""
        clusters, sample = self.clusters, self.sample
        # Half of delta is for BUILD, in equal parts.
        delta = self.delta / 2 / clusters.n_clusters
        means, _, known = sample.means(
            clusters, self.n_known, range(sample.n), build=True
        )
        leader, loss = clusters.best_addition(smallest(means, N_LEADING))
        costs = clusters.costs(leader)
        slack = DISTANCE_ROUNDING * clusters.in_scale(loss)
        arms = self._eliminate(costs, slack, delta, known, loss, build=True)
        arm, _ = clusters.best_addition(np.union1d(arms, [leader]))
        clusters.add(arm)

    def swap_step(self):
        """Make the best swap; return whether there was one."""
        clusters, sample = self.clusters, self.sample
        delta = self._swap_delta(self.delta / 2)
        means, _, known = sample.means(
            clusters, self.n_known, range(sample.n), build=False
        )
        arm, removed, change = clusters.best_swap(smallest(means, N_LEADING))
        loss = clusters.in_scale(abs(clusters.loss))
        if clusters.is_improvement(change, self.tol):
            costs, slack = clusters.costs(arm, removed), DISTANCE_ROUNDING * loss
            leaders = [arm]
        else:
            costs, slack = clusters.present(), (DISTANCE_ROUNDING - self.tol) * loss
            leaders = []
        least = min(change, 0.0)
        arms = self._eliminate(costs, slack, delta, known, least, build=False)
        arm, removed, change = clusters.best_swap(np.union1d(arms, leaders).astype(int))
        if not clusters.is_improvement(change, self.tol):
            return False
        return clusters.swap(removed, arm)

    def _swap_delta(self, delta):
        """Share of the next SWAP search: the number of swaps is of the order of k."""
        self._n_swap_searches += 1
        return step_delta(delta, self._n_swap_searches, self.clusters.n_clusters)

    def _eliminate(self, leader, slack, delta, known, value, *, build):
        """Arms that may be better than a leader of given costs, few enough to compute.

        If very many arms seem to be better than the leader, whose loss or change of the
        loss is `value`, a better one is sought; it is among those returned.
        """
        clusters, sample = self.clusters, self.sample
        n_rounds = 1 + max(ceil(log(sample.n / self.n_known, GROWTH)), 0)
        quantiles = quantile_table(split_delta(delta, 1, 1, n_rounds))
        survivors = sample.survivors(clusters, leader, self.n_known, known, build=build)
        survivors.eliminate(quantiles, slack, self.dense)
        leaders = []
        budget = self._budget()
        while not self._is_few(survivors):
            if self._may_be_poor(survivors):
                arm, found, leader = self._best_survivor(survivors, build)
                if clusters.is_improvement(found - value, self.tol):
                    sample.change_leader(survivors, leader)
                    value = found
                    slack = DISTANCE_ROUNDING * clusters.in_scale(abs(clusters.loss))
                    leaders.append(arm)
            stop = sample.whole_blocks(GROWTH * survivors.n_used)
            budget -= len(survivors) * (stop - survivors.n_used)
            if budget < 0:
                break
            sample.extend(survivors, stop)
            survivors.eliminate(quantiles, slack, self.dense)
        return np.union1d(self._to_compute(survivors), leaders).astype(np.intp)

    def _budget(self):
        """Return the number of distances that a search may sample."""
        return max(SAMPLE_BUDGET * self.max_exact * self.sample.n, LEAST_BUDGET)

    def _to_compute(self, survivors):
        """Return the survivors that are computed exactly."""
        is_medoid = np.isin(survivors.arms, self.clusters.medoids)
        survivors.keep(np.flatnonzero(~is_medoid))
        if len(survivors) > self.max_exact:
            if survivors.n_used < survivors.n_total:
                self.n_truncated += 1
            survivors.keep(smallest(survivors.means, self.max_exact))
        return survivors.arms

    def _may_be_poor(self, survivors):
        """Whether so many arms are left that the leader may be far from the best."""
        n_tested = survivors.n_used - survivors.n_known
        return (
            self.max_exact < len(survivors) < survivors.n_total
            and survivors.n_used >= POOR_LEADER * self.n_known
            and 2 * n_tested >= survivors.n_known
        )

    def _best_survivor(self, survivors, build):
        """Return the best survivor, its loss or change of the loss, and its costs."""
        clusters = self.clusters
        arms = survivors.arms[smallest(survivors.means, N_LEADING)]
        if build:
            arm, found = clusters.best_addition(arms)
            return arm, found, clusters.costs(arm)
        arm, removed, found = clusters.best_swap(arms)
        return arm, found, clusters.costs(arm, removed)

    def _is_few(self, survivors):
        """Whether computing the survivors exactly is cheaper than sampling further."""
        if GROWTH * survivors.n_used >= survivors.n_total:
            return len(survivors) <= self.max_exact or (
                survivors.n_used == survivors.n_total
            )
        return len(survivors) <= min(N_FEW, self.max_exact)


def smallest(values, n):
    """Positions of the n smallest values, in no order."""
    n = min(n, np.count_nonzero(values < np.inf))
    return np.argpartition(values, n - 1)[:n] if n else np.array([], dtype=np.intp)
