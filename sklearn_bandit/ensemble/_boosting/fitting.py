"""Fitting a boosted model: check the data, bin them, add trees."""

from functools import partial
from numbers import Integral, Real
from time import time
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils import check_consistent_length, check_random_state

from sklearn_bandit._compat import (
    BaseLoss,
    Interval,
    StrOptions,
    _check_sample_weight,
    _fit_context,
    check_interaction_cst,
    check_is_fitted,
    check_monotonic_cst,
    check_y,
    encode_y,
    finalize_sample_weight,
    get_loss,
    is_fitted,
    preprocess_X,
    print_iteration,
    validate_data,
    validate_parameters,
    with_callbacks,
)
from sklearn_bandit._core.conversion import ToSklearnMixin
from sklearn_bandit._core.progress import ProgressMixin, say
from sklearn_bandit._core.thread_start import start_threads
from sklearn_bandit._core.threads import limit_threads
from sklearn_bandit._core.unchanged import unchanged_on_failure
from sklearn_bandit._core.validation import check_n_samples
from sklearn_bandit.tree import PackedDataset
from sklearn_bandit.tree._data import explained, take_dataset

from ._data.bin_values import READABLE
from ._prediction.packed_forms import add_packed, packed_boosters
from ._sampling.array_rows import ArrayRows
from ._sampling.leaf_router import MAX_LEAVES
from ._sampling.packed_rows import PackedRows
from ._sampling.row_weight import heavy_shares
from ._sampling.training_rows import TrainingRows
from .booster import Booster
from .early_stopping import EarlyStopping
from .policy import BoostingPolicy
from .sampled_booster import SampledBooster

MAX_SEED = np.iinfo(np.uint32).max

PARAMETER_CONSTRAINTS = {
    "solver": [StrOptions({"auto", "exact", "mab"})],
    "batch_size": [Interval(Integral, 1, None, closed="left")],
    "sample_tol": [Interval(Real, 0, np.inf, closed="both")],
}


class BanditBoosting(ToSklearnMixin, ProgressMixin):
    """What both estimators share: fitting."""

    _own_attributes = (
        "n_insertions_",
        "sample_sizes_",
        "_sampling_state",
        "_n_training_rows",
    )

    _sampling_policy = BoostingPolicy()

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: ArrayLike | PackedDataset,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, PackedDataset} of shape (n_samples, n_features)
            The training samples, NaN where a value is missing. Arrays of the common
            types are read in place.
        y : array-like of shape (n_samples,)
            The target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples; None for equal weights.
        X_val : array-like of shape (n_val, n_features), default=None
            Samples to judge early stopping by, instead of a part of `X`.
        y_val : array-like of shape (n_val,), default=None
            Their targets.
        sample_weight_val : array-like of shape (n_val,), default=None
            Their weights.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        shown = {"X": X, "y": y, "sample_weight": sample_weight}
        with unchanged_on_failure(self):
            data, X = take_dataset(self, X)
            X, known_categories = self._preprocess_training(X)
            check_n_samples(len(X))
            y = encode_y(self, check_y(y, estimator=self))
            check_consistent_length(X, y)
            if sample_weight is not None:
                sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
                self._fitted_with_sw = True
            sample_weight = finalize_sample_weight(self, sample_weight, y)
            held_out = self._validate_held_out(X_val, y_val, sample_weight_val)
            train = (
                ArrayRows(X, y, sample_weight)
                if data is None
                else PackedRows(data, y, sample_weight)
            )
            self._set_seeds()
            self._fit_rows(train, held_out, known_categories, shown)
        return self

    def _preprocess_training(self, X):
        """Validate X and encode categories; numbers keep their type."""
        by_dtype = (
            isinstance(self.categorical_features, str)
            and self.categorical_features == "from_dtype"
        )
        if (
            isinstance(X, np.ndarray)
            and X.dtype in READABLE
            and (self.categorical_features is None or by_dtype)
        ):
            self.is_categorical_ = None
            self._preprocessor = None
            self._is_categorical_remapped = None
            return validate_data(self, X, dtype=None, ensure_all_finite=False), None
        with explained(self):
            return preprocess_X(self, X, reset=True)

    def _validate_held_out(self, X, y, sample_weight):
        """Check validation data that were passed to `fit`."""
        if X is None and y is None:
            return None
        if y is None:
            raise ValueError("X_val is provided, but y_val was not provided.")
        if X is None:
            raise ValueError("y_val is provided, but X_val was not provided.")
        if self.early_stopping is False:
            raise ValueError(
                "X_val and y_val are passed to fit while at the same time "
                "early_stopping is False: set it to 'auto' or True."
            )
        X = preprocess_X(self, X, reset=False)
        y = check_y(y, estimator=self)
        if is_classifier(self):
            unknown = np.setdiff1d(y, self.classes_)
            if len(unknown):
                raise ValueError(f"y_val contains previously unseen labels: {unknown}")
            y = np.searchsorted(self.classes_, y).astype(np.float64)
        else:
            y = encode_y(self, y)
        check_consistent_length(X, y)
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, X, dtype=np.float64)
        return ArrayRows(X, y, sample_weight)

    def _is_warm(self):
        """Whether to add iterations to those of the last fit."""
        return self.warm_start and is_fitted(self)

    def _set_seeds(self):
        """Draw what random choices depend on.

        A warm start splits and bins as the first fit did, and goes on drawing.
        """
        if not self._is_warm():
            rng = check_random_state(self.random_state)
            self._random_seed = rng.randint(MAX_SEED, dtype="u8")
            self._feature_subsample_rng = np.random.default_rng(
                rng.randint(MAX_SEED, dtype="u8")
            )

    def _fit_rows(self, train, held_out, known_categories, shown):
        """Fit to validated rows; `shown` is what callbacks get to see."""
        is_warm = self._is_warm()
        validate_parameters(self)
        constraints = self._constraints(train.n_features)
        self._n_features = train.n_features
        self._loss = (
            self.loss
            if isinstance(self.loss, BaseLoss)
            else get_loss(self, train.sample_weight)
        )
        if self._holds_out(train.n_samples, held_out is not None):
            train, held_out = self._hold_out(train)

        n_threads = start_threads(None)
        self._in_fit = True  # what scorers predict is binned
        try:
            self._boost(
                train,
                held_out,
                known_categories,
                constraints,
                is_warm,
                n_threads,
                shown,
            )
        finally:
            del self._in_fit
        self.train_score_ = np.asarray(self.train_score_)
        self.validation_score_ = np.asarray(self.validation_score_)
        self.sample_sizes_ = np.asarray(self.sample_sizes_, dtype=np.int64)
        packed_boosters.forget(self)

    def _constraints(self, n_features):
        """Constraints on features in the order of the preprocessed matrix."""
        monotonic = check_monotonic_cst(self, self.monotonic_cst)
        categorical = self.is_categorical_
        if categorical is not None:
            monotonic = np.r_[monotonic[categorical], monotonic[~categorical]]
            if np.any(monotonic[: np.count_nonzero(categorical)]):
                raise ValueError(
                    "Categorical features cannot have monotonic constraints."
                )
        return {
            "monotonic_cst": monotonic,
            "interaction_cst": check_interaction_cst(self, n_features),
        }

    def _holds_out(self, n_samples, has_held_out):
        """Decide about early stopping; return whether it takes some of the rows."""
        self.do_early_stopping_ = (
            self._sampling_policy.stops_early(n_samples) or has_held_out
            if isinstance(self.early_stopping, str)
            else self.early_stopping
        )
        self._use_validation_data = self.validation_fraction is not None or has_held_out
        return (
            self.do_early_stopping_ and self._use_validation_data and not has_held_out
        )

    def _hold_out(self, rows):
        """Split into training and validation part, as scikit-learn does."""
        train, held_out = rows.hold_out(
            self.validation_fraction, self._random_seed, stratify=is_classifier(self)
        )
        weights = train.sample_weight, held_out.sample_weight
        if weights[0] is not None and not (weights[0].any() and weights[1].any()):
            raise ValueError(
                "All samples with weight are in the training set, or all in the "
                "validation set: set early_stopping=False, change random_state or pass "
                "X_val and y_val."
            )
        return train, held_out

    def _boost(
        self, train, held_out, known_categories, constraints, is_warm, n_threads, shown
    ):
        """Bin the data and add trees until there are enough."""
        start = time()
        self._bin_mapper = train.fit_bin_mapper(
            max_bins=self.max_bins,
            is_categorical=self._is_categorical_remapped,
            known_categories=known_categories,
            random_state=self._random_seed,
            n_threads=n_threads,
        )
        if is_warm:
            if self.max_iter < self.n_iter_:
                raise ValueError(
                    f"max_iter={self.max_iter} must be larger than or equal to "
                    f"n_iter_={self.n_iter_} when warm_start==True"
                )
            self._predictors = list(self._predictors)
            self.train_score_ = list(self.train_score_)
            self.validation_score_ = list(self.validation_score_)
            self.sample_sizes_ = list(self.sample_sizes_)
        else:
            self._predictors = []
            self.train_score_, self.validation_score_ = [], []
            self.n_insertions_ = 0
            self.sample_sizes_ = []
            self._sampling_state = None
            self._baseline_prediction = train.fit_baseline(self._loss)

        self._n_training_rows = train.n_samples
        make_set = partial(
            TrainingRows,
            bin_mapper=self._bin_mapper,
            baseline=self._baseline_prediction,
            predictors=self._predictors,
            n_threads=n_threads,
        )
        booster = self._make_booster(
            make_set(train), n_threads=n_threads, **constraints
        )
        if held_out is not None:
            held_out = make_set(held_out)
        stopping = self._make_stopping(booster, held_out, is_warm, n_threads)
        before = self.n_insertions_
        n_steps = self.max_iter - self.n_iter_
        shown["fitted"] = self._fitted_so_far
        with self._progress(n_steps, verbose=False, **shown) as progress:
            for i in range(self.n_iter_, self.max_iter):
                iteration_start = time()
                with progress.step("iteration"):
                    trees = booster.iterate(self._feature_subsample_rng)
                    self._predictors.append(trees)
                    self.n_insertions_ = before + booster.n_insertions
                    self.sample_sizes_.append(booster.n_seen)
                    should_stop = stopping.judge(trees)
                if self.verbose >= 2:
                    say(f"[{i + 1}/{self.max_iter}] ", end="")
                    print_iteration(self, iteration_start)
                if should_stop or progress.should_stop:
                    break
        self._sampling_state = stopping.close()
        if self.verbose:
            n_trees = sum(map(len, self._predictors))
            say(f"Fit {n_trees} trees in {time() - start:.3f} s")

    def _fitted_so_far(self):
        """Return the attributes of a model of the trees that there are by now."""
        return {
            "_in_fit": False,
            "_predictors": list(self._predictors),
            "train_score_": np.array(self.train_score_),
            "validation_score_": np.array(self.validation_score_),
            "sample_sizes_": np.array(self.sample_sizes_, dtype=np.int64),
        }

    def _make_stopping(self, booster, held_out, is_warm, n_threads):
        """Make what judges when to stop; no row of `held_out` has joined yet."""
        if held_out is not None:
            held_out.join_all()
        return EarlyStopping(self, booster, held_out, is_warm, n_threads)

    def _samples_rows(self, n_samples, n_rarest):
        """Whether trees are grown on samples of the rows.

        Parameters
        ----------
        n_samples : int
            Number of rows that are not held out.
        n_rarest : int
            Those of the rarest class; all of them in regression.
        """
        can_route = (
            self.max_leaf_nodes is not None and self.max_leaf_nodes <= MAX_LEAVES
        )
        if self.solver == "mab" and not can_route:
            raise ValueError(
                f"solver='mab' needs max_leaf_nodes of at most {MAX_LEAVES}, got "
                f"{self.max_leaf_nodes}."
            )
        if self.solver != "auto":
            return self.solver == "mab"
        return can_route and self._sampling_policy.samples_rows(n_samples, n_rarest)

    def _make_booster(self, data, **options):
        """Make what adds the trees."""
        options |= {
            "loss": self._loss,
            "bin_mapper": self._bin_mapper,
            "learning_rate": self.learning_rate,
            "max_leaf_nodes": self.max_leaf_nodes,
            "max_depth": self.max_depth,
            "min_samples_leaf": self.min_samples_leaf,
            "l2_regularization": self.l2_regularization,
            "max_features": self.max_features,
        }
        n_rarest = data.source.count_rarest() if is_classifier(self) else data.n_samples
        if not self._samples_rows(data.n_samples, n_rarest):
            return Booster(data, **options)
        rarest = n_rarest / data.n_samples
        shares = heavy_shares(self._loss, data)
        if len(shares) == 1:  # of two classes, too
            shares = np.minimum(shares, rarest)
        return SampledBooster(
            data,
            batch_size=self.batch_size,
            sample_tol=self.sample_tol,
            rare_share=min(rarest, shares.min()),
            heavy_shares=shares,
            seed=int(self._random_seed),
            state=self._sampling_state,
            **options,
        )

    def _predict_iterations(self, X, predictors, raw_predictions, is_binned, n_threads):
        """Add predictions, as scikit-learn does, in a forked child without threads."""
        n_threads = limit_threads(n_threads)
        if not is_binned and add_packed(
            self, X, predictors, raw_predictions, n_threads
        ):
            return
        super()._predict_iterations(
            X, predictors, raw_predictions, is_binned, n_threads
        )

    @property
    def n_sampled_iterations_(self) -> int:
        """Number of iterations whose trees saw a sample."""
        check_is_fitted(self)
        return int(np.count_nonzero(self.sample_sizes_ < self._n_training_rows))

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each feature in the gain of all splits."""
        check_is_fitted(self)
        gain = np.zeros(self._n_features)
        for predictors in self._predictors:
            for predictor in predictors:
                inner = predictor.nodes[predictor.nodes["is_leaf"] == 0]
                np.add.at(gain, inner["feature_idx"], inner["gain"])
        if self.is_categorical_ is not None:
            order = np.argsort(~self.is_categorical_, kind="stable")
            gain[order] = gain.copy()
        total = gain.sum()
        return gain / total if total > 0 else gain
