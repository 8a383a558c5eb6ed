"""Random patches: forests that see part of the samples and part of the features."""

from numbers import Real

import numpy as np
from sklearn import ensemble
from sklearn.utils import assert_all_finite, check_random_state

from sklearn_bandit._compat import Interval, estimators_indices, parameter_constraints
from sklearn_bandit.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn_bandit.tree._building.build import PARAMETER_CONSTRAINTS
from sklearn_bandit.tree._docs import document

from ._forest import (
    TREE_PARAMETERS,
    BanditForest,
    ForestClassifierMixin,
    ForestRegressorMixin,
)

PATCH_CONSTRAINTS = {
    "patch_samples": [Interval(Real, 0.0, 1.0, closed="right")],
    "patch_features": [Interval(Real, 0.0, 1.0, closed="right")],
}


class PatchForest(BanditForest):
    """A forest on one random patch of the data."""

    def _choose_patch(self, X, codes, weights):
        """Choose the samples and features that the whole forest sees."""
        # What lies outside the patch is never read again.
        assert_all_finite(X, allow_nan=True, input_name="X")
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

    def _score_out_of_bag(self, X, codes):
        """Score on the samples of the patch that a tree did not draw."""
        # Trees know the features by their original numbers.
        columns = np.zeros((X.shape[0], self.n_features_in_), dtype=np.float32)
        columns[:, self.patch_features_] = X.toarray() if hasattr(X, "toarray") else X
        super()._score_out_of_bag(columns, codes)

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The samples that each tree was fitted to, by their number in the data."""
        return [self.patch_samples_[drawn] for drawn in estimators_indices(self)]


def _choose(random_state, n, share):
    n_chosen = max(1, round(share * n))
    return np.sort(random_state.permutation(n)[:n_chosen])


@document(
    "A random forest classifier on a random patch of the data.",
    details="""
    A random forest that sees one random part of the samples and of the features, chosen
    once for the whole forest (Louppe and Geurts, 2012; thesis, section 3.6). Out-of-bag
    scores are over the samples of the patch.
    """,
    example="""
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_bandit.ensemble import RandomPatchesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomPatchesClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """,
    kind="forest",
    attributes=("patch_samples_", "patch_features_"),
)
class RandomPatchesClassifier(
    ForestClassifierMixin, PatchForest, ensemble.RandomForestClassifier
):
    _parameter_constraints: dict = {
        **parameter_constraints(ensemble.RandomForestClassifier),
        **PARAMETER_CONSTRAINTS,
        **PATCH_CONSTRAINTS,
    }

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="gini",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features="sqrt",
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=True,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        class_weight=None,
        ccp_alpha=0.0,
        max_samples=None,
        monotonic_cst=None,
        patch_samples=0.7,
        patch_features=0.85,
        solver="mab",
        max_bins=255,
        delta=0.01,
        batch_size=2048,
        tol=0.1,
        max_insertions=None,
    ):
        super().__init__(
            n_estimators=n_estimators,
            criterion=criterion,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            bootstrap=bootstrap,
            oob_score=oob_score,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
            class_weight=class_weight,
            ccp_alpha=ccp_alpha,
            max_samples=max_samples,
            monotonic_cst=monotonic_cst,
        )
        self.estimator = DecisionTreeClassifier()
        self.estimator_params = TREE_PARAMETERS
        self.patch_samples = patch_samples
        self.patch_features = patch_features
        self.solver = solver
        self.max_bins = max_bins
        self.delta = delta
        self.batch_size = batch_size
        self.tol = tol
        self.max_insertions = max_insertions


@document(
    "A random forest regressor on a random patch of the data.",
    details="""
    A random forest that sees one random part of the samples and of the features, chosen
    once for the whole forest (Louppe and Geurts, 2012; thesis, section 3.6). Out-of-bag
    scores are over the samples of the patch.
    """,
    example="""
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_bandit.ensemble import RandomPatchesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RandomPatchesRegressor(n_estimators=10, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """,
    kind="forest",
    attributes=("patch_samples_", "patch_features_"),
)
class RandomPatchesRegressor(
    ForestRegressorMixin, PatchForest, ensemble.RandomForestRegressor
):
    _parameter_constraints: dict = {
        **parameter_constraints(ensemble.RandomForestRegressor),
        **PARAMETER_CONSTRAINTS,
        **PATCH_CONSTRAINTS,
    }

    def __init__(
        self,
        n_estimators=100,
        *,
        criterion="squared_error",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_weight_fraction_leaf=0.0,
        max_features=1.0,
        max_leaf_nodes=None,
        min_impurity_decrease=0.0,
        bootstrap=True,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        ccp_alpha=0.0,
        max_samples=None,
        monotonic_cst=None,
        patch_samples=0.7,
        patch_features=0.85,
        solver="mab",
        max_bins=255,
        delta=0.01,
        batch_size=2048,
        tol=0.1,
        max_insertions=None,
    ):
        super().__init__(
            n_estimators=n_estimators,
            criterion=criterion,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_weight_fraction_leaf=min_weight_fraction_leaf,
            max_features=max_features,
            max_leaf_nodes=max_leaf_nodes,
            min_impurity_decrease=min_impurity_decrease,
            bootstrap=bootstrap,
            oob_score=oob_score,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            warm_start=warm_start,
            ccp_alpha=ccp_alpha,
            max_samples=max_samples,
            monotonic_cst=monotonic_cst,
        )
        self.estimator = DecisionTreeRegressor()
        self.estimator_params = TREE_PARAMETERS
        self.patch_samples = patch_samples
        self.patch_features = patch_features
        self.solver = solver
        self.max_bins = max_bins
        self.delta = delta
        self.batch_size = batch_size
        self.tol = tol
        self.max_insertions = max_insertions
