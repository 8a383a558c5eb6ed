"""Dask arrays and data frames as partitions of rows, with known row numbers.

A partition becomes a `Block`: rows of X, with the targets and weights of the same rows.
That is made, and used, in one task, which dask computes where it sees fit, and again if
its result is lost: blocks themselves never travel. Row numbers are those of the whole
collection, so that whatever depends on them alone does not depend on where the
collection is cut.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed, delayed
from sklearn.utils import check_array

from ._client import Tasks


class Block(NamedTuple):
    """Rows of a partition, on a worker.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features), or DataFrame
        The samples.
    y, sample_weight : ndarray of shape (n_rows, ...), or None
        Targets and weights.
    """

    X: Any
    y: np.ndarray | None
    sample_weight: np.ndarray | None


@dataclass(frozen=True)
class Partitions:
    """The rows of X, y and weights, partition by partition; none of them is empty.

    Parameters
    ----------
    blocks : list of tuple or Delayed
        What a block is made of: rows of X, y and weights (delayed, or None), and what
        is expected of them; or a block, delayed.
    n_rows : ndarray of int of shape (n_partitions,)
        Rows of each partition.
    n_features : int
        Columns of X.
    dtype : dtype
        Of X, if it is an array; of a frame, the type that all columns fit.
    feature_names : ndarray of object or None
        Columns of a data frame, if all are strings.
    """

    blocks: list[tuple] | list[Delayed]
    n_rows: np.ndarray
    n_features: int
    dtype: np.dtype
    feature_names: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.blocks)

    @property
    def n_samples(self) -> int:
        """Rows of all partitions."""
        return int(self.n_rows.sum())

    @property
    def starts(self) -> np.ndarray:
        """Number of the first row of each partition."""
        return np.cumsum(self.n_rows) - self.n_rows

    def locate(self, rows: np.ndarray) -> list[tuple[int, np.ndarray]]:
        """Find the partitions of some rows.

        Parameters
        ----------
        rows : ndarray of int
            Row numbers, ascending.

        Returns
        -------
        list of (int, ndarray of int64)
            Partitions that hold some, and the numbers of these within the partition.
        """
        cuts = np.searchsorted(rows, np.r_[self.starts, self.n_samples])
        return [
            (i, np.asarray(rows[cuts[i] : cuts[i + 1]], dtype=np.int64) - start)
            for i, start in enumerate(self.starts)
            if cuts[i] < cuts[i + 1]
        ]

    def call(
        self, i: int, function: Callable, *args: Any, after: Delayed | None = None
    ) -> Delayed:
        """Return the delayed value of a function of one block.

        Parameters
        ----------
        i : int
            The partition.
        function : callable
            Called with the block and the arguments.
        *args : object
            Delayed values among them stand for what they are.
        after : Delayed or None
            What is to be computed before.

        Returns
        -------
        Delayed
            The value.
        """
        call = delayed(_call_with_block, pure=False, traverse=False)
        name = f"{function.__name__.strip('_')}-{uuid4()}"
        return call(self.blocks[i], after, function, *args, dask_key_name=name)

    def map(self, function: Callable, *args: Any) -> list[Delayed]:
        """Return, for each partition, the delayed value of a function of its block.

        Parameters
        ----------
        function : callable
            Called with the block and the arguments.
        *args : object
            The same for all partitions: delayed values are computed once.

        Returns
        -------
        list of Delayed
            The values.
        """
        return [self.call(i, function, *args) for i in range(len(self))]

    def map_numbered(self, function: Callable, *args: Any) -> list[Delayed]:
        """As `map`; the number of the first row comes after the block."""
        return [
            self.call(i, function, int(start), *args)
            for i, start in enumerate(self.starts)
        ]


def make_partitions(
    tasks: Tasks,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    keep_frames: bool = False,
) -> Partitions:
    """Take collections apart into partitions of the rows of X.

    Parameters
    ----------
    tasks : Tasks
        Computes the lengths of partitions that are unknown.
    X : dask.array.Array of shape (n_samples, n_features), or dask.dataframe.DataFrame
        The samples.
    y : dask collection of shape (n_samples,) or (n_samples, n_outputs), or None
        The targets. They need not be cut where X is.
    sample_weight : dask collection of shape (n_samples,), or None
        The weights.
    keep_frames : bool
        Whether blocks of a data frame stay frames of pandas.

    Returns
    -------
    Partitions
        Of all rows.
    """
    _check_collections(X, y, sample_weight)
    is_frame = not isinstance(X, da.Array)
    if is_frame:
        X = _know_categories(X)
        names = np.asarray(X.columns, dtype=object)
        dtype = None if keep_frames else _common_dtype(X)
        expected = _Expected(
            len(names), dtype, names, X._meta.dtypes if keep_frames else None
        )
    else:
        dtype = X.dtype
        expected = _Expected(X.shape[1], dtype)
    given = {"X": X, "y": y, "sample_weight": sample_weight}
    given = {name: value for name, value in given.items() if value is not None}
    parts, lengths = {}, {}
    for name, value in given.items():
        parts[name], lengths[name] = row_blocks(value)
    lengths = _resolve_lengths(tasks, parts, lengths)
    n_rows = lengths["X"]
    for name, value in given.items():
        if lengths[name].sum() != n_rows.sum():
            raise ValueError(
                f"X has {n_rows.sum()} samples, but {name} has {lengths[name].sum()}."
            )
        if not np.array_equal(lengths[name], n_rows):
            parts[name] = _cut_as(value, parts[name], lengths[name], n_rows)
    if n_rows.sum() == 0:
        raise ValueError("Found array with 0 sample(s): all partitions are empty.")

    blocks = [
        (
            parts["X"][i],
            parts["y"][i] if y is not None else None,
            parts["sample_weight"][i] if sample_weight is not None else None,
            replace(expected, partition=i, n_rows=int(n_rows[i])),
        )
        for i in np.flatnonzero(n_rows)
    ]
    named = is_frame and all(isinstance(name, str) for name in expected.names)
    return Partitions(
        blocks,
        n_rows[n_rows > 0],
        expected.n_features,
        dtype,
        expected.names if named else None,
    )


def is_collection(X: Any) -> bool:
    """Whether X is a dask array or data frame, or a column of one."""
    return dask.is_dask_collection(X) and (
        isinstance(X, da.Array) or hasattr(X, "to_dask_array")
    )


def row_blocks(collection: Any) -> tuple[list[Delayed], tuple[float, ...]]:
    """Take a collection apart into blocks of rows with all their columns.

    Parameters
    ----------
    collection : dask collection
        An array or a data frame, or a column of one.

    Returns
    -------
    blocks : list of Delayed
        In the order of rows.
    n_rows : tuple of float
        Rows of each, NaN if that is unknown.
    """
    if isinstance(collection, da.Array):
        if collection.ndim == 2 and collection.numblocks[1] > 1:
            collection = collection.rechunk({1: -1})
        return list(collection.to_delayed().ravel()), collection.chunks[0]
    blocks = list(collection.to_delayed())
    return blocks, (np.nan,) * len(blocks)


def make_row(collection: Any) -> Any:
    """Return a row such as those of a collection: of its type, with its names."""
    if isinstance(collection, da.Array):
        return np.zeros((1, *collection.shape[1:]), collection.dtype)
    return collection._meta_nonempty[:1]


@dataclass(frozen=True)
class _Expected:
    """What the block of a partition has to be."""

    n_features: int
    dtype: np.dtype | None
    names: np.ndarray | None = None
    column_types: Any = None
    partition: int = 0
    n_rows: int = 0


def _check_collections(X, y, sample_weight):
    """Raise if something is no dask collection, or has not the right dimensions."""
    for name, value in (("X", X), ("y", y), ("sample_weight", sample_weight)):
        if value is None and name != "X":
            continue
        if not is_collection(value):
            raise TypeError(
                f"{name} must be a dask array or data frame, got "
                f"{type(value).__name__}. The estimators of the same name outside "
                "of sklearn_bandit.dask take arrays and data frames of one machine."
            )
    if X.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: X must have the shape "
            "(n_samples, n_features)."
        )
    if isinstance(X, da.Array) and X.shape[1] == 0:
        raise ValueError(
            "Found array with 0 feature(s) while a minimum of 1 is needed."
        )
    if isinstance(X, da.Array) and X.dtype.kind not in "fiub":
        raise ValueError(f"X must be numeric, but its dtype is {X.dtype}.")
    if y is not None and y.ndim not in (1, 2):
        raise ValueError(f"y should be a 1d or 2d array, got {y.ndim} dimensions.")
    if sample_weight is not None and sample_weight.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar.")


def _know_categories(X):
    """Have all partitions of a frame know the same categories, in the same order."""
    types = X._meta.dtypes
    categorical = [name for name in X.columns if str(types[name]) == "category"]
    unknown = [name for name in categorical if not X[name].cat.known]
    return X.categorize(columns=unknown) if unknown else X


def _common_dtype(X):
    """Return the type that all columns of a frame fit, as scikit-learn converts it."""
    empty = X._meta_nonempty
    try:
        return check_array(empty, dtype="numeric", ensure_all_finite=False).dtype
    except (ValueError, TypeError) as error:
        types = ", ".join(sorted({str(dtype) for dtype in X._meta.dtypes}))
        raise ValueError(
            f"X must be numeric, but its columns have the types {types}."
        ) from error


def _resolve_lengths(tasks, parts, lengths):
    """Return the rows of all partitions, computing those that are unknown."""
    unknown = [name for name in parts if np.isnan(lengths[name]).any()]
    count = delayed(len, pure=False)
    futures = tasks.compute([count(part) for name in unknown for part in parts[name]])
    counted = iter(list(tasks.gather(futures)))
    return {
        name: np.array(
            [next(counted) for _ in parts[name]] if name in unknown else lengths[name],
            dtype=np.intp,
        )
        for name in parts
    }


def _cut_as(collection, parts, lengths, n_rows):
    """Return the partitions of a collection, cut where X is cut."""
    meta = np.asarray(collection._meta)[:0]
    is_array = isinstance(collection, da.Array)
    width = collection.shape[1:] if is_array else meta.shape[1:]
    to_array = delayed(np.asarray, pure=False)
    arrays = [
        da.from_delayed(to_array(part), (int(n), *width), meta=meta)
        for part, n in zip(parts, lengths, strict=True)
    ]
    whole = da.concatenate(arrays).rechunk({0: tuple(int(n) for n in n_rows)})
    return row_blocks(whole)[0]


def _call_with_block(block, _, function, *args):
    """On a worker: call a function with a block, or with the one made of parts."""
    if not isinstance(block, Block):
        block = _make_block(*block)
    return function(block, *args)


def _make_block(X, y, sample_weight, expected):
    """On a worker: check the rows of a partition and convert them."""
    where = f"Partition {expected.partition} of "
    if X.ndim != 2 or X.shape[1] != expected.n_features:
        raise ValueError(
            f"{where}X has the shape {X.shape}, but {expected.n_features} features "
            "are expected."
        )
    for name, part in (("X", X), ("y", y), ("sample_weight", sample_weight)):
        if part is not None and len(part) != expected.n_rows:
            raise ValueError(
                f"{where}{name} has {len(part)} rows, not {expected.n_rows}."
            )
    if expected.names is not None and list(X.columns) != list(expected.names):
        raise ValueError(
            f"{where}X has the columns {list(X.columns)}, but {list(expected.names)} "
            "are expected."
        )
    if expected.column_types is None:
        X = _convert(X, expected.dtype, where)
    else:
        X = _with_types(X, expected.column_types, where)
    if y is not None:
        y = np.asarray(y)
    if sample_weight is not None:
        sample_weight = np.asarray(sample_weight)
    return Block(X, y, sample_weight)


def _convert(X, dtype, where):
    """Return the values of a block in the type of the collection."""
    message = f"{where}X does not fit the type {dtype} of the others"
    if isinstance(X, np.ndarray) and not np.can_cast(X.dtype, dtype, "same_kind"):
        raise ValueError(f"{message}: it has the type {X.dtype}.")
    try:
        return check_array(X, dtype=dtype, ensure_all_finite=False)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{message}: {error}") from error


def _with_types(X, column_types, where):
    """Return a frame whose columns have the types of the whole collection."""
    changed = {}
    for name, dtype in column_types.items():
        column = X[name]
        if column.dtype == dtype and _same_order(column.dtype, dtype):
            continue
        try:
            if hasattr(column.dtype, "categories") and hasattr(dtype, "categories"):
                changed[name] = column.cat.set_categories(dtype.categories)
            else:
                changed[name] = column.astype(dtype)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"{where}X: column {name!r} does not fit the type {dtype} of the "
                f"others: {error}"
            ) from error
        # A category that the others do not have would become a missing value.
        if (changed[name].isna() & ~column.isna()).any():
            raise ValueError(
                f"{where}X: column {name!r} has categories that the data frame does "
                f"not know: {sorted(set(column.unique()) - set(dtype.categories))}."
            )
    return X.assign(**changed) if changed else X


def _same_order(first, second):
    """Whether equal types have their categories, if any, in the same order."""
    categories = getattr(first, "categories", None)
    return categories is None or list(categories) == list(second.categories)
