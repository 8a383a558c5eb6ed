"""Extremely randomised trees."""

from sklearn import ensemble

from sklearn_bandit._compat import parameter_constraints
from sklearn_bandit.tree import ExtraTreeClassifier, ExtraTreeRegressor
from sklearn_bandit.tree._building.build import (
    PARAMETER_CONSTRAINTS,
    THRESHOLD_CONSTRAINTS,
)
from sklearn_bandit.tree._docs import document

from ._forest import (
    TREE_PARAMETERS,
    BanditForest,
    ForestClassifierMixin,
    ForestRegressorMixin,
)


@document(
    "An extremely randomised trees classifier.",
    details="""
    scikit-learn's ExtraTreesClassifier, with its parameters and methods, on binned
    data: for each feature drawn in a node, the best of `n_thresholds` random thresholds
    is taken. In large nodes the features are compared on a sample of the rows.
    """,
    example="""
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_bandit.ensemble import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ExtraTreesClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """,
    kind="forest",
)
class ExtraTreesClassifier(
    ForestClassifierMixin, BanditForest, ensemble.ExtraTreesClassifier
):
    _parameter_constraints: dict = {
        **parameter_constraints(ensemble.ExtraTreesClassifier),
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


@document(
    "An extremely randomised trees regressor.",
    details="""
    scikit-learn's ExtraTreesRegressor, with its parameters and methods, on binned data:
    for each feature drawn in a node, the best of `n_thresholds` random thresholds is
    taken. In large nodes the features are compared on a sample of the rows.
    """,
    example="""
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_bandit.ensemble import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ExtraTreesRegressor(n_estimators=10, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """,
    kind="forest",
)
class ExtraTreesRegressor(
    ForestRegressorMixin, BanditForest, ensemble.ExtraTreesRegressor
):
    _parameter_constraints: dict = {
        **parameter_constraints(ensemble.ExtraTreesRegressor),
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
