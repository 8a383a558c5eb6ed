"""A race: which candidates of a search cannot win any more.

The aim is the choice of the *full* search, the candidate with the best mean of fold
scores over all K folds. `fold_radius` says how far the mean over the folds done may be
from that.
"""

from dataclasses import astuple
from math import ceil, inf, log2, sqrt

import numpy as np

from ..bandit import (
    MIN_FOLDS,
    FoldDifferences,
    SampleMoments,
    effective_size,
    fold_radius,
    sample_moments,
    split_delta,
)


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
    is_survivor : ndarray of bool of shape (n_candidates,)
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
        self.is_survivor = np.ones(n_candidates, dtype=bool)
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
        ids = np.flatnonzero(self.is_survivor)
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
            radii = fold_radius(differences, len(folds), self.n_folds, share)
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
        ids = np.flatnonzero(self.is_survivor)
        return int(ids[np.argmax(np.nan_to_num(self.means[ids], nan=-inf))])

    @property
    def means(self):
        """Mean scores over the folds done."""
        n_done = np.maximum(self.is_done.sum(axis=1), 1)
        return np.where(self.is_done, self.scores, 0.0).sum(axis=1) / n_done

    def _drop(self, ids):
        self.is_survivor[ids] = False
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
        within, by_blocks, squares, fourths, n_seen, largest = moments
        unknown = np.isnan(within).any(axis=0)
        sizes = zip(squares.sum(axis=0), fourths.sum(axis=0), strict=True)
        return FoldDifferences(
            means=gaps.mean(axis=1),
            between=between,
            within=np.where(unknown, np.nan, within.mean(axis=0)),
            by_blocks=by_blocks.mean(axis=0),
            n_effective=np.array([effective_size(*size) for size in sizes]),
            n_seen=np.where(unknown, len(folds), n_seen.sum(axis=0)),
            largest=np.where(unknown, np.abs(gaps).max(axis=1), largest.max(axis=0)),
        )

    def _fold_moments(self, fold, ids, leader):
        """Moments of the samples' differences and the largest one, by candidate."""
        known = self._contributions[fold]
        moments = {}
        for i in ids:
            found, largest = SampleMoments(), 0.0
            if i in known and leader in known:
                mine, best = known[i], known[leader]
                if len(mine.values) == len(best.values):
                    differences = best.values - mine.values
                    found = sample_moments(differences)
                    largest = np.fmax(mine.largest, best.largest)
                    if np.isnan(largest):  # not known
                        largest = np.abs(differences).max()
            moments[i] = (*astuple(found), largest)
        return moments
