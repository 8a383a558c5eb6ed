"""Trees and forests of dask collections are the local ones."""

import os
import pickle
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import wraps
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
from dask_data import (
    as_dask,
    assert_same_forest,
    assert_same_tree,
    bytes_received,
    make_data,
)
from distributed import (
    Client,
    Scheduler,
    SpecCluster,
    Worker,
    get_task_stream,
    get_worker,
    wait,
)
from sklearn.base import clone

from sklearn_bandit import dask as bandit_dask
from sklearn_bandit import ensemble, tree
from sklearn_bandit.dask import _held_forest, _trees

X, Y, SCORE = make_data()
WEIGHTS = np.random.default_rng(1).integers(3, size=len(X)).astype(float)
PARAMETERS = {"n_estimators": 5, "max_depth": 8, "random_state": 0}

# Two addresses of this machine.
HOSTS = ["127.0.0.1", "127.0.0.2"]

FORESTS = [
    ("RandomForestClassifier", {}),
    ("RandomForestRegressor", {"oob_score": True}),
    ("RandomForestClassifier", {"class_weight": "balanced_subsample"}),
    ("RandomForestClassifier", {"max_insertions": 10**6}),
    ("RandomForestClassifier", {"n_estimators": "auto", "max_estimators": 40}),
    ("RandomForestClassifier", {"categorical_features": [0]}),
    ("RandomForestRegressor", {"random_state": np.random.RandomState(3)}),
    ("ExtraTreesClassifier", {"max_depth": None}),
    ("ExtraTreesRegressor", {}),
    ("RandomPatchesClassifier", {"patch_features": 0.6, "oob_score": True}),
    ("RandomPatchesRegressor", {"patch_samples": 0.5}),
]


def target(name):
    return Y if name.endswith("Classifier") else SCORE


@pytest.mark.parametrize(("name", "parameters"), FORESTS)
def test_forest_is_the_local_one(client, name, parameters):
    parameters = PARAMETERS | parameters
    y = target(name)
    local = getattr(ensemble, name)(**clone_parameters(parameters)).fit(X, y)
    forest = getattr(bandit_dask, name)(**clone_parameters(parameters))
    forest.fit(as_dask(X, (2000, 0, 5000, 2000)), as_dask(y, (4500, 4500)))
    assert_same_forest(forest, local)
    fitted = {key for key in vars(local) if key.endswith("_")}
    assert fitted <= set(vars(forest))
    np.testing.assert_array_equal(forest.predict(X), local.predict(X))
    if local.oob_score:
        assert forest.oob_score_ == local.oob_score_


def clone_parameters(parameters):
    return {name: clone(value, safe=False) for name, value in parameters.items()}


def folders(client):
    """Folders that forests have been written to."""

    def listed(dask_worker):
        return os.listdir(dask_worker.local_directory)

    return [name for names in client.run(listed).values() for name in names]


@pytest.mark.parametrize(
    ("name", "parameters"), [FORESTS[0], FORESTS[1], FORESTS[5], FORESTS[9]]
)
def test_workers_of_a_machine_share_a_file(process_client, name, parameters):
    """Each block is written once, and the file is gone after the fit."""
    parameters = PARAMETERS | parameters
    blocks = as_dask(X, (3000, 3000, 3000)), as_dask(target(name), (3000, 3000, 3000))
    known = folders(process_client)
    with get_task_stream(process_client) as stream:
        forest = getattr(bandit_dask, name)(**parameters).fit(*blocks)
    keys = [str(task["key"]) for task in stream.data]
    assert sum(key.startswith("create") for key in keys) == 1
    assert sum(key.startswith("write") for key in keys) == 3
    assert sum("grow_some" in key for key in keys) > 1
    local = getattr(ensemble, name)(**parameters).fit(X, target(name))
    assert_same_forest(forest, local)
    assert folders(process_client) == known


@pytest.fixture
def on_machines(monkeypatch):
    """Return how clients of workers are made that have no files in common.

    It is called with how many threads the worker has at each of two addresses.
    """

    shared = _held_forest.SharedValues
    write, map_ = shared.write, shared.map

    def is_here(values):
        return Path(values.path).is_relative_to(get_worker().local_directory)

    @wraps(write)
    def write_here(values, *args):
        if not is_here(values):
            raise _held_forest.NotSharedError
        return write(values, *args)

    def map_here(values):
        return map_(values) if is_here(values) else None

    monkeypatch.setattr(shared, "write", write_here)
    monkeypatch.setattr(shared, "map", map_here)

    @contextmanager
    def start(*n_threads):
        options = {"dashboard": False, "memory_limit": 0}
        workers = {
            i: {"cls": Worker, "options": {**options, "host": host, "nthreads": n}}
            for i, (host, n) in enumerate(zip(HOSTS, n_threads, strict=True))
        }
        scheduler = {"cls": Scheduler, "options": {"port": 0, "dashboard": False}}
        with SpecCluster(workers, scheduler) as cluster, Client(cluster) as client:
            client.wait_for_workers(2, timeout=60)
            yield client

    return start


def fit_wide(client, name, size):
    """Fit a forest to blocks in memory: keys of tasks, and how often values moved."""
    n_rows = 4000
    rows = np.random.default_rng(0).normal(size=(n_rows, 200)).astype(np.float32)
    y = target(name)[:n_rows]
    blocks = client.persist([as_dask(rows, size), as_dask(y, size)])
    wait(blocks)
    before = bytes_received(client)
    with get_task_stream(client) as stream:
        forest = getattr(bandit_dask, name)(**PARAMETERS).fit(*blocks)
    moved = (bytes_received(client) - before) / rows.nbytes
    local = getattr(ensemble, name)(**PARAMETERS).fit(rows, y)
    assert_same_forest(forest, local)
    return [str(task["key"]) for task in stream.data], moved


@pytest.mark.skipif(sys.platform != "linux", reason="one address of the machine")
@pytest.mark.parametrize("name", ["RandomForestClassifier", "ExtraTreesRegressor"])
def test_values_move_once_to_each_machine(on_machines, name):
    """Both write each block: that which does not have it is sent it."""
    with on_machines(1, 1) as client:
        keys, moved = fit_wide(client, name, 1000)
    assert sum(key.startswith("create") for key in keys) == 2
    assert sum(key.startswith("write") for key in keys) == 2 * 4
    # Targets travel with the blocks, and once more from one machine to the other.
    assert 1 <= moved <= 1.1


@pytest.mark.skipif(sys.platform != "linux", reason="one address of the machine")
def test_machines_write_what_is_theirs(on_machines, monkeypatch):
    """One that is done does not write, in vain, what another is still to write."""
    write = _held_forest.SharedValues.write

    @wraps(write)
    def slowly(values, *args):
        time.sleep(0.1)
        return write(values, *args)

    monkeypatch.setattr(_held_forest.SharedValues, "write", slowly)
    with on_machines(1, 4) as client:
        keys, _ = fit_wide(client, "RandomForestClassifier", 250)
    assert sum(key.startswith("write") for key in keys) == 2 * 16
    assert not any("_hold_blocks" in key for key in keys)


def lose(values, *_):
    raise OSError(28, "No space left on device")


def write_elsewhere(values, block, start, after=None):
    return _held_forest.Written("/made/before", block.y, block.sample_weight)


@pytest.mark.parametrize(
    ("where", "name", "fault"),
    [
        (_held_forest, "open", lose),
        (_held_forest.SharedValues, "write", write_elsewhere),
        (_held_forest.SharedValues, "map", lambda values: None),
        (_trees, "SHARES_FILES", False),
    ],
)
def test_files_that_are_not_shared(client, monkeypatch, where, name, fault):
    """Then every worker has all values in its own memory."""
    monkeypatch.setattr(where, name, fault, raising=False)
    local = ensemble.RandomForestClassifier(**PARAMETERS).fit(X, Y)
    forest = bandit_dask.RandomForestClassifier(**PARAMETERS)
    with get_task_stream(client) as stream:
        forest.fit(as_dask(X, (4000, 5000)), as_dask(Y, (4500, 4500)))
    assert_same_forest(forest, local)
    assert any("_hold_blocks" in str(task["key"]) for task in stream.data)


def test_no_file_to_map():
    values = _held_forest.SharedValues("/no/such/file", np.dtype("f4"), (3, 2))
    assert values.map() is None


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "DecisionTreeRegressor"])
def test_tree_is_the_local_one(client, name):
    y = target(name)
    local = getattr(tree, name)(random_state=0).fit(X, y, WEIGHTS)
    dask_tree = getattr(bandit_dask, name)(random_state=0)
    dask_tree.fit(as_dask(X, 4000), as_dask(y, 4000), as_dask(WEIGHTS, 3000))
    assert_same_tree(dask_tree, local)


def test_any_partitioning_and_type(client):
    bytes_ = np.random.default_rng(0).integers(256, size=(3000, 4)).astype(np.uint8)
    y = (bytes_[:, 0] > bytes_[:, 1]).astype(int)
    for values in (bytes_, bytes_.astype(np.int64), X[:3000]):
        local = ensemble.RandomForestClassifier(**PARAMETERS).fit(values, y)
        for sizes in (3000, 1000, (1, 2998, 1)):
            forest = bandit_dask.RandomForestClassifier(**PARAMETERS)
            forest.fit(as_dask(values, sizes), as_dask(y, sizes))
            assert_same_forest(forest, local)


def test_warm_start(client):
    X_, y_ = as_dask(X, 3000), as_dask(Y, 3000)
    forest = bandit_dask.RandomForestClassifier(**PARAMETERS, warm_start=True)
    forest.fit(X_, y_).set_params(n_estimators=7).fit(X_, y_)
    local = ensemble.RandomForestClassifier(**PARAMETERS).set_params(n_estimators=7)
    assert_same_forest(forest, local.fit(X, Y))


def test_prediction_is_lazy(client):
    forest = bandit_dask.RandomForestClassifier(**PARAMETERS)
    X_, y_ = as_dask(X, (4000, 5000)), as_dask(Y, 3000)
    local = forest.fit(X_, y_).to_local()
    for method in ("predict", "predict_proba", "predict_log_proba", "apply"):
        expected = getattr(local, method)(X)
        found = getattr(forest, method)(X_)
        assert isinstance(found, da.Array)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        assert found.chunks[0] == (4000, 5000)
        np.testing.assert_array_equal(found.compute(), expected)
        np.testing.assert_array_equal(getattr(forest, method)(X), expected)
    assert forest.score(X_, y_) == local.score(X, Y) == forest.score(X, Y)
    with pytest.raises(ValueError, match="X has 5 features, but"):
        forest.predict(X_[:, :5])
    positive = forest.predict(X_[X_[:, 0] > 0])
    np.testing.assert_array_equal(positive.compute(), local.predict(X[X[:, 0] > 0]))


def test_several_outputs_are_predicted_as_lists(client):
    two = np.c_[SCORE > 0, SCORE > 1].astype(int)
    forest = bandit_dask.RandomForestClassifier(**PARAMETERS)
    forest.fit(as_dask(X, 3000), as_dask(two, 4500))
    found = forest.predict_proba(as_dask(X, 3000))
    expected = forest.predict_proba(X)
    assert isinstance(found, list)
    for some, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(some.compute(), other)


def test_frames(client):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X, columns=list("abcdef"))
    local = ensemble.RandomForestClassifier(**PARAMETERS).fit(frame, Y)
    frames = dd.from_pandas(frame, npartitions=3)
    forest = bandit_dask.RandomForestClassifier(**PARAMETERS)
    forest.fit(frames, dd.from_pandas(pd.Series(Y), npartitions=2))
    assert_same_forest(forest, local)
    np.testing.assert_array_equal(forest.feature_names_in_, list("abcdef"))
    found = forest.predict(frames).compute()
    np.testing.assert_array_equal(found, local.predict(frame))


def test_local_model_is_pickled_without_dask(process_client, tmp_path):
    forest = bandit_dask.RandomForestClassifier(**PARAMETERS, client=process_client)
    forest.fit(as_dask(X, 3000), as_dask(Y, 3000))
    copy = pickle.loads(pickle.dumps(forest))
    assert copy.client is None
    assert clone(forest).client is process_client
    np.testing.assert_array_equal(copy.predict(X), forest.predict(X))
    local = forest.to_local()
    assert type(local) is ensemble.RandomForestClassifier
    (tmp_path / "model").write_bytes(pickle.dumps((local, X[:50])))
    program = (
        "import pickle, sys; model, X = pickle.load(open(sys.argv[1], 'rb')); "
        "assert 'dask' not in sys.modules; print(*model.predict(X))"
    )
    path = str(tmp_path / "model")
    said = subprocess.run(
        [sys.executable, "-c", program, path],
        capture_output=True,
        check=True,
        text=True,
    )
    assert said.stdout.split() == list(forest.predict(X[:50]))


def test_errors_of_workers_are_those_of_local_fits(client):
    infinite = X.copy()
    infinite[5, 0] = np.inf
    forest = bandit_dask.RandomForestClassifier(**PARAMETERS)
    with pytest.raises(ValueError, match="infinity"):
        forest.fit(as_dask(infinite, 3000), as_dask(Y, 3000))
    assert not hasattr(forest, "estimators_")
    with pytest.raises(ValueError, match="n_estimators"):
        forest.set_params(n_estimators=0).fit(as_dask(X, 3000), as_dask(Y, 3000))
    with pytest.raises(TypeError, match="dask array or data frame, got ndarray"):
        bandit_dask.DecisionTreeRegressor().fit(X, SCORE)


def test_no_client():
    with pytest.raises(ValueError, match="There is no dask client"):
        bandit_dask.DecisionTreeRegressor().fit(as_dask(X, 9000), as_dask(SCORE, 9000))
