"""Dask collections as packed data sets."""

from pathlib import Path

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask_data import make_data

from sklearn_bandit import dask as sd
from sklearn_bandit.dask import _packed
from sklearn_bandit.tree import PackedDataset

X, _, _ = make_data(3000)


@pytest.mark.parametrize("keep_values", [True, False])
def test_same_files(client, tmp_path, keep_values):
    expected = PackedDataset.write(tmp_path / "a", X, keep_values=keep_values)
    rows = da.from_array(X, chunks=((1000, 0, 1999, 1), 6))
    data = sd.write_packed(tmp_path / "b", rows, keep_values=keep_values)
    assert data.has_values == keep_values
    np.testing.assert_array_equal(data.columns, expected.columns)
    np.testing.assert_array_equal(data, expected)
    names = [{file.name for file in one.path.iterdir()} for one in (data, expected)]
    assert names[0] == names[1]


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="needs /proc")
def test_values_are_not_mapped_when_they_are_removed(client, tmp_path, monkeypatch):
    """Windows would refuse to remove them."""
    removed = []
    unlink = Path.unlink

    def noted(path, missing_ok=False):
        assert str(path) not in Path("/proc/self/maps").read_text()
        removed.append(path.name)
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", noted)
    rows = da.from_array(X, chunks=(1000, 6))
    sd.write_packed(tmp_path / "a", rows, keep_values=False)
    assert removed == ["values.npy"]


def test_processes_and_frames(process_client, tmp_path):
    frame = pd.DataFrame(X.astype(np.float32)).add_prefix("x")
    data = sd.write_packed(tmp_path / "a", dd.from_pandas(frame, npartitions=3))
    np.testing.assert_array_equal(data, frame.to_numpy())


def test_what_cannot_be_written(client, tmp_path):
    bad = X.copy()
    bad[2500, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        sd.write_packed(tmp_path / "a", da.from_array(bad, chunks=(1000, 6)))
    assert not any((tmp_path / "a").iterdir())
    with pytest.raises(TypeError, match="must be a dask array"):
        sd.write_packed(tmp_path / "a", X)
    with pytest.raises(FileNotFoundError, match="A worker does not see"):
        _packed._write(None, 0, str(tmp_path / "b"))
