"""Extremely randomised trees."""

from sklearn import ensemble

from sklearn_bandit.tree import ExtraTreeClassifier, ExtraTreeRegressor
from sklearn_bandit.tree._growth import PARAMETER_CONSTRAINTS, THRESHOLD_CONSTRAINTS

from ._forest import TREE_PARAMETERS, BanditForest


class ExtraTreesClassifier(BanditForest, ensemble.ExtraTreesClassifier):
    """An extra-trees classifier."""

    _parameter_constraints: dict = {
        **ensemble.ExtraTreesClassifier._parameter_constraints,
        **PARAMETER_CONSTRAINTS,
        **THRESHOLD_CONSTRAINTS,
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
        bootstrap=False,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        class_weight=None,
        ccp_alpha=0.0,
        max_samples=None,
        monotonic_cst=None,
        n_thresholds=1,
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
        self.estimator = ExtraTreeClassifier()
        self.estimator_params = (*TREE_PARAMETERS, "n_thresholds")
        self.n_thresholds = n_thresholds
        self.solver = solver
        self.max_bins = max_bins
        self.delta = delta
        self.batch_size = batch_size
        self.tol = tol
        self.max_insertions = max_insertions


class ExtraTreesRegressor(BanditForest, ensemble.ExtraTreesRegressor):
    """An extra-trees regressor."""

    _parameter_constraints: dict = {
        **ensemble.ExtraTreesRegressor._parameter_constraints,
        **PARAMETER_CONSTRAINTS,
        **THRESHOLD_CONSTRAINTS,
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
        bootstrap=False,
        oob_score=False,
        n_jobs=None,
        random_state=None,
        verbose=0,
        warm_start=False,
        ccp_alpha=0.0,
        max_samples=None,
        monotonic_cst=None,
        n_thresholds=1,
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
        self.estimator = ExtraTreeRegressor()
        self.estimator_params = (*TREE_PARAMETERS, "n_thresholds")
        self.n_thresholds = n_thresholds
        self.solver = solver
        self.max_bins = max_bins
        self.delta = delta
        self.batch_size = batch_size
        self.tol = tol
        self.max_insertions = max_insertions
