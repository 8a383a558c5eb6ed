"""Which features cannot be among the best k any more."""

from dataclasses import dataclass
from math import ceil, log2

import numpy as np
from scipy.stats import chi2

from ..bandit import effective_size, paired_radius, split_delta

# Rows of the first batch, which also places the bins.
BATCH_SIZE = 1024

# Sampling is given up for the exact scores of the survivors when the next sample would
# be more than this share of the rows: until then the influences of all rows sampled are
# computed in every round. Nothing that was read is read again.
GIVE_UP_SAMPLE = 0.25

# Influences that are computed at once, 256 MB; more are not sampled either.
MAX_INFLUENCES = 1 << 25

# Influences whose powers are computed at once, 1 MB: they stay in the cache.
BLOCK_INFLUENCES = 1 << 17

# Differences of influences that are no larger than this, by their squares and relative
# to the influences, are those of copies.
COPY_ROUNDING = 1e-9

# Values read at once by the exact end.
MAX_VALUES = 1 << 22


@dataclass
class Selection:
    """What a search found.

    Attributes
    ----------
    best : ndarray of shape (k,)
        The best features, in increasing order.
    scores : ndarray of shape (n_features,)
        Scores, or their last estimates.
    n_rows, n_values : int
        Rows of which anything was read, and values.
    n_rounds : int
        Batches.
    is_exact : bool
        Whether all rows were read for the last survivors.
    """

    best: np.ndarray
    scores: np.ndarray
    n_rows: int
    n_values: int
    n_rounds: int
    is_exact: bool


def select(X, score, order, k, delta):
    """Find the features with the k largest scores.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        The values.
    score : MutualInformation, BetweenClasses, SquaredCorrelation or SampleMeans
        Takes values and estimates; changed.
    order : ndarray of shape (n_rows,)
        The rows in the order of their use.
    k : int
        Features wanted.
    delta : float
        Error probability; 0 for exact scores.

    Returns
    -------
    Selection
        The best features; of equal ones those with the larger index, as
        ``SelectKBest`` does.
    """
    n_total, n_features = X.shape
    # One of the best falls if one of the others is wrongly taken for better: by the
    # difference of their influences, or by the curvature of either score.
    n_tests = (k + 1) * n_features
    n_planned = 1 + max(0, ceil(log2(n_total / BATCH_SIZE)))
    features = np.arange(n_features)
    scores = np.empty(n_features)
    n_used = n_rounds = n_values = 0
    while delta > 0 and _may_sample(n_used, n_total, len(features)):
        rows = order[n_used : n_used + max(n_used, BATCH_SIZE)]
        score.add(_lines(X, rows, features), features, rows)
        n_used += len(rows)
        n_values += len(rows) * len(features)
        n_rounds += 1
        share = split_delta(delta, n_tests, n_rounds, n_planned)
        corrected, kept = _eliminate(score, k, share, (n_used, n_total))
        scores[features] = corrected
        features = features[kept]
        if len(features) <= k:
            break
        if len(kept) < len(corrected):
            score.keep(kept)
    is_exact = n_used == n_total
    if not is_exact and (len(features) > k or delta == 0):
        step = max(1, MAX_VALUES // len(features))
        for start in range(n_used, n_total, step):
            rows = order[start : start + step]
            score.add_last(_lines(X, rows, features), features, rows)
        n_values += (n_total - n_used) * len(features)
        n_used, is_exact = n_total, True
        n_rounds += 1
        scores[features] = score.estimate().values
    if len(features) > k:
        ranks = np.argsort(scores[features], kind="mergesort")
        features = np.sort(features[ranks[len(features) - k :]])
    return Selection(features, scores, n_used, n_values, n_rounds, is_exact)


def _may_sample(n_used, n_total, n_features):
    """Whether the next batch is worth its estimates."""
    if n_used == 0:
        return True
    return (
        2 * n_used <= GIVE_UP_SAMPLE * n_total
        and 2 * n_used * n_features <= MAX_INFLUENCES
    )


def _lines(X, rows, features):
    """Values of rows, one line a feature: a view of their copy in the order of X."""
    if len(features) == X.shape[1]:
        return X[rows].T
    return X[np.ix_(rows, features)].T


def _eliminate(score, k, share, rows):
    """Estimates without their bias, and the positions of features that may be best.

    A feature falls when each of the k best so far is better than it for sure: then it
    is not among the best k, whichever these are. The k best are compared with it one by
    one, and not by way of one of them, which would take two radii.
    """
    n_used, n_total = rows
    unseen = 1.0 / n_used - 1.0 / n_total
    estimate = score.estimate()
    corrected = estimate.values - estimate.scale * estimate.freedom * unseen
    every = np.arange(len(corrected))
    if len(every) <= k or n_used == n_total:
        return corrected, every
    high, low = (tail * unseen for tail in _tails(estimate, share))
    order = np.lexsort((every, -corrected))
    # The closest leader comes first: few features are compared with more than one.
    leaders, others = order[k - 1 :: -1], order[k:]
    margins = corrected[leaders][:, None] - high[leaders][:, None]
    margins = margins - (corrected + low)[others]
    hopeful = (margins > 0).all(axis=0)
    others, margins = others[hopeful], margins[:, hopeful]
    if not len(others):
        return corrected, every
    pairs = _Pairs(score.influences(leaders), score.influences(others))
    falls = np.ones(len(others), dtype=bool)
    for i in range(k):
        for j in np.flatnonzero(falls):
            radius = paired_radius(*pairs.moments(i, j), share, n_total)
            falls[j] = margins[i, j] > radius
    return corrected, np.setdiff1d(every, others[falls])


def _tails(estimate, share):
    """How far the second order may be above and below its mean, times the rows."""
    freedom, some = estimate.freedom, estimate.freedom > 0
    high, low = np.zeros(len(freedom)), np.zeros(len(freedom))
    high[some] = chi2.isf(share, freedom[some]) - freedom[some]
    low[some] = freedom[some] - chi2.ppf(share, freedom[some])
    return high * estimate.scale, low * estimate.scale


class _Pairs:
    """Moments of the differences of influences, of some features to others.

    Powers of differences are expanded: matrix products give those of all pairs, which
    `bandit._moments` would take one by one.

    Parameters
    ----------
    first, second : ndarray of shape (n_features, n_rows)
        Influences, mean zero each.
    """

    def __init__(self, first, second):
        self._n = first.shape[1]
        shape = len(first), len(second)
        both_2, seconds, fourths = (np.zeros(shape) for _ in range(3))
        step = max(1, BLOCK_INFLUENCES // len(second))
        for start in range(0, self._n, step):
            part = slice(start, start + step)
            one, two = first[:, part], second[:, part]
            one_2, two_2 = one**2, two**2
            both_2 += one_2.sum(axis=1)[:, None] + two_2.sum(axis=1)
            seconds -= 2 * (one @ two.T)
            fourths += np.einsum("ij,ij->i", one_2, one_2)[:, None]
            fourths += np.einsum("ij,ij->i", two_2, two_2)
            fourths += 6 * (one_2 @ two_2.T)
            one_2 *= one
            two_2 *= two
            fourths -= 4 * (one_2 @ two.T + one @ two_2.T)
        seconds += both_2
        # Copies cannot be told apart; what rounding leaves of them says nothing.
        self._are_distinct = seconds > COPY_ROUNDING * both_2
        self._seconds, self._fourths = seconds, fourths

    def moments(self, i, j):
        """Variance, rows and effective size of the differences of a pair."""
        if not self._are_distinct[i, j]:
            return 0.0, self._n, 0.0
        second, fourth = self._seconds[i, j], self._fourths[i, j]
        # At least that of equal differences: rounding again.
        fourth = max(fourth, second**2 / self._n)
        return second / (self._n - 1), self._n, effective_size(second, fourth)
