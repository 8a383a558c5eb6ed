"""Scores that carry what every held-out sample contributed to them.

Many metrics are means over the held-out samples, with weights that do not depend on the
candidate: accuracy, log-loss, squared and absolute errors, R2 and balanced accuracy
within one fold. `RecordedMetric` computes such a metric with scikit-learn's own
function and adds the contributions. They are kept only where their mean is the score.

Other smooth metrics (the area under the ROC curve, F1) have no contributions of single
samples. A grouped jackknife gives them those of groups of samples: the pseudo-values
``g t - (g - 1) t_j`` with the score ``t_j`` without group j (Quenouille, 1956; Tukey,
1958), whose variance estimates that of the score.
"""

from functools import update_wrapper
from typing import NamedTuple

import numpy as np
from sklearn import metrics
from sklearn.base import ClassifierMixin, RegressorMixin

# Groups of samples that the jackknife leaves out in turn: so often is a metric
# computed again.
N_GROUPS = 10

# Contributions must reproduce the score up to rounding (of float32 predictions, too).
TOLERANCE = 1e-6


class Contributions(NamedTuple):
    """What the samples of a fold, or groups of them, contribute to a score.

    Attributes
    ----------
    values : ndarray of shape (n_samples,)
        Their mean is the score.
    largest : float
        How far one sample could move the sum of `values`; NaN where that is not known.
    """

    values: np.ndarray
    largest: float


class Score(float):
    """A score with the contributions that it is the mean of."""

    def __new__(cls, value, contributions):
        """Make a float of `value`."""
        score = super().__new__(cls, value)
        score.contributions = contributions
        return score

    def __rmul__(self, sign):
        # Scorers turn losses into scores by a factor of -1.
        values, largest = self.contributions
        return Score(sign * float(self), Contributions(sign * values, largest))

    def __reduce__(self):
        return Score, (float(self), self.contributions)


class RecordedMetric:
    """A metric of scikit-learn that returns `Score` where it can.

    Parameters
    ----------
    function : callable
        ``function(y_true, y_pred, **options)``.
    """

    def __init__(self, function):
        self.function = function
        # Scorers read the name and the signature.
        update_wrapper(self, function)

    def __call__(self, y_true, y_pred, **options):
        """Return the function's own value, with contributions where there are any."""
        value = self.function(y_true, y_pred, **options)
        contributions = self._contributions(value, y_true, y_pred, options)
        return value if contributions is None else Score(value, contributions)

    def _contributions(self, value, y_true, y_pred, options):
        if not np.isscalar(value) or not np.isfinite(value):
            return None
        try:
            y_true, y_pred = np.asarray(y_true), np.asarray(y_pred)
            if self.function in MEANS:
                found = _weighted(MEANS[self.function], y_true, y_pred, options)
                mean = np.mean(found.values)
                if abs(mean - value) <= TOLERANCE * (1 + abs(value)):
                    return found
            elif self.function in SMOOTH:
                return _jackknife(self.function, value, y_true, y_pred, options)
        except Exception:  # inputs or options that only the function itself knows
            pass
        return None


def _weighted(rule, y_true, y_pred, options):
    """Contributions to a mean over samples that may have weights."""
    options = dict(options)
    weight = options.pop("sample_weight", None)
    if weight is None:
        return Contributions(*rule(y_true, y_pred, None, **options))
    weight = np.asarray(weight, dtype=np.float64)
    weight = weight / weight.mean()
    values, largest = rule(y_true, y_pred, weight, **options)
    return Contributions(values * weight, largest * weight.max())


def _jackknife(function, value, y_true, y_pred, options):
    """Pseudo-values of groups of samples.

    The groups are the same for all candidates: the differences are paired.
    """
    n_samples = len(y_true)
    n_groups = min(N_GROUPS, n_samples)
    if n_groups < 2:
        return None
    weight = options.get("sample_weight")
    # Neighbours in the fold are often of one class: groups are drawn.
    group = np.random.RandomState(0).permutation(np.arange(n_samples) % n_groups)
    values = np.empty(n_groups)
    for i in range(n_groups):
        rest = group != i
        if weight is not None:
            options = {**options, "sample_weight": np.asarray(weight)[rest]}
        without = function(y_true[rest], y_pred[rest], **options)
        values[i] = n_groups * value - (n_groups - 1) * without
    return Contributions(values, np.nan) if np.isfinite(values).all() else None


# -- metrics that are means: contributions, and how large one can be ------------------


def _accuracy(y_true, y_pred, weight, normalize=True):
    return _right(y_true, y_pred), 1.0 if normalize is True else None


def _zero_one(y_true, y_pred, weight, normalize=True):
    return 1.0 - _right(y_true, y_pred), 1.0 if normalize is True else None


def _right(y_true, y_pred):
    right = y_true == y_pred
    return (right if right.ndim == 1 else right.all(axis=1)).astype(np.float64)


def _balanced_accuracy(y_true, y_pred, weight, adjusted=False):
    classes, index = np.unique(y_true, return_inverse=True)
    share = np.bincount(index, weights=weight) / len(index)
    scale = 1.0 / (len(classes) * share)
    values, largest = _right(y_true, y_pred) * scale[index], scale.max()
    if adjusted:
        chance = 1.0 / len(classes)
        values, largest = (values - chance) / (1 - chance), largest / (1 - chance)
    return values, largest


def _log_loss(y_true, y_pred, weight, normalize=True, labels=None):
    labels = np.unique(y_true) if labels is None else np.unique(labels)
    if y_pred.ndim == 1:
        y_pred = np.column_stack([1 - y_pred, y_pred])
    tiny = np.finfo(y_pred.dtype).eps
    y_pred = np.clip(y_pred, tiny, 1 - tiny)
    chosen = y_pred[np.arange(len(y_true)), np.searchsorted(labels, y_true)]
    # A model that gives a class no chance has large losses that may not have shown yet.
    return -np.log(chosen), -np.log(y_pred.min())


def _brier(y_true, y_pred, weight, pos_label=None, labels=None, scale_by_half="auto"):
    if y_pred.ndim == 1:
        pos_label = np.unique(y_true)[-1] if pos_label is None else pos_label
        return (y_pred - (y_true == pos_label)) ** 2, 1.0
    labels = np.unique(y_true) if labels is None else np.unique(labels)
    values = ((y_pred - (y_true[:, None] == labels)) ** 2).sum(axis=1)
    half = scale_by_half is True or (scale_by_half == "auto" and len(labels) < 3)
    return (values / 2, 1.0) if half else (values, 2.0)


def _over_outputs(values):
    return values if values.ndim == 1 else values.mean(axis=1)


def _squared_error(y_true, y_pred, weight, multioutput="uniform_average"):
    return _over_outputs((y_true - y_pred) ** 2), np.nan


def _absolute_error(y_true, y_pred, weight, multioutput="uniform_average"):
    return _over_outputs(np.abs(y_true - y_pred)), np.nan


def _percentage_error(y_true, y_pred, weight, multioutput="uniform_average"):
    scale = np.maximum(np.abs(y_true), np.finfo(np.float64).eps)
    return _over_outputs(np.abs(y_true - y_pred) / scale), np.nan


def _squared_log_error(y_true, y_pred, weight, multioutput="uniform_average"):
    return _over_outputs((np.log1p(y_true) - np.log1p(y_pred)) ** 2), np.nan


def _pinball(y_true, y_pred, weight, alpha=0.5, multioutput="uniform_average"):
    gap = y_true - y_pred
    return _over_outputs(np.maximum(alpha * gap, (alpha - 1) * gap)), np.nan


def _poisson_deviance(y_true, y_pred, weight):
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(y_true > 0, y_true * np.log(y_true / y_pred), 0.0)
    return 2 * (logs - y_true + y_pred), np.nan


def _gamma_deviance(y_true, y_pred, weight):
    return 2 * (np.log(y_pred / y_true) + y_true / y_pred - 1), np.nan


def _r2(y_true, y_pred, weight, multioutput="uniform_average", force_finite=True):
    # Within a fold the total sum of squares is the same for all candidates.
    centred = y_true - np.average(y_true, axis=0, weights=weight)
    total = np.average(centred**2, axis=0, weights=weight)
    return _over_outputs(1.0 - (y_true - y_pred) ** 2 / total), np.nan


MEANS = {
    metrics.accuracy_score: _accuracy,
    metrics.zero_one_loss: _zero_one,
    metrics.balanced_accuracy_score: _balanced_accuracy,
    metrics.log_loss: _log_loss,
    metrics.brier_score_loss: _brier,
    metrics.mean_squared_error: _squared_error,
    metrics.mean_absolute_error: _absolute_error,
    metrics.mean_absolute_percentage_error: _percentage_error,
    metrics.mean_squared_log_error: _squared_log_error,
    metrics.mean_pinball_loss: _pinball,
    metrics.mean_poisson_deviance: _poisson_deviance,
    metrics.mean_gamma_deviance: _gamma_deviance,
    metrics.r2_score: _r2,
}

# Metrics that change little when a few samples are left out. The largest and the median
# error are none: the jackknife is wrong for them.
SMOOTH = {
    metrics.roc_auc_score,
    metrics.average_precision_score,
    metrics.f1_score,
    metrics.fbeta_score,
    metrics.precision_score,
    metrics.recall_score,
    metrics.jaccard_score,
    metrics.matthews_corrcoef,
    metrics.cohen_kappa_score,
    metrics.root_mean_squared_error,
    metrics.root_mean_squared_log_error,
    metrics.explained_variance_score,
    metrics.top_k_accuracy_score,
}


def default_metric(estimator):
    """The metric behind `score`, None for a `score` of the estimator's own.

    A pipeline's is that of its last step.
    """
    while hasattr(estimator, "steps"):
        estimator = estimator.steps[-1][1]
    score = getattr(type(estimator), "score", None)
    if score is ClassifierMixin.score:
        return metrics.accuracy_score
    return metrics.r2_score if score is RegressorMixin.score else None
