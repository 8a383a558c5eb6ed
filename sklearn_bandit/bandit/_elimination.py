"""Batched successive elimination: algorithms 1 and 2 of the thesis.

Arms are compared with the leader on common references, and the batches grow
geometrically.
"""

from math import ceil, inf, log2

import numpy as np

from ._arms import Arms
from ._radii import split_delta
from ._result import Round

# With a faster way to exact means, sampling is given up for it from this round on when
# finishing is predicted to cost more than this share of computing every survivor (the
# first radii are too rough for a prediction), and at the latest when the next batch
# would use more than this share of the references: what was sampled is lost then.
GIVE_UP_ROUND = 3
GIVE_UP_COST = 0.9
GIVE_UP_SAMPLE = 0.125

# References pulled at once by the exact fall-back: bounds the memory that it takes.
MAX_BATCH = 4096


class Sampling:
    """Arms that are pulled on the same references, and what is known of all.

    Parameters
    ----------
    problem : Problem
        The callables.
    n_arms, k : int
        Arms that exist, and arms wanted.
    paired : bool
        Whether arms are compared by differences to a leader.
    order : ndarray or None
        The references in the order of their use; None for a stream.
    """

    def __init__(self, problem, n_arms, k, *, paired, order):
        self.problem = problem
        self.k = k
        self.order = order
        self.arms = Arms(n_arms, paired=paired)
        # Of all arms; a survivor's are brought up to date when it falls or at the end.
        self.means = np.full(n_arms, np.nan)
        self.radii = np.full(n_arms, inf)
        self.n_rounds = 0
        self.is_exact = False
        self.history = []

    def sample(self, n_batch):
        """Pull the survivors on up to `n_batch` new references; False if none."""
        arms, problem = self.arms, self.problem
        n_batch = min(
            n_batch, problem.n_total - arms.n_used, problem.affordable(arms.n_survivors)
        )
        if n_batch < 1:
            return False
        start, stop = arms.n_used, arms.n_used + int(n_batch)
        if self.order is None:
            references = np.arange(start, stop)
        else:
            references = self.order[start:stop]
        arms.add(problem.costs(arms.ids, references), self.k)
        self.n_rounds += 1
        self.is_exact = arms.n_used == problem.n_total
        return True

    def record(self):
        """Write down the survivors' means and radii."""
        ids = self.arms.ids
        self.means[ids] = self.arms.means
        self.radii[ids] = 0.0 if self.is_exact else self.arms.radii

    def note_round(self):
        """Add the present state to the history."""
        arms = self.arms
        self.history.append(Round(arms.ids, arms.n_used, self.problem.n_pulls))

    def finish_exactly(self):
        """Compute the survivors' means over all references, if the budget allows."""
        arms, problem = self.arms, self.problem
        if problem.exact is None:
            while not self.is_exact and self.sample(MAX_BATCH):
                pass
            if self.n_rounds:
                self.record()
            return
        if arms.n_survivors * problem.n_total > problem.max_pulls - problem.n_pulls:
            return
        ids = arms.ids
        self.means[ids] = problem.exact_means(ids)
        self.radii[ids] = 0.0
        self.is_exact = True

    def best(self):
        """The best k survivors, best first; ties by index."""
        ids = self.arms.ids
        # k = n: every arm is wanted, and nothing had to be pulled to know it.
        return ids[np.lexsort((ids, self.means[ids]))][: self.k]


def eliminate(sampling, settings):
    """Search by elimination, with an exact end unless the settings forbid it.

    Parameters
    ----------
    sampling : Sampling
        The arms; changed.
    settings : Settings
        What is asked for.
    """
    n_arms, n_total = sampling.arms.n_arms, sampling.problem.n_total
    n_rounds = 0  # of an endless stream: not known beforehand
    if n_total < inf:
        n_rounds = 1 + max(0, ceil(log2(n_total / settings.batch_size)))
    n_tests = n_comparisons(n_arms, settings)

    decided = settings.delta > 0 and n_arms == settings.k
    n_batch = settings.batch_size
    while settings.delta > 0 and not decided and sampling.sample(n_batch):
        arms = sampling.arms
        share = split_delta(settings.delta, n_tests, sampling.n_rounds, n_rounds)
        arms.update_radii(
            settings.radius, share, n_total, settings.sigma, settings.cost_range or 0.0
        )
        sampling.record()
        arms.eliminate(settings.k)
        sampling.note_round()
        decided = _is_decided(sampling, settings)
        if settings.fall_back and not decided and _is_hopeless(sampling, settings.tol):
            break
        n_batch = arms.n_used
    if settings.fall_back and not decided:
        sampling.finish_exactly()
        sampling.note_round()


def n_comparisons(n_arms, settings):
    """How many intervals of a round must hold, for the answer to be right.

    The best arm must not fall to any other: one interval each. For ``k > 1`` and
    differences with a known range the leader may be any arm, and one arm must not fall
    to another by way of it: an interval for each ordered pair. The paired Student
    radius leaves that out; it is asymptotic, and counted.
    """
    if settings.radius == "paired" and settings.cost_range and settings.k > 1:
        return n_arms * (n_arms - 1)
    return n_arms


def _is_decided(sampling, settings):
    """Whether the best k are known, exactly or to within the tolerance."""
    arms, k = sampling.arms, settings.k
    if arms.n_survivors == k or sampling.is_exact:
        return True
    order = np.lexsort((arms.ids, arms.means))
    chosen, others = order[:k], order[k:]
    upper = (arms.gaps + arms.radii)[chosen].max()
    lower = (arms.gaps - arms.radii)[others].min()
    return upper - lower <= settings.tol


def _is_hopeless(sampling, tol):
    """Whether sampling on is likely to cost more than `exact` on the survivors.

    Without a way of its own to exact means this never happens: what was sampled is part
    of the exact mean.
    """
    if sampling.problem.exact is None or sampling.n_rounds < GIVE_UP_ROUND:
        return False
    arms, n_total = sampling.arms, sampling.problem.n_total
    if 2 * arms.n_used > GIVE_UP_SAMPLE * n_total:
        return True
    needed = arms.predicted_pulls(sampling.k, tol, n_total)
    return needed > GIVE_UP_COST * arms.n_survivors * n_total
