"""Permutation importance of any estimator, from as many predictions as it takes."""

from collections.abc import Callable
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
from sklearn.utils.random import sample_without_replacement

from .._compat import Interval, validate_params
from .._core.typing import RandomState
from .._core.validation import check_weights
from ..bandit import best_arm
from ._out_of_bag import (
    OutOfBagScores,
    check_training_set,
    out_of_bag_estimator,
)
from ._permutation import MAX_SEED
from ._permutation_losses import BATCH_SIZE, Losses, take_rows
from ._sample_scores import SampleScores

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
    drawn = take_rows(X, rows) if n_drawn < n_samples else X
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
