"""Equal samples are merged into one of their weight; heavy ones come first.

Copies are ties, which only all their distances would decide, and every copy is passed
over. One sample of their whole weight has the same loss as a medoid and as a reference.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from .._core.thread_start import start_threads
from ._distances import FAST_METRICS
from ._equal_rows import hash_rows, n_different

# Samples up to which copies are not looked for: everything is computed there anyway.
LEAST_MERGED = 3000

# Copies are looked for in a subset of this many samples, or this share of all, before
# they are looked for in all of them: where each sample is there twice, 8 pairs of a
# million are in such a subset at least.
N_TRIED = 4096
SHARE_TRIED = 1 / 64

# They are merged if no more than this share is left.
MERGED_SHARE = 0.9

# The heaviest samples are the first references of every search, and no estimate, if a
# block of them has this share of the weight of all. An average over others has a
# variance as the squares of their weights.
HEAVY_SHARE = 0.2


@dataclass(frozen=True)
class Merged:
    """Samples to cluster, some of which stand for several.

    Attributes
    ----------
    samples : ndarray of shape (n_merged,)
        Indices, ascending; of equal samples the first.
    weights : ndarray of shape (n_merged,)
        Their weights, with those of their copies.
    members, places : ndarray of shape (n_used,)
        Indices of all samples of positive weight, and which of `samples` stands for
        each.
    """

    samples: np.ndarray
    weights: np.ndarray
    members: np.ndarray
    places: np.ndarray

    def positions(self, order):
        """Return the position of each member, given the sample at each position."""
        by_sample = np.empty(len(order), dtype=np.intp)
        by_sample[np.searchsorted(self.samples, order)] = np.arange(len(order))
        return by_sample[self.places]


def merge_samples(X, metric, weights, least, n_jobs):
    """Merge the samples of positive weight that are equal, if there are many.

    Parameters
    ----------
    X : array, sparse matrix or sequence
        The samples, validated.
    metric : str or callable
        Equal rows of dense data are at distance zero under the metrics with kernels of
        their own; nothing is merged under others.
    weights : ndarray of shape (n_samples,)
        Their weights.
    least : ndarray of int or int
        So many samples have to be left at least, or these, each by itself.
    n_jobs : int or None
        Threads.

    Returns
    -------
    Merged
        With all samples of positive weight if none are merged.
    """
    used = np.flatnonzero(weights)
    groups = None
    is_dense = (
        not callable(metric) and metric in FAST_METRICS and not sparse.issparse(X)
    )
    if is_dense and len(used) > LEAST_MERGED:
        groups = _equal_groups(X, metric, used, start_threads(n_jobs))
    if groups is None or not _are_enough(groups, used, least):
        return Merged(used, weights[used], used, np.arange(len(used)))
    first, places = groups
    totals = np.bincount(places, weights[used], len(first))
    return Merged(used[first], totals, used, places)


def _are_enough(groups, used, least):
    first, places = groups
    if np.ndim(least) == 0:
        return len(first) >= least
    chosen = places[np.searchsorted(used, least)]
    return len(np.unique(chosen)) == len(chosen)


def _equal_groups(X, metric, used, n_threads):
    """Return the first of each group of equal rows, and the group of each row."""
    n_tried = max(N_TRIED, int(SHARE_TRIED * len(used)))
    if n_tried < len(used):
        # Any fixed choice does, except one that misses copies that follow each other.
        tried = np.random.default_rng(0).choice(len(used), n_tried, replace=False)
        hashes = hash_rows(X, used[tried], n_threads)
        if len(np.unique(hashes)) == n_tried:
            return None
    hashes = hash_rows(X, used, n_threads)
    _, first, places = np.unique(hashes, return_index=True, return_inverse=True)
    if len(first) > MERGED_SHARE * len(used):
        return None
    # Ascending by the first member, so that of equal samples the first is taken.
    rank = np.empty(len(first), dtype=np.intp)
    rank[np.argsort(first)] = np.arange(len(first))
    first, places = np.sort(first), rank[places]
    if n_different(X, used, used[first[places]], n_threads):
        return None  # two rows have the same hash by chance
    if FAST_METRICS[metric] == "cosine" and not X[used[first]].any(axis=1).all():
        return None  # rows of zeros are far from each other
    return first, places


def draw_order(weights, block, random_state):
    """Return a random order, with the heavy samples first if there are such.

    Parameters
    ----------
    weights : ndarray of shape (n,)
        Weights of the samples.
    block : int
        References of a block.
    random_state : RandomState
        Draws the order.

    Returns
    -------
    order : ndarray of shape (n,)
        The sample at each position.
    n_heavy : int
        How many of the leading positions are no random choice: 0 or a block.
    """
    order = random_state.permutation(len(weights))
    if len(weights) <= 4 * block or weights.min() == weights.max():
        return order, 0
    heaviest = np.argpartition(-weights[order], block)[:block]
    share = weights[order[heaviest]].sum() / weights.sum()
    if share < max(HEAVY_SHARE, 2 * block / len(weights)):
        return order, 0
    is_heavy = np.zeros(len(weights), dtype=bool)
    is_heavy[heaviest] = True
    return np.concatenate([order[is_heavy], order[~is_heavy]]), block
