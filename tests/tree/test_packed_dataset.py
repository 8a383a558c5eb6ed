"""Samples that are packed into files once: the same models, clear errors."""

import json
import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from fault_processes import run_apart
from fault_programs import fit_packed
from scipy import sparse
from sklearn.base import clone, is_regressor
from sklearn.model_selection import cross_val_score

from sklearn_bandit.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomPatchesClassifier,
)
from sklearn_bandit.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    PackedDataset,
)
from sklearn_bandit.tree._data import packing

N = 3000


def make_samples(n=N, dtype=np.float32):
    """Few, many and missing values."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5)).astype(dtype)
    X[:, 3] = rng.integers(5, size=n)
    X[::7, 4] = np.nan
    score = X[:, 0] + X[:, 1] * X[:, 3] + rng.normal(size=n)
    return X, score


X, SCORE = make_samples()
Y = (SCORE > 0).astype(int)
INTEGERS = np.where(np.isnan(X), np.nan, np.round(20 * X))

TREES = [
    DecisionTreeClassifier(random_state=0),
    DecisionTreeClassifier(max_depth=3, random_state=0),
    DecisionTreeRegressor(max_depth=8, random_state=0),
    RandomForestClassifier(n_estimators=3, oob_score=True, random_state=0),
    RandomForestRegressor(n_estimators=3, random_state=0),
    RandomForestClassifier(n_estimators="auto", max_estimators=9, random_state=0),
    ExtraTreesClassifier(n_estimators=3, random_state=0),
    RandomPatchesClassifier(n_estimators=3, random_state=0),
]


def fit(model, samples):
    """Fit a copy to the classes; regressors to the score."""
    y = SCORE if is_regressor(model) else Y
    return clone(model).fit(samples, y)


@pytest.mark.parametrize("model", TREES, ids=repr)
def test_same_trees(tmp_path, model):
    """Up to 20,000 samples bins are a function of the samples alone."""
    data = PackedDataset.write(tmp_path, X)
    expected, found = fit(model, X), fit(model, data)
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))
    assert found.n_insertions_ == expected.n_insertions_
    np.testing.assert_array_equal(found.predict(data), found.predict(X))


@pytest.mark.parametrize("keep_values", [True, False])
@pytest.mark.parametrize("early_stopping", [True, False])
@pytest.mark.parametrize("solver", ["exact", "mab"])
def test_same_boosting(tmp_path, keep_values, early_stopping, solver):
    """Features of few values have the bins of scikit-learn."""
    data = PackedDataset.write(tmp_path, INTEGERS, keep_values=keep_values)
    parameters = {
        "solver": solver,
        "batch_size": 256,
        "early_stopping": early_stopping,
        "max_iter": 10,
        "random_state": 0,
    }
    for cls, y in (
        (HistGradientBoostingClassifier, Y),
        (HistGradientBoostingRegressor, SCORE),
    ):
        model = cls(**parameters)
        expected = model.fit(INTEGERS, y, sample_weight=1 + Y).predict(INTEGERS)
        found = cls(**parameters).fit(data, y, sample_weight=1 + Y)
        np.testing.assert_array_equal(found.predict(INTEGERS), expected)
        np.testing.assert_array_equal(found.predict(data), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8])
def test_thresholds_part_bins(tmp_path, dtype):
    samples = make_samples(25_000)[0]  # more than bins are made from
    if np.dtype(dtype).kind != "f":
        samples = np.nan_to_num(60 * samples + 100).clip(0, 255)
    samples = samples.astype(dtype)
    data = PackedDataset.write(tmp_path, samples)
    assert data.columns.shape == samples.T.shape
    for column, bins, cuts in zip(
        samples.T, data.columns, data.thresholds(), strict=True
    ):
        expected = np.searchsorted(cuts, column.astype(np.float32))
        expected[np.isnan(column.astype(float))] = 255
        np.testing.assert_array_equal(bins, expected)


def test_without_values(tmp_path):
    """Bins alone: other splits in small nodes, about as good."""
    data = PackedDataset.write(tmp_path / "bins", X, keep_values=False)
    test, score = make_samples(6000)
    test, labels = test[N:], score[N:] > 0
    forest = RandomForestClassifier(n_estimators=20, random_state=0)
    expected = forest.fit(X, Y).score(test, labels)
    assert forest.fit(data, Y).score(test, labels) == pytest.approx(expected, abs=0.02)
    # A sample is read as the smallest value of its bin, which is in the bin.
    again = PackedDataset.write(tmp_path / "again", data)
    np.testing.assert_array_equal(again.columns, data.columns)
    np.testing.assert_array_equal(np.isnan(data), np.isnan(X))
    for model in (TREES[3], TREES[5]):
        with pytest.raises(ValueError, match=r"out-of-bag score needs .* with values"):
            fit(model, data)
    with pytest.raises(ValueError, match=r"patch.* needs a data set with values"):
        fit(TREES[-1], data)


def test_reads_as_an_array(tmp_path):
    data = PackedDataset.write(tmp_path, X)
    assert data.shape == X.shape
    assert len(data) == N
    assert data.ndim == 2
    np.testing.assert_array_equal(data, X)
    np.testing.assert_array_equal(data[5:8], X[5:8])
    np.testing.assert_array_equal(data[[3, 1]], X[[3, 1]])
    assert np.asarray(data, dtype=np.float64).dtype == np.float64
    assert "with values" in repr(data)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    np.testing.assert_array_equal(
        cross_val_score(tree, data, Y, cv=3), cross_val_score(tree, X, Y, cv=3)
    )


def test_pickle_has_the_path(tmp_path):
    data = PackedDataset.write(tmp_path, X)
    pickled = pickle.dumps(data)
    assert len(pickled) < 1000
    np.testing.assert_array_equal(pickle.loads(pickled), X)


def test_frames_and_types(tmp_path):
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [0.5, np.nan, 2.0]})
    data = PackedDataset.write(tmp_path / "frame", frame)
    np.testing.assert_array_equal(data, frame.to_numpy())
    data = PackedDataset.write(tmp_path / "bytes", np.eye(3, dtype=np.uint8))
    assert np.asarray(data).dtype == np.uint8


def test_samples_without_weight(tmp_path):
    data = PackedDataset.write(tmp_path, INTEGERS)
    weights = (np.arange(N) % 3 > 0).astype(float)
    tree = DecisionTreeClassifier(max_depth=6, random_state=0)
    expected = tree.fit(INTEGERS, Y, weights).predict(INTEGERS)
    found = tree.fit(data, Y, weights).predict(INTEGERS)
    used = weights > 0
    np.testing.assert_array_equal(found[used], expected[used])


def test_refused(tmp_path):
    with pytest.raises(TypeError, match="Sparse"):
        PackedDataset.write(tmp_path / "a", sparse.eye(3))
    with pytest.raises(ValueError, match="infinity"):
        PackedDataset.write(tmp_path / "b", [[1.0], [np.inf]])
    assert not any((tmp_path / "b").iterdir())
    with pytest.raises(ValueError, match="max_bins must be from 2 to 255"):
        PackedDataset.write(tmp_path / "b", X, max_bins=300)
    with pytest.raises(FileNotFoundError, match="holds no packed data set"):
        PackedDataset(tmp_path / "b")
    data = PackedDataset.write(tmp_path / "b", X, max_bins=63)
    with pytest.raises(FileExistsError, match="is not empty"):
        PackedDataset.write(tmp_path / "b", X)

    for cls in (RandomForestClassifier, HistGradientBoostingClassifier):
        with pytest.raises(ValueError, match=r"max_bins=63, but .* max_bins=255"):
            cls().fit(data, Y)
        assert cls(max_bins=63, random_state=0).fit(data, Y).score(data, Y) > 0.8
        with pytest.raises(ValueError, match="has no categories"):
            cls(max_bins=63, categorical_features=[3]).fit(data, Y)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            cls(max_bins=63).fit(data, Y[1:])
    narrow = PackedDataset.write(tmp_path / "c", X[:, :3])
    with pytest.raises(ValueError, match=r"3 features, but .* expecting 5"):
        DecisionTreeClassifier().fit(X, Y).predict(narrow)


@pytest.mark.parametrize("keep_values", [True, False])
def test_missing_values_refused(tmp_path, monkeypatch, keep_values):
    """Some versions of scikit-learn have criteria that take none."""
    data = PackedDataset.write(tmp_path, X, keep_values=keep_values)
    monkeypatch.setattr(packing, "allows_missing", lambda *_: False)
    with pytest.raises(ValueError, match="contains NaN"):
        DecisionTreeClassifier().fit(data, Y)


def test_other_files(tmp_path):
    PackedDataset.write(tmp_path, X)
    np.save(tmp_path / "rows.npy", np.zeros((N, 7), dtype=np.uint8))
    with pytest.raises(ValueError, match="does not fit its description"):
        PackedDataset(tmp_path)
    about = json.loads((tmp_path / "packed.json").read_text())
    (tmp_path / "packed.json").write_text(json.dumps(about | {"format": 99}))
    with pytest.raises(ValueError, match=r"format 99, but .* reads format 1"):
        PackedDataset(tmp_path)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of Linux")
@pytest.mark.parametrize("kind", ["forest", "tree"])
def test_memory(tmp_path, kind):
    """There is less room than bins take, which are twice a byte for each value."""
    outcomes = run_apart(fit_packed, tmp_path / "packed", kind, 1.5)
    assert outcomes == (0, ["done", "memory"])
