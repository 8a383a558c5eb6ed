"""Boosting and searches while workers are killed and the client is interrupted."""

import os
import signal

import numpy as np
import pytest
from dask_data import (
    killed_worker,
    make_collections,
    wait_until_empty,
    when_there_is,
)
from distributed import Client

from sklearn_bandit import ensemble
from sklearn_bandit.dask import BanditNearestNeighbors, HistGradientBoostingClassifier
from sklearn_bandit.dask._boosting_rows import ON_CLUSTER
from sklearn_bandit.ensemble._boosting._sampling.array_rows import ArrayRows

PARAMETERS = {"batch_size": 1000, "solver": "mab", "random_state": 0}


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("early_stopping", [False, True])
def test_killed_worker(own_cluster, early_stopping, monkeypatch):
    """What it held is computed again, elsewhere; the model is the same."""
    X, y = make_collections()
    model = HistGradientBoostingClassifier(
        **PARAMETERS, early_stopping=early_stopping, max_iter=60, client=own_cluster
    )
    expected = model.fit(X, y).to_local()
    with killed_worker(own_cluster, "merge"):
        model.fit(X, y)
    rows = X[:5000].compute()
    np.testing.assert_array_equal(
        model.predict_proba(rows), expected.predict_proba(rows)
    )
    if not early_stopping:
        monkeypatch.setattr(ArrayRows, "joining", ON_CLUSTER)
        local = ensemble.HistGradientBoostingClassifier(
            **PARAMETERS, early_stopping=False, max_iter=60
        ).fit(X.compute(), y.compute())
        np.testing.assert_array_equal(
            local.predict_proba(rows), expected.predict_proba(rows)
        )


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_an_index_is_made_anew(own_cluster):
    X, _ = make_collections()
    search = BanditNearestNeighbors(3, client=own_cluster).fit(X)
    queries = X[:10].compute()
    expected = search.kneighbors(queries)
    os.kill(min(own_cluster.run(os.getpid).values()), signal.SIGKILL)
    for found, before in zip(search.kneighbors(queries), expected, strict=True):
        np.testing.assert_array_equal(found, before)


def test_interrupted_client(process_client, interrupt):
    """Nothing is left on the cluster, and the estimator is as it was."""
    X, y = make_collections()
    model = HistGradientBoostingClassifier(
        **PARAMETERS, early_stopping=True, max_iter=100_000, n_iter_no_change=1000
    )
    with Client(process_client.scheduler.address) as other:
        thread = when_there_is(other, "merge", lambda _: interrupt.send_after(0))
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
        thread.join()
        assert not wait_until_empty(other, seconds=30)
    assert not hasattr(model, "classes_")
    model.set_params(max_iter=3).fit(X, y)
    assert model.n_iter_ == 3
