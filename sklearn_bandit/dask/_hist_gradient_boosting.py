"""Histogram gradient boosting on dask collections.

The working set of the sampled solver starts with the rows that bins are found from, and
is drawn from the partitions as it doubles: the workers choose their share of it and put
it into bins, and only bytes travel. The trees grow on the client; what they are worth
on held-out rows is computed where these are.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import dask.array as da
import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.multiclass import check_classification_targets

from sklearn_bandit import ensemble
from sklearn_bandit._compat import (
    Interval,
    _fit_context,
    encode_y,
    finalize_sample_weight,
    preprocess_X,
    shuffle_split_sizes,
    validate_data,
    with_callbacks,
)
from sklearn_bandit._core.unchanged import unchanged_on_failure
from sklearn_bandit._core.validation import check_n_samples
from sklearn_bandit.ensemble import MAX_BIN_ROWS

from ._base import DaskEstimator
from ._boosting_rows import ClusterRows, HeldOutRows, count_joining
from ._boosting_stopping import ClusterStopping
from ._boosting_summary import summarize
from ._client import Tasks
from ._collections import is_collection, make_partitions

# Most rows that come to the client: 64 samples of the first size. Of 28 features these
# take .4 GB there (bins twice, targets, raw predictions, gradients).
MAX_ROWS = 1 << 22


class ClusterBoosting(DaskEstimator):
    """What both estimators share: fitting."""

    _more_parameters: ClassVar[dict[str, Any]] = {"max_rows": MAX_ROWS}
    _more_constraints: ClassVar[dict[str, Any]] = {
        "max_rows": [Interval(Integral, 1, None, closed="left")]
    }

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : dask array or data frame of shape (n_samples, n_features)
            The training samples, NaN where a value is missing. They are computed
            up to twice unless they are persisted.
        y : dask array or series of shape (n_samples,)
            The target values.
        sample_weight : dask array or series of shape (n_samples,), default=None
            Weights of the samples; None for equal weights.
        X_val : array-like of shape (n_val, n_features), default=None
            Samples in memory to judge early stopping by, instead of a part of `X`.
        y_val : array-like of shape (n_val,), default=None
            Their targets.
        sample_weight_val : array-like of shape (n_val,), default=None
            Their weights.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        if any(map(is_collection, (X_val, y_val, sample_weight_val))):
            raise TypeError(
                "Validation data that are passed to fit must be in memory. Without "
                "them a part of X is held out, which stays on the workers."
            )
        shown = {"X": X, "y": y, "sample_weight": sample_weight}
        with unchanged_on_failure(self), Tasks(self._resolve_client()) as tasks:
            if self.max_rows < self.batch_size:
                raise ValueError(
                    f"max_rows={self.max_rows} must be at least "
                    f"batch_size={self.batch_size}."
                )
            self._set_seeds()
            rows, known_categories = self._make_rows(
                tasks, X, y, sample_weight, has_held_out=X_val is not None
            )
            held_out = self._validate_held_out(X_val, y_val, sample_weight_val)
            self._fit_rows(rows, held_out, known_categories, shown)
            self.n_rows_moved_ = rows.n_moved
        return self

    def _make_rows(self, tasks, X, y, sample_weight, has_held_out):
        """Look at the data for the first time; return rows, and known categories."""
        categorical = self._categorical_columns(X)
        partitions = make_partitions(
            tasks, X, y, sample_weight, keep_frames=bool(categorical)
        )
        check_n_samples(partitions.n_samples)
        summary = summarize(
            tasks,
            partitions,
            is_classifier=is_classifier(self),
            categorical=categorical,
            seed=int(self._random_seed),
            round_size=self._round_size(partitions.n_samples, has_held_out),
        )
        known_categories = self._learn_columns(X, categorical, summary.categories())
        class_weight = self._set_targets(summary)
        if sample_weight is not None:
            self._fitted_with_sw = True
        rows = ClusterRows(
            tasks,
            partitions,
            summary,
            class_weight=class_weight,
            preprocess=self._preprocessor and self._preprocessor.transform,
            max_rows=self.max_rows,
            batch_size=self.batch_size,
            seed=int(self._random_seed),
        )
        return rows, known_categories

    def _round_size(self, n_samples, has_held_out):
        """Size of the rounds that bins are found from; None to draw rows apart.

        Bins are those of the local class where that draws the same rows: where all
        come, and where there are no samples. That a class is too rare for samples is
        not known before the first look: bins are then those of rounds, too.
        """
        cap = self.max_rows, self.batch_size
        n_joining = count_joining(n_samples, *cap)
        if self._holds_out(n_joining, has_held_out):
            n_training, _ = shuffle_split_sizes(n_samples, self.validation_fraction)
            n_joining = count_joining(n_training, *cap)
        samples = self._samples_rows(n_joining, n_joining)
        fits = self.batch_size <= MAX_BIN_ROWS < n_samples
        return self.batch_size if samples and fits and self.sample_tol > 0 else None

    def _categorical_columns(self, X):
        """Positions of the columns that are categorical, as far as is known here.

        What the parameter may be is checked by scikit-learn, on a few rows.
        """
        given = self.categorical_features
        is_frame = not isinstance(X, da.Array) and hasattr(X, "columns")
        if given is None or not is_collection(X) or X.ndim != 2:
            return []
        if isinstance(given, str):
            if given != "from_dtype" or not is_frame:
                return []
            return [i for i, t in enumerate(X.dtypes) if str(t) == "category"]
        given = np.asarray(given)
        if given.dtype == bool:
            return np.flatnonzero(given).tolist()
        if given.dtype.kind in "iu":
            return [int(i) for i in given if -1 < i < X.shape[1]]
        names = list(X.columns) if is_frame else []
        return [names.index(name) for name in given if name in names]

    def _learn_columns(self, X, categorical, categories):
        """Have scikit-learn look at the columns, in rows that have all categories."""
        is_array = isinstance(X, da.Array)
        by_dtype = isinstance(self.categorical_features, str)
        if is_array and (self.categorical_features is None or by_dtype):
            self.is_categorical_ = None
            self._preprocessor = None
            self._is_categorical_remapped = None
            row = np.zeros((1, X.shape[1]), dtype=X.dtype)
            validate_data(self, row, dtype=None, ensure_all_finite=False)
            return None
        n_rows = max([1, *map(len, categories)])
        if is_array:
            rows = np.zeros((n_rows, X.shape[1]), dtype=X.dtype)
        else:
            few = X._meta_nonempty
            rows = few.iloc[np.zeros(n_rows, dtype=int)].reset_index(drop=True)
        for column, values in zip(categorical, categories, strict=True):
            if len(values) == 0:
                continue
            cycle = values[np.arange(n_rows) % len(values)]
            if is_array:
                rows[:, column] = cycle
            else:
                name = rows.columns[column]
                rows[name] = rows[name].array._from_sequence(
                    list(cycle), dtype=rows[name].dtype
                )
        _, known_categories = preprocess_X(self, rows, reset=True)
        return known_categories

    def _set_targets(self, summary):
        """Learn the classes and check targets; return the weights of classes."""
        if summary.weights is not None and not summary.weights.any():
            raise ValueError("All sample weights are zero: there is nothing to learn.")
        if not is_classifier(self):
            encode_y(self, summary.y_range)
            return None
        check_classification_targets(summary.classes)
        codes = encode_y(self, summary.classes)
        if self.class_weight is None:
            return None
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            counts = summary.counts.sum(axis=0)
            return counts.sum() / (len(counts) * counts)
        return finalize_sample_weight(self, None, codes)

    def _hold_out(self, rows):
        """Hold rows out by number, a share of each class."""
        return rows.hold_out(
            self.validation_fraction, self._random_seed, stratify=is_classifier(self)
        )

    def _make_stopping(self, booster, held_out, is_warm, n_threads):
        """Judge by the loss where the rows are; scorers want them on the client."""
        if (
            held_out is not None
            and isinstance(held_out.source, HeldOutRows)
            and isinstance(self.scoring, str)
            and self.scoring == "loss"
        ):
            return ClusterStopping(self, booster, held_out.source, is_warm, n_threads)
        return super()._make_stopping(booster, held_out, is_warm, n_threads)


class HistGradientBoostingClassifier(
    ClusterBoosting,
    ensemble.HistGradientBoostingClassifier,
    local_class=ensemble.HistGradientBoostingClassifier,
):
    """Histogram gradient boosting for classification of dask collections.

    :class:`sklearn_bandit.ensemble.HistGradientBoostingClassifier` whose training
    rows are on the workers of a cluster. Trees are grown on the client, on samples of a
    working set that is drawn from all partitions; only its rows travel. The model is
    the same for any number of workers, and for any partitions that keep the order of
    rows.

    Read more in the :ref:`user guide <dask>`.

    Parameters
    ----------
    max_rows : int, default=4194304
        Most rows of the working set, in whole batches of `batch_size`. Where there are
        more, the model is that of a random sample of this size. It bounds the memory
        of the client and what travels.
    client : distributed.Client or None, default=None
        The client; None for the current one.
    **parameters : object
        As for the local class. `solver="exact"` brings up to `max_rows` rows to the
        client before the first tree.

    Attributes
    ----------
    n_rows_moved_ : int
        Rows that came to the client: those that bins were found from, with all their
        values, and those of the working set that are not among these, in bytes.
    **attributes : object
        As for the local class.

    See Also
    --------
    sklearn_bandit.ensemble.HistGradientBoostingClassifier : The same in memory.

    Notes
    -----
    A row that joins the working set costs more than in memory, so that the set grows
    later, and the model differs from that of the local class where trees are grown on
    samples: fewer rows, less time, and more iterations for the same loss.

    With `solver="exact"`, without weights and held-out rows (``early_stopping=False``,
    or validation data in memory), and with at most `max_rows` rows, the trees are those
    of the local class, and for classifiers the model is equal to the last bit. The mean
    of other targets is rounded once here, and medians and quantiles before the first
    tree are those of at least 131,072 rows. With weights, bins are found from rows that
    are drawn with equal probability, beyond 200,000 rows. Held-out rows are others than
    those of the local class.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn_bandit.dask import HistGradientBoostingClassifier
    >>> client = Client(processes=False, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(2000, 4), chunks=(500, 4))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> model = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    >>> model.predict(X).chunks  # lazy
    ((500, 500, 500, 500),)
    >>> client.close()
    """


class HistGradientBoostingRegressor(
    ClusterBoosting,
    ensemble.HistGradientBoostingRegressor,
    local_class=ensemble.HistGradientBoostingRegressor,
):
    """Histogram gradient boosting for regression of dask collections.

    :class:`sklearn_bandit.ensemble.HistGradientBoostingRegressor` whose training
    rows are on the workers of a cluster. Trees are grown on the client, on samples of a
    working set that is drawn from all partitions; only its rows travel. The model is
    the same for any number of workers, and for any partitions that keep the order of
    rows.

    Read more in the :ref:`user guide <dask>`.

    Parameters
    ----------
    max_rows : int, default=4194304
        Most rows of the working set, in whole batches of `batch_size`. Where there are
        more, the model is that of a random sample of this size. It bounds the memory
        of the client and what travels.
    client : distributed.Client or None, default=None
        The client; None for the current one.
    **parameters : object
        As for the local class. `solver="exact"` brings up to `max_rows` rows to the
        client before the first tree.

    Attributes
    ----------
    n_rows_moved_ : int
        Rows that came to the client: those that bins were found from, with all their
        values, and those of the working set that are not among these, in bytes.
    **attributes : object
        As for the local class.

    See Also
    --------
    sklearn_bandit.ensemble.HistGradientBoostingRegressor : The same in memory.

    Notes
    -----
    Where the model is that of the local class, and where it is not, is said of
    :class:`HistGradientBoostingClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn_bandit.dask import HistGradientBoostingRegressor
    >>> client = Client(processes=False, dashboard_address=None)
    >>> X = da.random.default_rng(0).normal(size=(2000, 4), chunks=(500, 4))
    >>> y = X[:, 0] + X[:, 1]
    >>> model = HistGradientBoostingRegressor(max_iter=20, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    >>> model.predict(X).chunks  # lazy
    ((500, 500, 500, 500),)
    >>> client.close()
    """
