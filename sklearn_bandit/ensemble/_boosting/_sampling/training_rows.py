"""The rows that trees are fitted to, in bins, with raw predictions.

They need not be all rows. Trees on samples want no more rows than the samples are drawn
from, and what is known of the others (bins, raw predictions, gradients) would be
computed for nothing: M. Tiwari, "Accelerating Machine Learning Algorithms with Adaptive
Sampling", PhD thesis, Stanford University, 2023, section 3.7, computes targets only for
the points that are sampled. So rows join when they are wanted, in random order, and
pass through all the trees that there are by then.
"""

from functools import partial

import numpy as np

from .._data.bin_values import BinAssigner
from .leaf_router import MAX_LEAVES, LeafRouter


class TrainingRows:
    """Rows in bins with targets, weights and raw predictions; more can join.

    Parameters
    ----------
    source : ArrayRows
        Where all rows are.
    bin_mapper : BinMapper
        Has the thresholds.
    baseline : ndarray of shape (1, n_trees_per_iteration)
        Raw predictions before the first tree.
    predictors : list of list of TreePredictor
        Trees of all iterations so far; it is looked at whenever rows join.
    n_threads : int
        Threads to use.

    Attributes
    ----------
    n_samples : int
        Number of all rows.
    n_rows : int
        Number of those that have joined.
    columns : ndarray of uint8 of shape (n_features, n_rows)
        Their bins.
    has_missing : ndarray of uint8 of shape (n_features,)
        Whether a feature has missing values among them.
    y, sample_weight : ndarray of shape (n_rows,)
        Their targets, and weights or None.
    raw : ndarray of shape (n_rows, n_trees_per_iteration)
        Their raw predictions, contiguous for each tree of an iteration.
    """

    def __init__(self, source, *, bin_mapper, baseline, predictors, n_threads):
        self.source = source
        self.binner = BinAssigner(
            bin_mapper.bin_thresholds_,
            bin_mapper.is_categorical_,
            int(bin_mapper.missing_values_bin_idx_),
        )
        self.missing_bin = int(bin_mapper.missing_values_bin_idx_)
        self.baseline = baseline
        self.predictors = predictors
        self.n_threads = n_threads
        self.n_samples, n_features = source.n_samples, source.n_features
        self.n_rows = 0
        self.has_missing = np.zeros(n_features, dtype=np.uint8)
        self._columns = None
        # Room for all rows: memory that is not written to is not taken.
        self._raw = np.empty((self.n_samples, baseline.shape[1]), order="F")

    def join_all(self):
        """Let all rows join, in their own order."""
        self._columns = self.source.mapped_columns
        self._join(self.n_samples, self.source.read_all)

    def join(self, n_rows, round_size, seed):
        """Let rows join in random order until there are `n_rows`.

        Parameters
        ----------
        n_rows : int
            A multiple of `round_size`, or all.
        round_size : int
            Each run of this number of rows is a sample of its own.
        seed : int
            What the order depends on.
        """
        drawn = round_size, seed, self.n_rows, n_rows
        self._join(n_rows, partial(self.source.read, drawn=drawn))

    def _join(self, n_rows, read):
        """Let `read` write what there is to know of rows; raw predictions are ours."""
        if self._columns is None:
            shape = (self.source.n_features, self.n_samples)
            self._columns = np.empty(shape, dtype=np.uint8)
        new = slice(self.n_rows, n_rows)
        columns, raw = self._columns[:, new], self._raw[new]
        has_missing = np.zeros_like(self.has_missing)
        y, weights = read(
            self.binner,
            columns=columns,
            has_missing=has_missing,
            n_threads=self.n_threads,
        )
        self.has_missing |= has_missing
        if new == slice(0, self.n_samples):
            self._y, self._weights = y.astype(np.float64, copy=False), weights
        else:
            if self.n_rows == 0:
                self._y = np.empty(self.n_samples)
                self._weights = None if weights is None else np.empty_like(self._y)
            self._y[new] = y
            if weights is not None:
                self._weights[new] = weights
        raw[:] = self.baseline
        self._add(self.predictors, columns, raw)
        self.n_rows = n_rows
        self.columns, self.raw = self._columns[:, :n_rows], self._raw[:n_rows]
        self.y = self._y[:n_rows]
        self.sample_weight = None if self._weights is None else self._weights[:n_rows]

    def part(self, rows):
        """Targets, raw predictions, and weights or None, of some rows."""
        weights = self.sample_weight
        return self.y[rows], self.raw[rows], None if weights is None else weights[rows]

    def add(self, predictors):
        """Add the predictions of the trees of one more iteration."""
        self._add([predictors], self.columns, self.raw)

    def _add(self, predictors, columns, raw):
        add_trees(predictors, columns, raw, self.missing_bin, self.n_threads)


def add_trees(iterations, columns, raw, missing_bin, n_threads):
    """Add the predictions of trees to raw predictions.

    Parameters
    ----------
    iterations : list of list of TreePredictor
        Trees, iteration by iteration.
    columns : ndarray of uint8 of shape (n_features, n_rows)
        Bins of the rows.
    raw : ndarray of shape (n_rows, n_trees_per_iteration)
        What to add to, contiguous for each tree of an iteration.
    missing_bin : int
        The bin of missing values.
    n_threads : int
        Threads to use.
    """
    trees = [predictor for iteration in iterations for predictor in iteration]
    if all(len(predictor.nodes) < 2 * MAX_LEAVES for predictor in trees):
        if trees:
            LeafRouter(trees, missing_bin, n_threads).add_to(columns, raw)
        return
    for k, predictor in enumerate(trees):
        raw[:, k % raw.shape[1]] += predictor.predict_binned(
            columns.T, missing_bin, n_threads
        )
