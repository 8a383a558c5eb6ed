"""Estimators of dask collections, on a cluster of two worker processes.

Workers have one thread each and are on the machine of the client: what travels between
them goes through the loopback device. Bytes are those of the workers' transfer logs,
which have what results say of their own size: arrays in full, trees hardly, and nothing
of what goes from or to the client.
"""

import pickle
import resource
import time
from contextlib import contextmanager

import joblib
import numpy as np

from sklearn_bandit import ensemble

from ..harness import Table, benchmark

MB = 1024**2

# Times of a fit are some tenths of a second here, and vary by as much as they differ.
FOREST_ROUNDS = 7


@contextmanager
def two_workers(memory_limit="4GB"):
    """Start a cluster, yield its client."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=memory_limit,
            dashboard_address=":0",
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


# What workers do where their process, which is this one, has too much memory.
ACTIONS = "target", "spill", "pause"


@contextmanager
def two_threads(memory_limit=0):
    """Start a cluster in this process, yield its client: for scores, not for times.

    Workers have one thread each. What one of them is said to have as memory decides
    how trees are grown, and nothing else.
    """
    import dask
    from distributed import Client

    actions = (f"distributed.worker.memory.{name}" for name in ACTIONS)
    with (
        dask.config.set(dict.fromkeys(actions, False)),
        Client(
            processes=False,
            n_workers=2,
            threads_per_worker=1,
            memory_limit=memory_limit,
            dashboard_address=":0",
        ) as client,
    ):
        yield client


def moved_bytes(client):
    """Bytes that workers have received from each other."""

    def received(dask_worker):
        return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)

    return sum(client.run(received).values())


def peak_megabytes(client):
    """Largest resident memory of any worker, and of the client, so far, in MB."""

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    return max(client.run(peak).values()), peak()


def same_forest(one, other):
    """Whether two forests have the same trees."""
    return all(
        pickle.dumps(a.tree_) == pickle.dumps(b.tree_)
        for a, b in zip(one.estimators_, other.estimators_, strict=True)
    )


def make_rows(n_samples, n_features, n_blocks, dtype=np.float32):
    """Rows and classes that workers make, block by block."""
    import dask.array as da

    def block(block_info=None):
        start, stop = block_info[None]["array-location"][0]
        rng = np.random.default_rng(start)
        if dtype == np.uint8:
            return rng.integers(256, size=(stop - start, n_features), dtype=np.uint8)
        return rng.standard_normal((stop - start, n_features), dtype=np.float32)

    size = n_samples // n_blocks
    chunks = ((size,) * n_blocks, (n_features,))
    X = da.map_blocks(block, chunks=chunks, dtype=dtype)

    def classify(rows):
        # Thresholds, a product, and noise that is a function of the row.
        values = rows[:, :4].astype(np.float32)
        if dtype == np.uint8:
            values = values / 64 - 2
        score = values[:, 0] + values[:, 1] * (values[:, 2] > 0) + values[:, 3] / 2
        noise = np.random.default_rng(abs(int(float(rows[0, 0]) * 1000)))
        return (score + noise.normal(size=len(rows)) > 0).astype(np.uint8)

    return X, X.map_blocks(classify, drop_axis=1, dtype=np.uint8)


@benchmark("distributed.forest")
def forest(options):
    """32 trees of depth 12 on 1,000,000 x 30: bytes moved, and time beside local."""
    from sklearn_bandit import dask as bandit_dask

    parameters = {"n_estimators": 32, "max_depth": 12, "random_state": 0}
    with two_workers() as client:
        X, y = client.persist(make_rows(1_000_000, 30, 20))
        X_, y_ = X.compute(), y.compute()

        def local():
            forest = ensemble.RandomForestClassifier(**parameters, n_jobs=2)
            return forest.fit(X_, y_)

        def through_joblib():
            with joblib.parallel_backend("dask"):
                forest = ensemble.RandomForestClassifier(**parameters)
                return forest.fit(X_, y_)

        def collections():
            return bandit_dask.RandomForestClassifier(**parameters).fit(X, y)

        ways = {
            "local, two threads": local,
            "local class, joblib's dask backend": through_joblib,
            "sklearn_bandit.dask": collections,
        }
        seconds = {name: [] for name in ways}
        moved, models = {name: [] for name in ways}, {}
        for i_round in range(1 + (options.rounds or FOREST_ROUNDS)):
            for name, fit in ways.items():
                before = moved_bytes(client)
                start = time.perf_counter()
                models[name] = fit()
                if i_round:
                    seconds[name].append(time.perf_counter() - start)
                    moved[name].append((moved_bytes(client) - before) / MB)
        first = models["local, two threads"]
        base = np.array(seconds["local, two threads"])
        rows = [
            [
                name,
                float(np.median(times)),
                float(np.median(np.array(times) / base)),
                float(np.median(moved[name])),
                "yes" if same_forest(models[name], first) else "NO",
            ]
            for name, times in seconds.items()
        ]
    yield Table(
        "random forest, 32 trees of depth 12, 1,000,000 x 30 float32, 20 partitions",
        ["", "seconds", "over local", "MB between workers", "same forest"],
        rows,
        note="Values are 114 MB, bins 29 MB. Both workers write the values that they "
        "have into one file, which both map, and make bins of them: targets are all "
        "that travels. Trees, 12 MB in all, are not in the logs. With joblib's "
        "backend both map a file of the client. Goals: at most 1.5 times the time of "
        "local; at most the bins once for each worker, 57 MB.",
    )


@benchmark("distributed.large_tree")
def large_tree(options):
    """A tree of depth 8 on 100,000,000 x 10 bytes, made block by block."""
    from sklearn_bandit import dask as bandit_dask

    rows = []
    n_samples, n_blocks = 100_000_000, 100
    # Rows of 1.0 GB, with targets and bins, need 8.6 GB where they are gathered: too
    # much for these workers, which therefore never hold all of them.
    for memory in ("2GB", "4GB"):
        with two_workers(memory) as client:
            X, y = make_rows(n_samples, 10, n_blocks, np.uint8)
            start = time.perf_counter()
            tree = bandit_dask.DecisionTreeClassifier(max_depth=8, random_state=0)
            tree.fit(X, y)
            seconds = time.perf_counter() - start
            test = X[:100_000].compute(), y[:100_000].compute()
            worker, here = peak_megabytes(client)
            rows.append(
                [
                    n_samples,
                    memory,
                    seconds,
                    moved_bytes(client) / MB,
                    worker,
                    here,
                    tree.score(*test),
                ]
            )
    yield Table(
        "tree of depth 8, ten features of one byte, never all in memory of the client",
        [
            "rows",
            "limit",
            "seconds",
            "MB between workers",
            "peak MB of a worker",
            "of the client",
            "accuracy",
        ],
        rows,
    )
