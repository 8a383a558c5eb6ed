"""Randomized search by racing."""

import numpy as np
from sklearn.model_selection import ParameterSampler, RandomizedSearchCV

from .._compat import parameter_constraints
from ._search import RACE_CONSTRAINTS, RacingMixin


class BanditRandomizedSearchCV(RacingMixin, RandomizedSearchCV):
    """Search over random parameters that drops candidates fold by fold.

    In place of :class:`sklearn.model_selection.RandomizedSearchCV`, with its
    candidates. After every fold they are compared with the best so far on the same
    held-out samples; those that cannot win any more are not fitted on the other folds.
    What is saved allows for more candidates in the same time. The winner has all folds,
    and the score that the full search would give it.

    Read more in the :ref:`User Guide <racing>`.

    Parameters
    ----------
    estimator : estimator object
        What is fitted, with each candidate's parameters set.
    param_distributions : dict or list of dict
        Distributions (with a method ``rvs``) or lists of values by parameter name.
    n_iter : int, default=10
        Number of candidates.
    scoring : str, callable, list, tuple or dict, default=None
        The score, as for scikit-learn; None for the estimator's own. With several,
        candidates race on the one that `refit` names. Means over samples (accuracy,
        balanced accuracy, log-loss, Brier score, squared, absolute and other errors,
        R2) tell candidates apart soonest. AUC, F1 and other smooth metrics follow,
        compared by a jackknife over groups of samples. Functions of your own are
        compared fold by fold and need at least three folds.
    n_jobs : int, default=None
        Fits at a time. A race fits the candidates that are left on one fold, then on
        the next: more processes than candidates have nothing to do. The result does
        not depend on it.
    refit : bool, str or callable, default=True
        Fit the winner on all samples. With several scores, the name of the one that
        decides, which is required then. A callable is given ``cv_results_``, where
        dropped candidates have means over the folds that they were fitted on.
    cv : int, splitter or iterable, default=None
        The folds, as for scikit-learn; None for five. A race needs folds to save: 10
        are better than 5, and cost little more.
    verbose : int, default=0
        Above zero, say how many candidates are left after every fold; above one, what
        scikit-learn says of every fit.
    pre_dispatch : int or str, default='2*n_jobs'
        Fits handed to the processes in advance.
    random_state : int, RandomState instance or None, default=None
        Determines the candidates.
    error_score : 'raise' or numeric, default=np.nan
        Score of a fit that fails. A candidate with a score of NaN is dropped.
    return_train_score : bool, default=False
        Whether to compute scores on the training samples, too.
    delta : float, default=0.05
        Probability that the choice is worse than the full search's by more than `tol`.
        It is a target that we verify by counting (see :ref:`racing`). Smaller values
        cost more fits; 0 drops nothing.
    tol : float or "one_se", default="one_se"
        Difference of mean scores that does not matter. "one_se" is one standard error
        of the leader's mean score: a smaller difference is not one that
        cross-validation can see. A candidate is dropped when it cannot be better than
        the leader by more. With 0 only candidates that are worse are dropped, the
        choice is the full search's, and near ties are computed to the end.
    min_folds : int or "auto", default="auto"
        Folds that every candidate is fitted on. "auto" is one, and three for splitters
        by groups, by time or of your own: there the samples of one fold say less about
        other folds. Use three as well if the rows are in the order of time.

    Attributes
    ----------
    cv_results_ : dict of numpy (masked) ndarrays
        As scikit-learn's. Means and deviations of dropped candidates are over the folds
        that they were fitted on; the scores of the other folds are NaN. Survivors have
        the first ranks, then those that were dropped last. Two more columns:
        ``n_folds_done``, and ``dropped_after``, the same number for dropped candidates
        and masked for survivors.
    best_estimator_ : estimator
        The winner, fitted on all samples. Not available if ``refit=False``.
    best_score_ : float
        Mean score of the winner, over all folds. Not available if `refit` is a
        callable.
    best_params_ : dict
        Parameters of the winner.
    best_index_ : int
        Its index in ``cv_results_``.
    scorer_ : function or dict
        The score, or the scores by name.
    n_splits_ : int
        Number of folds.
    n_fits_ : int
        Fits on folds.
    n_fits_saved_ : int
        Fits that the full search would have done beside these.
    refit_time_ : float
        Seconds for fitting the winner on all samples.
    multimetric_ : bool
        Whether there are several scores.
    classes_ : ndarray of shape (n_classes,)
        Class labels, of a classifier.
    n_features_in_ : int
        Number of features, where the estimator knows it.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, where the estimator knows them.

    See Also
    --------
    BanditGridSearchCV : All combinations of given values.
    sklearn.model_selection.RandomizedSearchCV : Every candidate on every fold.

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn_bandit.model_selection import BanditRandomizedSearchCV
    >>> X, y = load_diabetes(return_X_y=True)
    >>> search = BanditRandomizedSearchCV(
    ...     Ridge(), {"alpha": loguniform(1e-3, 1e3)}, n_iter=40, cv=10, random_state=0
    ... ).fit(X, y)
    >>> bool(search.best_params_["alpha"] < 1)
    True
    >>> search.n_fits_ < 200  # of 400
    True
    """

    _parameter_constraints = {
        **parameter_constraints(RandomizedSearchCV),
        **RACE_CONSTRAINTS,
    }

    def __init__(
        self,
        estimator,
        param_distributions,
        *,
        n_iter=10,
        scoring=None,
        n_jobs=None,
        refit=True,
        cv=None,
        verbose=0,
        pre_dispatch="2*n_jobs",
        random_state=None,
        error_score=np.nan,
        return_train_score=False,
        delta=0.05,
        tol="one_se",
        min_folds="auto",
    ):
        super().__init__(
            estimator,
            param_distributions,
            n_iter=n_iter,
            scoring=scoring,
            n_jobs=n_jobs,
            refit=refit,
            cv=cv,
            verbose=verbose,
            pre_dispatch=pre_dispatch,
            random_state=random_state,
            error_score=error_score,
            return_train_score=return_train_score,
        )
        self.delta = delta
        self.tol = tol
        self.min_folds = min_folds

    def _candidates(self):
        return ParameterSampler(
            self.param_distributions, self.n_iter, random_state=self.random_state
        )
