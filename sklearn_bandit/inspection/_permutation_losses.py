"""What a score loses by each feature, on as many rows and shuffles as are asked for."""

from itertools import pairwise
from math import ceil, inf, log2

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from ..bandit import (
    bernstein_radius,
    effective_size,
    paired_radius,
    split_delta,
    sums_of_powers,
)

# References of the first batch. Features that act on few rows must show in it.
BATCH_SIZE = 256

# Values of X in one call of predict, 16 MB of double precision. Calls of a sixteenth
# take up to half as long again for the same rows, and calls of four times as many are
# slower as well (the benchmark importance.call_size).
MAX_VALUES = 1 << 21


class Losses:
    """Losses of score by feature (arm) and by row and shuffle (reference).

    Reference j stands for row ``j % n_rows`` in shuffle ``j // n_rows``. Sums of the
    losses are kept, for intervals of the importances.

    Parameters
    ----------
    scores : SampleScores
        Scores of rows.
    X : array or data frame of shape (n_rows, n_features)
        The rows.
    donors : ndarray of shape (n_repeats, n_rows)
        The row that each row has a value from, in each shuffle.
    n_jobs : int or None
        Calls of predict at the same time.
    """

    def __init__(self, scores, X, donors, n_jobs):
        n_rows, n_features = X.shape
        self.scores = scores
        self.X = X
        self.donors = donors.ravel()
        self.n_jobs = n_jobs
        self.n_references = donors.size
        self.before = scores.of_all(X)
        self.n_predictions = n_rows
        self.n_rounds = 0
        self.largest = 0.0  # loss so far, of any feature
        self.n_used = np.zeros(n_features)
        self._shifts = np.full(n_features, np.nan)  # about which powers are summed
        self._sums = np.zeros((3, n_features))  # of powers 1, 2, 4
        self._used = np.empty(0, dtype=np.intp)

    def __call__(self, features, references):
        """Return the losses of features on references, and add them to the sums."""
        self._used = np.concatenate([self._used, references])
        self.n_rounds += 1
        return self._add(features, references)

    def settle(self, features, delta, tol, random_state):
        """Use references until the mean of each of the features is known to `tol`.

        All features that are asked about have seen the same references so far.
        """
        if delta == 0:
            self.finish(features)
            return
        rest = np.setdiff1d(np.arange(self.n_references), self._used)
        rest = random_state.permutation(rest)
        features = self._unsettled(features, delta, tol)
        while len(features) and len(rest):
            n_batch = max(len(self._used), BATCH_SIZE)
            self(features, rest[:n_batch])
            rest = rest[n_batch:]
            features = self._unsettled(features, delta, tol)

    def _unsettled(self, features, delta, tol):
        return features[self.radii(features, delta) > tol]

    def finish(self, features):
        """Return the means of features, from all references that were not used yet."""
        self.n_rounds += 1
        rest = np.setdiff1d(np.arange(self.n_references), self._used)
        step = max(1, MAX_VALUES // len(features))
        for start in range(0, len(rest), step):
            self._add(features, rest[start : start + step])
        return self.means()[features]

    def means(self):
        """Mean loss of every feature."""
        with np.errstate(invalid="ignore"):
            return self._shifts + self._sums[0] / self.n_used

    def radii(self, features, delta):
        """Confidence radius of the mean of each of the features.

        Where too few losses differ for a Student interval, Bernstein's inequality takes
        its place. Its bound on the losses is known in advance for the accuracy. For
        other scores it is the largest loss of any feature so far: it is *assumed* that
        no other is larger, and nothing is said while all losses are zero.
        """
        n_total = self.n_references
        n_rounds = 1 + max(0, ceil(log2(n_total / BATCH_SIZE)))
        share = split_delta(delta, len(self.n_used), 1, n_rounds)
        variances, means = self._variances(), self.means()
        bound = self.scores.largest_loss()
        radii = np.zeros(len(features))
        for i, feature in enumerate(features):
            n = self.n_used[feature]
            if n == n_total:
                continue
            if n == 0:
                radii[i] = inf
                continue
            size = effective_size(self._sums[1, feature], self._sums[2, feature])
            radii[i] = paired_radius(variances[feature], n, size, share, n_total)
            if not np.isfinite(radii[i]):
                reach = 2 * bound
                if bound == inf and self.largest > 0.0:
                    reach = self.largest + abs(means[feature])
                radii[i] = bernstein_radius(
                    variances[feature], reach, n, share, n_total
                )
        return radii

    def standard_errors(self):
        """Standard error of every mean, of a sample without replacement."""
        unseen = 1.0 / self.n_used - 1.0 / self.n_references
        return np.sqrt(self._variances() * np.maximum(unseen, 0.0))

    def _variances(self):
        n = np.maximum(self.n_used, 1)
        spread = self._sums[1] - self._sums[0] ** 2 / n
        return np.maximum(spread, 0.0) / np.maximum(n - 1, 1)

    def _add(self, features, references):
        n_pairs = len(features) * len(references)
        step = max(1, MAX_VALUES // self.X.shape[1])
        starts = range(0, n_pairs, step)
        parts = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._losses)(
                features, references, start, min(start + step, n_pairs)
            )
            for start in starts
        )
        losses = np.concatenate(parts, dtype=np.float64)
        losses = losses.reshape(len(features), len(references))
        self.n_predictions += n_pairs
        first = features[self.n_used[features] == 0]
        self._shifts[first] = losses[self.n_used[features] == 0].mean(axis=1)
        self.n_used[features] += len(references)
        self._sums[:, features] += sums_of_powers(losses, self._shifts[features]).T
        self.largest = max(self.largest, np.abs(losses).max())
        return losses

    def _losses(self, features, references, start, stop):
        """Losses of the pairs of features and references from `start` to `stop`.

        Several features are predicted in one call: each pair is a copy of its row with
        one value from another row.
        """
        pairs = np.arange(start, stop)
        chosen = features[pairs // len(references)]
        each = references[pairs % len(references)]
        rows, donors = each % len(self.before), self.donors[each]
        changed = take_rows(self.X, rows)
        if hasattr(changed, "iloc"):
            bounds = [0, *(np.flatnonzero(np.diff(chosen)) + 1), len(pairs)]
            for first, last in pairwise(bounds):
                column = self.X.iloc[:, chosen[first]].array
                changed.iloc[first:last, chosen[first]] = column[donors[first:last]]
        else:
            changed[np.arange(len(pairs)), chosen] = self.X[donors, chosen]
        return self.before[rows] - self.scores(changed, rows)


def take_rows(X, rows):
    """A copy of rows."""
    if hasattr(X, "iloc"):
        return X.iloc[rows].reset_index(drop=True)
    return X[rows]
