"""What every splitter is told."""

from dataclasses import dataclass

import numpy as np

from sklearn_bandit.tree._criteria.base import Criterion


@dataclass(frozen=True)
class SplitSettings:
    """What is searched for, and among what.

    Parameters
    ----------
    criterion : Criterion
        What is to be predicted.
    n_bins : ndarray of shape (n_features,), int32
        Bins of each feature.
    max_features : int
        Varying features to look at in each node.
    n_thresholds : int
        Number of random thresholds tried per feature, or 0 for all thresholds.
    constraints : ndarray of shape (n_features,), int8
        Monotonic constraints: 1 increasing, -1 decreasing, 0 none.
    max_insertions : int
        Insertions into histograms that may be made.
    seed : int
        Of the random numbers.
    count_rows : bool
        Whether `min_samples_leaf` needs the number of rows in each cell.
    n_sets : int
        Sets of histograms of all features to make room for. With these, the histograms
        of the larger child of a node are its parent's less those of the smaller one.
    """

    criterion: Criterion
    n_bins: np.ndarray
    max_features: int
    n_thresholds: int
    constraints: np.ndarray
    max_insertions: int
    seed: int
    count_rows: bool
    n_sets: int = 0
