"""Training rows of a packed data set: in bins already, mapped from files."""

import numpy as np

from sklearn_bandit.ensemble._boosting._data.bin_mapper import fitted_bin_mapper
from sklearn_bandit.tree._data import MISSING_BIN

from .array_rows import ArrayRows
from .row_sampling import draw_rounds


class PackedRows(ArrayRows):
    """Rows of a packed data set, all of them or some by number.

    Parameters
    ----------
    X : PackedDataset
        The data set.
    y, sample_weight, numbers : ndarray or None
        As for ``ArrayRows``.
    """

    def fit_bin_mapper(self, *, is_categorical, n_threads, **options):
        """Return the mapper of the bins that there are."""
        numerical = np.zeros(self.n_features, dtype=bool)
        return fitted_bin_mapper(self.X.thresholds(), numerical, MISSING_BIN, n_threads)

    @property
    def mapped_columns(self):
        """Bins of all rows; None if rows are held out."""
        return self.X.columns if self.numbers is None else None

    def read_all(self, binner, columns, has_missing, n_threads):
        """Read all rows, in their own order, unless `columns` are the mapped ones."""
        if self.numbers is not None:
            self.X.take_bins(self.numbers, columns)
        _find_missing(columns, has_missing)
        return self.y.astype(np.float64, copy=False), self.sample_weight

    def read(self, binner, drawn, columns, has_missing, n_threads):
        """Read rows in random order; see ``ArrayRows.read``."""
        rows = draw_rounds(self.n_samples, *drawn, n_threads)
        self.X.take_bins(self._in_X(rows), columns)
        _find_missing(columns, has_missing)
        weights = self.sample_weight
        return self.y[rows], None if weights is None else weights[rows]


def _find_missing(columns, has_missing):
    for feature, column in enumerate(columns):
        has_missing[feature] = (column == MISSING_BIN).any()
