"""CLARANS, one of the thesis's rivals of PAM, written small.

References
----------
.. [1] R. T. Ng and J. Han, "CLARANS: a method for clustering objects for spatial data
   mining", IEEE Transactions on Knowledge and Data Engineering 14 (5), 2002.
"""

import numpy as np

# The choice of the paper: two descents; 1.25% of the neighbours, at least 250, may fail
# one after the other before a set of medoids counts as a local optimum.
N_DESCENTS = 2
SHARE_TRIED, MIN_TRIED = 0.0125, 250


def clarans(D, k, seed):
    """Find medoids by random swaps that improve [1]_.

    Parameters
    ----------
    D : ndarray of shape (n, n)
        Distances.
    k : int
        Number of medoids.
    seed : int
        Seed of the starts and swaps.

    Returns
    -------
    ndarray of shape (k,)
        The best medoids of all descents.
    """
    rng = np.random.default_rng(seed)
    n = len(D)
    max_tried = max(MIN_TRIED, round(SHARE_TRIED * k * (n - k)))
    starts = [rng.permutation(n)[:k] for _ in range(N_DESCENTS)]
    descents = [_descend(D, start, max_tried, rng) for start in starts]
    return min(descents, key=lambda found: found[1])[0]


def _descend(D, medoids, max_tried, rng):
    """Swap at random until `max_tried` swaps in a row did not improve."""
    loss = D[medoids].min(axis=0).sum()
    n_tried = 0
    while n_tried < max_tried:
        candidate = rng.integers(len(D))
        if candidate in medoids:
            continue
        neighbour = medoids.copy()
        neighbour[rng.integers(len(medoids))] = candidate
        changed = D[neighbour].min(axis=0).sum()
        n_tried += 1
        if changed < loss:
            medoids, loss, n_tried = neighbour, changed, 0
    return medoids, loss
