"""Permutation importance of any estimator, from as many predictions as it takes."""

from collections.abc import Callable
from itertools import pairwise
from math import ceil, inf, log2
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.inspection import permutation_importance
from sklearn.utils import (
    Bunch,
    check_array,
    check_consistent_length,
    check_random_state,
)
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.random import sample_without_replacement

from .._compat import Interval, validate_params
from .._core.typing import RandomState
from .._core.validation import check_weights
from ..bandit import (
    bernstein_radius,
    best_arm,
    effective_size,
    paired_radius,
    split_delta,
    sums_of_powers,
)
from ._out_of_bag import (
    OutOfBagScores,
    check_training_set,
    out_of_bag_estimator,
)
from ._permutation import MAX_SEED
from ._sample_scores import SampleScores

# References of the first batch. Features that act on few rows must show in it.
BATCH_SIZE = 256

# Values of X in one call of predict, 16 MB of double precision. Calls of a sixteenth
# take up to half as long again for the same rows, and calls of four times as many are
# slower as well (the benchmark importance.call_size).
MAX_VALUES = 1 << 21

# Losses that are kept for pairing, 256 MB. With more of them the search gives up
# sampling at an eighth of the references; what is sampled is not predicted again.
MAX_KEPT_LOSSES = 1 << 25


@validate_params(
    {
        "estimator": "no_validation",
        "X": ["array-like"],
        "y": ["array-like", None],
        "scoring": [str, callable, list, tuple, dict, None],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "k": [Interval(Integral, 1, None, closed="left"), None],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither"), None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
        "sample_weight": ["array-like", None],
        "max_samples": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
        ],
        "oob": ["boolean"],
    },
    prefer_skip_nested_validation=True,
)
def bandit_permutation_importance(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike | None,
    *,
    scoring: str | Callable[..., Any] | list | tuple | dict | None = None,
    n_repeats: int = 5,
    k: int | None = None,
    delta: float = 0.01,
    tol: float | None = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
    sample_weight: ArrayLike | None = None,
    max_samples: float = 1.0,
    oob: bool = False,
) -> Bunch | dict[str, Bunch]:
    """Permutation importance of features, as exact as the question asks for.

    The importance of a feature is the loss of score when its values are shuffled among
    the rows. It is a mean over rows and shuffles. Which `k` features have the largest
    means is known from part of them: all features are tried on the same few rows, those
    that cannot be among the best are dropped, and the others go on. All that is said is
    about the result of :func:`sklearn.inspection.permutation_importance` with the same
    `random_state`, which takes all rows.

    Read more in the :ref:`User Guide <importance>`.

    Parameters
    ----------
    estimator : object
        A fitted estimator.
    X : array-like of shape (n_samples, n_features)
        Data that it was not fitted on. Data frames are handed on as such. With `oob`
        the data that it was fitted on, in the same order.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
        Targets. None for unsupervised estimators, without `k` and `tol` only.
    scoring : str, callable, list, tuple, dict or None, default=None
        Score, in scikit-learn's manner; None for the estimator's own. With `k` or `tol`
        it must be a single one, and a mean over samples: accuracy, balanced accuracy,
        log-loss, Brier score, R2, squared, absolute and other errors and deviances.
    n_repeats : int, default=5
        Shuffles of a feature. With `k` or `tol` these are the shuffles to draw from:
        more of them cost nothing unless the search needs all.
    k : int or None, default=None
        Stop when the `k` most important features are certain. None for all features.
    delta : float, default=0.01
        Probability that the selection, or any interval, may be wrong. 0 computes
        everything.
    tol : float or None, default=None
        With `k`, stop as soon as no feature left out can be more important than a
        selected one by more than this. Without, stop when every importance is known to
        plus or minus this, in units of the score.
    n_jobs : int or None, default=None
        Calls of predict at the same time, by threads; the result does not depend on it.
        Without `k` and `tol` it is handed on to scikit-learn.
    random_state : int, RandomState instance or None, default=None
        Shuffles, and the order of the rows.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the samples in the score.
    max_samples : int or float, default=1.0
        Samples to draw, once, or their share. With `oob` all of them.
    oob : bool, default=False
        Whether each sample is judged by the trees alone that have not drawn it:
        `estimator` is a forest of this package or of scikit-learn, fitted on X with
        ``bootstrap=True``. Samples that all trees have drawn are left out. The full
        computation is that of the score of the out-of-bag predictions.

    Returns
    -------
    sklearn.utils.Bunch, or dict of them by score if there are several
        importances_mean : ndarray of shape (n_features,)
            Loss of score.
        importances_std : ndarray of shape (n_features,)
            Standard error of the mean from the part of the rows, 0 where all were used.
            Without `k` and `tol`, the standard deviation over the shuffles.
        importances_low, importances_high : ndarray of shape (n_features,)
            Bounds of what the full computation returns. They hold for all features
            together with probability ``1 - delta``.
        selected : ndarray of shape (k,) or None
            The most important features, best first; None without `k`.
        n_predictions : int
            Rows that were predicted.
        n_rounds : int
            Batches of references.
        importances : ndarray of shape (n_features, n_repeats)
            Only without `k` and `tol`: the loss of each shuffle.

    See Also
    --------
    sklearn.inspection.permutation_importance : The full computation.
    oob_permutation_importance : Breiman's measure for a forest: the mean over single
        trees, each scored on the samples that it has not drawn. It computes everything.

    Notes
    -----
    Features are told apart by Student intervals of paired differences, see
    :func:`~sklearn_bandit.bandit.best_arm`: large losses on so few rows that a batch
    may see none of them are believed not to exist. Where losses of a feature are almost
    all the same, its interval rests on the largest loss that one row can have: known
    for the accuracy, taken from the losses seen so far for all other scores.

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn_bandit.inspection import bandit_permutation_importance
    >>> X, y = make_regression(
    ...     20_000, n_features=50, n_informative=3, shuffle=False, random_state=0)
    >>> model = Ridge().fit(X[:1000], y[:1000])
    >>> result = bandit_permutation_importance(model, X, y, k=3, random_state=0)
    >>> sorted(result.selected.tolist())
    [0, 1, 2]
    >>> result.n_predictions < X.size / 10
    True
    """
    if sample_weight is not None:
        sample_weight = check_weights(sample_weight, X)
    kind_of_scores = SampleScores
    if oob:
        if isinstance(max_samples, Integral) or max_samples < 1.0:
            raise ValueError("With oob all samples are used: max_samples must be 1.0.")
        X = check_training_set(estimator, X, y)
        estimator, judged = out_of_bag_estimator(estimator)
        X, y, sample_weight = (
            None if each is None else np.asarray(each)[judged]
            for each in (X, y, sample_weight)
        )
        kind_of_scores = OutOfBagScores
    elif not hasattr(X, "iloc"):
        X = check_array(X, ensure_all_finite="allow-nan", dtype=None)
    check_consistent_length(X, y)
    n_samples, n_features = X.shape
    if k is not None and k > n_features:
        raise ValueError(f"k={k} features are wanted, but there are only {n_features}.")
    n_drawn = max_samples
    if not isinstance(max_samples, Integral):
        n_drawn = max(int(max_samples * n_samples), 1)
    elif max_samples > n_samples:
        raise ValueError(f"max_samples={max_samples} must be <= n_samples={n_samples}.")

    if tol is None and k in (None, n_features):
        result = permutation_importance(
            estimator,
            X,
            y,
            scoring=scoring,
            n_repeats=n_repeats,
            n_jobs=n_jobs,
            random_state=random_state,
            sample_weight=sample_weight,
            max_samples=n_drawn,
        )
        n_predictions = n_samples + n_features * n_repeats * n_drawn
        if isinstance(result, Bunch):
            return _completed(result, k, n_predictions)
        return {s: _completed(each, k, n_predictions) for s, each in result.items()}

    if isinstance(scoring, list | tuple | dict):
        raise ValueError("With k or tol a single score decides, got several: scoring.")
    if y is None:
        raise ValueError("With k or tol targets are needed: y is None.")
    random_state = check_random_state(random_state)
    rows, donors = _shuffles(random_state, n_samples, n_drawn, n_repeats)
    y = np.asarray(y)
    scores = kind_of_scores(
        estimator,
        scoring,
        y[rows],
        None if sample_weight is None else sample_weight[rows],
    )
    drawn = _take(X, rows) if n_drawn < n_samples else X
    search = Losses(scores, drawn, donors, n_jobs)
    # Scikit-learn's baseline is the score of all samples, not of those drawn.
    offset = 0.0
    if n_drawn < n_samples:
        everything = kind_of_scores(estimator, scoring, y, sample_weight)
        offset = everything.of_all(X).mean() - search.before.mean()
        search.n_predictions += n_samples
    if k is None or k == n_features:
        search.settle(np.arange(n_features), delta, tol, random_state)
        selected = None if k is None else _order(search.means())
    else:
        selected = _select(search, k, delta, tol, random_state)
    mean = search.means() + offset
    radii = search.radii(np.arange(n_features), delta)
    return Bunch(
        importances_mean=mean,
        importances_std=search.standard_errors(),
        importances_low=mean - radii,
        importances_high=mean + radii,
        selected=selected,
        n_predictions=search.n_predictions,
        n_rounds=search.n_rounds,
    )


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
        changed = _take(self.X, rows)
        if hasattr(changed, "iloc"):
            bounds = [0, *(np.flatnonzero(np.diff(chosen)) + 1), len(pairs)]
            for first, last in pairwise(bounds):
                column = self.X.iloc[:, chosen[first]].array
                changed.iloc[first:last, chosen[first]] = column[donors[first:last]]
        else:
            changed[np.arange(len(pairs)), chosen] = self.X[donors, chosen]
        return self.before[rows] - self.scores(changed, rows)


def _completed(result, k, n_predictions):
    """What scikit-learn returned for one score, in the form of a search."""
    mean = result.importances_mean
    return Bunch(
        **result,
        importances_low=mean.copy(),
        importances_high=mean.copy(),
        selected=None if k is None else _order(mean),
        n_predictions=n_predictions,
        n_rounds=1,
    )


def _take(X, rows):
    """A copy of rows."""
    if hasattr(X, "iloc"):
        return X.iloc[rows].reset_index(drop=True)
    return X[rows]


def _order(means):
    """Features by importance, best first; ties by index."""
    return np.lexsort((np.arange(len(means)), -means))


def _shuffles(random_state, n_samples, n_drawn, n_repeats):
    """Rows and shuffles as scikit-learn draws them: the same ones for each feature.

    Returns
    -------
    rows : ndarray of shape (n_drawn,)
        The samples drawn.
    donors : ndarray of shape (n_repeats, n_drawn)
        Positions among them. Each shuffle is of the column that the last one left.
    """
    rng = np.random.RandomState(random_state.randint(MAX_SEED + 1))
    rows = np.arange(n_samples)
    if n_drawn < n_samples:
        rows = sample_without_replacement(n_samples, n_drawn, random_state=rng)
    donors = np.empty((n_repeats, n_drawn), dtype=np.intp)
    order, present = np.arange(n_drawn), np.arange(n_drawn)
    for repeat in range(n_repeats):
        rng.shuffle(order)
        present = present[order]
        donors[repeat] = present
    return rows, donors


def _select(search, k, delta, tol, random_state):
    """The k most important features, best first.

    With a tolerance, what sampling by pairs cannot tell apart (features without any
    effect are equal on all rows) is known well enough once each importance is known to
    half of it. The two ways to an answer share `delta`.
    """
    n_features = len(search.n_used)
    exact = None
    if tol and delta > 0:
        delta = delta / 2

        def exact(features):
            search.settle(features, delta, tol / 2, random_state)
            return search.means()[features]

    elif n_features * search.n_references > MAX_KEPT_LOSSES:
        exact = search.finish
    found = best_arm(
        search,
        n_features,
        search.n_references,
        k=k,
        maximize=True,
        delta=delta,
        batch_size=BATCH_SIZE,
        exact=exact,
        tol=tol or 0.0,
        random_state=random_state,
    )
    return found.best
