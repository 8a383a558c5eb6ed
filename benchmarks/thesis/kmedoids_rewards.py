"""Figures A.2 to A.4: how the rewards of BUILD's first step are distributed.

Histograms, one row a bar; the documentation draws them (``thesis_figures``). What they
say in numbers is in `thesis.kmedoids.assumptions`.
"""

import numpy as np
from sklearn.metrics import pairwise_distances

from ..harness import Table, benchmark
from .kmedoids import mnist, pbmc, pbmc_pca

N_SAMPLES, N_ARMS, N_BARS = 2000, 1000, 30
N_EXAMPLES = 4

COLUMNS = ["panel", "from", "to", "share of all"]


def bars(panel, values):
    """Return the rows of a histogram."""
    counts, edges = np.histogram(values, bins=N_BARS)
    return [
        [panel, float(low), float(high), float(count / len(values))]
        for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
    ]


def distances(X, metric):
    """Distances of every sample to all others."""
    D = pairwise_distances(X, metric=metric)
    n = len(D)
    return D[~np.eye(n, dtype=bool)].reshape(n, n - 1)


@benchmark("thesis.kmedoids.rewards", data=["mnist", "pbmc3k_counts"])
def rewards(options):
    """Figures A.2 to A.4: histograms of arms' means and of single arms' rewards."""
    n = N_SAMPLES
    rng = np.random.default_rng(0)
    cells = pbmc(n)
    found = {
        "MNIST, l2": distances(mnist(n), "euclidean"),
        "MNIST, cosine": distances(mnist(n), "cosine"),
        "scRNA, l1": distances(cells, "manhattan"),
        "scRNA-PCA, l2": distances(pbmc_pca(n, 0), "euclidean"),
    }
    arms = rng.permutation(n)[:N_ARMS]
    rows = [row for name, D in found.items() for row in bars(name, D[arms].mean(1))]
    yield Table(
        f"Figure A.2: mean rewards of {N_ARMS:,} arms, first BUILD step, n = {n:,}",
        COLUMNS,
        rows,
        note="Thesis: scRNA-PCA is peaked at the minimum, the others are not.",
    )
    for figure, name in (("A.3", "MNIST, l2"), ("A.4", "scRNA-PCA, l2")):
        D = found[name]
        rows = [
            row
            for i, arm in enumerate(arms[:N_EXAMPLES])
            for row in bars(f"arm {i + 1}", D[arm])
        ]
        yield Table(
            f"Figure {figure}: rewards of {N_EXAMPLES} arms, first BUILD step, {name}",
            COLUMNS,
            rows,
            note="Thesis: those of scRNA-PCA have much larger tails than MNIST's.",
        )
