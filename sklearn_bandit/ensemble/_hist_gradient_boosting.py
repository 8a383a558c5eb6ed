"""Histogram gradient boosting: the estimators.

They are subclasses of scikit-learn's, which predict, validate parameters and judge when
to stop early. Fitting is our own: see ``sklearn_bandit.ensemble._boosting``.
"""

import numpy as np
from sklearn import ensemble

from sklearn_bandit._compat import parameter_constraints
from sklearn_bandit._core.validation import encode_classes

from ._boosting.fitting import PARAMETER_CONSTRAINTS, BanditBoosting


class HistGradientBoostingClassifier(
    BanditBoosting, ensemble.HistGradientBoostingClassifier
):
    """Histogram gradient boosting for classification.

    scikit-learn's HistGradientBoostingClassifier, with its parameters and methods; the
    fitted trees are scikit-learn's, so that prediction, partial dependence and other
    tools work on. The exact solver grows the same trees where no two splits are equally
    good. With very many rows each tree is grown on those that matter most to it, drawn
    by minimal variance sampling; how many is decided by what trees really gain.

    Parameters
    ----------
    loss : {"log_loss"}, default="log_loss"
        What is minimised: binary or multinomial log-loss.
    learning_rate : float, default=0.1
        Factor of the values of the leaves. Smaller ones want more iterations and often
        generalise better.
    max_iter : int, default=100
        Most iterations. Each adds one tree, or one for each class if there are more
        than two.
    max_leaf_nodes : int or None, default=31
        Most leaves of a tree; None for no limit.
    max_depth : int or None, default=None
        Most levels below the root; None for no limit.
    min_samples_leaf : int, default=20
        Least samples of a leaf. Larger values regularise.
    l2_regularization : float, default=0.0
        Added to the sum of hessians of a leaf: draws its value towards 0. Set it
        where classes are rare, to 1 for example: see the user guide.
    max_features : float, default=1.0
        Share of the features that are tried in each node. Fewer regularise.
    max_bins : int, default=255
        Most bins of a feature, at most 255, missing values not counted. Fewer are
        faster and coarser.
    categorical_features : array-like of {bool, int, str}, "from_dtype" or None, \
            default="from_dtype"
        The categorical features: a mask, indices, names, or those that have a
        categorical type in a data frame. None for none. A categorical feature may have
        at most `max_bins` categories.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        Monotonic constraints: 1 the prediction must not decrease with the feature, -1
        it must not increase, 0 none. A dict has feature names as keys.
    interaction_cst : {"pairwise", "no_interactions"} or sequence of \
            lists/tuples/sets of int, default=None
        Sets of features that may occur together on a path of a tree. Features in none
        of them are a set of their own.
    warm_start : bool, default=False
        Add iterations to those of the last fit, on the same data.
    early_stopping : "auto" or bool, default="auto"
        Whether to stop when scores no longer improve; "auto": with more than 10,000
        samples, or if validation data are passed to `fit`.
    scoring : str, callable or None, default="loss"
        Score that early stopping looks at; None is the estimator's own, "loss" the
        loss, which is the cheapest.
    validation_fraction : int, float or None, default=0.1
        Share (or number) of the samples that early stopping is judged by; None: the
        training samples.
    n_iter_no_change : int, default=10
        Early stopping: iterations without an improvement.
    tol : float, default=1e-7
        Early stopping: what counts as an improvement.
    verbose : int, default=0
        1 prints a line after the fit, 2 also one for each iteration: its trees, and the
        scores that early stopping is judged by.
    random_state : int, RandomState instance or None, default=None
        Controls all random choices: rows for quantiles and for trees, features, and the
        validation part. The model does not depend on the number of threads.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes; "balanced" gives every class the same total weight.
    solver : {"auto", "exact", "mab"}, default="auto"
        How trees are grown: "exact" on all rows, "mab" on samples of a random working
        set, "auto" on samples from 500,000 rows on if the rarest class has at least
        1,000. Samples want at most 256 leaves a tree. Where the sample would be more
        than half of the rows, all are taken.
    batch_size : int, default=65536
        Rows of the first sample. Too small ones make bad first trees, too large ones
        cost time; the size is doubled as needed.
    sample_tol : float, default=0.4
        Share of the gain that a sample promises which may turn out to be missing on
        the other rows; if more is, samples are doubled. Trades speed for loss: 0 takes
        all rows, 0.4 is about as good as exact after as many trees, 1 doubles only if
        nothing is left of the gain, and ``float("inf")`` never does.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_iter_ : int
        Number of iterations.
    n_trees_per_iteration_ : int
        Number of trees of an iteration.
    do_early_stopping_ : bool
        Whether early stopping was used.
    train_score_ : ndarray of shape (n_iterations + 1,)
        Scores on the training samples (with trees on samples, on the first working
        set), the first before the first iteration; empty without early stopping.
    validation_score_ : ndarray of shape (n_iterations + 1,)
        Scores on the validation samples; empty if there were none.
    is_categorical_ : ndarray of bool of shape (n_features,) or None
        The categorical features.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the gain of all splits.
    n_insertions_ : int
        Insertions of a sample into a feature's histogram: what the search for splits
        cost. Values in the most frequent bin of sparse features are never inserted.
    sample_sizes_ : ndarray of shape (`n_iter_`,)
        Rows that the trees of each iteration were grown on: fewer than there are where
        they saw a sample.
    n_sampled_iterations_ : int
        Number of iterations whose trees saw a sample; 0 if all were exact.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Feature names, if `X` had any.

    Notes
    -----
    Rare classes want an L2 term. Without it the loss diverges with any solver, and in
    scikit-learn: leaves without the rare class have hessians near 0 and take steps that
    are far too large.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_bandit.ensemble import HistGradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = HistGradientBoostingClassifier(max_iter=20).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _parameter_constraints: dict = {
        **parameter_constraints(ensemble.HistGradientBoostingClassifier),
        **PARAMETER_CONSTRAINTS,
    }

    def __init__(
        self,
        loss="log_loss",
        *,
        learning_rate=0.1,
        max_iter=100,
        max_leaf_nodes=31,
        max_depth=None,
        min_samples_leaf=20,
        l2_regularization=0.0,
        max_features=1.0,
        max_bins=255,
        categorical_features="from_dtype",
        monotonic_cst=None,
        interaction_cst=None,
        warm_start=False,
        early_stopping="auto",
        scoring="loss",
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=1e-7,
        verbose=0,
        random_state=None,
        class_weight=None,
        solver="auto",
        batch_size=65_536,
        sample_tol=0.4,
    ):
        super().__init__(
            loss=loss,
            learning_rate=learning_rate,
            max_iter=max_iter,
            max_leaf_nodes=max_leaf_nodes,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            l2_regularization=l2_regularization,
            max_features=max_features,
            max_bins=max_bins,
            categorical_features=categorical_features,
            monotonic_cst=monotonic_cst,
            interaction_cst=interaction_cst,
            warm_start=warm_start,
            early_stopping=early_stopping,
            scoring=scoring,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            tol=tol,
            verbose=verbose,
            random_state=random_state,
            class_weight=class_weight,
        )
        self.solver = solver
        self.batch_size = batch_size
        self.sample_tol = sample_tol

    def _encode_y(self, y):
        """Encode classes as 0, 1, ..., as scikit-learn's method does, without sorting.

        Two classes stay integers: floats are only needed of rows that trees see.
        """
        (self.classes_,), codes = encode_classes(y[:, None])
        n_classes = len(self.classes_)
        self.n_trees_per_iteration_ = 1 if n_classes <= 2 else n_classes
        return codes[:, 0] if n_classes <= 2 else codes[:, 0].astype(np.float64)


class HistGradientBoostingRegressor(
    BanditBoosting, ensemble.HistGradientBoostingRegressor
):
    """Histogram gradient boosting for regression.

    scikit-learn's HistGradientBoostingRegressor, with its parameters and methods; the
    fitted trees are scikit-learn's, so that prediction, partial dependence and other
    tools work on. The exact solver grows the same trees where no two splits are equally
    good. With very many rows each tree is grown on those that matter most to it, drawn
    by minimal variance sampling; how many is decided by what trees really gain.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "gamma", "poisson", "quantile"}, \
            default="squared_error"
        What is minimised. "gamma" and "poisson" have a log link and want positive
        targets; "absolute_error" and "quantile" are robust, and slower, as the values
        of leaves are then medians or quantiles.
    quantile : float, default=None
        The quantile that ``loss="quantile"`` estimates, from 0 to 1.
    learning_rate : float, default=0.1
        Factor of the values of the leaves. Smaller ones want more iterations and often
        generalise better.
    max_iter : int, default=100
        Most iterations. Each adds one tree, or one for each class if there are more
        than two.
    max_leaf_nodes : int or None, default=31
        Most leaves of a tree; None for no limit.
    max_depth : int or None, default=None
        Most levels below the root; None for no limit.
    min_samples_leaf : int, default=20
        Least samples of a leaf. Larger values regularise.
    l2_regularization : float, default=0.0
        Added to the sum of hessians of a leaf: draws its value towards 0. Set it
        where classes are rare, to 1 for example: see the user guide.
    max_features : float, default=1.0
        Share of the features that are tried in each node. Fewer regularise.
    max_bins : int, default=255
        Most bins of a feature, at most 255, missing values not counted. Fewer are
        faster and coarser.
    categorical_features : array-like of {bool, int, str}, "from_dtype" or None, \
            default="from_dtype"
        The categorical features: a mask, indices, names, or those that have a
        categorical type in a data frame. None for none. A categorical feature may have
        at most `max_bins` categories.
    monotonic_cst : array-like of int of shape (n_features,) or dict, default=None
        Monotonic constraints: 1 the prediction must not decrease with the feature, -1
        it must not increase, 0 none. A dict has feature names as keys.
    interaction_cst : {"pairwise", "no_interactions"} or sequence of \
            lists/tuples/sets of int, default=None
        Sets of features that may occur together on a path of a tree. Features in none
        of them are a set of their own.
    warm_start : bool, default=False
        Add iterations to those of the last fit, on the same data.
    early_stopping : "auto" or bool, default="auto"
        Whether to stop when scores no longer improve; "auto": with more than 10,000
        samples, or if validation data are passed to `fit`.
    scoring : str, callable or None, default="loss"
        Score that early stopping looks at; None is the estimator's own, "loss" the
        loss, which is the cheapest.
    validation_fraction : int, float or None, default=0.1
        Share (or number) of the samples that early stopping is judged by; None: the
        training samples.
    n_iter_no_change : int, default=10
        Early stopping: iterations without an improvement.
    tol : float, default=1e-7
        Early stopping: what counts as an improvement.
    verbose : int, default=0
        1 prints a line after the fit, 2 also one for each iteration: its trees, and the
        scores that early stopping is judged by.
    random_state : int, RandomState instance or None, default=None
        Controls all random choices: rows for quantiles and for trees, features, and the
        validation part. The model does not depend on the number of threads.
    solver : {"auto", "exact", "mab"}, default="auto"
        How trees are grown: "exact" on all rows, "mab" on samples of a random working
        set, "auto" on samples from 500,000 rows on if the rarest class has at least
        1,000. Samples want at most 256 leaves a tree. Where the sample would be more
        than half of the rows, all are taken.
    batch_size : int, default=65536
        Rows of the first sample. Too small ones make bad first trees, too large ones
        cost time; the size is doubled as needed.
    sample_tol : float, default=0.4
        Share of the gain that a sample promises which may turn out to be missing on
        the other rows; if more is, samples are doubled. Trades speed for loss: 0 takes
        all rows, 0.4 is about as good as exact after as many trees, 1 doubles only if
        nothing is left of the gain, and ``float("inf")`` never does.

    Attributes
    ----------
    n_iter_ : int
        Number of iterations.
    n_trees_per_iteration_ : int
        Number of trees of an iteration.
    do_early_stopping_ : bool
        Whether early stopping was used.
    train_score_ : ndarray of shape (n_iterations + 1,)
        Scores on the training samples (with trees on samples, on the first working
        set), the first before the first iteration; empty without early stopping.
    validation_score_ : ndarray of shape (n_iterations + 1,)
        Scores on the validation samples; empty if there were none.
    is_categorical_ : ndarray of bool of shape (n_features,) or None
        The categorical features.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the gain of all splits.
    n_insertions_ : int
        Insertions of a sample into a feature's histogram: what the search for splits
        cost. Values in the most frequent bin of sparse features are never inserted.
    sample_sizes_ : ndarray of shape (`n_iter_`,)
        Rows that the trees of each iteration were grown on: fewer than there are where
        they saw a sample.
    n_sampled_iterations_ : int
        Number of iterations whose trees saw a sample; 0 if all were exact.
    n_features_in_ : int
        Number of features seen during fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Feature names, if `X` had any.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_bandit.ensemble import HistGradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    >>> bool(model.score(X, y) > 0.5)
    True
    """

    _parameter_constraints: dict = {
        **parameter_constraints(ensemble.HistGradientBoostingRegressor),
        **PARAMETER_CONSTRAINTS,
    }

    def __init__(
        self,
        loss="squared_error",
        *,
        quantile=None,
        learning_rate=0.1,
        max_iter=100,
        max_leaf_nodes=31,
        max_depth=None,
        min_samples_leaf=20,
        l2_regularization=0.0,
        max_features=1.0,
        max_bins=255,
        categorical_features="from_dtype",
        monotonic_cst=None,
        interaction_cst=None,
        warm_start=False,
        early_stopping="auto",
        scoring="loss",
        validation_fraction=0.1,
        n_iter_no_change=10,
        tol=1e-7,
        verbose=0,
        random_state=None,
        solver="auto",
        batch_size=65_536,
        sample_tol=0.4,
    ):
        super().__init__(
            loss=loss,
            quantile=quantile,
            learning_rate=learning_rate,
            max_iter=max_iter,
            max_leaf_nodes=max_leaf_nodes,
            max_depth=max_depth,
            min_samples_leaf=min_samples_leaf,
            l2_regularization=l2_regularization,
            max_features=max_features,
            max_bins=max_bins,
            categorical_features=categorical_features,
            monotonic_cst=monotonic_cst,
            interaction_cst=interaction_cst,
            warm_start=warm_start,
            early_stopping=early_stopping,
            scoring=scoring,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            tol=tol,
            verbose=verbose,
            random_state=random_state,
        )
        self.solver = solver
        self.batch_size = batch_size
        self.sample_tol = sample_tol
