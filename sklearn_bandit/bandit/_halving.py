"""Halving: the worse half of the arms is dropped in every round.

Sequential halving spends a budget (Karnin, Koren and Somekh, 2013), here on references
that all arms share (Baharav and Tse, 2019). Median elimination finds an arm within a
tolerance of the best one, with the number of samples set in advance by the scale of the
costs (Even-Dar, Mannor and Mansour, 2006).
"""

from math import ceil, inf, log, log2

import numpy as np

from ._elimination import MAX_BATCH
from ._result import Round


def halve(sampling, max_pulls):
    """Spend a budget in rounds of equal cost, each on half as many arms.

    Parameters
    ----------
    sampling : Sampling
        The arms; changed.
    max_pulls : int
        The budget.
    """
    arms, k = sampling.arms, sampling.k
    n_rounds = max(1, ceil(log2(arms.n_arms / k)))
    while arms.n_alive > k:
        n_batch = max(1, max_pulls // (arms.n_alive * n_rounds))
        if not sampling.sample(n_batch):
            break
        sampling.record()
        if sampling.is_exact:
            break
        arms.keep_best(max(k, -(-arms.n_alive // 2)))
        sampling.note_round()


def eliminate_medians(sampling, settings, random_state):
    """Find an arm whose mean is within the tolerance of the best.

    Round l takes as many fresh samples of every survivor as make one mean err by more
    than ``tol_l / 2`` with probability ``delta_l / 3``, and drops the worse half. The
    tolerances and the error probabilities of all rounds add up to those asked for.
    References of a finite population are drawn with replacement, so that rounds are
    independent; when a round would draw as many as there are, the survivors are
    computed exactly.

    Parameters
    ----------
    sampling : Sampling
        The arms; changed.
    settings : Settings
        What is asked for; `sigma` bounds the scale of a cost.
    random_state : RandomState
        Draws the references.
    """
    problem, n_arms = sampling.problem, sampling.arms.n_arms
    ids = np.arange(n_arms)
    tol, delta, n_drawn = settings.tol / 4, settings.delta / 2, 0
    while len(ids) > 1 and delta > 0:
        scale = settings.sigma[ids].max()
        n_samples = ceil(8 * (scale / tol) ** 2 * log(3 / delta))
        if n_samples >= problem.n_total or problem.affordable(len(ids)) < n_samples:
            break
        references = np.arange(n_drawn, n_drawn + n_samples)
        if problem.n_total < inf:
            references = random_state.randint(int(problem.n_total), size=n_samples)
        chunks = np.split(references, range(MAX_BATCH, n_samples, MAX_BATCH))
        totals = sum(problem.costs(ids, chunk).sum(axis=1) for chunk in chunks)
        sampling.means[ids] = totals / n_samples
        n_drawn += n_samples
        sampling.n_rounds += 1
        order = np.lexsort((ids, sampling.means[ids]))
        ids = np.sort(ids[order[: -(-len(ids) // 2)]])
        sampling.history.append(Round(ids, n_drawn, problem.n_pulls))
        tol *= 0.75
        delta /= 2
    sampling.arms.keep(ids)
    if len(ids) > 1 and settings.fall_back and problem.n_total < inf:
        sampling.finish_exactly()
        sampling.note_round()
