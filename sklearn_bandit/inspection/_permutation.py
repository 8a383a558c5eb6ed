"""Permutation importance on the samples that each tree has not seen."""

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring
from sklearn.utils import Bunch, check_random_state
from sklearn.utils.parallel import Parallel, delayed

from .._compat import Interval, validate_params
from .._core.typing import RandomState
from ._out_of_bag import check_training_set

MAX_SEED = np.iinfo(np.int32).max


@validate_params(
    {
        "forest": "no_validation",
        "X": ["array-like"],
        "y": ["array-like"],
        "scoring": [str, callable, None],
        "n_repeats": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def oob_permutation_importance(
    forest: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    scoring: str | Callable[..., float] | None = None,
    n_repeats: int = 1,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> Bunch:
    """Permutation importance of features, on each tree's out-of-bag samples.

    A tree is scored on the samples that its bootstrap sample left out, then again with
    one feature shuffled among them; the loss of score, averaged over the trees, is the
    importance of the feature [1]_. No data need be held out, and unlike the
    mean decrease in impurity the measure does not favour features with many values.

    Parameters
    ----------
    forest : fitted forest
        A random forest, extra-trees or random-patches ensemble of this package or of
        scikit-learn, fitted with ``bootstrap=True``.
    X : array-like of shape (n_samples, n_features)
        The data that it was fitted on, in the same order.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        The target that it was fitted on.
    scoring : str, callable or None, default=None
        Score of a tree, in scikit-learn's manner; None for its ``score`` (accuracy or
        R²). The trees of a classifier know the classes by their number in
        ``forest.classes_``.
    n_repeats : int, default=1
        Shuffles of a feature in each tree. The average over trees makes one enough for
        all but small forests.
    n_jobs : int or None, default=None
        Trees treated at the same time, by threads; the result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Shuffles.

    Returns
    -------
    sklearn.utils.Bunch
        importances_mean : ndarray of shape (n_features,)
            Mean loss of score over the trees.
        importances_std : ndarray of shape (n_features,)
            Its standard deviation over the trees.
        importances : ndarray of shape (n_features, n_trees)
            Loss of score in each tree.

    See Also
    --------
    bandit_permutation_importance : The same for any estimator, on data that was held
        out, from as few predictions as it takes; and, with `oob`, for the forest as a
        whole on samples that its trees have not drawn.
    feature_selection_stability : How far the features selected by it can be trusted.

    References
    ----------
    .. [1] L. Breiman, "Random Forests", Machine Learning 45 (1), 2001.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn_bandit.inspection import oob_permutation_importance
    >>> X, y = make_classification(
    ...     n_samples=500, n_features=6, n_informative=2, n_redundant=0,
    ...     shuffle=False, random_state=0)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> result = oob_permutation_importance(forest, X, y, random_state=0)
    >>> sorted(result.importances_mean.argsort()[-2:].tolist())
    [0, 1]
    """
    X = check_training_set(forest, X, y)
    y = _encode(forest, np.asarray(y))
    seeds = check_random_state(random_state).randint(
        MAX_SEED, size=len(forest.estimators_)
    )
    losses = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(_tree_losses)(tree, X, y, in_bag, scoring, n_repeats, seed)
        for tree, in_bag, seed in zip(
            forest.estimators_, forest.estimators_samples_, seeds, strict=True
        )
    )
    importances = np.array(losses).T
    return Bunch(
        importances_mean=importances.mean(axis=1),
        importances_std=importances.std(axis=1),
        importances=importances,
    )


def _encode(forest, y):
    """Return the target as the trees of the forest were given it."""
    if not is_classifier(forest):
        return y
    if y.ndim == 1 or y.shape[1] == 1:
        return _find(forest.classes_, y.ravel())
    return np.column_stack(
        [
            _find(classes, column)
            for classes, column in zip(forest.classes_, y.T, strict=True)
        ]
    )


def _find(classes, y):
    """Return the places of labels among the classes."""
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise ValueError(f"y has labels that the forest was not fitted on: {unknown}")
    return np.searchsorted(classes, y)


def _tree_losses(tree, X, y, in_bag, scoring, n_repeats, seed):
    """Loss of one tree's score for each feature."""
    rng = np.random.RandomState(seed)
    out = np.ones(len(X), dtype=bool)
    out[in_bag] = False
    losses = np.zeros(X.shape[1])
    if not out.any():
        return losses
    X, y = X[out], y[out]
    score = check_scoring(tree, scoring)
    before = score(tree, X, y)
    # A feature that the tree does not use has nothing to lose.
    features = tree.tree_.feature
    for feature in np.unique(features[features >= 0]):
        values = X[:, feature].copy()
        for _ in range(n_repeats):
            X[:, feature] = rng.permutation(values)
            losses[feature] += (before - score(tree, X, y)) / n_repeats
        X[:, feature] = values
    return losses
