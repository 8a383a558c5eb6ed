"""Fitting a forest: pack the data once, grow the trees in threads.

Prediction is in ``_forest_prediction``; importances and out-of-bag scores are those of
scikit-learn's forests.
"""

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.exceptions import DataConversionWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.parallel import Parallel, delayed

from sklearn_bandit._compat import (
    MAX_INT,
    Interval,
    StrOptions,
    _fit_context,
    bootstrap_size,
    callbacks_of,
    class_weights,
    set_oob_score,
    validate_estimator,
    with_callbacks,
)
from sklearn_bandit._core.conversion import ToSklearnMixin
from sklearn_bandit._core.progress import ProgressMixin
from sklearn_bandit._core.threads import limit_threads
from sklearn_bandit._core.typing import MatrixLike
from sklearn_bandit._core.unchanged import unchanged_on_failure
from sklearn_bandit._core.validation import (
    SparseInputMixin,
    check_regression_targets,
    check_weights,
    encode_classes,
    multiply_weights,
)
from sklearn_bandit.tree._building import (
    SamplingPolicy,
    TrainingSet,
    root_cost,
)
from sklearn_bandit.tree._data import (
    CategoricalInputMixin,
    PackedDataset,
    pack_samples,
    take_dataset,
)

from ._forest_prediction import ForestPrediction
from ._forest_trees import (
    Draws,
    TreesToGrow,
    choose_batch_size,
    grow_one,
    sent_to_workers,
)
from ._n_trees import Settling

# Tells the draws of rows that bins are made of from the draws of the first tree.
BIN_STREAM = 1

# Parameters of forests that neither scikit-learn's nor their trees have.
FOREST_CONSTRAINTS = {
    "n_estimators": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
    "max_estimators": [Interval(Integral, 1, None, closed="left")],
    "oob_tol": [Interval(Real, 0.0, None, closed="left")],
}

# What a forest passes on to its trees. The budget is its own: it pays for each tree.
TREE_PARAMETERS = (
    "criterion",
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_features",
    "max_leaf_nodes",
    "min_impurity_decrease",
    "random_state",
    "ccp_alpha",
    "monotonic_cst",
    "solver",
    "max_bins",
    "delta",
    "batch_size",
    "tol",
    "radius",
)


class BanditForest(
    ToSklearnMixin,
    ForestPrediction,
    CategoricalInputMixin,
    SparseInputMixin,
    ProgressMixin,
):
    """What the forests share: fitting."""

    _sampling_policy = SamplingPolicy()

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: MatrixLike | PackedDataset,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Build a forest of trees from the training set (X, y).

        Parameters
        ----------
        X : {array-like, sparse matrix, PackedDataset} of shape (n_samples, n_features)
            The training samples, NaN where a value is missing. They are compared as
            ``float32``; a matrix of another type is not copied for that.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, not negative; None for equal weights.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        with unchanged_on_failure(self):
            self._fit_forest(X, y, sample_weight)
        self._drop_packed()
        return self

    def _fit_forest(self, X, y, sample_weight):
        shown = {"X": X, "y": y, "sample_weight": sample_weight}
        prepared = self._prepare(X, y, sample_weight)
        grown = self._grow_trees(prepared, shown) if prepared.trees else []
        self._finish(prepared, grown)

    def _prepare(self, X, y, sample_weight):
        """Check the data, make trees that are to grow, and what they grow on."""
        data, X = take_dataset(self, X, self._why_values())
        X, y, encoder = self._validate(X, y)
        if sample_weight is not None:
            sample_weight = check_weights(sample_weight, X)
        if not self.bootstrap and self.max_samples is not None:
            raise ValueError(
                "`max_sample` cannot be set if `bootstrap=False`. "
                "Either switch to `bootstrap=True` or set `max_sample=None`."
            )
        if not self.bootstrap and self.n_estimators == "auto":
            raise ValueError(
                'n_estimators="auto" judges by out-of-bag samples, which are only '
                "available if bootstrap=True."
            )
        if not self.bootstrap and self.oob_score:
            raise ValueError("Out of bag estimation only available if bootstrap=True")

        self.n_outputs_ = y.shape[1]
        codes, n_classes, weights = self._encode(y, sample_weight)
        random_state = check_random_state(self.random_state)
        X, codes, weights, features = self._choose_patch(X, codes, weights)
        if features is not None:
            data = None  # bins are those of the patch
        self._order_categories(encoder, X, features, codes, n_classes, weights)
        self._n_samples = X.shape[0]
        self._sample_weight = weights
        self._n_samples_bootstrap = None
        if self.bootstrap:
            self._n_samples_bootstrap = bootstrap_size(
                self._n_samples, self.max_samples, weights
            )
        validate_estimator(self)

        old = list(self.estimators_) if self._is_warm() else []
        n_trees = self.n_estimators
        if n_trees == "auto":
            n_trees = max(self.max_estimators, len(old))
        n_more = n_trees - len(old)
        if n_more < 0:
            raise ValueError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={len(old)} when warm_start==True"
            )
        prepared = partial(PreparedFit, X, codes, n_classes, old)
        if n_more == 0:
            warnings.warn(
                "Warm-start fitting without increasing n_estimators does not fit new "
                "trees.",
                stacklevel=4,
            )
            return prepared([], None)
        # The seeds that these trees would have without a warm start.
        random_state.randint(MAX_INT, size=len(old))
        trees = TreesToGrow(self, random_state, n_more)
        # All trees of a forest, those of a warm start too, have the same bins.
        first_seed = (old or trees)[0].random_state
        packed = pack_samples(
            self,
            X,
            limit_threads(effective_n_jobs(self.n_jobs)),
            np.random.RandomState([first_seed, BIN_STREAM]),
            weights,
            data,
        )
        training_set = TrainingSet(
            packed,
            codes,
            n_classes,
            self.criterion,
            features,
            self.n_features_in_,
            weights,
            self._sampling_policy,
        )
        return prepared(trees, training_set)

    def _finish(self, prepared, grown):
        """Set the fitted attributes, those of the new trees included."""
        if prepared.trees:
            spent = self.n_insertions_ if prepared.old else 0
            self.estimators_ = prepared.old + grown
            self.n_estimators_ = len(self.estimators_)
            self.n_insertions_ = spent + sum(tree.n_insertions_ for tree in grown)
            self.n_sampled_nodes_ = sum(
                tree.n_sampled_nodes_ for tree in self.estimators_
            )
        if self.oob_score and (prepared.trees or not hasattr(self, "oob_score_")):
            self._score_out_of_bag(prepared.X, prepared.codes)
        if prepared.n_classes is not None and self.n_outputs_ == 1:
            self.n_classes_ = self.n_classes_[0]
            self.classes_ = self.classes_[0]

    def _is_warm(self):
        return self.warm_start and hasattr(self, "estimators_")

    def _validate(self, X, y):
        """Check the training set; y becomes two-dimensional, categories numbers."""
        if issparse(y):
            raise ValueError("sparse multilabel-indicator for y is not supported.")
        X, y, encoder = self._validate_training(
            X,
            y,
            multi_output=True,
            accept_sparse="csc",
            dtype="numeric",
            ensure_all_finite=False,
        )
        y = np.atleast_1d(y)
        if y.ndim == 2 and y.shape[1] == 1:
            warnings.warn(
                "A column-vector y was passed when a 1d array was expected. Please "
                "change the shape of y to (n_samples,), for example using ravel().",
                DataConversionWarning,
                stacklevel=4,
            )
        if y.ndim == 1:
            y = y.reshape(-1, 1)
        return X, y, encoder

    def _encode(self, y, sample_weight):
        """Encode classes and multiply the weights by those of the classes."""
        if not is_classifier(self):
            y = check_regression_targets(y, self.criterion, "strictly positive")
            return y, None, sample_weight
        weights = sample_weight
        if self.class_weight is not None:
            # A class may have no weight at all; then none of its samples has any.
            with np.errstate(divide="ignore", invalid="ignore"):
                by_class = class_weights(self, y, sample_weight)
            if by_class is not None:
                weights = multiply_weights(weights, by_class)
        self.classes_, codes = encode_classes(y)
        self.n_classes_ = [len(labels) for labels in self.classes_]
        return codes, np.array(self.n_classes_, dtype=np.intp), weights

    def _why_values(self):
        """Return what the values of a packed data set are needed for, or None."""
        if self.oob_score or self.n_estimators == "auto":
            return "An out-of-bag score"
        return None

    def _choose_patch(self, X, codes, weights):
        """Choose the samples and features of the whole forest: here, all of them."""
        return X, codes, weights, None

    def _order_categories(self, encoder, *training_set):
        """As trees do; those of a warm start must have been given the same numbers."""
        before = self.category_encoder_
        super()._order_categories(encoder, *training_set)
        if self._is_warm() and before != encoder:
            raise ValueError(
                "With warm_start the training set must stay the same: categories are "
                "ordered by their mean targets in it."
            )

    def _fitted_so_far(self, trees):
        """Return the attributes of a forest of these trees; None if there are none."""
        if not trees:
            return None
        attributes = {"estimators_": trees}
        if is_classifier(self) and self.n_outputs_ == 1:
            attributes |= {
                "classes_": self.classes_[0],
                "n_classes_": self.n_classes_[0],
            }
        return attributes

    def _draws(self):
        """Return how the samples of trees are drawn."""
        return Draws(
            self._n_samples_bootstrap,
            self._sample_weight,
            balance=getattr(self, "class_weight", None) == "balanced_subsample",
        )

    def _growing_options(self, n_trees):
        """Return what `grow_one` takes for each of `n_trees` trees."""
        return {"draws": self._draws(), "verbose": self.verbose, "n_trees": n_trees}

    def _grow_one(self, prepared, index):
        """Grow one of the trees."""
        options = self._growing_options(len(prepared.trees))
        return grow_one(prepared.trees[index], prepared.training_set, index, **options)

    def _grow_trees(self, prepared, shown):
        """Grow trees, all of them or until the forest is settled."""
        trees, training_set, done = prepared.trees, prepared.training_set, []
        shown["fitted"] = lambda: self._fitted_so_far(prepared.old + done)
        options = self._growing_options(len(trees))
        spent = self.n_insertions_ if prepared.old else 0
        batches = [trees]
        if self.n_estimators == "auto":
            settling = Settling(
                self, prepared.X, training_set, options["draws"], prepared.first_seed
            )
            batches = settling.batches(iter(trees), lambda: prepared.old + done)
        sent = nullcontext(training_set)
        if self.max_insertions is None:
            sent = sent_to_workers(training_set, trees[0])
        # The lines that `verbose` asks for are joblib's and `grow_one`'s.
        with (
            sent as training_set,
            self._progress(len(trees), verbose=False, **shown) as progress,
        ):
            for batch in batches:
                n_wanted = len(done) + len(batch)
                left = None
                if self.max_insertions is not None:
                    left = self.max_insertions - spent
                    left -= sum(tree.n_insertions_ for tree in done)
                self._grow_batch(batch, training_set, left, options, progress, done)
                if len(done) < n_wanted or progress.should_stop:
                    break
        return done

    def _grow_batch(self, trees, training_set, budget, options, progress, done):
        """Grow trees in threads or, within a budget, one after the other."""
        if budget is not None:
            self._grow_within_budget(
                trees, training_set, budget, options, progress, done
            )
            return
        # Trees are only waited for one by one if there is somebody to tell.
        watched = {"return_as": "generator"} if callbacks_of(self) else {}
        n_jobs = effective_n_jobs(self.n_jobs)
        grown = Parallel(
            n_jobs=self.n_jobs,
            batch_size=choose_batch_size(len(trees), n_jobs),
            verbose=self.verbose,
            prefer="threads",
            **watched,
        )(
            delayed(grow_one)(tree, training_set, i, **options)
            for i, tree in enumerate(trees, start=len(done))
        )
        if not watched:
            done += grown
            return
        for _ in trees:
            with progress.step("tree"):
                done.append(next(grown))
            if progress.should_stop:
                grown.close()
                break

    @staticmethod
    def _grow_within_budget(trees, training_set, budget, options, progress, grown):
        """Grow one tree after the other as long as the next can be paid for."""
        for i, tree in enumerate(trees, start=len(grown)):
            if grown and budget < root_cost(tree, training_set):
                break
            with progress.step("tree"):
                grow_one(tree, training_set, i, budget=max(budget, 0), **options)
                grown.append(tree)
            budget -= tree.n_insertions_
            if progress.should_stop:
                break

    def _score_out_of_bag(self, X, codes):
        """Set the out-of-bag score and predictions."""
        codes = codes.astype(np.float64)
        kind = type_of_target(codes)
        if kind == "unknown" or (
            is_classifier(self) and kind == "multiclass-multioutput"
        ):
            raise ValueError(
                "The type of target cannot be used to compute OOB estimates. "
                f"Got {kind} while only the following are supported: continuous, "
                "continuous-multioutput, binary, multiclass, multilabel-indicator."
            )
        scoring = self.oob_score if callable(self.oob_score) else None
        set_oob_score(self, self._as_trees_see(X), codes, scoring)

    def _as_trees_see(self, X):
        """Return rows of the training set as the trees take them in prediction."""
        return X.astype(np.float32, copy=False)


@dataclass(frozen=True)
class PreparedFit:
    """What a forest is fitted with.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        The samples, or those of the patch.
    codes : ndarray of shape (n_samples, n_outputs)
        Encoded classes or real targets.
    n_classes : ndarray of shape (n_outputs,) or None
        Number of classes; None for regression.
    old : list of estimators
        The trees of the last fit.
    trees : sequence of estimators
        Those that are to grow.
    training_set : TrainingSet or None
        What they grow on; None if none is to grow.
    """

    X: np.ndarray
    codes: np.ndarray
    n_classes: np.ndarray | None
    old: list
    trees: Sequence
    training_set: TrainingSet | None

    @property
    def first_seed(self):
        """Seed of the first tree of the forest."""
        return (self.old or self.trees)[0].random_state
