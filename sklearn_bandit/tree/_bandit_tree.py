"""Fitting a tree: check the data, choose how to grow, set the fitted attributes.

Prediction and everything else after fitting are those of scikit-learn's trees.
"""

import warnings
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn import tree as sklearn_tree
from sklearn.utils import check_random_state, compute_sample_weight

from sklearn_bandit._compat import (
    MAX_INT,
    _fit_context,
    prune_tree,
    with_callbacks,
)
from sklearn_bandit._core.conversion import ToSklearnMixin
from sklearn_bandit._core.progress import ProgressMixin
from sklearn_bandit._core.threads import effective_n_threads
from sklearn_bandit._core.typing import MatrixLike
from sklearn_bandit._core.unchanged import unchanged_on_failure
from sklearn_bandit._core.validation import (
    SparseInputMixin,
    check_regression_targets,
    check_weights,
    encode_classes,
    multiply_weights,
)

from ._building import (
    TrainingSet,
    as_counts,
    grow_in_subtrees,
    grow_on_subsample,
    grow_tree,
    pays_to_subsample,
)
from ._data import (
    CategoricalInputMixin,
    PackedDataset,
    pack_samples,
    take_dataset,
)
from ._parameters import count_features
from ._policy import SamplingPolicy


class BanditTree(
    ToSklearnMixin, CategoricalInputMixin, SparseInputMixin, ProgressMixin
):
    """What the tree estimators share: fitting. The rest is scikit-learn's."""

    _sampling_policy = SamplingPolicy()

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: MatrixLike | PackedDataset,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        check_input: bool = True,
    ) -> Self:
        """Build a decision tree from the training set (X, y).

        Parameters
        ----------
        X : {array-like, sparse matrix, PackedDataset} of shape (n_samples, n_features)
            The training samples, NaN where a value is missing. They are compared as
            ``float32``; a matrix of another type is not copied for that.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, not negative; None for equal weights.
        check_input : bool, default=True
            False skips the validation of `X` and `y`, which must then be arrays.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        # Callbacks see a fit without steps.
        shown = {"X": X, "y": y, "sample_weight": sample_weight, "fitted": dict}
        with unchanged_on_failure(self), self._progress(0, **shown):
            return self._fit_tree(X, y, sample_weight, check_input)

    def _fit_tree(self, X, y, sample_weight, check_input):
        data, X = take_dataset(self, X)
        X, y, encoder = self._check_samples(X, y, check_input)
        codes, classes, weights = self._encode_targets(X, y, sample_weight)
        n_classes = None
        if classes is not None:
            n_classes = np.array([len(labels) for labels in classes], dtype=np.intp)
        self._order_categories(encoder, X, None, codes, n_classes, weights)
        seed = check_random_state(self.random_state).randint(MAX_INT)
        n_threads = effective_n_threads(None)
        policy = self._sampling_policy
        n_channels = codes.shape[1] + 2 if classes is None else n_classes.sum()
        if data is None and pays_to_subsample(self, X, n_channels, weights):
            training_set = TrainingSet(
                None,
                codes,
                n_classes,
                self.criterion,
                n_features_in=X.shape[1],
                policy=policy,
            )
            tree, cost = grow_on_subsample(self, X, training_set, seed, n_threads)
            self._set_tree(tree, cost, training_set, classes)
            return self
        packed = pack_samples(self, X, n_threads, seed, weights, data)
        training_set = TrainingSet(
            packed, codes, n_classes, self.criterion, weights=weights, policy=policy
        )
        # Rows without weight have no part in anything.
        n_used = len(codes) if weights is None else np.count_nonzero(weights)
        counts = None if weights is None else as_counts(weights)
        if counts is not None:
            weights = None
        if policy.can_divide(
            self, n_used, X.shape[1], n_channels
        ) and n_used >= policy.smallest_divided(self, X.shape[1]):
            tree, cost = grow_in_subtrees(
                self, training_set, seed, n_threads, counts, weights
            )
            self._set_tree(tree, cost, training_set, classes)
            return self
        self._grow(training_set, classes, seed, counts, weights, self.max_insertions)
        return self

    def _check_samples(self, X, y, check_input):
        """Check the training set; y becomes two-dimensional, categories numbers."""
        if check_input:
            X, y, encoder = self._validate_training(
                X,
                y,
                validate_separately=(
                    {
                        "dtype": "numeric",
                        "accept_sparse": "csc",
                        "ensure_all_finite": False,
                    },
                    {"ensure_2d": False, "dtype": None},
                ),
            )
        else:
            X, encoder = self._make_encoder(X if issparse(X) else np.asarray(X))
            X = X if encoder is None else encoder.read_training(X)
        y = np.atleast_1d(y)
        return X, y.reshape(-1, 1) if y.ndim == 1 else y, encoder

    def _encode_targets(self, X, y, sample_weight):
        """Return targets as numbers, classes (None for regression) and weights."""
        is_classification = isinstance(self, sklearn_tree.DecisionTreeClassifier)
        if not is_classification:
            y = check_regression_targets(y, self.criterion)
        if len(y) != X.shape[0]:
            raise ValueError(
                f"Number of labels={len(y)} does not match number of "
                f"samples={X.shape[0]}"
            )
        weights = None if sample_weight is None else check_weights(sample_weight, X)
        if not is_classification:
            return y, None, weights
        classes, codes = encode_classes(y)
        if self.class_weight is not None:
            by_class = compute_sample_weight(self.class_weight, y)
            weights = multiply_weights(weights, by_class)
        return codes, classes, weights

    def _grow(self, training_set, classes, seed, counts, weights, budget):
        """Grow the tree and set the fitted attributes."""
        tree, cost = grow_tree(self, training_set, seed, counts, weights, budget)
        self._set_tree(tree, cost, training_set, classes)

    def _set_tree(self, tree, cost, training_set, classes):
        """Set the fitted attributes."""
        if self.criterion == "friedman_mse":
            warnings.warn(
                'Value `"friedman_mse"` for `criterion` is deprecated. It is '
                'equivalent to "squared_error", which is used instead.',
                FutureWarning,
                stacklevel=2,
            )
        self.n_features_in_ = training_set.n_features_in
        self.max_features_ = count_features(self.max_features, training_set.n_features)
        self.n_outputs_ = len(training_set.n_classes)
        if classes is not None:
            self.classes_ = classes
            self.n_classes_ = training_set.n_classes
            if self.n_outputs_ == 1:
                self.classes_ = classes[0]
                self.n_classes_ = training_set.n_classes[0]
        self.tree_ = tree
        self.n_insertions_ = cost.n_insertions
        self.n_sampled_nodes_ = cost.n_sampled_nodes
        if self.ccp_alpha > 0.0:
            prune_tree(self)
