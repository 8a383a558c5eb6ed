"""The statistics of a race: which candidates cannot win any more.

The aim is the choice of the *full* search, the candidate with the best mean of fold
scores over all K folds. After s of them, what is unknown of a candidate's distance to
the leader is its mean over the other K - s folds: a finite population, sampled fold by
fold. A fold's difference varies for two reasons: other held-out samples, and another
fitted model that all samples of the fold share. The samples tell the first part at
once; the second needs several folds. See `difference_radius`.
"""

from dataclasses import dataclass
from math import ceil, inf, log2, sqrt

import numpy as np

from ..bandit import effective_size, finite_population, split_delta, student_quantile

# Variance of a fold's difference over what its samples alone explain, before any two
# folds could be compared, and the folds that this is worth. In 48 full searches (trees,
# neighbours, linear models, kernels; 442 to 800 samples in 10 shuffled folds) the ratio
# was .3 to 2.1, .9 on average. benchmarks/peers/racing.py counts what follows.
FOLD_EFFECT = 1.25
FOLD_EFFECT_SIZE = 8

# What the other candidates add to the own fold-to-fold variance, as a multiple of its
# degrees of freedom: losses of candidates are too much alike for more than this.
POOLED_SIZE = 2

# Blocks of consecutive samples within a fold, and the samples that each needs.
N_BLOCKS = 10
MIN_BLOCK = 4

# A variance within folds says nothing if it comes from fewer effective observations.
# Fewer than the engine asks for: what has not been seen yet has a term of its own here.
MIN_EFFECTIVE = 4

# Folds that scores without contributions of samples need to say anything.
MIN_FOLDS = 3


@dataclass
class Differences:
    """Moments of the differences of candidates to the leader.

    Attributes
    ----------
    means : ndarray of shape (n_candidates,)
        Mean over the folds done of the leader's score less the candidate's.
    between : ndarray of shape (n_candidates,)
        Variance of the differences from fold to fold; 0 for one fold.
    within : ndarray of shape (n_candidates,)
        Variance of a fold's difference that its samples explain; NaN if not known.
    by_blocks : ndarray of shape (n_candidates,)
        The same from blocks of consecutive samples. It is larger where neighbours are
        alike, as in the order of time.
    n_effective : ndarray of shape (n_candidates,)
        Effective number of observations behind `within`.
    n_seen : ndarray of shape (n_candidates,)
        References seen: samples, or folds where there is nothing of the samples.
    largest : ndarray of shape (n_candidates,)
        The largest difference that one reference may have.
    """

    means: np.ndarray
    between: np.ndarray
    within: np.ndarray
    by_blocks: np.ndarray
    n_effective: np.ndarray
    n_seen: np.ndarray
    largest: np.ndarray


def difference_radius(differences, n_done, n_folds, delta):
    """Radii of the mean differences after `n_done` of `n_folds` folds.

    ``t sqrt((V / s + (L / n)^2) (1 - s / K))``. The variance V of a fold's difference
    is a moderated one (Smyth, 2004): the observed variance between the folds, with
    s - 1 degrees of freedom, is averaged with what the variance within the folds
    predicts, times a ratio for the effect of folds. The ratio starts at `FOLD_EFFECT`
    and follows what all candidates show, upwards at once: between folds, and between
    neighbours within a fold. So there is a radius after one fold already.
    Where nothing is known of the samples, the candidates' mean variance takes the place
    of the prediction, and no variance is below the observed one.

    ``L / n`` is the shift by one more observation of the largest size. Without it
    losses that are rare and huge are taken for impossible as long as none was seen.

    Parameters
    ----------
    differences : Differences
        Of the surviving candidates, the leader among them.
    n_done, n_folds : int
        Folds done, and all folds.
    delta : float
        Error probability of one comparison.

    Returns
    -------
    ndarray of shape (n_candidates,)
        The radii; infinite where nothing can be said yet.
    """
    df = n_done - 1
    between, within = differences.between, differences.within
    n_effective = differences.n_effective
    by_samples = (within > 0) & (n_effective >= MIN_EFFECTIVE)
    by_folds = np.isnan(within) & (n_done >= MIN_FOLDS)

    ratio, ratio_df = FOLD_EFFECT, FOLD_EFFECT_SIZE
    if by_samples.any():
        # Where neighbours within a fold are alike, so are the samples of a fold.
        serial = np.mean(differences.by_blocks[by_samples] / within[by_samples])
        ratio = max(ratio, serial)
    if df and by_samples.any():
        seen = np.mean(between[by_samples] / within[by_samples])
        seen_df = min(POOLED_SIZE, np.count_nonzero(by_samples) - 1) * df
        ratio_df = FOLD_EFFECT_SIZE + seen_df
        ratio = (FOLD_EFFECT_SIZE * ratio + seen_df * seen) / ratio_df
        # Few data sets have large effects of folds. Where they show, they are believed.
        ratio = max(ratio, seen)
    varied = by_folds & (between > 0)
    common = np.mean(between[varied]) if varied.any() else 0.0
    common_df = min(POOLED_SIZE, max(np.count_nonzero(varied) - 1, 0)) * df

    radii = np.full(len(between), inf)
    share = finite_population(n_done, n_folds)
    for i in np.flatnonzero(by_samples | by_folds):
        if by_samples[i]:
            # Two sources of error in one factor: their relative variances add.
            prior_df = 1 / (1 / ratio_df + 1 / (n_effective[i] - 1))
            variance = prior_df * ratio * within[i] + df * between[i]
            variance /= prior_df + df
        else:
            prior_df = common_df
            variance = (prior_df * common + df * between[i]) / (prior_df + df)
            variance = max(variance, between[i])
        unseen = differences.largest[i] / differences.n_seen[i]
        quantile = student_quantile(delta, prior_df + df)
        radii[i] = quantile * sqrt(variance / n_done + unseen**2) * share
    return radii


class Race:
    """Scores of candidates, fold by fold, and who is still in.

    Parameters
    ----------
    n_candidates, n_folds : int
        Size of the full search.
    delta : float
        Probability that the choice may be worse than the full search's.
    tol : float or "one_se"
        By how much it may be worse without being wrong.
    min_folds : int
        Folds before anything is dropped.

    Attributes
    ----------
    scores : ndarray of shape (n_candidates, n_folds)
        NaN where nothing was computed, and where a fit failed.
    is_done : ndarray of bool of shape (n_candidates, n_folds)
        What was computed.
    alive : ndarray of bool of shape (n_candidates,)
        The survivors.
    """

    def __init__(self, n_candidates, n_folds, *, delta, tol, min_folds):
        self.n_folds = n_folds
        self.delta = delta
        self.tol = tol
        self.min_folds = min_folds
        # Looks at s and s + 1 folds err together: those at 1, 2, 4, ... folds count.
        # Not divided among candidates: the choice is wrong only if the best one falls.
        self.n_rounds = max(1, ceil(log2(n_folds)))
        self.scores = np.full((n_candidates, n_folds), np.nan)
        self.is_done = np.zeros((n_candidates, n_folds), dtype=bool)
        self.alive = np.ones(n_candidates, dtype=bool)
        # What candidates dropped in favour of this one may have been better by, at
        # most: tolerances must not add up along a chain of leaders.
        self.owed = np.zeros(n_candidates)
        self._contributions = [{} for _ in range(n_folds)]
        self._moments = {}  # of the differences to `_leader`, by fold
        self._leader = None

    def add(self, candidate, fold, score, contributions=None):
        """Enter the result of a fit."""
        self.scores[candidate, fold] = score
        self.is_done[candidate, fold] = True
        if contributions is not None and len(contributions.values) > 1:
            self._contributions[fold][candidate] = contributions

    def eliminate(self):
        """Drop the survivors that cannot win any more; all have the same folds."""
        ids = np.flatnonzero(self.alive)
        folds = np.flatnonzero(self.is_done[ids[0]])
        # The mean over all folds is not a number once one score is none.
        failed = np.isnan(self.scores[np.ix_(ids, folds)]).any(axis=1)
        self._drop(ids[failed])
        ids = ids[~failed]
        if len(ids) < 2 or not self.min_folds <= len(folds) < self.n_folds:
            return
        scores = self.scores[np.ix_(ids, folds)]
        leader = int(np.argmax(scores.mean(axis=1)))
        with np.errstate(invalid="ignore"):  # infinite scores: nothing can be said
            differences = self._differences(ids, folds, leader)
            share = split_delta(self.delta, 1, len(folds), self.n_rounds)
            radii = difference_radius(differences, len(folds), self.n_folds, share)
            lower = differences.means - radii
            gains = np.fmax(radii - differences.means, 0.0) + self.owed[ids]
            tol = self._tolerance(ids[leader], folds)
            falls = (lower > 0) | (gains <= tol)
        falls[leader] = False
        if falls.any():
            owed = np.where(lower > 0, self.owed[ids], gains)[falls].max()
            self.owed[ids[leader]] = max(self.owed[ids[leader]], owed)
        self._drop(ids[falls])

    def winner(self):
        """The survivor with the best mean, the first one among equals."""
        ids = np.flatnonzero(self.alive)
        return int(ids[np.argmax(np.nan_to_num(self.means[ids], nan=-inf))])

    @property
    def means(self):
        """Mean scores over the folds done."""
        n_done = np.maximum(self.is_done.sum(axis=1), 1)
        return np.where(self.is_done, self.scores, 0.0).sum(axis=1) / n_done

    def _drop(self, ids):
        self.alive[ids] = False
        for contributions in self._contributions:
            for candidate in ids:
                contributions.pop(candidate, None)

    def _tolerance(self, leader, folds):
        """The tolerance in units of the score; none is negative or zero."""
        if self.tol != "one_se":
            return self.tol if self.tol > 0 else -inf
        parts = [self._contributions[fold].get(leader) for fold in folds]
        if all(part is not None for part in parts):
            variances = [part.values.var(ddof=1) / len(part.values) for part in parts]
            variance = np.mean(variances)
        elif len(folds) >= MIN_FOLDS:
            variance = self.scores[leader, folds].var(ddof=1)
        else:
            return -inf
        return sqrt(variance / self.n_folds) if variance > 0 else -inf

    def _differences(self, ids, folds, leader):
        """Compare survivors with the one at place `leader` of `ids`."""
        scores = self.scores[np.ix_(ids, folds)]
        gaps = scores[leader] - scores
        between = gaps.var(axis=1, ddof=1) if len(folds) > 1 else np.zeros(len(ids))
        if self._leader != ids[leader]:
            self._leader, self._moments = ids[leader], {}
        for fold in folds:
            if fold not in self._moments:
                self._moments[fold] = self._fold_moments(fold, ids, ids[leader])
        moments = [[self._moments[fold][i] for i in ids] for fold in folds]
        moments = np.moveaxis(np.array(moments), 2, 0)
        within, by_blocks, squares, fourths, largest, n_seen = moments
        unknown = np.isnan(within).any(axis=0)
        sizes = zip(squares.sum(axis=0), fourths.sum(axis=0), strict=True)
        return Differences(
            means=gaps.mean(axis=1),
            between=between,
            within=np.where(unknown, np.nan, within.mean(axis=0)),
            by_blocks=by_blocks.mean(axis=0),
            n_effective=np.array([effective_size(*size) for size in sizes]),
            n_seen=np.where(unknown, len(folds), n_seen.sum(axis=0)),
            largest=np.where(unknown, np.abs(gaps).max(axis=1), largest.max(axis=0)),
        )

    def _fold_moments(self, fold, ids, leader):
        """Moments of the samples' differences within one fold, by candidate."""
        known = self._contributions[fold]
        moments = {}
        for i in ids:
            moments[i] = (np.nan, np.nan, 0.0, 0.0, 0.0, 0)
            if i in known and leader in known:
                mine, best = known[i], known[leader]
                if len(mine.values) == len(best.values):
                    moments[i] = _moments(mine, best)
        return moments


def _moments(mine, best):
    """Variances of the mean difference, power sums, largest difference, and size."""
    differences = best.values - mine.values
    size = len(differences)
    largest = np.fmax(mine.largest, best.largest)  # NaN: not known
    if np.isnan(largest):
        largest = np.abs(differences).max()
    squares = (differences - differences.mean()) ** 2
    total = squares.sum()
    variance = by_blocks = total / (size - 1) / size
    if size >= N_BLOCKS * MIN_BLOCK:
        length = size // N_BLOCKS
        blocks = differences[: N_BLOCKS * length].reshape(N_BLOCKS, length)
        by_blocks = blocks.mean(axis=1).var(ddof=1) / N_BLOCKS
    return variance, by_blocks, total, (squares**2).sum(), largest, size
