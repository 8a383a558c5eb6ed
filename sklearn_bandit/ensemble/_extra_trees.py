"""Extremely randomised trees."""

from sklearn import ensemble

from sklearn_bandit._compat import parameter_constraints
from sklearn_bandit.tree import ExtraTreeClassifier, ExtraTreeRegressor
from sklearn_bandit.tree._building import (
    PARAMETER_CONSTRAINTS,
    THRESHOLD_CONSTRAINTS,
)

from ._forest import FOREST_CONSTRAINTS, TREE_PARAMETERS, BanditForest
from ._forest_prediction import (
    VOTING_CONSTRAINTS,
    ForestClassifierMixin,
    ForestRegressorMixin,
)


class ExtraTreesClassifier(
    ForestClassifierMixin, BanditForest, ensemble.ExtraTreesClassifier
):
    """An extremely randomised trees classifier.

    scikit-learn's ExtraTreesClassifier, with its parameters and methods, on binned
    data: for each feature drawn in a node, the best of `n_thresholds` random thresholds
    is taken. In large nodes the features are compared on a sample of the rows.

    Parameters
    ----------
    n_estimators : int or "auto", default=100
        Number of trees. With `max_insertions` it is the most that are grown. "auto"
        adds trees until more would not change the out-of-bag score by more than
        `oob_tol`; it needs `bootstrap`.
    criterion : {"gini", "entropy", "log_loss"}, default="gini"
        What a split is to decrease: the Gini impurity or the Shannon entropy (two names
        for the same).
    max_depth : int, default=None
        Most levels below the root; None for no limit.
    min_samples_split : int or float, default=2
        Nodes with fewer samples become leaves; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Splits that leave fewer samples on a side are not made; a float is a share of
        all samples. Above 1 the rows of each bin have to be counted, which costs time.
    min_weight_fraction_leaf : float, default=0.0
        Splits that leave a smaller share of the total weight on a side are not made.
    max_features : {"sqrt", "log2"}, int or float, default="sqrt"
        Number of features to look at in each node (a float: share of them; None: all).
        They are drawn among the features that still vary in the node; scikit-learn
        counts constant ones that it happens to draw. Fewer make trees faster and more
        diverse.
    max_leaf_nodes : int, default=None
        Grow best first, to at most that many leaves; None grows depth first, which is
        faster per node.
    min_impurity_decrease : float, default=0.0
        Splits that decrease the impurity (weighted by the node's share of the data) by
        less are not made.
    bootstrap : bool, default=False
        Whether each tree sees a bootstrap sample or the whole training set.
    oob_score : bool or callable, default=False
        Whether to score on out-of-bag samples; a callable is the metric
        ``metric(y_true, y_pred)``. Needs `bootstrap`.
    n_jobs : int, default=None
        Number of threads that grow trees and predict; None means 1 unless in a
        :obj:`joblib.parallel_backend` context, -1 all processors.
    random_state : int, RandomState instance or None, default=None
        Controls all random choices: bootstrap samples, features, thresholds and the
        rows that the bandit samples. The model does not depend on the number of
        threads.
    verbose : int, default=0
        How much to report while fitting and predicting.
    warm_start : bool, default=False
        Add trees to those of the last fit instead of growing all anew.
    class_weight : dict, list of dict, "balanced", "balanced_subsample" or None, \
            default=None
        Weights of the classes; "balanced" gives every class the same total weight,
        "balanced_subsample" in each bootstrap sample.
    ccp_alpha : non-negative float, default=0.0
        Complexity parameter of minimal cost-complexity pruning; 0 does not prune.
    max_samples : int or float, default=None
        Draws of each bootstrap sample (a float: share of the samples). Trees on fewer
        samples are faster; shallow ones hardly suffer, deep ones do.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        Monotonic constraints: 1 the prediction (probability of the second class) must
        not decrease with the feature, -1 it must not increase, 0 none. Nodes are then
        searched exactly.
    n_thresholds : int or "sqrt", default=1
        Number of random thresholds per feature and node, of which the best is taken; 1
        as in scikit-learn, "sqrt" of the number of features as in the thesis. More make
        trees better and more alike.
    categorical_features : array-like of {bool, int, str}, "from_dtype" or None, \
            default="from_dtype"
        The categorical features: a mask, indices, names, or those that have a
        categorical type in a data frame. None for none. Trees see categories as
        numbers, ordered by their mean targets: see :ref:`categories`.
    solver : {"mab", "exact", "auto", "mab-thesis"}, default="mab"
        How splits are searched: "mab" samples rows in large nodes, with 8,000 of them
        or more (64,000 where regressors search all features; the fewer features are
        searched, the more), until the best feature is known (MABSplit), "exact" always
        uses all rows, "auto" samples from 50,000 rows on. Smaller nodes are searched
        exactly by all of them. "mab-thesis" is the rule of the thesis that MABSplit
        comes from, with an arm for every threshold: for comparison.
    max_bins : int, default=255
        Bins per feature, at most 255. Features with no more distinct values lose
        nothing. Of others, large nodes only see quantiles, while nodes with at most 255
        samples use the values themselves; with 255 bins and at most 32,767 samples in
        all (8,000 in forests that may sample), so does every node that is searched
        exactly. Fewer bins are faster.
    delta : float, default=0.01
        Probability, per node that is sampled, that a feature is chosen whose gain is
        smaller than the best one's by more than the tolerance. Smaller needs more
        samples; 0 is exact. Nothing changes where `n_sampled_nodes_` is 0.
    batch_size : int, default=2048
        Rows of the first sample in a node; it doubles until the search is decided.
        Nodes with fewer than four times as many rows are searched exactly.
    tol : float, default=0.1
        Near ties: features whose gain is smaller than the best by at most this share of
        it count as equally good, once the sample shows that there is a gain at all.
        With 0 the bandit goes on until exact histograms decide between close survivors;
        with 1 or more the first sample decides.
    radius : {"paired", "bernstein"}, default="paired"
        How far the mean difference of two splits' losses may be from that of all rows:
        by Student's distribution, which needs differences whose rare part shows in the
        sample, or by an empirical Bernstein bound from their known range, which needs
        nothing and takes more rows.
    max_insertions : int, default=None
        Budget of insertions into histograms for the whole forest (trees are grown until
        it is used up); nodes whose search it does not allow become leaves. It is never
        exceeded.
    max_estimators : int, default=1000
        Most trees that ``n_estimators="auto"`` grows.
    oob_tol : float, default=0.005
        With ``n_estimators="auto"``, how far below that of infinitely many trees the
        out-of-bag score may be, up to the probability `delta`: R², or for classes the
        same share of the Brier score of a constant prediction. Half of it takes twice
        as many trees.
    predict_delta : float, default=0.0
        Probability, for each sample, that `predict` returns another class than that of
        all trees. Above 0 it asks trees until the class is clear, which takes a few of
        them for most samples; 0 asks all. Probabilities are always those of all trees,
        and so are the classes of several outputs.

    Attributes
    ----------
    estimator_ : estimator
        The template of the trees.
    estimators_ : list of estimators
        The trees.
    n_estimators_ : int
        Number of trees.
    estimators_samples_ : list of arrays
        Samples that each tree was fitted to.
    oob_score_ : float
        Out-of-bag score, if asked for.
    classes_ : ndarray of shape (n_classes,), or list of them
        The class labels.
    n_classes_ : int or list of int
        Number of classes (of each output).
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Out-of-bag probabilities, if asked for.
    n_outputs_ : int
        Number of outputs.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Feature names, if `X` had any.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the decrease of impurity.
    category_encoder_ : object or None
        Its ``transform(X)`` returns what the trees are given, numbers in the place of
        categories; None if there are none.
    n_insertions_ : int
        Insertions of a sample into a feature's histogram: what the search for splits
        cost.
    n_sampled_nodes_ : int
        Nodes whose feature was chosen on a sample of their rows; all others were
        searched exactly, and `delta`, `tol` and `radius` had no part in them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_bandit.ensemble import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ExtraTreesClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    _parameter_constraints: dict = {
        **parameter_constraints(ensemble.ExtraTreesClassifier),
        **PARAMETER_CONSTRAINTS,
        **FOREST_CONSTRAINTS,
        **VOTING_CONSTRAINTS,
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
        categorical_features="from_dtype",
        solver="mab",
        max_bins=255,
        delta=0.01,
        batch_size=2048,
        tol=0.1,
        radius="paired",
        max_insertions=None,
        max_estimators=1000,
        oob_tol=0.005,
        predict_delta=0.0,
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
        self.categorical_features = categorical_features
        self.solver = solver
        self.max_bins = max_bins
        self.delta = delta
        self.batch_size = batch_size
        self.tol = tol
        self.radius = radius
        self.max_insertions = max_insertions
        self.max_estimators = max_estimators
        self.oob_tol = oob_tol
        self.predict_delta = predict_delta


class ExtraTreesRegressor(
    ForestRegressorMixin, BanditForest, ensemble.ExtraTreesRegressor
):
    """An extremely randomised trees regressor.

    scikit-learn's ExtraTreesRegressor, with its parameters and methods, on binned data:
    for each feature drawn in a node, the best of `n_thresholds` random thresholds is
    taken. In large nodes the features are compared on a sample of the rows.

    Parameters
    ----------
    n_estimators : int or "auto", default=100
        Number of trees. With `max_insertions` it is the most that are grown. "auto"
        adds trees until more would not change the out-of-bag score by more than
        `oob_tol`; it needs `bootstrap`.
    criterion : {"squared_error", "friedman_mse", "poisson", "absolute_error"}, \
            default="squared_error"
        What a split is to decrease: the squared error ("friedman_mse" is the same),
        half the Poisson deviance, for counts and frequencies, or the absolute error,
        which is robust and slow, and is always searched exactly.
    max_depth : int, default=None
        Most levels below the root; None for no limit.
    min_samples_split : int or float, default=2
        Nodes with fewer samples become leaves; a float is a share of all samples.
    min_samples_leaf : int or float, default=1
        Splits that leave fewer samples on a side are not made; a float is a share of
        all samples. Above 1 the rows of each bin have to be counted, which costs time.
    min_weight_fraction_leaf : float, default=0.0
        Splits that leave a smaller share of the total weight on a side are not made.
    max_features : {"sqrt", "log2"}, int or float, default=1.0
        Number of features to look at in each node (a float: share of them; None: all).
        They are drawn among the features that still vary in the node; scikit-learn
        counts constant ones that it happens to draw. Fewer make trees faster and more
        diverse.
    max_leaf_nodes : int, default=None
        Grow best first, to at most that many leaves; None grows depth first, which is
        faster per node.
    min_impurity_decrease : float, default=0.0
        Splits that decrease the impurity (weighted by the node's share of the data) by
        less are not made.
    bootstrap : bool, default=False
        Whether each tree sees a bootstrap sample or the whole training set.
    oob_score : bool or callable, default=False
        Whether to score on out-of-bag samples; a callable is the metric
        ``metric(y_true, y_pred)``. Needs `bootstrap`.
    n_jobs : int, default=None
        Number of threads that grow trees and predict; None means 1 unless in a
        :obj:`joblib.parallel_backend` context, -1 all processors.
    random_state : int, RandomState instance or None, default=None
        Controls all random choices: bootstrap samples, features, thresholds and the
        rows that the bandit samples. The model does not depend on the number of
        threads.
    verbose : int, default=0
        How much to report while fitting and predicting.
    warm_start : bool, default=False
        Add trees to those of the last fit instead of growing all anew.
    ccp_alpha : non-negative float, default=0.0
        Complexity parameter of minimal cost-complexity pruning; 0 does not prune.
    max_samples : int or float, default=None
        Draws of each bootstrap sample (a float: share of the samples). Trees on fewer
        samples are faster; shallow ones hardly suffer, deep ones do.
    monotonic_cst : array-like of int of shape (n_features,), default=None
        Monotonic constraints: 1 the prediction (probability of the second class) must
        not decrease with the feature, -1 it must not increase, 0 none. Nodes are then
        searched exactly.
    n_thresholds : int or "sqrt", default=1
        Number of random thresholds per feature and node, of which the best is taken; 1
        as in scikit-learn, "sqrt" of the number of features as in the thesis. More make
        trees better and more alike.
    categorical_features : array-like of {bool, int, str}, "from_dtype" or None, \
            default="from_dtype"
        The categorical features: a mask, indices, names, or those that have a
        categorical type in a data frame. None for none. Trees see categories as
        numbers, ordered by their mean targets: see :ref:`categories`.
    solver : {"mab", "exact", "auto", "mab-thesis"}, default="mab"
        How splits are searched: "mab" samples rows in large nodes, with 8,000 of them
        or more (64,000 where regressors search all features; the fewer features are
        searched, the more), until the best feature is known (MABSplit), "exact" always
        uses all rows, "auto" samples from 50,000 rows on. Smaller nodes are searched
        exactly by all of them. "mab-thesis" is the rule of the thesis that MABSplit
        comes from, with an arm for every threshold: for comparison.
    max_bins : int, default=255
        Bins per feature, at most 255. Features with no more distinct values lose
        nothing. Of others, large nodes only see quantiles, while nodes with at most 255
        samples use the values themselves; with 255 bins and at most 32,767 samples in
        all (8,000 in forests that may sample), so does every node that is searched
        exactly. Fewer bins are faster.
    delta : float, default=0.01
        Probability, per node that is sampled, that a feature is chosen whose gain is
        smaller than the best one's by more than the tolerance. Smaller needs more
        samples; 0 is exact. Nothing changes where `n_sampled_nodes_` is 0.
    batch_size : int, default=2048
        Rows of the first sample in a node; it doubles until the search is decided.
        Nodes with fewer than four times as many rows are searched exactly.
    tol : float, default=0.1
        Near ties: features whose gain is smaller than the best by at most this share of
        it count as equally good, once the sample shows that there is a gain at all.
        With 0 the bandit goes on until exact histograms decide between close survivors;
        with 1 or more the first sample decides.
    radius : {"paired", "bernstein"}, default="paired"
        How far the mean difference of two splits' losses may be from that of all rows:
        by Student's distribution, which needs differences whose rare part shows in the
        sample, or by an empirical Bernstein bound from their known range, which needs
        nothing and takes more rows.
    max_insertions : int, default=None
        Budget of insertions into histograms for the whole forest (trees are grown until
        it is used up); nodes whose search it does not allow become leaves. It is never
        exceeded.
    max_estimators : int, default=1000
        Most trees that ``n_estimators="auto"`` grows.
    oob_tol : float, default=0.005
        With ``n_estimators="auto"``, how far below that of infinitely many trees the
        out-of-bag score may be, up to the probability `delta`: R², or for classes the
        same share of the Brier score of a constant prediction. Half of it takes twice
        as many trees.

    Attributes
    ----------
    estimator_ : estimator
        The template of the trees.
    estimators_ : list of estimators
        The trees.
    n_estimators_ : int
        Number of trees.
    estimators_samples_ : list of arrays
        Samples that each tree was fitted to.
    oob_score_ : float
        Out-of-bag score, if asked for.
    oob_prediction_ : ndarray of shape (n_samples,)
        Out-of-bag predictions.
    n_outputs_ : int
        Number of outputs.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Feature names, if `X` had any.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the decrease of impurity.
    category_encoder_ : object or None
        Its ``transform(X)`` returns what the trees are given, numbers in the place of
        categories; None if there are none.
    n_insertions_ : int
        Insertions of a sample into a feature's histogram: what the search for splits
        cost.
    n_sampled_nodes_ : int
        Nodes whose feature was chosen on a sample of their rows; all others were
        searched exactly, and `delta`, `tol` and `radius` had no part in them.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_bandit.ensemble import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ExtraTreesRegressor(n_estimators=10, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """

    _parameter_constraints: dict = {
        **parameter_constraints(ensemble.ExtraTreesRegressor),
        **PARAMETER_CONSTRAINTS,
        **FOREST_CONSTRAINTS,
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
        categorical_features="from_dtype",
        solver="mab",
        max_bins=255,
        delta=0.01,
        batch_size=2048,
        tol=0.1,
        radius="paired",
        max_insertions=None,
        max_estimators=1000,
        oob_tol=0.005,
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
        self.categorical_features = categorical_features
        self.solver = solver
        self.max_bins = max_bins
        self.delta = delta
        self.batch_size = batch_size
        self.tol = tol
        self.radius = radius
        self.max_insertions = max_insertions
        self.max_estimators = max_estimators
        self.oob_tol = oob_tol
