"""Scores of features on a growing sample of rows.

A score of all N rows is estimated from n of them. For mutual information and F the
estimate is a smooth function of means, not a mean. To first order its error is the mean
of an *influence* of each row (the derivative of the score by the weight of the row,
Hampel 1974); the second order is that of a quadratic form with as many degrees of
freedom as the score has under independence, whose mean is the bias. Both are zero where
all rows are used.
"""

from dataclasses import dataclass

import numpy as np

# What rounding leaves of the variance of a constant, relative to the mean square.
CONSTANT = 1e-13

# Values that F sums at once, 1 MB of double precision: they stay in the cache for all
# sums. On 100,000 x 500 eight times as many took 1.9 times the processor time.
BLOCK_VALUES = 1 << 17

# Up to this many classes their sums are a matrix product with indicators; of more, each
# feature has its own. On 100,000 x 500 the product took a third of the processor time
# with 2 classes, and .6 with 64.
MAX_INDICATORS = 64


@dataclass
class Estimate:
    """What a sample says of the scores of features.

    Attributes
    ----------
    values : ndarray of shape (n_features,)
        The score of the rows of the sample, as if there were no others.
    freedom : ndarray of shape (n_features,)
        Degrees of freedom of the second order; 0 for a plain mean.
    scale : ndarray of shape (n_features,)
        The second order is that of chi-squared by this over the number of rows.
    """

    values: np.ndarray
    freedom: np.ndarray
    scale: np.ndarray


class MutualInformation:
    """Mutual information of binned features and labels, in nats, from counts.

    The plug-in estimate ``sum p(x, y) log(p(x, y) / (p(x) p(y)))`` is too large by
    ``(m_xy - m_x - m_y + 1) / 2 n`` to first order, m being the numbers of cells that
    are not empty (Miller and Madow, 1955).

    Parameters
    ----------
    edges : list of ndarray
        Inner edges of the bins of each feature.
    labels : ndarray of shape (n_rows,)
        Labels from 0 on.
    """

    def __init__(self, edges, labels):
        self.edges = edges
        self.labels = labels
        self.n_labels = int(labels.max()) + 1
        self.n_bins = max(len(each) for each in edges) + 1
        self._codes = np.empty((len(edges), 0), dtype=np.uint8)
        self._rows = np.empty(0, dtype=np.intp)
        self._counts = np.zeros((len(edges), self.n_bins * self.n_labels), np.int64)

    def add(self, values, features, rows):
        """Take the values, one line a feature, of new rows."""
        codes = self._binned(values, features)
        self._codes = np.concatenate([self._codes, codes], axis=1)
        self._rows = np.concatenate([self._rows, rows])
        self._count(codes, rows)

    def add_last(self, values, features, rows):
        """Take rows for the values only: there will be no more estimates."""
        self._count(self._binned(values, features), rows)

    def keep(self, kept):
        """Go on with the features at these positions."""
        self._codes, self._counts = self._codes[kept], self._counts[kept]

    def estimate(self):
        """What all rows so far say of the scores."""
        values, _, cells = self._log_ratios()
        return Estimate(values, cells, np.full(len(values), 0.5))

    def influences(self, places):
        """What each row adds to the scores of the features at these positions."""
        values, logs, _ = self._log_ratios()
        labels = self.labels[self._rows]
        influences = np.empty((len(places), len(labels)))
        for line, i in zip(influences, places, strict=True):
            cell = self._codes[i].astype(np.intp) * self.n_labels + labels
            line[:] = logs[i].ravel()[cell] - values[i]
        return influences

    def _binned(self, values, features):
        values = np.ascontiguousarray(values)
        codes = np.empty(values.shape, dtype=np.uint8)
        for i, feature in enumerate(features):
            codes[i] = np.searchsorted(self.edges[feature], values[i], side="right")
        return codes

    def _count(self, codes, rows):
        labels = self.labels[rows]
        for i, each in enumerate(codes):
            cell = each.astype(np.intp) * self.n_labels + labels
            self._counts[i] += np.bincount(cell, minlength=self._counts.shape[1])

    def _log_ratios(self):
        """Mutual information, its logarithms by cell, and its degrees of freedom."""
        counts = self._counts.reshape(-1, self.n_bins, self.n_labels)
        n = counts[0].sum() if len(counts) else 1
        by_x, by_y = counts.sum(axis=2), counts.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(counts * (n / (by_x[:, :, None] * by_y[:, None, :])))
        logs[counts == 0] = 0.0
        values = np.maximum((counts * logs).sum(axis=(1, 2)) / n, 0.0)
        cells = np.count_nonzero(counts, axis=(1, 2)) + 1.0
        cells -= np.count_nonzero(by_x, axis=1) + np.count_nonzero(by_y, axis=1)
        return values, logs, np.maximum(cells, 0.0)


class _ExplainedVariance:
    """Share of a feature's variance that the target explains.

    F is a growing function of it, so both have the same best features. Values are
    centred and scaled by the first batch, for the sake of rounding.

    Parameters
    ----------
    target : ndarray of shape (n_rows,)
        Labels from 0 on, or a real target.
    n_sums : int
        Sums of values by target that a score needs.
    """

    def __init__(self, target, n_sums):
        self.target = target
        self.n_sums = n_sums
        self._n = 0
        self._rows = np.empty(0, dtype=np.intp)
        self._samples = []

    def add(self, values, features, rows):
        """Take the values, one line a feature, of new rows."""
        self._rows = np.concatenate([self._rows, rows])
        self._samples.append(values)
        self._sum(values, rows)

    def add_last(self, values, features, rows):
        """Take rows for the values only: there will be no more estimates."""
        self._sum(values, rows)

    def keep(self, kept):
        """Go on with the features at these positions."""
        self._samples = [values[kept] for values in self._samples]
        self._centre, self._scale = self._centre[kept], self._scale[kept]
        self._totals, self._by_target = self._totals[kept], self._by_target[kept]

    def estimate(self):
        """What all rows so far say of the scores."""
        ratio = self._moments()[0]
        return Estimate(ratio, np.full(len(ratio), self._freedom()), 1 - ratio)

    def _sum(self, values, rows):
        """Add standardised values to the sums."""
        if self._n == 0:
            self._centre = values.mean(axis=1, dtype=np.float64)
            scale = np.abs(values - self._centre[:, None]).max(axis=1)
            self._scale = np.where(scale > 0, scale, 1.0)
            self._totals = np.zeros((len(values), 2))
            self._by_target = np.zeros((len(values), self.n_sums))
        self._n += len(rows)
        step = max(1, BLOCK_VALUES // len(values))
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            # In the order of memory: one line a row.
            block = values[:, part].T.astype(np.float64)
            block -= self._centre
            block /= self._scale
            self._totals[:, 0] += block.sum(axis=0)
            self._totals[:, 1] += np.einsum("ij,ij->j", block, block)
            self._sum_by_target(block, self.target[rows[part]])

    def _standardised(self, places):
        """Values of some features in all rows of the sample, one line a feature."""
        lines = np.concatenate([values[places] for values in self._samples], axis=1)
        lines = np.ascontiguousarray(lines, dtype=np.float64)
        lines -= self._centre[places, None]
        lines /= self._scale[places, None]
        return lines

    def _ratios(self, explained):
        """Explained share of the variance, with the means and variances."""
        mean, square = self._totals.T / self._n
        variance = square - mean**2
        variance[variance <= CONSTANT * square] = 0.0
        ratio = np.divide(explained, variance, where=variance > 0, out=0 * mean)
        return np.clip(ratio, 0.0, 1.0), mean, variance


class BetweenClasses(_ExplainedVariance):
    """Share of the variance between classes, which ``f_classif`` is made of.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,)
        Labels from 0 on.
    """

    def __init__(self, labels):
        super().__init__(labels, int(labels.max()) + 1)
        self._counts = np.zeros(self.n_sums)

    def influences(self, places):
        """What each row adds to the scores of the features at these positions."""
        ratio, mean, variance = self._moments()
        variance[variance == 0] = 1.0
        of_classes = self._gaps_of_classes() + mean[:, None]
        labels = self.target[self._rows]
        lines = self._standardised(places)
        # What a row adds to the variance between the classes is what it adds to all of
        # it, less what it adds within its class.
        for line, i in zip(lines, places, strict=True):
            within = line - of_classes[i].take(labels)
            within *= within
            line -= mean[i]
            line *= line
            line *= 1 - ratio[i]
            line -= within
            line /= variance[i]
        return lines

    def _freedom(self):
        return np.count_nonzero(self._counts) - 1.0

    def _sum_by_target(self, block, labels):
        self._counts += np.bincount(labels, minlength=self.n_sums)
        if self.n_sums <= MAX_INDICATORS:
            indicators = labels == np.arange(self.n_sums)[:, None]
            self._by_target += (indicators.astype(np.float64) @ block).T
            return
        for sums, each in zip(self._by_target, block.T, strict=True):
            sums += np.bincount(labels, each, minlength=self.n_sums)

    def _gaps_of_classes(self):
        mean = self._totals[:, :1] / self._n
        return (self._by_target - self._counts * mean) / np.maximum(self._counts, 1)

    def _moments(self):
        return self._ratios(self._gaps_of_classes() ** 2 @ self._counts / self._n)


class SquaredCorrelation(_ExplainedVariance):
    """Squared correlation with a target, which ``f_regression`` is made of.

    Parameters
    ----------
    target : ndarray of shape (n_rows,)
        The target, of mean zero and variance one over all rows.
    """

    def __init__(self, target):
        super().__init__(target, 1)
        self._target_totals = np.zeros(2)

    def influences(self, places):
        """What each row adds to the scores of the features at these positions."""
        ratio, mean, variance = self._moments()
        variance[variance == 0] = 1.0
        shift, spread = self._target_moments()
        target = self.target[self._rows] - shift
        square = target**2 / spread
        # The derivatives of a covariance and of two variances.
        slope = self._covariances() / spread
        lines = self._standardised(places)
        for line, i in zip(lines, places, strict=True):
            line -= mean[i]
            line *= (2 * slope[i] * target - ratio[i] * line) / variance[i]
            line -= ratio[i] * square
        return lines

    def _freedom(self):
        return 1.0

    def _sum_by_target(self, block, target):
        self._target_totals += target.sum(), target @ target
        self._by_target[:, 0] += target @ block

    def _target_moments(self):
        shift, square = self._target_totals / self._n
        # A sample may hold a single value of the target.
        return shift, max(square - shift**2, np.finfo(np.float64).tiny)

    def _covariances(self):
        shift, _ = self._target_moments()
        return (self._by_target[:, 0] - shift * self._totals[:, 0]) / self._n

    def _moments(self):
        return self._ratios(self._covariances() ** 2 / self._target_moments()[1])


class SampleMeans:
    """Means of a score of each value and its target.

    Parameters
    ----------
    function : callable
        ``function(X, y)`` returns what each value of X, an array of shape (n_rows,
        n_features), contributes to the score of its feature.
    target : ndarray of shape (n_rows,)
        The targets.
    """

    def __init__(self, function, target):
        self.function = function
        self.target = target
        self._gains = None
        self._total = 0.0
        self._n = 0

    def add(self, values, features, rows):
        """Take the values, one line a feature, of new rows."""
        gains = self._evaluate(values, rows)
        if self._gains is None:
            self._gains = np.empty((len(gains), 0))
        self._gains = np.concatenate([self._gains, gains], axis=1)

    def add_last(self, values, features, rows):
        """Take rows for the values only: there will be no more estimates."""
        self._evaluate(values, rows)

    def keep(self, kept):
        """Go on with the features at these positions."""
        self._gains, self._total = self._gains[kept], self._total[kept]

    def estimate(self):
        """What all rows so far say of the scores."""
        zeros = np.zeros(len(self._total))
        return Estimate(self._total / self._n, zeros, zeros)

    def influences(self, places):
        """What each row adds to the scores of the features at these positions."""
        return self._gains[places] - (self._total[places] / self._n)[:, None]

    def _evaluate(self, values, rows):
        found = np.asarray(self.function(values.T, self.target[rows]), dtype=np.float64)
        if found.shape != values.T.shape:
            raise ValueError(
                "score_func must return an array of the shape of X, "
                f"{values.T.shape}, got {found.shape}. Scikit-learn's functions have "
                'counterparts by name: score_func="f" or "mutual_info".'
            )
        if not np.isfinite(found).all():
            raise ValueError("score_func returned NaN or infinity.")
        self._total = self._total + found.sum(axis=0)
        self._n += len(rows)
        return np.ascontiguousarray(found.T)
