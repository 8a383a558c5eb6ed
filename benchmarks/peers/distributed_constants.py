"""What a row costs each family of `sklearn_bandit.dask` on the worker that has it.

These are the constants of the section "to internet scale" of the user guide: seconds of
one processor, without a cluster, and what a task costs the scheduler; and what many
rows on many workers would cost by them.
"""

import time
from dataclasses import dataclass

import numpy as np

from sklearn_bandit import cluster, ensemble, neighbors, tree

from ..harness import Table, benchmark

N_ROWS, N_FEATURES = 250_000, 30
DEPTH = 8
N_ATOM_FEATURES = 2000

# The cluster on paper, and what is assumed of it: bytes a second that reach a worker,
# and that threads are as fast together as one by one.
SCALE_ROWS, SCALE_WORKERS, SCALE_THREADS = 10**10, 100, 1600
NETWORK = 1e9

# Counts by which costs follow from the constants.
N_TREES = 100  # of a forest
N_MEDOIDS = 10
N_GROUPS = 100  # of leaves that are sent to workers together


@dataclass(frozen=True)
class Cost:
    """What a family costs on paper.

    Parameters
    ----------
    what : str
        The family, and what is computed.
    seconds : float
        Of one processor, on all rows.
    bytes_sent : float
        That travel; of one receiver, if others receive theirs at the same time.
    """

    what: str
    seconds: float
    bytes_sent: float = 0.0

    def row(self):
        """Return the line of the table."""
        spread = self.seconds / SCALE_THREADS
        return [self.what, self.seconds, spread, self.bytes_sent / NETWORK]


def costs(constants):
    """Return what all families cost, by nanoseconds of what `constants` measures."""
    from sklearn_bandit.dask._hist_gradient_boosting import MAX_ROWS
    from sklearn_bandit.dask._kmedoids_rounds import references_of
    from sklearn_bandit.dask._large_trees import SAMPLE_VALUES

    unit = {name: 1e-9 * ns for name, ns in constants}
    n, n_binned = SCALE_ROWS, MAX_ROWS + SCALE_ROWS // 10
    level = n * unit["tree: send a row down a level"]
    distance = n * unit["k-medoids: a distance of 30 coordinates, in a round"]
    # Then all rows have their distances to the new medoids.
    n_distances = N_MEDOIDS + references_of(cluster.BanditKMedoids())[0] + N_MEDOIDS
    values = 4 * N_FEATURES * n
    return [
        Cost("boosting: describe all rows", n * unit["boosting: describe a row"]),
        Cost(
            "boosting: bins of the working set and of a tenth that is held out",
            n_binned * N_FEATURES * unit["boosting: put a value into a bin"],
            MAX_ROWS * (N_FEATURES + 16),
        ),
        Cost(
            f"forest: all rows down {N_TREES} tops of depth {DEPTH}; the sample",
            N_TREES * DEPTH * level,
            4 * SAMPLE_VALUES,
        ),
        Cost("full tree: all rows, each to one worker", 0.0, values / SCALE_WORKERS),
        Cost(f"{N_MEDOIDS} medoids: a round", n_distances * distance),
        Cost("neighbours: a query", n * unit["neighbours: a row, for each query"]),
        Cost(
            "inner products of 2,000 coordinates: a query",
            n * unit["inner products: an atom of 2,000 coordinates, for each query"],
        ),
    ]


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
    from sklearn_bandit.dask._kmedoids_rounds import references_of, screen

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
    medoids = cluster.BanditKMedoids(10, random_state=0, n_jobs=1).fit(X[:3000])
    centres = medoids.cluster_centers_
    swaps = cluster.SampledSwaps.in_random_order(
        medoids, X[: references_of(medoids)[1]]
    )
    add(
        "k-medoids: a distance of 30 coordinates, in a round",
        lambda: screen(block, swaps, centres, 100),
        N_ROWS * (10 + references_of(medoids)[0]),
    )
    search = neighbors.BanditNearestNeighbors(10, random_state=0, n_jobs=1).fit(X)
    add(
        "neighbours: a row, for each query",
        lambda: search.kneighbors(X[:50]),
        50 * N_ROWS,
    )
    atoms = rng.standard_normal((5000, N_ATOM_FEATURES), dtype=np.float32)
    queries = rng.standard_normal((20, N_ATOM_FEATURES), dtype=np.float32)
    products = neighbors.BanditMIPS(1, random_state=0, n_jobs=1).fit(atoms)
    add(
        "inner products: an atom of 2,000 coordinates, for each query",
        lambda: products.kneighbors(queries),
        20 * len(atoms),
    )
    rows.append(["dask: a task", 1e9 * seconds_of_a_task()])
    yield Table("nanoseconds of one processor", ["", "ns"], rows)
    tasks = SCALE_WORKERS**2 * N_GROUPS
    n_seconds = 1e-9 * tasks * rows[-1][1]
    yield Table(
        "10^10 rows of 30 float32 features on 100 workers of 16 threads, on paper",
        ["", "seconds of one processor", "of 1,600", "of the network"],
        [cost.row() for cost in costs(rows)],
        note="Assumed: 1 GB/s reach a worker, and 1,600 threads are 1,600 times as "
        f"fast as one. 10,000 partitions and {N_GROUPS} groups of leaves are {tasks:,} "
        f"tasks for a tree, {n_seconds / 60:.0f} minutes of client, scheduler and "
        "worker together.",
    )
