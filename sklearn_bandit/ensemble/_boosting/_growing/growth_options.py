"""What a tree may look like."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class GrowthOptions:
    """Limits of trees, and rules of their splits.

    Attributes
    ----------
    max_leaf_nodes, max_depth : int or None
        When to stop.
    min_samples_leaf : int
        Least rows of a leaf.
    l2_regularization : float
        Added to the hessians of a node.
    max_features : float
        Share of the features that are tried in each node.
    monotonic_cst : ndarray of int8 of shape (n_features,)
        Monotonic constraints.
    interaction_cst : list of set or None
        Features that may occur together on a path.
    first_of_equal : bool
        Whether the first of equal thresholds is taken also if missing values go left;
        if not, the last.
    """

    max_leaf_nodes: int | None
    max_depth: int | None
    min_samples_leaf: int
    l2_regularization: float
    max_features: float
    monotonic_cst: np.ndarray
    interaction_cst: list | None
    first_of_equal: bool
