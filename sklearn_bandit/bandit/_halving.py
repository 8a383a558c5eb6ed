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

# More samples than this are not counted one by one: no search ends there.
MAX_COUNTED = 2.0**53


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
    while arms.n_survivors > k:
        stop = arms.n_used + max(1, max_pulls // (arms.n_survivors * n_rounds))
        n_done = sampling.n_rounds + 1
        while arms.n_used < stop:
            if not sampling.sample(min(stop - arms.n_used, MAX_BATCH)):
                break
        if sampling.n_rounds < n_done:
            break
        sampling.n_rounds = n_done
        sampling.record()
        if sampling.is_exact:
            break
        arms.keep_best(max(k, -(-arms.n_survivors // 2)))
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
        n_samples = _samples_for(settings.sigma[ids].max(), tol, delta)
        if n_samples >= min(problem.n_total, problem.affordable(len(ids)) + 1):
            break
        totals = np.zeros(len(ids))
        for start in range(0, n_samples, MAX_BATCH):
            n_chunk = min(MAX_BATCH, n_samples - start)
            references = n_drawn + start + np.arange(n_chunk)
            if problem.n_total < inf:
                references = random_state.randint(int(problem.n_total), size=n_chunk)
            totals += problem.costs(ids, references).sum(axis=1)
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


def _samples_for(sigma, tol, delta):
    """Samples after which a mean errs by more than half of `tol` one time in 3 / delta.

    Hoeffding's bound; infinite where double precision ends.
    """
    with np.errstate(over="ignore"):
        n_samples = 8 * np.square(sigma / tol) * (log(3) - log(delta))
    return max(1, ceil(n_samples)) if n_samples < MAX_COUNTED else inf
