"""Forests grow through joblib's backends, are identical, and send their data once."""

import os
import pickle
import tempfile
import warnings
from pathlib import Path

import joblib
import numpy as np
import pytest
from dask_data import assert_same_forest, bytes_received, make_data
from sklearn.model_selection import GridSearchCV, cross_validate

from sklearn_bandit.ensemble import (
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomPatchesClassifier,
    _forest_trees,
)
from sklearn_bandit.tree import PackedDataset
from sklearn_bandit.tree._building import (
    TrainingSet,
    TrainingSetFile,
    TrainingSetTransfer,
)
from sklearn_bandit.tree._data import pack_samples

N = 9000
X, _, SCORE = make_data(N)
Y = (SCORE > 0).astype(int)

FORESTS = [
    RandomForestClassifier(n_estimators=6, max_depth=9, random_state=0),
    RandomForestClassifier(n_estimators=3, class_weight={0: 2.5, 1: 1}, random_state=0),
    RandomForestRegressor(n_estimators=3, max_depth=9, random_state=0),
    ExtraTreesClassifier(n_estimators=4, random_state=0),
    RandomPatchesClassifier(n_estimators=3, patch_features=0.5, random_state=0),
]


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("backend", ["dask", "loky"])
def test_same_forest(process_client, forest, backend):
    local = forest.fit(X, Y)
    with joblib.parallel_backend(backend, n_jobs=2), warnings.catch_warnings():
        warnings.simplefilter("error")
        other = forest.__class__(**forest.get_params()).fit(X, Y)
    assert_same_forest(other, local)


def make_training_set(forest, X=X, y=Y):
    return TrainingSet(pack_samples(forest, X, 1, 0), y[:, None], [2], "gini")


@pytest.mark.parametrize("cls", [RandomForestClassifier, ExtraTreesClassifier])
def test_file_is_mapped(tmp_path, cls):
    forest = cls(random_state=0).fit(X[:100], Y[:100])
    training_set = make_training_set(forest)
    file = TrainingSetFile.write(tmp_path, training_set, forest.estimators_[0])
    assert len(pickle.dumps(file)) < 1000
    received = pickle.loads(pickle.dumps(file)).training_set
    assert isinstance(received.packed.rows, np.memmap)
    np.testing.assert_array_equal(received.packed.rows, training_set.packed.rows)
    np.testing.assert_array_equal(received.codes, training_set.codes)
    # Random thresholds look at bins alone.
    assert (received.packed.raw is None) == (cls is ExtraTreesClassifier)
    assert training_set.packed.raw is not None


def note_files(monkeypatch):
    """Return the list of folders that training sets are written to from now on."""
    folders = []
    write = TrainingSetFile.write.__func__

    def noted(cls, folder, *args):
        folders.append(folder)
        return write(cls, folder, *args)

    monkeypatch.setattr(TrainingSetFile, "write", classmethod(noted))
    return folders


@pytest.mark.skipif(os.name != "posix", reason="files are not shared")
def test_workers_of_this_machine_map_a_file_once(process_client, tmp_path, monkeypatch):
    """Nothing else is sent, and the file goes with the fit."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    written = note_files(monkeypatch)
    forest = RandomForestClassifier(n_estimators=16, max_depth=3, random_state=0)
    before = bytes_received(process_client)
    with joblib.parallel_backend("dask"):
        forest.fit(X, Y)
    assert bytes_received(process_client) - before < 10_000
    assert len(written) == 1
    assert Path(written[0]).parent == tmp_path
    assert not list(tmp_path.iterdir())
    local = RandomForestClassifier(**forest.get_params()).fit(X, Y)
    assert len(written) == 1
    assert_same_forest(forest, local)


@pytest.mark.parametrize("is_dataset", [False, True])
def test_what_is_in_files_is_not_written_again(tmp_path, monkeypatch, is_dataset):
    rows = PackedDataset.write(tmp_path / "data", X) if is_dataset else X
    forest = RandomForestClassifier(n_estimators=3, random_state=0)
    local = forest.fit(rows, Y)
    written = note_files(monkeypatch)
    with joblib.parallel_backend("loky", n_jobs=2):
        other = RandomForestClassifier(**forest.get_params()).fit(rows, Y)
    assert len(written) == (os.name == "posix" and not is_dataset)
    assert_same_forest(other, local)


def test_training_set_travels_at_most_once_to_each_worker(process_client, monkeypatch):
    """The second worker has it from the first: one transfer among workers."""
    monkeypatch.setattr(_forest_trees, "shares_files", lambda backend: False)
    forest = RandomForestClassifier(n_estimators=16, max_depth=3, random_state=0)
    before = bytes_received(process_client)
    with joblib.parallel_backend("dask"):
        forest.fit(X, Y)
    moved = bytes_received(process_client) - before
    transfer = TrainingSetTransfer(make_training_set(forest), forest.estimator_)
    assert transfer.__sizeof__() > 1e5
    assert moved < 2 * transfer.__sizeof__()


def test_pickle_is_as_large_as_bins_and_values():
    forest = RandomForestClassifier(random_state=0).fit(X[:100], Y[:100])
    training_set = make_training_set(forest)
    packed = training_set.packed
    n_coarse = int(packed.is_coarse.sum())
    assert n_coarse == 5
    bins_and_labels = X.size + N + packed.bin_low.nbytes + packed.bin_high.nbytes
    transfer = TrainingSetTransfer(training_set, forest.estimators_[0])
    values = 4 * n_coarse * N
    assert transfer.__sizeof__() == pytest.approx(bins_and_labels + values, rel=0.01)
    assert len(pickle.dumps(transfer)) == pytest.approx(
        bins_and_labels + values, rel=0.01
    )
    # Random thresholds look at bins alone.
    extra = ExtraTreesClassifier(random_state=0).fit(X[:100], Y[:100])
    transfer = TrainingSetTransfer(training_set, extra.estimators_[0])
    assert len(pickle.dumps(transfer)) == pytest.approx(bins_and_labels, rel=0.02)


def test_loky_maps_memory():
    """The arrays of a training set are not copied into the processes of loky."""

    def mapped_arrays(training_set):
        packed = training_set.packed
        arrays = {"rows": packed.rows, "columns": packed.columns}
        arrays |= {"raw": packed.raw.array, "codes": training_set.codes}
        return {name: isinstance(array, np.memmap) for name, array in arrays.items()}

    forest = RandomForestClassifier(random_state=0)
    training_set = make_training_set(forest, np.tile(X, (30, 1)), np.tile(Y, 30))
    with joblib.parallel_backend("loky", n_jobs=2):
        kinds = joblib.Parallel()(
            joblib.delayed(mapped_arrays)(training_set) for _ in range(2)
        )
    assert kinds == [{"rows": True, "columns": True, "raw": True, "codes": True}] * 2


def test_searches(process_client):
    forest = RandomForestClassifier(n_estimators=3, random_state=0)
    grid = {"max_depth": [2, 6]}
    expected = GridSearchCV(forest, grid, cv=2).fit(X, Y).cv_results_
    scores = cross_validate(forest, X, Y, cv=2)["test_score"]
    with joblib.parallel_backend("dask"):
        found = GridSearchCV(forest, grid, cv=2).fit(X, Y).cv_results_
        same = cross_validate(forest, X, Y, cv=2)["test_score"]
    np.testing.assert_array_equal(found["mean_test_score"], expected["mean_test_score"])
    np.testing.assert_array_equal(same, scores)
