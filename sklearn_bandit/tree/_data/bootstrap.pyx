"""Bootstrap samples as counts: how often each sample was drawn.

The draws are scikit-learn's, so that its out-of-bag scores leave out the right samples.
They are made a piece at a time: the arrays of millions of draws, one for each step,
took as long as the draws themselves.
"""

import numpy as np

from libc.stdint cimport int64_t, uint16_t, uint32_t

from sklearn_bandit._core.seeds import seeded

# Draws made at a time: they stay in the second-level cache.
CHUNK_DRAWS = 32_768


def draw_counts(random_state, n_samples, n_draws):
    """Draw a bootstrap sample.

    Parameters
    ----------
    random_state : int
        Seed of the draws.
    n_samples : int
        Number of samples to draw from, all with the same probability.
    n_draws : int
        Number of draws.

    Returns
    -------
    counts : ndarray of shape (n_samples,), uint16 or int64
        How often each sample was drawn; int64 if some count does not fit into uint16.
    """
    counts = np.zeros(n_samples, dtype=np.uint16)
    for draws in _draw(random_state, n_samples, n_draws):
        add_draws(draws, counts)
    # A count that does not fit has lost a multiple of 65,536.
    if counts.sum(dtype=np.int64) == n_draws:
        return counts
    counts = np.zeros(n_samples, dtype=np.int64)
    for draws in _draw(random_state, n_samples, n_draws):
        counts += np.bincount(draws, minlength=n_samples)
    return counts


def _draw(random_state, n_samples, n_draws):
    """Yield the draws of a bootstrap sample, a piece at a time."""
    random = seeded(random_state)
    for start in range(0, n_draws, CHUNK_DRAWS):
        yield random.randint(0, n_samples, min(CHUNK_DRAWS, n_draws - start))


def add_draws(draws, uint16_t[::1] counts):
    """Count some draws.

    Parameters
    ----------
    draws : ndarray of int
        The samples drawn.
    counts : ndarray of shape (n_samples,), uint16
        Counts of all samples, to be added to.
    """
    cdef const int64_t[::1] ids = draws.astype(np.int64, copy=False)
    cdef Py_ssize_t i

    with nogil:
        for i in range(ids.shape[0]):
            counts[ids[i]] += 1


def list_drawn(const uint16_t[::1] counts):
    """List the samples that were drawn at least once.

    Parameters
    ----------
    counts : ndarray of shape (n_samples,), uint16
        How often each sample was drawn.

    Returns
    -------
    ids : ndarray of uint32
        The samples, in ascending order.
    """
    cdef Py_ssize_t i, n = 0
    ids = np.empty(counts.shape[0] + 1, dtype=np.uint32)
    cdef uint32_t[::1] out = ids

    with nogil:
        for i in range(counts.shape[0]):
            out[n] = <uint32_t> i
            n += counts[i] > 0
    return ids[:n]
