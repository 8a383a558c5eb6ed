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
    """Time and memory of up to 1,000,000 x 50."""
    blobs, _ = make_blobs(1_000_000, 50, centers=30, cluster_std=5.0, random_state=0)
    blobs = blobs.astype(np.float32)
    rows = []
    for n in (250_000, 500_000, 1_000_000):
        X = blobs[:n]
        tracemalloc.start()
        start = time.perf_counter()
        model = BanditKMedoids(K, random_state=0, n_jobs=options.threads).fit(X)
        seconds = time.perf_counter() - start
        peak = tracemalloc.get_traced_memory()[1] / 1e9
        tracemalloc.stop()
        rows.append(
            [n, seconds, peak, model.inertia_ / n, model.n_distance_evaluations_ / n]
        )
    yield Table(
        f"n x 50, 30 blobs, k = {K}",
        ["n", "seconds", "peak over input, GB", "loss", "distances / n"],
        rows,
        note="goals for a million: 60 s, 4 GB",
    )


@benchmark("kmedoids.cut_over", data=["mnist", "covtype"])
def cut_over(options):
    """Where its ways change: small matrices, and where "auto" leaves "pam"."""
    pixels = load_digits().data
    for name, X, k in (
        ("iris", load_iris().data, 3),
        ("iris", load_iris().data, 10),
        ("digits", pixels[:300], 10),
        ("digits", pixels[: _medoid_state.SMALL], 10),
    ):
        yield Comparison(
            title=f"{name}, {X.shape[0]} x {X.shape[1]}, l2, k = {k}",
            contenders={
                "small matrix": of_matrices_up_to(_medoid_state.SMALL, X, k, options),
                "any size": of_matrices_up_to(0, X, k, options),
            },
            quality=loss(X),
            goals={"any size": 1.1},
            rounds=21,
        )
    for name, make in (("MNIST", mnist), ("covertype", covertype)):
        for n in (2000, 3000, 5000):
            X = make(n, 0)
            yield Comparison(
                title=f"{name}, n = {n:,}, l2, k = {K}",
                contenders={
                    algorithm: ours(X, algorithm, options)
                    for algorithm in ("eager", "bandit", "pam")
                },
                quality=loss(X),
            )


def of_matrices_up_to(n_small, X, k, options):
    """Return exact PAM, with a state of its own for matrices up to a size."""
    fit = ours(X, "pam", options, k=k)

    def run(seed):
        with patch.object(_starts, "SMALL", n_small):
            return fit(seed)

    return run
