"""Monotonic constraints on leaf values that are no Newton steps.

The grower bounds Newton steps while it grows a tree. Losses that are not differentiable
(absolute error, quantiles) replace these by the best constant of each leaf, which knows
nothing of the bounds; scikit-learn's predictions are not monotonic then.
"""

import numpy as np


def bound_leaf_values(table, leaves, values, monotonic):
    """Move the values of leaves as far as constraints need.

    As in the grower, the sides of a split on a constrained feature are kept apart by
    the middle of their values. Here the value of a side is the mean over its samples.

    Parameters
    ----------
    table : dict of str to ndarray
        The tree, as ``TreeGrower.table`` returns it.
    leaves : ndarray of shape (n_leaves,)
        Where the leaves are in the table.
    values : ndarray of shape (n_leaves,)
        Their values.
    monotonic : ndarray of shape (n_features,)
        1 for features along which predictions increase, -1 decrease, 0 either.

    Returns
    -------
    ndarray of shape (n_leaves,)
        Values that keep the constraints.
    """
    if not np.any(monotonic):
        return values
    left, right, counts = table["left"], table["right"], table["count"]
    splits = np.flatnonzero(table["is_leaf"] == 0)
    means = np.zeros(len(counts))
    means[leaves] = values
    for node in splits[::-1]:  # children come after their parents
        sides = [left[node], right[node]]
        means[node] = np.average(means[sides], weights=counts[sides])
    low = np.full(len(counts), -np.inf)
    high = np.full(len(counts), np.inf)
    for node in splits:
        below, above = left[node], right[node]
        low[[below, above]], high[[below, above]] = low[node], high[node]
        sign = monotonic[table["feature_idx"][node]]
        if sign:
            middle = (means[below] + means[above]) / 2
            middle = min(max(middle, low[node]), high[node])
            if sign < 0:
                below, above = above, below
            high[below] = low[above] = middle
    return np.clip(values, low[leaves], high[leaves])
