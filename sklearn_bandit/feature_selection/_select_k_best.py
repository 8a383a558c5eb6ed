"""The estimator: validation, bins, hand-over."""

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from .._compat import Interval, StrOptions, _fit_context, check_is_fitted, validate_data
from .._core.documentation import DocumentationLinkMixin
from .._core.typing import RandomState
from .._core.unchanged import unchanged_on_failure
from .._core.validation import unique_inverse
from ._scores import (
    BetweenClasses,
    MutualInformation,
    SampleMeans,
    SquaredCorrelation,
)
from ._search import BATCH_SIZE, select


class BanditSelectKBest(DocumentationLinkMixin, SelectorMixin, BaseEstimator):
    """Select the k features with the largest scores, from as few rows as it takes.

    Each feature has a score with the target: mutual information, F, or the mean of a
    score of your own. All features are scored on the same sample of rows; those that
    cannot be among the `k` best any more are dropped; the sample is doubled for the
    others. What a sample cannot tell apart is scored on all rows. The selection is that
    of ``SelectKBest`` with the score of all rows, with probability ``1 - delta``.

    Read more in the :ref:`User Guide <importance>`.

    Parameters
    ----------
    k : int or "all", default=10
        Number of features.
    score_func : {"mutual_info", "f"} or callable, default="mutual_info"
        What is compared, larger is better:

        - "mutual_info": mutual information of the binned feature and the target. A
          continuous target is put into bins as well.
        - "f": ``f_classif``, or ``f_regression`` for a continuous target.
        - a callable ``(X, y)`` that returns what each value of X contributes to
          the score of its feature, an array of the shape of X: the score is the mean
          over all rows. X has some of the rows and of the features.
    delta : float, default=0.01
        Probability that the selection may be another than that of all rows. With 0 all
        rows are read.
    target_type : {"auto", "continuous", "classes"}, default="auto"
        What the target is to "mutual_info" and "f". With "auto" real numbers that are
        not all integers are continuous, and everything else is classes: say
        "continuous" for counts, prices and other integers with many values.
    n_bins : int, default=16
        Bins of a feature, and of a continuous target, for mutual information. They hold
        about equally many of the first rows that are sampled; a feature with no more
        values than this has a bin for each.
    random_state : int, RandomState instance or None, default=None
        Order of the rows.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Scores in the units of scikit-learn's: nats, F, means. They are exact for the
        features that were compared on all rows, otherwise estimates from those read
        before a feature was decided.
    bin_edges_ : list of ndarray or None
        Inner edges of the bins of each feature; a value on an edge is in the bin above
        it. None for other scores than mutual information.
    n_rows_read_ : int
        Rows of which any value was used.
    n_values_read_ : int
        Values of X that were used. Validation, which looks at all of X for NaN and
        infinity, is not counted.
    n_rounds_ : int
        Batches of rows.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of features seen during fit, if X has any.

    See Also
    --------
    sklearn.feature_selection.SelectKBest : The scores of all rows.
    sklearn_bandit.inspection.bandit_permutation_importance : What features are worth to
        a fitted model.

    Notes
    -----
    `delta` covers the sampling of rows, to first and second order: Student intervals of
    paired differences (large contributions of so few rows that a batch may see none are
    believed not to exist), and chi-squared tails for the curvature of mutual
    information and F. The bias of the plug-in estimate is corrected to first order
    (Miller and Madow, 1955). What the score of *all* rows says of other data is not
    covered; nor is the choice of bins, which are part of the score.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_bandit.feature_selection import BanditSelectKBest
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((50_000, 40))
    >>> y = X[:, 3] + X[:, 7] + rng.standard_normal(50_000) > 0
    >>> selector = BanditSelectKBest(k=2, random_state=0).fit(X, y)
    >>> selector.get_support(indices=True)
    array([3, 7])
    >>> selector.n_values_read_ < X.size / 10
    True
    """

    _parameter_constraints: dict = {
        "k": [StrOptions({"all"}), Interval(Integral, 1, None, closed="left")],
        "score_func": [StrOptions({"mutual_info", "f"}), callable],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "target_type": [StrOptions({"auto", "continuous", "classes"})],
        # Bins are bytes.
        "n_bins": [Interval(Integral, 2, 255, closed="both")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        k: int | Literal["all"] = 10,
        *,
        score_func: Literal["mutual_info", "f"]
        | Callable[[np.ndarray, np.ndarray], ArrayLike] = "mutual_info",
        delta: float = 0.01,
        target_type: Literal["auto", "continuous", "classes"] = "auto",
        n_bins: int = 16,
        random_state: RandomState = None,
    ) -> None:
        self.k = k
        self.score_func = score_func
        self.delta = delta
        self.target_type = target_type
        self.n_bins = n_bins
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Find the best features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The data.
        y : array-like of shape (n_samples,)
            Classes, or a continuous target; see `target_type`.

        Returns
        -------
        self : object
            The fitted selector.
        """
        with unchanged_on_failure(self):
            X, y = validate_data(self, X, y, dtype=(np.float64, np.float32))
            n_samples, n_features = X.shape
            k = n_features if self.k == "all" else self.k
            if k > n_features:
                warnings.warn(
                    f"k={k} is greater than n_features={n_features}. All the features "
                    "will be returned.",
                    stacklevel=2,
                )
                k = n_features
            order = check_random_state(self.random_state).permutation(n_samples)
            self.bin_edges_ = None
            score = self._make_score(X, y, order)
            found = select(X, score, order, k, self.delta)
            self.scores_ = self._in_units(found.scores, score, n_samples)
            self.n_rows_read_ = found.n_rows
            self.n_values_read_ = found.n_values
            self.n_rounds_ = found.n_rounds
            self._best = found.best
        return self

    def _make_score(self, X, y, order):
        """What takes values and estimates scores."""
        if callable(self.score_func):
            return SampleMeans(self.score_func, y)
        is_continuous = self.target_type == "continuous"
        if is_continuous:
            y = y.astype(np.float64)
        elif self.target_type == "auto":
            kind = type_of_target(y, input_name="y")
            is_continuous = kind.startswith("continuous")
        if self.score_func == "f" and is_continuous:
            # Sums of targets near the end of the range would be infinite.
            y = y / (np.abs(y).max() or 1.0)
            y = y.astype(np.float64) - np.mean(y, dtype=np.float64)
            y /= np.abs(y).max() or 1.0
            return SquaredCorrelation(y / max(y.std(), np.finfo(np.float64).tiny))
        if is_continuous:
            labels = np.searchsorted(_edges(y, self.n_bins), y, side="right")
        else:
            labels = unique_inverse(y)[1]
        labels = labels.astype(np.intp)
        if self.score_func == "f":
            return BetweenClasses(labels)
        sample = X[order[:BATCH_SIZE]]
        self.bin_edges_ = [_edges(values, self.n_bins) for values in sample.T]
        return MutualInformation(self.bin_edges_, labels)

    def _in_units(self, values, score, n_samples):
        """Scores in scikit-learn's units: F of a share of the variance."""
        if isinstance(score, SampleMeans):
            return values
        values = np.maximum(values, 0.0)
        if self.score_func == "mutual_info":
            return values
        if isinstance(score, SquaredCorrelation):
            between = 1
        else:
            between = len(np.unique(score.target)) - 1
        within = n_samples - between - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            f = values / (1 - values) * (within / between if between else 0.0)
        return np.nan_to_num(f, nan=0.0, posinf=np.finfo(np.float64).max)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self._best] = True
        return mask

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _edges(values, n_bins):
    """Inner edges of bins, each of them a value: the bin above it begins there.

    The bins hold about equally many values. A value that fills several bins has one of
    its own.
    """
    distinct = np.unique(values)
    if len(distinct) <= n_bins:
        return distinct[1:].astype(np.float64)
    places = np.arange(1, n_bins) * len(values) // n_bins
    edges = np.sort(values)[places]
    repeated = edges[1:][edges[1:] == edges[:-1]]
    after = np.searchsorted(distinct, repeated, side="right")
    after = distinct[after[after < len(distinct)]]
    edges = np.unique(np.concatenate([edges, after]))
    return edges[edges > distinct[0]].astype(np.float64)
