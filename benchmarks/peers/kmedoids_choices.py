"""BanditKMedoids beside itself: PAM's medoids, growth, and where its ways change."""

import time
import tracemalloc
from unittest.mock import patch

import numpy as np
from sklearn.datasets import load_digits, load_iris, make_blobs

from sklearn_bandit.cluster import BanditKMedoids, _medoid_state, _starts

from ..harness import Comparison, Table, benchmark
from ._kmedoids_contenders import K, loss, ours
from ._kmedoids_data import covertype, digits, mnist, mnist_pca, pbmc
from ._syntax_trees import expression_trees, tree_distance


@benchmark("kmedoids.identity", data=["mnist", "covtype", "pbmc3k_counts"])
def identity(options):
    """How often "bandit" ends with PAM's medoids; losses over PAM's."""
    sizes = [2000, 5000, 10_000]
    sets = {
        "MNIST": (mnist, "l2", K, sizes),
        "MNIST, ten components": (mnist_pca, "l2", K, sizes),
        "covertype": (covertype, "l2", K, sizes),
        "single cells": (pbmc, "l1", 5, [1500, 2500]),
        "small digits": (digits, "l2", K, [1000, 1700]),
    }
    rows = []
    for name, (make, metric, k, sizes) in sets.items():
        if not options.wants(name):
            continue
        n_same, losses, eager_losses, share = 0, [], [], []
        n_runs = options.rounds or 20
        for seed in range(n_runs):
            X = make(sizes[seed % len(sizes)], 1000 + seed)
            parameters = {"metric": metric, "n_jobs": options.threads}
            pam = BanditKMedoids(k, algorithm="pam", **parameters).fit(X)
            parameters["random_state"] = seed
            bandit = BanditKMedoids(k, algorithm="bandit", **parameters).fit(X)
            eager = BanditKMedoids(k, algorithm="eager", **parameters).fit(X)
            n_same += set(pam.medoid_indices_) == set(bandit.medoid_indices_)
            losses.append(bandit.inertia_ / pam.inertia_)
            eager_losses.append(eager.inertia_ / pam.inertia_)
            if len(X) == max(sizes):
                share.append(bandit.n_distance_evaluations_ / len(X) ** 2)
        row = [name, f"{min(sizes):,} to {max(sizes):,}, {metric}, k = {k}"]
        found = [max(losses), min(eager_losses), np.mean(eager_losses)]
        found = [f"{loss:.4f}" for loss in (*found, max(eager_losses))]
        rows.append([*row, n_runs, n_same, *found, np.mean(share)])
    yield Table(
        "How often the medoids were PAM's, on fresh subsets; losses over PAM's",
        [
            "data",
            "samples, metric, k",
            "subsets",
            "PAM's medoids",
            "worst loss",
            "eager: least loss",
            "mean",
            "worst",
            "distances / n^2 at the largest n",
        ],
        rows,
        note='Parameters at their defaults, but algorithm="bandit", and "eager".',
    )


@benchmark("kmedoids.million")
def million(options):
    """Time and memory for 1,000,000 x 50."""
    X, _ = make_blobs(1_000_000, 50, centers=30, cluster_std=5.0, random_state=0)
    X = X.astype(np.float32)
    rows = []
    for algorithm in ("auto", "eager"):
        tracemalloc.start()
        start = time.perf_counter()
        model = BanditKMedoids(
            K, algorithm=algorithm, random_state=0, n_jobs=options.threads
        ).fit(X)
        seconds = time.perf_counter() - start
        peak = tracemalloc.get_traced_memory()[1] / 1e9
        tracemalloc.stop()
        count = model.n_distance_evaluations_ / len(X)
        rows.append([algorithm, seconds, peak, model.inertia_ / len(X), count])
    yield Table(
        f"1,000,000 x 50, 30 blobs, k = {K}",
        ["", "seconds", "peak over input, GB", "loss", "distances / n"],
        rows,
        note='goals for "auto": 60 s, 4 GB',
    )


@benchmark("kmedoids.trees")
def trees(options):
    """A costly callable: edit distances of syntax trees."""
    forest = expression_trees(3360, seed=0)
    n = len(forest)
    D = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            D[i, j] = D[j, i] = tree_distance(forest[i], forest[j])
    exact = BanditKMedoids(2, algorithm="pam", metric="precomputed").fit(D)
    rows = [["pam", "", 1.0, 1.0]]
    for batch_size in (32, 64):
        for seed in range(options.rounds or 3):
            model = BanditKMedoids(
                2,
                algorithm="eager",
                metric=tree_distance,
                batch_size=batch_size,
                random_state=seed,
            ).fit(forest)
            share = model.n_distance_evaluations_ / n**2
            rows.append(
                [
                    f"eager, batches of {batch_size}",
                    seed,
                    model.inertia_ / exact.inertia_,
                    share,
                ]
            )
    yield Table(
        "3,360 different expression trees, top-down tree edit distance, k = 2",
        ["", "seed", "loss / PAM's", "distances / n^2"],
        rows,
        note="goals: loss within 1.005, at most 0.25 of the pairs",
    )


@benchmark("kmedoids.small-matrix")
def small_matrix(options):
    """What a state of its own for small matrices saves: `SMALL` against 0."""

    def contender(X, k, n_small):
        fit = ours(X, "pam", options, k=k)

        def run(seed):
            with patch.object(_starts, "SMALL", n_small):
                return fit(seed)

        return run

    D = load_digits().data
    sets = [
        ("iris", load_iris().data, 3),
        ("iris", load_iris().data, 10),
        ("digits", D[:300], 10),
        ("digits", D[:700], 10),
    ]
    for name, X, k in sets:
        yield Comparison(
            title=f"{name}, {X.shape[0]} x {X.shape[1]}, l2, k = {k}",
            contenders={
                "small matrix": contender(X, k, _medoid_state.SMALL),
                "any size": contender(X, k, 0),
            },
            quality=loss(X),
            goals={"any size": 1.1},
            rounds=21,
        )


@benchmark("kmedoids.cut-over", data=["mnist", "covtype"])
def cut_over(options):
    """Where "auto" should leave the exact method: "pam" against "bandit"."""
    for name, make in [("MNIST", mnist), ("covertype", covertype)]:
        for n in (2000, 3000, 5000):
            X = make(n, 0)
            yield Comparison(
                title=f"{name}, n = {n:,}, l2, k = {K}",
                contenders={
                    "bandit": ours(X, "bandit", options),
                    "pam": ours(X, "pam", options),
                },
                quality=loss(X),
                rounds=3,
            )
