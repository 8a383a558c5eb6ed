"""What a row costs each family of `sklearn_bandit.dask` on the worker that has it.

These are the constants of the page "to internet scale" of the user guide: seconds of
one processor, without a cluster, and what a task costs the scheduler.
"""

import time

import numpy as np

from sklearn_bandit import cluster, ensemble, neighbors, tree

from ..harness import Table, benchmark

N_ROWS, N_FEATURES = 250_000, 30
DEPTH = 8


def seconds_of(compute, rounds):
    """Least seconds of this process that something takes."""
    times = []
    for _ in range(rounds):
        start = time.process_time()
        compute()
        times.append(time.process_time() - start)
    return min(times)


def seconds_of_a_task(n_tasks=2000):
    """Seconds for each of many tasks that do nothing: client, scheduler and worker."""
    from distributed import Client

    with Client(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0"
    ) as client:
        client.gather(client.map(abs, range(100), pure=False))
        start = time.process_time()
        client.gather(client.map(abs, range(n_tasks), pure=False))
        return (time.process_time() - start) / n_tasks


@benchmark("distributed.constants")
def constants(options):
    """Seconds of one processor for a row, and of the scheduler for a task."""
    from sklearn_bandit.dask._boosting_blocks import (
        Encoding,
        Sample,
        Share,
        Stratum,
        describe,
        pack,
    )
    from sklearn_bandit.dask._collections import Block
    from sklearn_bandit.dask._kmedoids_rounds import REFERENCES, label

    rounds = options.rounds or 3
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, N_FEATURES), dtype=np.float32)
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(np.int64)
    block = Block(X, y, None)
    rows = []

    def add(what, compute, n):
        rows.append([what, 1e9 * seconds_of(compute, rounds) / n])

    none = np.empty(0, dtype=np.int64)
    sample = Sample(none, none, [])
    add("boosting: describe a row", lambda: describe(block, sample, True), N_ROWS)
    model = ensemble.HistGradientBoostingClassifier(max_iter=1, random_state=0)
    mapper = model.fit(X[:50_000], y[:50_000])._bin_mapper
    encoding = Encoding(
        None,
        mapper.bin_thresholds_,
        mapper.is_categorical_,
        int(mapper.missing_values_bin_idx_),
        np.array([0, 1]),
        None,
    )
    strata = [Stratum(k, 0, 0, 0, 0) for k in range(2)]
    share = Share(strata, 0, N_ROWS, None, 0)
    add(
        "boosting: put a value into a bin",
        lambda: pack(block, encoding, share),
        X.size,
    )
    top = tree.DecisionTreeClassifier(max_depth=DEPTH, random_state=0).fit(X, y).tree_
    add(
        "tree: send a row down a level",
        lambda: top.apply(X),
        N_ROWS * DEPTH,
    )
    medoids = cluster.BanditKMedoids(10, random_state=0).fit(X[:3000])
    centres = medoids.cluster_centers_
    near = [(X[:64], None)] * 10
    add(
        "k-medoids: a distance of 30 coordinates, in a round",
        lambda: label(block, medoids, centres, near),
        N_ROWS * (10 + REFERENCES[0]),
    )
    search = neighbors.BanditNearestNeighbors(10, random_state=0, n_jobs=1).fit(X)
    add(
        "neighbours: a row, for each query",
        lambda: search.kneighbors(X[:50]),
        50 * N_ROWS,
    )
    atoms = rng.standard_normal((5000, 2000), dtype=np.float32)
    queries = rng.standard_normal((20, 2000), dtype=np.float32)
    products = neighbors.BanditMIPS(1, random_state=0, n_jobs=1).fit(atoms)
    add(
        "inner products: an atom of 2,000 coordinates, for each query",
        lambda: products.kneighbors(queries),
        20 * len(atoms),
    )
    rows.append(["dask: a task", 1e9 * seconds_of_a_task()])
    yield Table("one processor", ["", "ns"], rows)
