"""A forest that sees part of the samples and part of the features."""

from numbers import Real

import numpy as np
from sklearn.utils import assert_all_finite, check_random_state

from sklearn_bandit._compat import Interval, estimators_indices
from sklearn_bandit.tree._building import PARAMETER_CONSTRAINTS
from sklearn_bandit.tree._data import allows_missing

from ._forest import FOREST_CONSTRAINTS, BanditForest
from ._forest_prediction import VOTING_CONSTRAINTS

PATCH_CONSTRAINTS = {
    **PARAMETER_CONSTRAINTS,
    **FOREST_CONSTRAINTS,
    "patch_samples": [Interval(Real, 0.0, 1.0, closed="right")],
    "patch_features": [Interval(Real, 0.0, 1.0, closed="right")],
}
PATCH_CLASSIFIER_CONSTRAINTS = {**PATCH_CONSTRAINTS, **VOTING_CONSTRAINTS}


class PatchForest(BanditForest):
    """A forest on one random patch of the data."""

    # Among them what scikit-learn would find the samples of each tree by.
    _own_attributes = (
        *BanditForest._own_attributes,
        "patch_samples_",
        "patch_features_",
        "_n_samples_in",
        "_n_samples",
    )

    def _choose_patch(self, X, codes, weights):
        """Choose the samples and features that the whole forest sees."""
        # What lies outside the patch is never read again.
        assert_all_finite(
            X,
            allow_nan=allows_missing(self, X),
            estimator_name=type(self).__name__,
            input_name="X",
        )
        n_samples, n_features = X.shape
        if self._is_warm():
            rows, features = self.patch_samples_, self.patch_features_
            if rows[-1] >= n_samples:
                raise ValueError(
                    "With warm_start the training set must stay the same; it has only "
                    f"{n_samples} samples now."
                )
        else:
            random_state = check_random_state(self.random_state)
            rows = _choose(random_state, n_samples, self.patch_samples)
            features = _choose(random_state, n_features, self.patch_features)
        self._n_samples_in = n_samples
        self.patch_samples_ = rows
        self.patch_features_ = features
        if weights is not None:
            weights = weights[rows]
            if not weights.any():
                raise ValueError("All samples of the patch have weight zero.")
        return X[rows][:, features], codes[rows], weights, features

    def _as_trees_see(self, X):
        """Put the features of the patch in their places among all."""
        columns = np.zeros((X.shape[0], self.n_features_in_), dtype=np.float32)
        columns[:, self.patch_features_] = X.toarray() if hasattr(X, "toarray") else X
        return columns

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The samples that each tree was fitted to, by their number in the data."""
        return [self.patch_samples_[drawn] for drawn in estimators_indices(self)]


def _choose(random_state, n, share):
    n_chosen = max(1, round(share * n))
    return np.sort(random_state.permutation(n)[:n_chosen])
