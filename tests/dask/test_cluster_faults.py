"""Workers that are killed, clients that are interrupted: the model, or nothing left."""

import os
import signal

import numpy as np
import pytest
from dask_data import (
    assert_same_forest,
    make_collections,
    wait_until_empty,
    when_there_is,
)
from distributed import Client, wait

from sklearn_bandit import ensemble
from sklearn_bandit.dask import BanditKMedoids, RandomForestClassifier

PARAMETERS = {"n_estimators": 24, "random_state": 0}


@pytest.fixture(scope="module")
def local():
    X, y = (part.compute(scheduler="sync") for part in make_collections())
    return ensemble.RandomForestClassifier(**PARAMETERS).fit(X, y)


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_killed_worker(local, own_cluster):
    """What it held is computed again, elsewhere; the forest is the same."""
    X, y = make_collections()
    killed = min(own_cluster.run(os.getpid).values())
    thread = when_there_is(
        own_cluster, "grow_some", lambda: os.kill(killed, signal.SIGKILL)
    )
    forest = RandomForestClassifier(**PARAMETERS).fit(X, y)
    thread.join()
    assert_same_forest(forest, local)
    assert killed not in own_cluster.run(os.getpid).values()


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_killed_worker_of_a_round(own_cluster):
    """Samples in memory that were read where they are are read elsewhere."""
    X, _ = make_collections()
    expected = BanditKMedoids(3, max_rows=2000, random_state=0).fit(X)
    persisted = own_cluster.persist(X)
    wait(persisted)
    killed = min(own_cluster.run(os.getpid).values())
    thread = when_there_is(
        own_cluster, "screen", lambda: os.kill(killed, signal.SIGKILL)
    )
    model = BanditKMedoids(3, max_rows=2000, random_state=0).fit(persisted)
    thread.join()
    np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
    assert killed not in own_cluster.run(os.getpid).values()


def test_interrupted_rounds(process_client, interrupt):
    """Nothing but the samples is left on the cluster."""
    X = process_client.persist(make_collections()[0])
    wait(X)
    model = BanditKMedoids(3, max_rows=2000, random_state=0)
    with Client(process_client.scheduler.address) as other:
        thread = when_there_is(other, "screen", lambda: interrupt.send_after(0))
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
        thread = when_there_is(other, "grow_some", lambda: interrupt.send_after(0))
        with pytest.raises(KeyboardInterrupt):
            forest.fit(X, y)
        thread.join()
        assert not wait_until_empty(other, seconds=30)
    assert not hasattr(forest, "estimators_")
    # Another fit has the whole cluster.
    forest.set_params(n_estimators=2).fit(X, y)
    assert len(forest.estimators_) == 2
