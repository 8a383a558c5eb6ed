"""Samples that are on disk: the model of the same samples in memory, in less of it."""

import os
import sys
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from dask_data import as_dask, assert_same_forest, make_data
from fault_processes import run_apart
from fault_programs import fit_packed

from sklearn_bandit import dask as bandit_dask
from sklearn_bandit import ensemble
from sklearn_bandit.dask import _trees

pd = pytest.importorskip("pandas")

N_FILES = 5


@pytest.fixture(scope="module")
def data():
    """Return samples, as they are read from a file, and classes."""
    X, y, _ = make_data()
    return X.astype(np.float32), y


@pytest.fixture(scope="module")
def frame(tmp_path_factory, data):
    """Return a data frame of parquet files, of which one has few rows."""
    pytest.importorskip("pyarrow")
    dd = pytest.importorskip("dask.dataframe")
    folder = tmp_path_factory.mktemp("parquet")
    X, y = data
    cuts = [0, 10, *np.linspace(0, len(X), N_FILES, dtype=int)[1:]]
    for i, (start, stop) in enumerate(pairwise(cuts)):
        part = pd.DataFrame(X[start:stop], columns=list("abcdef"))
        part.assign(late=y[start:stop]).to_parquet(folder / f"{i}.parquet")
    return dd.read_parquet(folder)


def test_boosting_from_parquet(client, frame, data):
    parameters = {"early_stopping": False, "max_iter": 10, "random_state": 0}
    local = ensemble.HistGradientBoostingClassifier(**parameters).fit(*data)
    model = bandit_dask.HistGradientBoostingClassifier(**parameters)
    model.fit(frame.drop(columns="late"), frame["late"])
    X, _ = data
    found = model.to_local().predict_proba(pd.DataFrame(X, columns=list("abcdef")))
    np.testing.assert_array_equal(found, local.predict_proba(X))


def test_forest_from_parquet(client, frame, data):
    parameters = {"n_estimators": 3, "random_state": 0}
    local = ensemble.RandomForestClassifier(**parameters).fit(*data)
    model = bandit_dask.RandomForestClassifier(**parameters)
    model.fit(frame.drop(columns="late"), frame["late"])
    assert_same_forest(model, local)
    assert list(model.feature_names_in_) == list("abcdef")


@pytest.mark.skipif(
    not sys.platform.startswith("linux")
    or "san.so" in os.environ.get("LD_PRELOAD", ""),
    reason="limits and /proc of Linux, without the shadow memory of a sanitizer",
)
def test_forest_of_a_file_takes_bins_alone(tmp_path):
    """Two bytes a value, and some for each row; a copy of the values were four more.

    Half of that is too little (``tests/tree/test_packed_dataset.py``).
    """
    outcomes = run_apart(fit_packed, tmp_path / "data", "forest", 3.0)
    assert outcomes == (0, ["done", "done"])


def test_tops_are_split_until_leaves_fit_a_worker(client, data, monkeypatch):
    """A leaf with more rows than fit stays one: only where the sample is pure."""
    X, y = data
    like = SimpleNamespace(n_features=X.shape[1], dtype=X.dtype)
    memory = len(X) // 10 * _trees.row_bytes(like)[1]
    workers = [_trees.Worker("", 1, memory)]
    monkeypatch.setattr(_trees, "list_workers", lambda tasks: workers)
    tree = bandit_dask.DecisionTreeClassifier(random_state=0)
    nodes = tree.fit(as_dask(X, 3000), as_dask(y, 3000)).tree_
    leaves = nodes.children_left < 0
    assert leaves.sum() > 100
    impure = leaves & (nodes.impurity > 1e-9)
    assert (nodes.n_node_samples[impure] > len(X) // 10).all()
    assert nodes.impurity[impure].max(initial=0.0) < 0.2
