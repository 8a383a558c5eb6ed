"""Prediction of boosted models: by packed trees if they pay, else scikit-learn's."""

import numpy as np

from sklearn_bandit._core.thread_start import keep_threads
from sklearn_bandit.tree._prediction import PackedForms

from .packed_booster import PackedBooster

# Packing takes as long as scikit-learn's trees take for 550 rows (100 trees of 31
# leaves on flights) or 1,100 (255 leaves).
MIN_ROWS = 1000

# Fewer rows than this have no thread of their own. Fifty trees of 31 leaves take .4 ms
# for them (flights), far more than to wake a thread; not tuned.
MIN_ROWS_PER_THREAD = 2000

packed_boosters = PackedForms()


def add_packed(model, X, predictors, raw_predictions, n_threads):
    """Add the predictions of trees to raw predictions, if the trees can be packed.

    Parameters
    ----------
    model : estimator
        The fitted model.
    X : ndarray of shape (n_samples, n_features)
        The samples, categories encoded.
    predictors : list of list of TreePredictor
        The trees of each iteration.
    raw_predictions : ndarray of shape (n_samples, n_trees_per_iteration)
        What to add to.
    n_threads : int
        Threads to use.

    Returns
    -------
    bool
        Whether they were added.
    """
    parts = [tree for trees in predictors for tree in trees]
    if not parts or X.dtype != np.float64 or not raw_predictions.flags.f_contiguous:
        return False
    n_classes = raw_predictions.shape[1]
    packed = packed_boosters.find(
        model,
        parts,
        pays=lambda: len(X) >= MIN_ROWS,
        make=lambda parts: PackedBooster(parts, n_classes, model._bin_mapper),
    )
    if packed is None:
        return False
    n_threads = max(1, min(n_threads, len(X) // MIN_ROWS_PER_THREAD))
    packed.add(X, raw_predictions, keep_threads(n_threads))
    return True
