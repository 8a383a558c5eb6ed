"""Boosting on dask collections beside its peers, on two worker processes.

Workers have one thread each and are on the machine of the client. What is timed is the
fit that reaches the loss which LightGBM has after 100 trees. How many iterations it
takes is found beforehand, outside the clock, on validation rows; the loss that is shown
is that of test rows.
"""

import time
from importlib import import_module

import numpy as np
from sklearn.metrics import log_loss

from ..data import load
from ..harness import Table, benchmark
from .distributed import peak_megabytes, two_workers

ITERATIONS = 100
N_HELD_OUT = 200_000
N_SUBSAMPLE = 262_144
COLUMNS = ["", "trees", "seconds", "log-loss", "rows moved, %"]


def make_block(block, n_rows, n_features, dtype):
    """Rows and classes: ten features matter, by sums, products and thresholds."""
    rng = np.random.default_rng([28, block])
    if dtype == np.uint8:
        X = rng.integers(256, size=(n_rows, n_features), dtype=np.uint8)
        Z = X[:, :10] / np.float32(64) - 2
    else:
        X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
        Z = X[:, :10]
    score = Z[:, 0] + Z[:, 1] * Z[:, 2] + np.abs(Z[:, 3]) + (Z[:, 4] > 0.5) * Z[:, 5]
    score += np.sin(2 * Z[:, 6]) + 0.5 * Z[:, 7] * (Z[:, 8] > 0) - 1
    return X, (score + rng.logistic(size=n_rows) > 0).astype(np.uint8)


def make_rows(n_blocks, n_rows, n_features, dtype=np.float32):
    """X and y of blocks that workers make; never all of them in one place."""
    import dask.array as da
    from dask.delayed import delayed

    make = delayed(make_block, pure=True, nout=2)
    blocks = [make(i, n_rows, n_features, np.dtype(dtype)) for i in range(n_blocks)]
    shape = n_rows, n_features
    X = [da.from_delayed(X, shape, dtype) for X, _ in blocks]
    y = [da.from_delayed(y, shape[:1], np.uint8) for _, y in blocks]
    return da.concatenate(X), da.concatenate(y)


def first_below(model, X, y, loss):
    """Iterations after which the loss is reached; None if it is not."""
    for i, proba in enumerate(model.to_local().staged_predict_proba(X)):
        if log_loss(y, proba) <= loss:
            return i + 1
    return None


def fit_lightgbm(client, X, y):
    """Fit LightGBM; return what gives probabilities of the positive class."""
    from lightgbm import DaskLGBMClassifier

    model = DaskLGBMClassifier(
        n_estimators=ITERATIONS, num_leaves=31, learning_rate=0.1, client=client
    ).fit(X, y)
    return lambda rows: model.to_local().predict_proba(rows)[:, 1]


def fit_xgboost(client, X, y):
    """Fit XGBoost, with trees as large; return what gives probabilities."""
    from xgboost.dask import DaskXGBClassifier

    model = DaskXGBClassifier(
        n_estimators=ITERATIONS,
        max_leaves=31,
        max_depth=0,
        grow_policy="lossguide",
        learning_rate=0.1,
    )
    model.client = client  # no parameter of it
    model.fit(X, y)
    return model.get_booster().inplace_predict


def race(client, X, y, held_out, rounds):
    """Rows of the table: the others once, ours and a subsample as often as asked for.

    The loss to be reached is LightGBM's.
    """
    from sklearn_bandit.dask import HistGradientBoostingClassifier

    (X_val, y_val), (X_test, y_test) = held_out
    peers = {"xgboost.dask": fit_xgboost, "lightgbm.dask": fit_lightgbm}
    table = []
    for name, fit in peers.items():
        client.run(import_module, name)  # not on the clock
        start = time.perf_counter()
        predict = fit(client, X, y)
        seconds = time.perf_counter() - start
        loss = log_loss(y_test, predict(X_test))
        table.append([name, ITERATIONS, seconds, loss, ""])
    goal = log_loss(y_val, predict(X_val))  # of the last one, LightGBM
    ways = {
        "sklearn_bandit.dask": {"solver": "mab"},
        "exact, plain subsample": {"solver": "exact", "max_rows": N_SUBSAMPLE},
    }
    for name, options in ways.items():
        shared = {**options, "early_stopping": False, "random_state": 0}
        model = HistGradientBoostingClassifier(**shared, max_iter=2 * ITERATIONS)
        n = first_below(model.fit(X, y), X_val, y_val, goal)
        times = []
        for _ in range(rounds):
            model = HistGradientBoostingClassifier(
                **shared, max_iter=n or 2 * ITERATIONS
            )
            start = time.perf_counter()
            model.fit(X, y)
            times.append(time.perf_counter() - start)
        loss = log_loss(y_test, model.predict_proba(X_test))
        moved = 100 * model.n_rows_moved_ / X.shape[0]
        label = name if n else f"{name}: not reached"
        table.append([label, model.n_iter_, float(np.median(times)), loss, moved])
    return table


@benchmark("distributed.boosting")
def boosting(options):
    """Time to the loss of 100 trees of LightGBM, 10,000,000 x 28 in 40 partitions."""
    held_out = [make_block(i, N_HELD_OUT, 28, np.float32) for i in (1000, 1001)]
    with two_workers("6GB") as client:
        X, y = client.persist(make_rows(40, 250_000, 28))
        table = race(client, X, y, held_out, options.rounds or 3)
    yield Table("10,000,000 x 28 in 40 partitions; the others once", COLUMNS, table)


@benchmark("distributed.boosting_flights", data=["flights2001_3m"])
def flights(options):
    """Time to the loss of 100 trees of LightGBM, flights in 12 partitions."""
    import dask.array as da

    data = load("flights2001_3m")
    order = np.random.RandomState(0).permutation(len(data["delay"]))
    X = np.ascontiguousarray(data["X"])[order]
    y = (data["delay"] > 15).astype(np.uint8)[order]
    cuts = slice(N_HELD_OUT), slice(N_HELD_OUT, 2 * N_HELD_OUT)
    held_out = [(X[cut], y[cut]) for cut in cuts]
    X, y = X[2 * N_HELD_OUT :], y[2 * N_HELD_OUT :]
    size = -(-len(X) // 12)
    with two_workers("6GB") as client:
        X_, y_ = client.persist(
            (da.from_array(X, chunks=(size, 8)), da.from_array(y, chunks=size))
        )
        table = race(client, X_, y_, held_out, options.rounds or 3)
    yield Table("flights, 2,600,000 x 8 in 12 partitions", COLUMNS, table)


@benchmark("distributed.boosting_large")
def large(options):
    """100,000,000 x 10 bytes made block by block, never kept; 4 GB for each process."""
    from sklearn_bandit.dask import HistGradientBoostingClassifier

    X_test, y_test = make_block(5000, N_HELD_OUT, 10, np.uint8)
    with two_workers("4GB") as client:
        X, y = make_rows(200, 500_000, 10, np.uint8)
        start = time.perf_counter()
        model = HistGradientBoostingClassifier(random_state=0).fit(X, y)
        seconds = time.perf_counter() - start
        worker, here = (peak / 1024 for peak in peak_megabytes(client))
    loss = log_loss(y_test, model.predict_proba(X_test))
    columns = ["trees", "seconds", "log-loss", "worker, GB", "client, GB", "moved, %"]
    moved = 100 * model.n_rows_moved_ / X.shape[0]
    yield Table(
        "100,000,000 x 10, default early stopping",
        columns,
        [[model.n_iter_, seconds, loss, worker, here, moved]],
    )
