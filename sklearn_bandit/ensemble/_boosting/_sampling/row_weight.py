"""How much of the training a few rows decide.

Where a class is rare, or targets have heavy tails, few rows have most of the gradient,
and a random part of the data has next to none of them.
"""

import numpy as np

from sklearn_bandit.bandit import effective_size

from ..booster import compute_gradients

# Rows that the weight of heavy ones is estimated from.
N_ROWS = 131_072


def rarest_class(y):
    """Count the rows of the rarest class among encoded ones.

    Classes that only the held-out part has are not counted: there is nothing to learn
    of them.
    """
    if y.dtype.kind in "iu" and y.max() == 1:
        n_ones = np.count_nonzero(y)  # a tenth of the time
        counts = np.array([len(y) - n_ones, n_ones])
    else:
        counts = np.bincount(y.astype(np.intp, copy=False))
    return int(counts[counts > 0].min())


def heavy_shares(loss, data):
    """Share of the rows that have most of the gradient before the first tree.

    It is the effective size of the squared gradients, ``sum(g^2)^2 / sum(g^4)``,
    divided by the number of rows: 1 if all gradients are equally large, and about the
    share of a rare class. With several classes the tree of each has its own: only
    that of a rare class has few rows that matter.

    Parameters
    ----------
    loss : BaseLoss
        The loss.
    data : TrainingRows
        The rows, of which none needs to have joined.

    Returns
    -------
    ndarray of shape (n_trees_per_iteration,)
        The shares, above 0 and at most 1.
    """
    step = max(1, data.n_samples // N_ROWS)
    y, weights = data.source.some_targets(step)
    raw = np.empty((len(y), data.baseline.shape[1]), order="F")
    raw[:] = data.baseline
    pairs = np.zeros((raw.shape[1], len(y), 2), dtype=np.float32)
    compute_gradients(loss, y, raw, weights, pairs, data.n_threads)
    squares = pairs[..., 0].astype(np.float64) ** 2
    sizes = [effective_size(square.sum(), (square**2).sum()) for square in squares]
    shares = np.array(sizes) / len(y)
    return np.where(shares > 0.0, shares, 1.0)  # no gradients, or not finite
