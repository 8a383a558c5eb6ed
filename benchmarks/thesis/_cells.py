"""More single cells than there are: counts drawn from a profile fitted to PBMC3k."""

from functools import lru_cache

import numpy as np

from sklearn_bandit.cluster import BanditKMedoids

from ..data import load

N_GENES = 2000
N_TYPES = 8

# Cells that are drawn at a time.
BLOCK = 2048


@lru_cache(maxsize=1)
def _profile():
    """Fit one profile a cell type.

    Cells are grouped by their log counts; a group has the shares of its genes, the
    overdispersion of each of them by moments, and the logarithms of the numbers of
    counts a cell.
    """
    counts = load("pbmc3k_counts").X.toarray()
    genes = np.argsort(-counts.var(axis=0))[:N_GENES]
    counts = counts[:, genes].astype(float)
    found = BanditKMedoids(N_TYPES, metric="l1", random_state=0).fit(np.log1p(counts))
    types = []
    for label in range(N_TYPES):
        own = counts[found.labels_ == label]
        totals = np.maximum(own.sum(axis=1), 1.0)
        shares = own.sum(axis=0) / own.sum()
        expected = totals[:, None] * shares
        excess = ((own - expected) ** 2 - expected).sum(axis=0)
        spread = np.clip(excess / np.maximum((expected**2).sum(axis=0), 1e-9), 0.01, 10)
        logs = np.log(totals)
        types.append((len(own), shares, spread, logs.mean(), logs.std()))
    return types


def simulated_cells(n, seed):
    """Log counts of cells from gamma-Poisson distributions fitted to PBMC3k.

    Parameters
    ----------
    n : int
        Number of cells.
    seed : int
        Draws them.

    Returns
    -------
    ndarray of shape (n, 2000)
        ``log(1 + counts)`` of the most variable genes, in float32.
    """
    types = _profile()
    rng = np.random.default_rng(seed)
    sizes = np.array([size for size, *_ in types])
    labels = rng.choice(len(types), n, p=sizes / sizes.sum())
    X = np.empty((n, N_GENES), dtype=np.float32)
    for label, (_, shares, spread, mean, deviation) in enumerate(types):
        own = np.flatnonzero(labels == label)
        for first in range(0, len(own), BLOCK):
            part = own[first : first + BLOCK]
            totals = np.exp(rng.normal(mean, deviation, len(part)))
            rates = rng.gamma(1 / spread, spread, (len(part), N_GENES))
            rates *= totals[:, None] * shares
            X[part] = np.log1p(rng.poisson(rates))
    return X
