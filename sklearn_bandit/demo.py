"""``python -m sklearn_bandit.demo``: what adaptive sampling wins, in under a minute.

Each row fits one of our estimators and its counterpart on the same data, which is made
here and needs no download, with the same number of threads, and shows the quality and
the time of both. The times are medians of alternating runs after a warm-up.
"""

import time
from dataclasses import dataclass
from statistics import median

import numpy as np
import sklearn.ensemble
from sklearn.datasets import make_blobs, make_classification
from sklearn.metrics import pairwise_distances
from threadpoolctl import threadpool_limits

from ._core.threads import effective_n_threads
from ._version import __version__
from .bandit import best_arm
from .cluster import BanditKMedoids
from .datasets import make_correlated_normal_custom
from .ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from .neighbors import BanditMIPS

N_RUNS = 2
COLUMNS = [
    "task",
    "against",
    "quality: theirs",
    "ours",
    "seconds: theirs",
    "ours",
    "speed-up",
    "sampled",
]


@dataclass
class Race:
    """One row of the table.

    Attributes
    ----------
    task, against : str
        What is done, and by whom else.
    ours, theirs : callable
        Do it and return the result.
    quality : callable
        ``quality(result)``, a number or a short text.
    sampled : callable
        ``sampled(our result)``: share of the available samples that were used.
    """

    task: str
    against: str
    ours: callable
    theirs: callable
    quality: callable
    sampled: callable

    def run(self):
        """Run both sides in turn; return the cells of the row."""
        seconds = {self.ours: [], self.theirs: []}
        outcome = {}
        for i_run in range(N_RUNS + 1):
            for side in (self.theirs, self.ours):
                start = time.perf_counter()
                outcome[side] = side()
                if i_run:  # the first is a warm-up
                    seconds[side].append(time.perf_counter() - start)
        ours, theirs = median(seconds[self.ours]), median(seconds[self.theirs])
        return [
            self.task,
            self.against,
            _text(self.quality(outcome[self.theirs])),
            _text(self.quality(outcome[self.ours])),
            f"{theirs:.3f}",
            f"{ours:.3f}",
            f"{theirs / ours:.1f}x",
            f"{self.sampled(outcome[self.ours]):.1%}",
        ]


def medoid(n_threads):
    """Find the most central of many points: the engine on its own."""
    n_points = 8000
    points = np.random.default_rng(0).standard_normal((n_points, 50), dtype=np.float32)
    points *= np.linspace(0.2, 2, n_points, dtype=np.float32)[:, None]

    def pull(arms, references):
        return pairwise_distances(points[arms], points[references])

    def ours():
        result = best_arm(pull, n_points, n_points, random_state=0)
        return result.best[0], result.n_pulls

    def theirs():
        return pairwise_distances(points).sum(axis=0).argmin(), n_points**2

    return Race(
        task=f"medoid of {n_points:,} points (best_arm)",
        against="full distance matrix",
        ours=ours,
        theirs=theirs,
        quality=lambda result: f"point {result[0]}",
        sampled=lambda result: result[1] / n_points**2,
    )


def forest(n_threads):
    """Grow the same kind of forest on the same rows."""
    n_train, n_features = 100_000, 20
    X, y = make_classification(
        n_samples=n_train + 20_000,
        n_features=n_features,
        n_informative=10,
        n_clusters_per_class=4,
        random_state=0,
    )
    X = X.astype(np.float32)
    train, test = (X[:n_train], y[:n_train]), (X[n_train:], y[n_train:])
    # With fewer trees the scores of both sides would vary by half a point.
    settings = {"n_estimators": 100, "max_depth": 8, "random_state": 0}
    settings["n_jobs"] = n_threads
    full = RandomForestClassifier(solver="exact", **settings).fit(*train).n_insertions_
    return Race(
        task=f"RandomForestClassifier, {n_train:,} x {n_features}, depth 8",
        against="scikit-learn",
        ours=lambda: RandomForestClassifier(**settings).fit(*train),
        theirs=lambda: sklearn.ensemble.RandomForestClassifier(**settings).fit(*train),
        quality=lambda model: model.score(*test),
        sampled=lambda model: model.n_insertions_ / full,
    )


def boosting(n_threads):
    """Boost trees that see samples of the rows, of a size that adapts."""
    n_train, n_features = 300_000, 20
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_train + 50_000, n_features), dtype=np.float32)
    signal = X[:, :10].sum(axis=1) / 3 + X[:, 0] * X[:, 1] + np.abs(X[:, 2])
    y = signal + rng.logistic(size=len(X)) > 0.8
    train, test = (X[:n_train], y[:n_train]), (X[n_train:], y[n_train:])
    settings = {"max_iter": 30, "early_stopping": False, "random_state": 0}
    ours = HistGradientBoostingClassifier(
        solver="mab", batch_size=32_768, **settings
    )
    exact = HistGradientBoostingClassifier(solver="exact", **settings).fit(*train)
    return Race(
        task=f"HistGradientBoostingClassifier, {n_train:,} x {n_features}, 30 trees",
        against="scikit-learn",
        ours=lambda: ours.fit(*train),
        theirs=lambda: sklearn.ensemble.HistGradientBoostingClassifier(**settings).fit(
            *train
        ),
        quality=lambda model: model.score(*test),
        sampled=lambda model: model.n_insertions_ / exact.n_insertions_,
    )


def k_medoids(n_threads):
    """Cluster around actual points."""
    n_points, k = 10_000, 10
    X, _ = make_blobs(n_points, 20, centers=k, cluster_std=6.0, random_state=0)
    X = X.astype(np.float32)
    settings = {"n_clusters": k, "n_jobs": n_threads, "random_state": 0}
    return Race(
        task=f"BanditKMedoids, {n_points:,} x 20, k = {k}",
        against="exact PAM (ours)",
        ours=lambda: BanditKMedoids(algorithm="bandit", **settings).fit(X),
        theirs=lambda: BanditKMedoids(algorithm="pam", **settings).fit(X),
        quality=lambda model: model.inertia_ / n_points,
        sampled=lambda model: model.n_distance_evaluations_ / n_points**2,
    )


def inner_products(n_threads):
    """Find the largest inner product, one query at a time."""
    n_atoms, n_coordinates, n_queries = 4000, 10_000, 20
    atoms, queries = make_correlated_normal_custom(
        n_atoms, n_coordinates, n_queries=n_queries, random_state=0
    )
    truth = (queries @ atoms.T).argmax(axis=1)
    index = BanditMIPS(n_neighbors=1, n_jobs=n_threads, random_state=0).fit(atoms)

    def ours():
        return [
            index.kneighbors(query[None], return_distance=False)[0, 0]
            for query in queries
        ]

    return Race(
        task=f"BanditMIPS, {n_queries} queries, {n_atoms:,} x {n_coordinates:,}",
        against="numpy (BLAS)",
        ours=ours,
        theirs=lambda: [(atoms @ query).argmax() for query in queries],
        quality=lambda found: float(np.mean(found == truth)),
        sampled=lambda _: index.n_multiplications_.mean() / atoms.size,
    )


RACES = [medoid, forest, boosting, k_medoids, inner_products]


def main():
    """Run the races and print the table."""
    n_threads = effective_n_threads(None)
    print(f"sklearn-bandit {__version__}, {n_threads} threads for both sides\n")
    rows = [COLUMNS]
    with threadpool_limits(n_threads):
        for make_race in RACES:
            rows.append(make_race(n_threads).run())
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    for i, row in enumerate(rows):
        print("  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)))
        if i == 0:
            print("  ".join("-" * width for width in widths))
    print("\nsampled: what our side computed of all that an exact method computes.")


def _text(value):
    return value if isinstance(value, str) else f"{value:.4f}"


if __name__ == "__main__":
    main()
