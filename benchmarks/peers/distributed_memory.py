"""Anonymous memory of fits to samples on disk, on one machine.

Anonymous is what no file stands behind: pages of a mapped file are dropped where others
need the memory, these are not. Each fit has a process of its own, which another one
watches: what is shown is by how much the fit's peak is above what was taken before it.
Linux only.
"""

import multiprocessing
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from sklearn_bandit import ensemble, tree

from ..harness import Table, benchmark

GB = 1e9

N_SAMPLES, N_FEATURES = 3_000_000, 250  # 3.0 GB of float32
N_BLOCKS = 48

SECONDS = 0.005  # between two looks


def make_block(block):
    """Rows and classes."""
    rng = np.random.default_rng([31, block])
    n = N_SAMPLES // N_BLOCKS
    X = rng.standard_normal((n, N_FEATURES), dtype=np.float32)
    score = X[:, :20].sum(axis=1) + 4 * X[:, 20] * X[:, 21] + 3 * np.abs(X[:, 22])
    return X, (score + rng.logistic(size=n) > 2).astype(np.int8)


def write_samples(folder):
    """Write the samples as an array, as parquet files and as a packed data set."""
    import pandas as pd

    shape = N_SAMPLES, N_FEATURES
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float32, shape)
    y = np.lib.format.open_memmap(folder / "y.npy", "w+", np.int8, shape[:1])
    (folder / "parquet").mkdir()
    names = [f"x{i}" for i in range(N_FEATURES)]
    n = N_SAMPLES // N_BLOCKS
    for block in range(N_BLOCKS):
        rows = slice(block * n, (block + 1) * n)
        X[rows], y[rows] = make_block(block)
        frame = pd.DataFrame(X[rows], columns=names).assign(y=y[rows])
        frame.to_parquet(folder / "parquet" / f"{block:02}.parquet")
    tree.PackedDataset.write(folder / "packed", X)


# -- where samples come from: ``open(folder)`` returns X and y ------------------------


def open_map(folder):
    """Map the array into memory."""
    return np.load(folder / "X.npy", mmap_mode="r"), np.load(folder / "y.npy")


def open_packed(folder):
    """Open the packed data set."""
    return tree.PackedDataset(folder / "packed"), np.load(folder / "y.npy")


def open_parquet(folder):
    """Read columns of parquet files, partition by partition."""
    import dask.dataframe as dd

    frame = dd.read_parquet(folder / "parquet")
    return frame.drop(columns="y"), frame["y"]


SOURCES = {
    "np.memmap": open_map,
    "PackedDataset": open_packed,
    "parquet, dask": open_parquet,
}

# -- what is fitted -------------------------------------------------------------------

BOOSTING = "HistGradientBoostingClassifier"

# Memory does not depend on the number of exact iterations, nor on the depth of trees
# but for their nodes.
EXACT = {"solver": "exact", "max_iter": 3, "early_stopping": False}
DEPTH, N_TREES = 8, 4

FITS = {
    "boosting, no early stopping": (BOOSTING, {"early_stopping": False}),
    "boosting, default early stopping": (BOOSTING, {}),
    'boosting, solver="exact"': (BOOSTING, EXACT),
    "tree": ("DecisionTreeClassifier", {"max_depth": DEPTH}),
    "forest": (
        "RandomForestClassifier",
        {"max_depth": DEPTH, "n_estimators": N_TREES, "n_jobs": -1},
    ),
}


def make(source, what):
    """Return an estimator for samples of this kind."""
    name, parameters = FITS[what]
    if is_dask(source):
        from sklearn_bandit import dask as module
    else:
        module = ensemble if hasattr(ensemble, name) else tree
    return getattr(module, name)(**parameters, random_state=0)


def is_dask(source):
    """Whether samples are a dask collection."""
    return SOURCES[source] is open_parquet


def anonymous_bytes(process="self"):
    """Return the anonymous memory of a process."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("RssAnon"))
    return int(line.split()[1]) * 1024


def fit_watched(source, what, folder, threads, sender):
    """In a process of its own: say what is taken before the fit, and when it ends."""
    with ExitStack() as stack:
        stack.enter_context(threadpool_limits(threads))
        if is_dask(source):
            from distributed import Client

            # Workers are threads: one process has what the client and they take.
            client = Client(
                processes=False,
                n_workers=1,
                threads_per_worker=threads,
                dashboard_address=":0",
            )
            stack.enter_context(client)
        # What is imported to read the samples is no part of the fit.
        X, y = SOURCES[source](folder)
        model = make(source, what)
        sender.send(anonymous_bytes())
        start = time.perf_counter()
        model.fit(X, y)
        sender.send(time.perf_counter() - start)


def watch(source, what, folder, threads):
    """Return by how many bytes the peak of a fit is above what was before; seconds."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(
        target=fit_watched, args=(source, what, folder, threads, sender)
    )
    process.start()
    sender.close()
    before = peak = receiver.recv()
    while not receiver.poll(SECONDS):
        peak = max(peak, anonymous_bytes(process.pid))
    seconds = receiver.recv()  # an error if the process has failed
    process.join()
    return peak - before, seconds


@benchmark("distributed.out_of_core")
def out_of_core(options):
    """Anonymous memory of fits to 3.0 GB of rows on disk, one machine."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_samples(folder)
        n_bytes = (folder / "X.npy").stat().st_size
        for source in filter(options.wants, SOURCES):
            for what in FITS:
                peak, seconds = watch(source, what, folder, options.threads)
                # Shown to who waits, not stored: most of it is the disk's.
                print(f"{source}, {what}: {peak / GB:.2f} GB, {seconds:.0f} s")
                rows.append([source, what, peak / GB, peak / n_bytes])
    yield Table(
        f"anonymous memory of fits to {N_SAMPLES:,} x {N_FEATURES} float32 on disk, "
        f"{n_bytes / GB:.1f} GB",
        ["samples", "fit", "GB", "of the samples"],
        rows,
        note=f"Threads: {options.threads}. Trees of depth {DEPTH}, forests of "
        f"{N_TREES}; boosting: {EXACT['max_iter']} iterations if exact, else 100 or as "
        f"many as early stopping takes. Parquet: {N_BLOCKS} partitions; client, "
        "scheduler and worker are one process.",
    )
