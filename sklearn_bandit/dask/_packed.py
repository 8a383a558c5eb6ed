"""Write a dask collection as a packed data set."""

from __future__ import annotations

from os import PathLike
from typing import Any

import distributed
import numpy as np

from sklearn_bandit._core.typing import RandomState
from sklearn_bandit.tree import PackedDataset
from sklearn_bandit.tree._building import as_read
from sklearn_bandit.tree._data import PackedFolder

from ._client import Tasks, resolve_client
from ._collections import Block, make_partitions


def write_packed(
    path: str | PathLike[str],
    X: Any,
    *,
    max_bins: int = 255,
    keep_values: bool = True,
    random_state: RandomState = 0,
    client: distributed.Client | None = None,
) -> PackedDataset:
    """Write a dask collection as a packed data set, partition by partition.

    No process holds more than its partitions: X may be larger than all memory. Workers
    write their partitions into one file, which the client puts into bins.

    Parameters
    ----------
    path : str or path
        The folder, which is made; it must not exist, or be empty. The client and all
        workers must see it under this name.
    X : dask array or data frame of shape (n_samples, n_features)
        Numbers, NaN where one is missing. Names of columns are not kept.
    max_bins, keep_values, random_state : object
        As for :meth:`sklearn_bandit.tree.PackedDataset.write`. The values are written
        in any case, and removed again if they are not to be kept.
    client : distributed.Client or None, default=None
        The client; None for the current one.

    Returns
    -------
    sklearn_bandit.tree.PackedDataset
        The data set, opened.

    See Also
    --------
    sklearn_bandit.tree.PackedDataset : Who takes it.

    Examples
    --------
    >>> import tempfile
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn_bandit.dask import write_packed
    >>> X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(250, 3))
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Client(processes=False, dashboard_address=None):
    ...     data = write_packed(folder.name + "/data", X)
    >>> data.shape
    (1000, 3)
    >>> del data
    >>> folder.cleanup()
    """
    with Tasks(resolve_client(client)) as tasks, PackedFolder.make(path) as folder:
        partitions = make_partitions(tasks, X)
        dtype = as_read(np.empty((0, 0), dtype=partitions.dtype)).dtype
        shape = partitions.n_samples, partitions.n_features
        folder.create("values", dtype, shape)
        file = str((folder.path / "values.npy").absolute())
        written = tasks.compute(partitions.map_numbered(_write, file))
        for _ in tasks.gather(written):
            pass
        values = np.load(file, mmap_mode="r")
        about = folder.write_bins(values, max_bins, random_state)
        del values  # unmapped, so that Windows can remove the file
        return folder.finish(about, keep_values)


def _write(block: Block, start: int, file: str) -> None:
    """On a worker: write the values of a partition where they belong."""
    try:
        values = np.load(file, mmap_mode="r+")
    except FileNotFoundError:
        raise FileNotFoundError(
            f"A worker does not see {file}, which the client has made: choose a folder "
            "that all of them share."
        ) from None
    values[start : start + len(block.X)] = as_read(block.X)
    values.flush()
