"""k-medoids and inner products of dask collections, beside one machine.

Two worker processes with one thread each, on the machine of the client.
"""

import time

import numpy as np

from sklearn_bandit import cluster, neighbors

from ..harness import Table, benchmark
from .distributed import MB, moved_bytes, peak_megabytes, two_workers

N_CLUSTERS = 10

# Local optima differ by some tenths of a per cent from seed to seed, of both.
N_SEEDS = 10
DELTA = 0.01


def make_points(block, n_rows, n_features):
    """Rows of a mixture whose parts overlap."""
    centres = np.random.default_rng(0).standard_normal((30, n_features))
    rng = np.random.default_rng([7, block])
    noise = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    return (centres[rng.integers(30, size=n_rows)] + noise).astype(np.float32)


def make_atoms(block, n_rows, n_features):
    """Atoms of rank 20, with noise."""
    factors = np.random.default_rng(0).standard_normal((20, n_features))
    rng = np.random.default_rng([11, block])
    noise = 0.5 * rng.standard_normal((n_rows, n_features), dtype=np.float32)
    return (rng.standard_normal((n_rows, 20)) @ factors + noise).astype(np.float32)


def make_blocks(make, n_blocks, n_rows, n_features):
    """A dask array whose blocks workers make."""
    import dask.array as da
    from dask.delayed import delayed

    block = delayed(make, pure=True)
    shape = n_rows, n_features
    blocks = [block(i, *shape) for i in range(n_blocks)]
    return da.concatenate([da.from_delayed(b, shape, np.float32) for b in blocks])


@benchmark("distributed.kmedoids")
def kmedoids(options):
    """Ten medoids of 1,000,000 x 50 in 20 partitions, beside the local class."""
    from sklearn_bandit.dask import BanditKMedoids

    rows = []
    with two_workers("2GB") as client:
        X = client.persist(make_blocks(make_points, 20, 50_000, 50))
        for seed in range(options.rounds or N_SEEDS):
            before = moved_bytes(client)
            start = time.perf_counter()
            model = BanditKMedoids(N_CLUSTERS, random_state=seed).fit(X)
            seconds = time.perf_counter() - start
            moved = (moved_bytes(client) - before) / MB
            loss = model.inertia_ / X.shape[0]
            worker, here = peak_megabytes(client)
            rows.append(
                ["sklearn_bandit.dask", seed, seconds, loss, worker, here, moved]
            )
    whole = np.concatenate([make_points(i, 50_000, 50) for i in range(20)])
    for seed in range(options.rounds or N_SEEDS):
        start = time.perf_counter()
        model = cluster.BanditKMedoids(N_CLUSTERS, random_state=seed).fit(whole)
        seconds = time.perf_counter() - start
        loss = model.inertia_ / len(whole)
        rows.append(["local, two threads", seed, seconds, loss, "", "", ""])
    yield Table(
        "ten medoids of 1,000,000 x 50 float32, 20 partitions",
        [
            "",
            "seed",
            "seconds",
            "mean distance",
            "peak MB of a worker",
            "of the client",
            "MB between workers",
        ],
        rows,
        note="Samples are 191 MB. Goals: a mean distance within .1% of local, peaks "
        "below 2048 MB.",
    )


@benchmark("distributed.mips")
def mips(options):
    """500 queries in 4 partitions of 2,500 atoms of rank 20, beside one index."""
    from sklearn_bandit.dask import BanditMIPS

    n_atoms, n_features, k = 2500, 10_000, 5
    queries = make_atoms(1000, 500, n_features)
    atoms = np.concatenate([make_atoms(i, n_atoms, n_features) for i in range(4)])
    products = np.concatenate(
        [
            queries.astype(np.float64) @ part.astype(np.float64).T
            for part in np.split(atoms, 10)
        ],
        axis=1,
    )
    best = np.argsort(-products, axis=1, kind="stable")[:, :k]
    rows = []

    def add(name, search):
        times = []
        for _ in range(1 + (options.rounds or 3)):
            start = time.perf_counter()
            found = search.kneighbors(queries)[1]
            times.append(time.perf_counter() - start)
        wrong = np.mean((found != best).any(axis=1))
        cost = float(np.mean(search.n_multiplications_)) / atoms.size
        rows.append([name, float(np.median(times[1:])), wrong, cost])
        return found

    one = neighbors.BanditMIPS(k, delta=DELTA, random_state=0, n_jobs=2).fit(atoms)
    first = add("one index, two threads", one)
    with two_workers() as client:
        X = client.persist(make_blocks(make_atoms, 4, n_atoms, n_features))
        found = add("4 partitions", BanditMIPS(k, delta=DELTA, random_state=0).fit(X))
    same = np.mean((first == found).all(axis=1))
    yield Table(
        f"the {k} largest of 10,000 products of 10,000 coordinates, 500 queries",
        ["", "seconds", "wrong queries", "multiplications, share of all"],
        rows,
        note=f"Same answers: {same:.4f} of the queries. Goal: wrong queries at most "
        f"{DELTA}.",
    )
