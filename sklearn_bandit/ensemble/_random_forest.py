"""Random forests."""

from sklearn import ensemble

from sklearn_bandit._compat import parameter_constraints
from sklearn_bandit.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn_bandit.tree._building.build import PARAMETER_CONSTRAINTS
from sklearn_bandit.tree._docs import document

from ._forest import (
    TREE_PARAMETERS,
    BanditForest,
    ForestClassifierMixin,
    ForestRegressorMixin,
)


@document(
    "A random forest classifier.",
    details="""
    scikit-learn's RandomForestClassifier, with its parameters and methods, grown on
    binned data by MABSplit: in large nodes the best split is found from a sample of the
    rows that is only as large as it needs to be. The data are put into bins
    once for all trees, which grow in threads.
    """,
    example="""
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_bandit.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """,
    kind="forest",
)
class RandomForestClassifier(
    ForestClassifierMixin, BanditForest, ensemble.RandomForestClassifier
):
    _parameter_constraints: dict = {
        **parameter_constraints(ensemble.RandomForestClassifier),
        **PARAMETER_CONSTRAINTS,
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
        self.solver = solver
        self.max_bins = max_bins
        self.delta = delta
        self.batch_size = batch_size
        self.tol = tol
        self.max_insertions = max_insertions


@document(
    "A random forest regressor.",
    details="""
    scikit-learn's RandomForestRegressor, with its parameters and methods, grown on
    binned data by MABSplit: in large nodes the best split is found from a sample of the
    rows that is only as large as it needs to be. The data are put into bins
    once for all trees, which grow in threads.
    """,
    example="""
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_bandit.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RandomForestRegressor(n_estimators=10, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """,
    kind="forest",
)
class RandomForestRegressor(
    ForestRegressorMixin, BanditForest, ensemble.RandomForestRegressor
):
    _parameter_constraints: dict = {
        **parameter_constraints(ensemble.RandomForestRegressor),
        **PARAMETER_CONSTRAINTS,
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
        self.solver = solver
        self.max_bins = max_bins
        self.delta = delta
        self.batch_size = batch_size
        self.tol = tol
        self.max_insertions = max_insertions
