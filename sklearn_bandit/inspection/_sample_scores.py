"""What every held-out row contributes to a score, for any rows in any order."""

from math import inf

import numpy as np
from sklearn import metrics
from sklearn.metrics import check_scoring, make_scorer

from .._compat import metric_of, with_metric
from .._core.contributions import MEANS, TOLERANCE, default_metric

REFUSED = (
    "Importances are known from a part of the rows only if the score is a mean over "
    "rows (accuracy, log-loss, squared errors, R2 and others). {} is not, or not with "
    "these options: leave k and tol at None, for the full computation."
)


class SampleScores:
    """Scores of single rows, whose mean over all rows is the score.

    Some scores weigh a row by what all rows are: R2 by their variance, the balanced
    accuracy by their classes. These weights are those of `y`, whichever rows are asked
    for.

    Parameters
    ----------
    estimator : object
        A fitted estimator.
    scoring : str, callable or None
        In scikit-learn's manner.
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Targets.
    weight : ndarray of shape (n_rows,) or None
        Weights of the rows.
    """

    def __init__(self, estimator, scoring, y, weight):
        scorer = check_scoring(estimator, scoring)
        metric = metric_of(scorer)
        if metric is None and scoring is None:
            metric = default_metric(estimator)
            scorer = scorer if metric is None else make_scorer(metric)
        if metric not in MEANS:
            if metric is None:
                name = "The estimator's score" if scoring is None else "A scorer's own"
            else:
                name = getattr(metric, "__name__", repr(metric))
            raise ValueError(REFUSED.format(name))
        self.estimator = estimator
        self.y = y
        self.weight = None if weight is None else weight / weight.mean()
        self._labels = np.unique(y)
        self._metric = metric
        self._scorer = with_metric(scorer, self._contributions)
        self._plain_scorer = scorer

    def __call__(self, X, rows):
        """Return the scores of samples that are predicted, for the targets of `rows`.

        Parameters
        ----------
        X : array or data frame of shape (n, n_features)
            What to predict.
        rows : ndarray of shape (n,)
            Whose targets and weights count.
        """
        values = self._scorer(self._judge(rows), X, self.y[rows])
        return values if self.weight is None else values * self.weight[rows]

    def _judge(self, rows):
        """Return the estimator that predicts for these rows."""
        return self.estimator

    def of_all(self, X):
        """Return the scores of all rows, once their mean is seen to be the score."""
        seen = []

        def both(y_true, y_pred, **options):
            weights = {} if self.weight is None else {"sample_weight": self.weight}
            seen.append(self._metric(y_true, y_pred, **options, **weights))
            return self._contributions(y_true, y_pred, **options)

        values = with_metric(self._plain_scorer, both)(self.estimator, X, self.y)
        if self.weight is not None:
            values = values * self.weight
        if not np.isfinite(values).all():
            raise ValueError(
                f"{self._metric.__name__} is not finite on some rows: the targets are "
                "all the same, or too large."
            )
        score = abs(seen[0])
        if not abs(abs(values.mean()) - score) <= TOLERANCE * (1 + score):
            raise ValueError(REFUSED.format(self._metric.__name__))
        return values

    def largest_loss(self):
        """Return how much the score of one row may fall; infinite if not known."""
        if self._metric is not metrics.accuracy_score:
            return inf
        return 1.0 if self.weight is None else float(self.weight.max())

    def _contributions(self, y_true, y_pred, **options):
        y_true, y_pred = np.asarray(y_true), np.asarray(y_pred)
        if self._metric is metrics.r2_score:
            return _r2(self.y, self.weight, y_true, y_pred)
        if self._metric is metrics.balanced_accuracy_score:
            return _balanced(self.y, self.weight, y_true, y_pred, **options)
        # The labels of a few rows are not all labels.
        if self._metric in (metrics.log_loss, metrics.brier_score_loss):
            options = {"labels": None} | options
        if self._metric is metrics.brier_score_loss:
            options = {"pos_label": None} | options
        for name, value in (("labels", self._labels), ("pos_label", self._labels[-1])):
            if name in options and options[name] is None:
                options[name] = value
        return MEANS[self._metric](y_true, y_pred, None, **options)[0]


def _r2(y, weight, y_true, y_pred):
    """1 - squared error over the variance of all targets."""
    centred = y - np.average(y, axis=0, weights=weight)
    total = np.average(centred**2, axis=0, weights=weight)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = 1.0 - (y_true - y_pred.reshape(y_true.shape)) ** 2 / total
    return values if values.ndim == 1 else values.mean(axis=1)


def _balanced(y, weight, y_true, y_pred, adjusted=False):
    """Whether a row is right, over the share of its class among all rows."""
    classes, index = np.unique(y, return_inverse=True)
    share = np.bincount(index, weights=weight) / len(y)
    scale = 1.0 / (len(classes) * share)
    values = (y_true == y_pred) * scale[np.searchsorted(classes, y_true)]
    chance = 1.0 / len(classes)
    return (values - chance) / (1 - chance) if adjusted else values
