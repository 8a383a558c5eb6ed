"""Samples in bins, written to disk once and read in place by every fit.

A folder holds the bins by row and by column, as `PackedData` has them, what is known
of the bins and, if wanted, the values themselves. All are ``.npy`` files that are
mapped into memory: what is read of them is the file's, not the process's. The
description of the folder is written last, so that half a data set is none.
"""

import json
from contextlib import suppress
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.utils import check_array

from sklearn_bandit._core.matrix import MatrixView
from sklearn_bandit._core.thread_start import start_threads
from sklearn_bandit._core.threads import effective_n_threads
from sklearn_bandit._core.typing import RandomState

from .packed_rows import (
    CHUNK_VALUES,
    MAX_BINS,
    MISSING_BIN,
    PackedData,
    as_read,
    pack,
    rank_small,
    row_stride,
)
from .packing import check_size

# Of the files; another number is another way to write them.
FORMAT = 1

DESCRIPTION = "packed.json"

# What is known of the bins of each feature, a file each.
KNOWN = ("n_bins", "has_missing", "bin_low", "bin_high", "is_coarse")


class PackedDataset:
    """Samples in bins of one byte, in files that are mapped into memory.

    Trees, forests and histogram gradient boosting take it as `X` in ``fit``. The
    samples are put into bins once, by :meth:`write`; a fit reads the files in place, so
    that neither the values nor the bins need to fit the memory. Everything else that
    takes an array takes it too, for it can be read as one.

    Read more in the :ref:`user guide <out_of_core>`.

    Parameters
    ----------
    path : str or path
        The folder that :meth:`write` has made.

    Attributes
    ----------
    path : Path
        The folder.
    shape : tuple of int
        Numbers of samples and features.
    max_bins : int
        Bins that a feature may have, missing values not counted.
    has_values : bool
        Whether the values are there, too.

    See Also
    --------
    sklearn_bandit.dask.write_packed : Write a dask collection.

    Notes
    -----
    Bins are those of the trees: quantiles of 20,000 samples, of numbers taken as
    ``float32``. Features of at most `max_bins` different values lose nothing.

    A pickle has the path, not the samples.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from sklearn_bandit.ensemble import RandomForestClassifier
    >>> from sklearn_bandit.tree import PackedDataset
    >>> X = np.random.default_rng(0).normal(size=(1000, 4))
    >>> y = X[:, 0] > 0
    >>> folder = tempfile.TemporaryDirectory()
    >>> data = PackedDataset.write(folder.name + "/data", X)
    >>> forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(data, y)
    >>> forest.score(data, y) > 0.9
    True
    >>> del data
    >>> folder.cleanup()
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        about = _read_description(self.path)
        self.shape: tuple[int, int] = tuple(about["shape"])
        self.max_bins: int = about["max_bins"]
        self.has_values: bool = about["has_values"]
        self._rows = self._open("rows", np.uint8, (self.shape[0], about["stride"]))
        self._columns = self._open("columns", np.uint8, self.shape[::-1])
        self._known = {name: np.load(self.path / f"{name}.npy") for name in KNOWN}
        self._values = None
        if self.has_values:
            self._values = self._open("values", np.dtype(about["dtype"]), self.shape)

    @classmethod
    def write(
        cls,
        path: str | PathLike[str],
        X: ArrayLike,
        *,
        max_bins: int = MAX_BINS,
        keep_values: bool = True,
        random_state: RandomState = 0,
    ) -> Self:
        """Put samples into bins and write them to disk.

        Parameters
        ----------
        path : str or path
            The folder, which is made. It must not exist, or be empty.
        X : array-like of shape (n_samples, n_features)
            Numbers, NaN where one is missing. It may be memory-mapped: it is read a
            few rows at a time. Names of columns are not kept.
        max_bins : int, default=255
            Bins that a feature may have, from 2 to 255, missing values not counted.
            Estimators must have the same.
        keep_values : bool, default=True
            Whether to write the values as well, in up to four bytes each. In nodes of
            at most 255 samples trees then tell values of the same bin apart, as they
            do when they are fitted to X itself. Boosting has no use for them.
        random_state : int, RandomState instance or None, default=0
            Draws the samples that bins are made from, if there are more than 20,000.

        Returns
        -------
        PackedDataset
            The data set, opened.
        """
        if issparse(X):
            raise TypeError("Sparse data cannot be written: pass X.toarray().")
        X = check_array(X, dtype="numeric", ensure_all_finite=False)
        check_size(*X.shape)
        with PackedFolder.make(path) as folder:
            if keep_values:
                values = folder.create("values", as_read(X[:1]).dtype, X.shape)
                n_rows = max(CHUNK_VALUES // X.shape[1], 1)
                for start in range(0, len(X), n_rows):
                    values[start : start + n_rows] = as_read(X[start : start + n_rows])
                X = values
            about = folder.write_bins(X, max_bins, random_state)
            return folder.finish(about, keep_values)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def ndim(self) -> int:
        """Number of dimensions: two."""
        return 2

    def __getitem__(self, rows: Any) -> np.ndarray:
        """Return values of some samples, as a numpy array indexed by rows would."""
        if self._values is not None:
            return np.asarray(self._values[rows])
        return self._decode(np.asarray(self._rows[rows])[..., : self.shape[1]])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values = self[:]
        if dtype is not None:
            return values.astype(dtype, copy=bool(copy))
        return values.copy() if copy else values

    def __reduce__(self) -> tuple:
        return type(self), (str(self.path.absolute()),)

    def __repr__(self) -> str:
        kept = "with" if self.has_values else "without"
        return f"<PackedDataset {str(self.path)!r}: {self.shape}, {kept} values>"

    def _open(self, name, dtype, shape):
        array = np.load(self.path / f"{name}.npy", mmap_mode="r")
        if array.dtype != dtype or array.shape != shape:
            raise ValueError(
                f"{self.path / name}.npy does not fit its description: it has the "
                f"shape {array.shape} and the type {array.dtype}."
            )
        return array

    def _decode(self, bins):
        """Return a value of each bin: the smallest that bins were made from."""
        values = np.full((self.shape[1], MISSING_BIN + 1), np.nan, dtype=np.float32)
        values[:, :MISSING_BIN] = self._known["bin_low"]
        return values[np.arange(self.shape[1]), bins]

    @property
    def columns(self) -> np.ndarray:
        """Bins, of shape (n_features, n_samples); 255 where a value is missing."""
        return np.asarray(self._columns)

    def take_bins(self, rows: np.ndarray, out: np.ndarray) -> None:
        """Write the bins of some samples.

        Parameters
        ----------
        rows : ndarray of int of shape (n_rows,)
            The samples.
        out : ndarray of uint8 of shape (n_features, n_rows)
            Output.
        """
        step = max(CHUNK_VALUES // self._rows.shape[1], 1)
        for start in range(0, len(rows), step):
            some = np.take(self._rows, rows[start : start + step], axis=0)
            out[:, start : start + step] = some[:, : self.shape[1]].T

    def thresholds(self) -> list[np.ndarray]:
        """Return the thresholds between neighbouring bins of each feature."""
        low, high = self._known["bin_low"], self._known["bin_high"]
        return [
            (high[feature, : n - 1] + low[feature, 1:n]) / 2.0
            for feature, n in enumerate(self._known["n_bins"])
        ]

    def matrix(self) -> np.ndarray:
        """Return an array of the shape of X, mapped: values, or bins if there are none.

        It stands for X where only the shape matters.
        """
        if self._values is not None:
            return np.asarray(self._values)
        return np.asarray(self._rows)[:, : self.shape[1]]

    def packed(self, ranking: Any = None, n_threads: int = 1) -> PackedData:
        """Return the bins as trees read them.

        Parameters
        ----------
        ranking : SamplingPolicy or None
            As for `pack`: when values that share a bin are ranked.
        n_threads : int
            Threads that rank them.

        Returns
        -------
        PackedData
            Whose arrays are the files.
        """
        packed = PackedData(
            np.asarray(self._rows),
            np.asarray(self._columns),
            *self._known.values(),
            MatrixView(self.matrix()) if self.has_values else None,
        )
        if ranking is not None and self.has_values and self.max_bins == MAX_BINS:
            rank_small(packed, self.matrix(), n_threads, ranking)
        return packed


@dataclass(frozen=True)
class PackedFolder:
    """The folder of a data set that is being written.

    Parameters
    ----------
    path : Path
        The folder.
    """

    path: Path

    @classmethod
    def make(cls, path: str | PathLike[str]) -> Self:
        """Make the folder; raise if there is something in it."""
        path = Path(path)
        path.mkdir(parents=True, exist_ok=True)
        if any(path.iterdir()):
            raise FileExistsError(f"{path} is not empty: choose another folder.")
        return cls(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is not None:  # nothing is left of what is not complete
            for file in self.path.iterdir():
                # On Windows the arrays that the error holds are still mapped.
                with suppress(PermissionError):
                    file.unlink()

    def create(self, name: str, dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
        """Create an array, mapped into memory, whose elements are zero."""
        return np.lib.format.open_memmap(self.path / f"{name}.npy", "w+", dtype, shape)

    def write_bins(
        self, X: np.ndarray, max_bins: int, random_state: RandomState
    ) -> dict[str, Any]:
        """Write the bins, and what is known of them; return the description."""
        X = np.asarray(X)
        stride = row_stride(X.shape[1])
        rows = self.create("rows", np.uint8, (X.shape[0], stride))
        columns = self.create("columns", np.uint8, X.shape[::-1])
        n_threads = start_threads(effective_n_threads(None))
        packed = pack(X, max_bins, n_threads, random_state, memory=(rows, columns))
        for name in KNOWN:
            np.save(self.path / f"{name}.npy", getattr(packed, name))
        for array in (rows, columns):
            array.flush()
        return {
            "format": FORMAT,
            "shape": X.shape,
            "stride": stride,
            "max_bins": max_bins,
            "dtype": as_read(X[:1]).dtype.name,
        }

    def finish(self, about: dict[str, Any], keep_values: bool) -> PackedDataset:
        """Write the description; return the data set, opened.

        The values, if they are not kept, must not be mapped any more: Windows does not
        remove a file that is.
        """
        if not keep_values:
            (self.path / "values.npy").unlink(missing_ok=True)
        about = {**about, "has_values": keep_values}
        (self.path / DESCRIPTION).write_text(json.dumps(about))
        return PackedDataset(self.path)


def _read_description(path):
    """Return the description of a data set that is complete and of this format."""
    try:
        about = json.loads((path / DESCRIPTION).read_text())
    except FileNotFoundError:
        raise FileNotFoundError(
            f"{path} holds no packed data set: it was not written by "
            "PackedDataset.write, or not to its end."
        ) from None
    if about.get("format") != FORMAT:
        raise ValueError(
            f"{path} was written in format {about.get('format')}, but this version of "
            f"sklearn-bandit reads format {FORMAT}: write the data set again."
        )
    return about


def take_dataset(
    estimator: Any, X: Any, needs_values: str | None = None
) -> tuple[PackedDataset | None, Any]:
    """Tell a packed data set from other samples.

    Parameters
    ----------
    estimator : object
        What is being fitted.
    X : PackedDataset or object
        The samples.
    needs_values : str or None
        Why values are needed; None if they are not.

    Returns
    -------
    data : PackedDataset or None
        The data set; None if X is none.
    X : object
        What is to be validated: an array in the place of a data set.
    """
    if not isinstance(X, PackedDataset):
        return None, X
    if estimator.max_bins != X.max_bins:
        raise ValueError(
            f"The data set was written with max_bins={X.max_bins}, but "
            f"{type(estimator).__name__} has max_bins={estimator.max_bins}."
        )
    chosen = estimator.categorical_features
    if chosen is not None and not (isinstance(chosen, str) and chosen == "from_dtype"):
        raise ValueError(
            "A packed data set has no categories: encode them before it is written, "
            "and leave categorical_features as it is."
        )
    if needs_values and not X.has_values:
        raise ValueError(
            f"{needs_values} needs a data set with values: write it with "
            "keep_values=True."
        )
    return X, X.matrix()
