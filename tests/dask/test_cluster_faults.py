"""Workers that are killed, clients that are interrupted: the model, or nothing left."""

import os
import time

import numpy as np
import pytest
from dask_data import (
    assert_same_forest,
    killed_worker,
    make_collections,
    wait_until_empty,
    when_there_is,
)
from distributed import Client, wait

from sklearn_bandit import ensemble
from sklearn_bandit.dask import (
    BanditKMedoids,
    RandomForestClassifier,
    _large_trees,
    _trees,
    write_packed,
)
from sklearn_bandit.tree import PackedDataset

PARAMETERS = {"n_estimators": 24, "random_state": 0}


@pytest.fixture(scope="module")
def local():
    X, y = (part.compute(scheduler="sync") for part in make_collections())
    return ensemble.RandomForestClassifier(**PARAMETERS).fit(X, y)


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_killed_worker(local, own_cluster):
    """What it held is computed again, elsewhere; the forest is the same."""
    X, y = make_collections()
    with killed_worker(own_cluster, "grow_some"):
        forest = RandomForestClassifier(**PARAMETERS).fit(X, y)
    assert_same_forest(forest, local)


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_killed_worker_of_a_round(own_cluster):
    """Samples in memory that were read where they are are read elsewhere."""
    X, _ = make_collections()
    expected = BanditKMedoids(3, max_rows=2000, random_state=0).fit(X)
    persisted = own_cluster.persist(X)
    wait(persisted)
    with killed_worker(own_cluster, "screen"):
        model = BanditKMedoids(3, max_rows=2000, random_state=0).fit(persisted)
    np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_killed_worker_of_large_trees(own_cluster, monkeypatch):
    """It had rows of open leaves."""
    X, y = make_collections()
    small = _trees.Worker("", 1, 2000 * 137)  # bytes of a tenth of the rows
    monkeypatch.setattr(_trees, "list_workers", lambda tasks: [small])
    monkeypatch.setattr(_large_trees, "MIN_ROWS", 250)
    forest = RandomForestClassifier(2, max_depth=8, random_state=0)
    expected = forest.fit(X, y).to_local()
    with killed_worker(own_cluster, "take_leaves"):
        forest.fit(X, y)
    assert_same_forest(forest, expected)


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_killed_worker_that_writes(own_cluster, tmp_path):
    """Its partitions are written again."""
    X, _ = make_collections()
    go_on = tmp_path / "go_on"

    def wait_at_the_end(rows, block_info=None):
        """The last partition is made after the worker of another was killed."""
        is_last = block_info and block_info[0]["array-location"][0][1] == len(X)
        end = time.monotonic() + 60
        while is_last and not go_on.exists() and time.monotonic() < end:
            time.sleep(0.01)
        return rows

    expected = PackedDataset.write(tmp_path / "expected", X.compute())
    slow = X.map_blocks(wait_at_the_end, dtype=X.dtype)
    with killed_worker(own_cluster, "write", go_on.touch):
        data = write_packed(tmp_path / "data", slow)
    np.testing.assert_array_equal(data, expected)
    np.testing.assert_array_equal(data.columns, expected.columns)


def test_interrupted_rounds(process_client, interrupt):
    """Nothing but the samples is left on the cluster."""
    X = process_client.persist(make_collections()[0])
    wait(X)
    model = BanditKMedoids(3, max_rows=2000, random_state=0)
    with Client(process_client.scheduler.address) as other:
        thread = when_there_is(other, "screen", lambda _: interrupt.send_after(0))
        with pytest.raises(KeyboardInterrupt):
            model.fit(X)
        thread.join()
        del X
        assert not wait_until_empty(other, seconds=30)
    assert not hasattr(model, "medoid_indices_")


def test_interrupted_client(process_client, interrupt):
    """Nothing is left on the cluster, and the estimator is as it was."""
    X, y = make_collections()
    # A task that runs is not interrupted: 15 trees, of 16 tasks.
    forest = RandomForestClassifier(n_estimators=240, random_state=0)
    with Client(process_client.scheduler.address) as other:
        thread = when_there_is(other, "grow_some", lambda _: interrupt.send_after(0))
        with pytest.raises(KeyboardInterrupt):
            forest.fit(X, y)
        thread.join()
        assert not wait_until_empty(other, seconds=30)
    assert not hasattr(forest, "estimators_")
    # Another fit has the whole cluster.
    forest.set_params(n_estimators=2).fit(X, y)
    assert len(forest.estimators_) == 2
