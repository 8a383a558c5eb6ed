"""BanditKMedoids beside kmedoids, OneBatchPAM, banditpam and scikit-learn's KMeans.

Distances are always part of the time; all sides have the same number of threads. The
loss of every contender is computed by the same code on all samples.
"""

import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, load_iris, make_blobs

from ..harness import Comparison, Contender, benchmark
from ._kmedoids_contenders import (
    K,
    kmeans,
    loss,
    matrix_method,
    one_batch_pam,
    ours,
)
from ._kmedoids_data import mnist, pbmc, repeated_rows

# A Python that has banditpam: it needs numpy below 2, so an environment of its own.
BANDITPAM = os.environ.get("SKLEARN_BANDIT_BANDITPAM")

BANDITPAM_WORKER = """
import json, sys
import numpy as np
from banditpam import KMedoids
X = np.load(sys.argv[1])
for line in sys.stdin:
    model = KMedoids(n_medoids=int(line), algorithm="BanditPAM")
    model.fit(X, "L2")
    print(json.dumps([int(i) for i in model.medoids]), flush=True)
"""


@benchmark("kmedoids.pam", data=["mnist"])
def pam(options):
    """PAM's medoids: "bandit" and "pam" against kmedoids.fastpam1."""
    for n, goal in [(5000, 4.0), (10_000, 12.0)]:
        X = mnist(n)
        yield Comparison(
            title=f"MNIST, n = {n:,}, l2, k = {K}",
            contenders={
                "bandit": ours(X, "bandit", options),
                "own pam": ours(X, "pam", options),
                "kmedoids.fastpam1": matrix_method(X, "fastpam1"),
            },
            quality=loss(X),
            goals={"kmedoids.fastpam1": goal},
            rounds=3,
            warm_up=False,
        )


@benchmark("kmedoids.eager", data=["mnist"])
def eager(options):
    """The eager mode against kmedoids.fasterpam."""
    for n, goal in [(10_000, 5.0), (20_000, 12.0)]:
        X = mnist(n)
        yield Comparison(
            title=f"MNIST, n = {n:,}, l2, k = {K}",
            contenders={
                "eager": ours(X, "eager", options),
                "kmedoids.fasterpam": matrix_method(X, "fasterpam"),
            },
            quality=loss(X),
            goals={"kmedoids.fasterpam": goal},
            rounds=3,
            warm_up=False,
        )


@benchmark("kmedoids.banditpam", data=["mnist"])
def banditpam(options):
    """The authors' own implementation of BanditPAM, in an environment of its own.

    To have it run::

        python -m venv V && V/bin/pip install "numpy<2" banditpam==6.0.2
        SKLEARN_BANDIT_BANDITPAM=V/bin/python python -m benchmarks kmedoids.banditpam
    """
    X = mnist(2000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "X.npy"
        np.save(path, X)
        authors, worker = Contender(lambda seed: None, needs="banditpam"), None
        if BANDITPAM:
            worker = subprocess.Popen(
                [BANDITPAM, "-c", BANDITPAM_WORKER, str(path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | {"OMP_NUM_THREADS": str(options.threads)},
            )

            def ask(seed):
                worker.stdin.write(f"{K}\n")
                worker.stdin.flush()
                return np.array(json.loads(worker.stdout.readline()))

            authors = Contender(ask)
        yield Comparison(
            title=f"MNIST, n = 2,000, l2, k = {K}",
            contenders={
                "auto": ours(X, "auto", options),
                "bandit": ours(X, "bandit", options),
                "banditpam": authors,
            },
            quality=loss(X),
            goals={"banditpam": 40.0},
            rounds=3,
        )
        if worker is not None:
            worker.stdin.close()
            worker.wait()


@benchmark("kmedoids.large", data=["mnist"])
def large(options):
    """All of MNIST: OneBatchPAM and scikit-learn's KMeans."""
    X = mnist()
    yield Comparison(
        title=f"MNIST, n = 70,000, l2, k = {K}; KMeans(n_init=1), its loss that of "
        "the samples nearest to the means",
        contenders={
            "eager": ours(X, "eager", options),
            "bandit": ours(X, "bandit", options),
            "OneBatchPAM": one_batch_pam(X, options),
            "scikit-learn KMeans": kmeans(X),
        },
        quality=loss(X),
        goals={"OneBatchPAM": 1.0, "scikit-learn KMeans": 1 / 1.2},
        rounds=3,
        warm_up=False,
    )


@benchmark("kmedoids.cheap")
def cheap(options):
    """Few features, and copies: OneBatchPAM and scikit-learn's KMeans."""
    blobs, _ = make_blobs(100_000, 50, centers=20, cluster_std=5.0, random_state=7)
    sets = [
        ("100,000 x 50, 20 blobs", blobs.astype(np.float32), 20),
        ("500,000 x 40, 30% different", repeated_rows(500_000, 40, 150_000, 7), K),
    ]
    for name, X, k in sets:
        yield Comparison(
            title=f"{name}, l2, k = {k}",
            contenders={
                "auto": ours(X, "auto", options, k=k),
                "OneBatchPAM": one_batch_pam(X, options, k),
                "scikit-learn KMeans": kmeans(X, k),
            },
            quality=loss(X),
            goals={"OneBatchPAM": 1.0},
            rounds=3,
            warm_up=False,
        )


@benchmark("kmedoids.l1", data=["pbmc3k_counts"])
def l1(options):
    """Single cells under l1 against scikit-learn's distances and fastpam1."""
    X = pbmc()
    yield Comparison(
        title="pbmc3k, 2,700 x 2,000, l1, k = 5",
        contenders={
            "auto": ours(X, "auto", options, k=5, metric="l1"),
            "bandit": ours(X, "bandit", options, k=5, metric="l1"),
            "kmedoids.fastpam1": matrix_method(X, "fastpam1", k=5, metric="l1"),
        },
        quality=loss(X, "manhattan"),
        goals={"kmedoids.fastpam1": 10.0},
        rounds=3,
    )


@benchmark("kmedoids.small")
def small(options):
    """Small data: the default against kmedoids.fasterpam, bare and as an estimator."""

    def estimator(X, k):
        def run(seed):
            from kmedoids import KMedoids

            model = KMedoids(k, metric="euclidean", random_state=seed)
            return model.fit(X).medoid_indices_.astype(int)

        return Contender(run, needs="kmedoids")

    sets = [("iris", load_iris().data, 21), ("digits", load_digits().data, 5)]
    for name, X, rounds in sets:
        for k in (3, 5, 10):
            yield Comparison(
                title=f"{name}, {X.shape[0]} x {X.shape[1]}, l2, k = {k}",
                contenders={
                    "auto": ours(X, "auto", options, k=k),
                    # One thread is its fastest here.
                    "kmedoids.fasterpam": matrix_method(X, "fasterpam", k=k, n_cpu=1),
                    "kmedoids.KMedoids": estimator(X, k),
                    "kmedoids.fastpam1": matrix_method(X, "fastpam1", k=k),
                },
                quality=loss(X),
                goals={"kmedoids.fasterpam": 1.0},
                rounds=rounds,
            )
