"""BanditKMedoids beside kmedoids, OneBatchPAM, banditpam and scikit-learn's KMeans.

Distances are always part of the time; all sides have the same number of threads. The
loss of every contender is computed by the same code on all samples.
"""

import json
import os
import subprocess
import tempfile
import time
import tracemalloc
from functools import lru_cache
from pathlib import Path
from unittest.mock import patch

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances

from sklearn_bandit.cluster import BanditKMedoids, _medoid_state, _starts

from ..data import load
from ..harness import Comparison, Contender, Table, benchmark

K = 10


def mnist(n=70_000, seed=0):
    """A random subset of MNIST's 70,000 digits, pixels in 0..1."""
    data = load("mnist")
    X = np.concatenate([data.X_train, data.X_test]).reshape(-1, 784)
    order = np.random.default_rng(seed).permutation(len(X))[:n]
    return X[order].astype(np.float32) / 255


def mnist_pca(n, seed):
    """The first ten principal components of MNIST."""
    X = mnist(seed=seed)
    return PCA(10, random_state=0).fit_transform(X)[:n].astype(np.float32)


def covertype(n, seed):
    """The ten numerical columns of covertype, standardised."""
    X = load("covtype").X[:, :10].astype(np.float32)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X[np.random.default_rng(seed).permutation(len(X))[:n]]


def pbmc(n=2700, seed=0):
    """Cells by the 2,000 most variable genes, log counts."""
    counts = load("pbmc3k_counts").X.toarray()
    genes = np.argsort(-counts.var(axis=0))[:2000]
    X = np.log1p(counts[:, genes]).astype(np.float32)
    return X[np.random.default_rng(seed).permutation(len(X))[:n]]


def digits(n, seed):
    """Scikit-learn's small digits."""
    X = load_digits().data.astype(np.float32)
    return X[np.random.default_rng(seed).permutation(len(X))[:n]]


def ours(X, algorithm, options, k=K, **parameters):
    """Fit our estimator; return its medoids."""

    def run(seed):
        model = BanditKMedoids(
            k,
            algorithm=algorithm,
            random_state=seed,
            n_jobs=options.threads,
            **parameters,
        )
        return model.fit(X).medoid_indices_

    return run


def matrix_method(X, name, k=K, metric="euclidean", n_cpu=-1):
    """A method of the kmedoids package on scikit-learn's distances."""

    def run(seed):
        import kmedoids

        D = pairwise_distances(X, metric=metric, n_jobs=2 if metric == "l1" else None)
        if name == "fasterpam":
            found = kmedoids.fasterpam(D, k, random_state=seed, n_cpu=n_cpu)
            return found.medoids.astype(int)
        return kmedoids.fastpam1(D, k, init="build").medoids.astype(int)

    return Contender(run, needs="kmedoids")


def loss(X, metric="euclidean"):
    """Mean distance to the nearest medoid."""

    def mean_distance(medoids):
        return pairwise_distances(X, X[medoids], metric=metric).min(axis=1).mean()

    return {"loss": mean_distance}


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

    def one_batch(seed):
        from onebatch import OneBatchPAM

        model = OneBatchPAM(n_medoids=K, random_state=seed, n_jobs=options.threads)
        return np.asarray(model.fit(X).medoid_indices_)

    def kmeans(seed):
        centers = KMeans(K, n_init=1, random_state=seed).fit(X).cluster_centers_
        return pairwise_distances(centers, X).argmin(axis=1)

    for algorithm, goals in [
        ("eager", {"OneBatchPAM": 1.0, "scikit-learn KMeans": 1 / 1.2}),
        ("bandit", {"scikit-learn KMeans": 1 / 5}),
    ]:
        contenders = {
            algorithm: ours(X, algorithm, options),
            "OneBatchPAM": Contender(one_batch, needs="onebatch"),
            "scikit-learn KMeans": kmeans,
        }
        yield Comparison(
            title=f"MNIST, n = 70,000, l2, k = {K}; KMeans(n_init=1), its loss that of "
            "the samples nearest to the means",
            contenders=contenders,
            quality=loss(X),
            goals=goals,
            rounds=3,
            warm_up=False,
        )


def repeated_rows(n, d, n_different, seed):
    """Blobs of so many different rows, each of them several times."""
    rng = np.random.default_rng(seed)
    rows, _ = make_blobs(n_different, d, centers=30, cluster_std=5.0, random_state=seed)
    which = np.concatenate(
        [np.arange(n_different), rng.integers(0, n_different, n - n_different)]
    )
    return rows.astype(np.float32)[rng.permutation(which)]


@benchmark("kmedoids.cheap")
def cheap(options):
    """Few features, and copies: the default against OneBatchPAM."""
    blobs, _ = make_blobs(100_000, 50, centers=20, cluster_std=5.0, random_state=7)
    sets = [
        ("100,000 x 50, 20 blobs", blobs.astype(np.float32), 20),
        ("500,000 x 40, 30% different", repeated_rows(500_000, 40, 150_000, 7), K),
    ]
    for name, X, k in sets:

        def one_batch(seed, X=X, k=k):
            from onebatch import OneBatchPAM

            model = OneBatchPAM(n_medoids=k, random_state=seed, n_jobs=options.threads)
            return np.asarray(model.fit(X).medoid_indices_)

        yield Comparison(
            title=f"{name}, l2, k = {k}",
            contenders={
                "auto": ours(X, "auto", options, k=k),
                "OneBatchPAM": Contender(one_batch, needs="onebatch"),
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


def expression_trees(n, seed):
    """Different trees, as the thesis's are: copies of a medoid would be ties."""
    rng = np.random.default_rng(seed)
    forest = {}
    while len(forest) < n:
        forest[expression_tree(rng, depth=3)] = None
    return list(forest)


def expression_tree(rng, depth):
    """A random arithmetic expression: (operator, children)."""
    if depth == 0 or rng.random() < 0.2:
        return (str(rng.choice(["x", "y", "0", "1"])), ())
    operator = str(rng.choice(["+", "*", "-", "if", "call"]))
    n_children = {"if": 3, "call": 1}.get(operator, 2)
    return operator, tuple(expression_tree(rng, depth - 1) for _ in range(n_children))


@lru_cache(maxsize=2**20)
def tree_size(tree):
    """Number of nodes."""
    return 1 + sum(map(tree_size, tree[1]))


@lru_cache(maxsize=2**18)
def tree_distance(a, b):
    """Top-down edit distance: relabel a node, insert or delete whole subtrees."""
    (label_a, children_a), (label_b, children_b) = a, b
    row = [0]
    for child in children_b:
        row.append(row[-1] + tree_size(child))
    for left in children_a:
        cost = tree_size(left)
        new = [row[0] + cost]
        for j, right in enumerate(children_b):
            new.append(
                min(
                    row[j] + tree_distance(left, right),
                    row[j + 1] + cost,
                    new[j] + tree_size(right),
                )
            )
        row = new
    return row[-1] + (label_a != label_b)


@benchmark("kmedoids.small")
def small(options):
    """Small data: the default against kmedoids.fasterpam, bare and as an estimator."""

    def estimator(X, k):
        def run(seed):
            from kmedoids import KMedoids

            model = KMedoids(k, metric="euclidean", random_state=seed)
            return model.fit(X).medoid_indices_.astype(int)

        return Contender(run, needs="kmedoids")

    sets = [("iris", load_iris().data, 101), ("digits", load_digits().data, 9)]
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
