"""Data, comparisons and faults that several test modules use."""

import os
import signal
import threading
import time
from contextlib import contextmanager

import dask.array as da
import numpy as np


def make_data(n=9000):
    """Samples with few, many and missing values; classes and real targets."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6))
    X[:, 4] = rng.integers(5, size=n)
    X[::7, 5] = np.nan
    score = X[:, 0] + X[:, 1] * X[:, 4] + rng.normal(size=n)
    return X, np.array(["no", "yes"])[(score > 0).astype(int)], score


def make_block(block_info=None):
    """Rows that can be computed again."""
    start, stop = block_info[None]["array-location"][0]
    return np.random.default_rng(start).normal(size=(stop - start, 8))


def make_collections():
    """Samples and classes that workers make."""
    X = da.map_blocks(make_block, chunks=((5000,) * 4, (8,)), dtype=float)
    return X, (X[:, 0] + X[:, 1] > X[:, 2] * X[:, 3]).astype(int)


def as_dask(array, sizes):
    """A dask array with blocks of these numbers of rows."""
    return da.from_array(array, chunks=(sizes, *array.shape[1:]))


def assert_same_tree(one, other):
    nodes, expected = one.tree_.__getstate__(), other.tree_.__getstate__()
    for name in expected["nodes"].dtype.names:
        np.testing.assert_array_equal(nodes["nodes"][name], expected["nodes"][name])
    np.testing.assert_array_equal(nodes["values"], expected["values"])


def assert_same_forest(one, other):
    assert len(one.estimators_) == len(other.estimators_)
    for pair in zip(one.estimators_, other.estimators_, strict=True):
        assert_same_tree(*pair)


def wait_until_empty(client, seconds=10):
    """The tasks that a scheduler still knows; it is told of releases with a delay."""
    end = time.monotonic() + seconds
    while True:
        left = client.run_on_scheduler(lambda dask_scheduler: [*dask_scheduler.tasks])
        if not left or time.monotonic() > end:
            return left
        time.sleep(0.05)


def bytes_received(client):
    """Bytes that workers have received from each other."""

    def on_worker(dask_worker):
        return sum(entry["total"] for entry in dask_worker.transfer_incoming_log)

    return sum(client.run(on_worker).values())


def when_there_is(client, name, action, seconds=60):
    """Act as soon as a task of this name has a result, with the worker that has it."""

    def holder(dask_scheduler):
        for key, task in dask_scheduler.tasks.items():
            if name in key and task.state == "memory":
                return min(worker.address for worker in task.who_has)
        return None

    def watch():
        end = time.monotonic() + seconds
        while not (found := client.run_on_scheduler(holder)) and time.monotonic() < end:
            time.sleep(0.01)
        action(found)

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


@contextmanager
def killed_worker(client, name, then=lambda: None):
    """Kill the worker that has the first result of a task of this name.

    That must be before the end of the block. Something may be done then.
    """
    pids = client.run(os.getpid)
    killed, has_ended = [], threading.Event()

    def kill(worker):
        if worker is not None and not has_ended.is_set():
            os.kill(pids[worker], signal.SIGKILL)
            killed.append(pids[worker])
        then()

    thread = when_there_is(client, name, kill)
    try:
        yield
    finally:
        has_ended.set()
        thread.join()
    assert len(killed) == 1
    assert killed[0] not in client.run(os.getpid).values()
