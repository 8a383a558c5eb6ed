"""What boosting does with the rows of a partition, on the worker that has them.

A partition is looked at twice. First it is described: its classes or the sum of its
targets, and a sample of its values, from which bins are found. Then the rows that may
join the working set, and those that are held out, are put into bins of one byte, where
they are: `Binned`. The values are not needed any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import assert_all_finite

from sklearn_bandit._compat import check_y
from sklearn_bandit.ensemble import READABLE, BinAssigner, add_trees, draw_share

from ._collections import Block
from ._sums import exact_sum

# Labels below this are counted without sorting.
MAX_COUNTED = 65_536


@dataclass(frozen=True)
class Sample:
    """Rows of a partition whose values or targets go to the client.

    Parameters
    ----------
    values : ndarray of int or tuple of int
        Rows whose values (with weights) go, ascending; or arguments of ``draw_share``.
    targets : slice
        Rows whose targets (with weights) go.
    categorical : list of int
        Columns whose distinct values go.
    """

    values: np.ndarray | tuple
    targets: slice
    categorical: list[int]

    def draw(self) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the rows whose values go, and their places if they have some."""
        if isinstance(self.values, np.ndarray):
            return self.values, None
        return draw_share(*self.values)


class Description(NamedTuple):
    """What the client is told of a partition.

    Parameters
    ----------
    labels, counts : ndarray
        Distinct targets, and how often each occurs; of numbers the least and largest.
    weights : list of Fraction or float, or None
        Sum of the weights of each label; of numbers, of all rows.
    total : Fraction, float or None
        Sum of numbers times their weights.
    categories : list of ndarray
        Distinct values of the categorical columns.
    values, value_targets, value_weights, targets, target_weights : object
        Of the rows of `Sample`.
    value_places : ndarray or None
        When the rows of `values` join the working set, if they do.
    """

    labels: np.ndarray
    counts: np.ndarray
    weights: list[Fraction | float] | None
    total: Fraction | float | None
    categories: list[np.ndarray]
    values: Any
    value_targets: np.ndarray
    value_weights: np.ndarray | None
    targets: np.ndarray
    target_weights: np.ndarray | None
    value_places: np.ndarray | None


class Binned(NamedTuple):
    """Rows in bins.

    Parameters
    ----------
    columns : ndarray of uint8 of shape (n_features, n_rows)
        The bins.
    y, sample_weight : ndarray of shape (n_rows,)
        Encoded targets, and weights or None.
    places : ndarray of shape (n_rows,)
        When each row joins the working set, ascending; of rows that are held out,
        their numbers among these.
    """

    columns: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray | None
    places: np.ndarray


def check_targets(block: Block) -> tuple[np.ndarray, np.ndarray | None]:
    """Return targets and weights of a block, or raise as scikit-learn does."""
    y = check_y(block.y)
    weights = block.sample_weight
    if weights is not None:
        weights = check_weights(weights)
    return y, weights


def check_weights(weights: np.ndarray) -> np.ndarray:
    """Return the weights of a partition, which may all be zero, as float64."""
    weights = np.asarray(weights, dtype=np.float64)
    assert_all_finite(weights, input_name="sample_weight")
    return weights


def describe(block: Block, sample: Sample, is_classifier: bool) -> Description:
    """Describe the rows of a partition."""
    y, weights = check_targets(block)
    total = by_label = None
    if is_classifier:
        labels, counts = count_labels(y)
        if weights is not None:
            by_label = [exact_sum(weights[y == label]) for label in labels]
    else:
        y = y.astype(np.float64, copy=False)
        labels, counts = np.array([y.min(), y.max()]), np.array([len(y)])
        total = exact_sum(y if weights is None else weights * y)
        by_label = None if weights is None else [exact_sum(weights)]
    rows, places = sample.draw()
    return Description(
        labels,
        counts,
        by_label,
        total,
        [_distinct(block.X, column) for column in sample.categorical],
        take(block.X, rows),
        y[rows],
        None if weights is None else weights[rows],
        y[sample.targets],
        None if weights is None else weights[sample.targets],
        places,
    )


def count_labels(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct targets, ascending, and how often each occurs."""
    if y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= MAX_COUNTED:
        return np.unique(y, return_counts=True)
    counts = np.bincount(y)
    labels = np.flatnonzero(counts)
    return labels.astype(y.dtype), counts[labels]


def take(X: Any, rows: np.ndarray) -> Any:
    """Return rows of an array or a data frame."""
    return X[rows] if isinstance(X, np.ndarray) else X.iloc[rows]


def _distinct(X, column):
    """Distinct values of a column that are not missing."""
    if isinstance(X, np.ndarray):
        values = np.unique(X[:, column])
        return values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return X.iloc[:, column].dropna().unique()


@dataclass(frozen=True)
class Encoding:
    """How values become bins, and targets what the loss takes.

    Parameters
    ----------
    preprocess : callable or None
        Makes numbers of a data frame or of categories.
    thresholds, is_categorical, missing_bin : object
        Of ``BinAssigner``.
    classes : ndarray or None
        Labels of the classes.
    class_weight : ndarray or None
        Weights of the classes.
    """

    preprocess: Callable | None
    thresholds: list[np.ndarray]
    is_categorical: np.ndarray
    missing_bin: int
    classes: np.ndarray | None
    class_weight: np.ndarray | None

    def targets(self, block: Block) -> tuple[np.ndarray, np.ndarray | None]:
        """Return encoded targets, and weights or None."""
        y, weights = check_targets(block)
        if self.classes is None:
            return y.astype(np.float64, copy=False), weights
        y = np.searchsorted(self.classes, y)
        if self.class_weight is not None:
            by_class = self.class_weight[y]
            weights = by_class if weights is None else weights * by_class
        return y, weights

    def bins(self, X: Any, rows: np.ndarray) -> np.ndarray:
        """Return the bins of rows of a block, of shape (n_features, n_rows)."""
        columns = np.empty((len(self.thresholds), len(rows)), dtype=np.uint8)
        if len(rows) == 0:
            return columns
        if self.preprocess is not None:
            X, rows = self.preprocess(take(X, rows)), None
        elif X.dtype not in READABLE:
            X, rows = X[rows].astype(np.float64), None
        else:
            rows = rows.astype(np.uint32)
        binner = BinAssigner(self.thresholds, self.is_categorical, self.missing_bin)
        has_missing = np.zeros(len(columns), dtype=np.uint8)
        binner.assign(X, rows, columns, has_missing, 1)
        return columns


class Stratum(NamedTuple):
    """Rows of one class, all rows in regression, of which a share is held out.

    Parameters
    ----------
    code : int
        The class.
    n_rows, n_held_out : int
        How many there are, and are held out.
    seed : int
        Which ones.
    first : int
        How many are in partitions before.
    """

    code: int
    n_rows: int
    n_held_out: int
    seed: int
    first: int

    def draw(self, n_here: int) -> np.ndarray:
        """Return which of the next `n_here` rows are held out."""
        if self.n_held_out == 0:
            return np.empty(0, dtype=np.uint32)
        last = self.first + n_here
        n, seed = self.n_held_out, self.seed
        return draw_share(self.n_rows, n, seed, n, self.first, last)[0]


@dataclass(frozen=True)
class Share:
    """Which rows of a partition are put into bins.

    Parameters
    ----------
    strata : list of Stratum
        What is held out.
    first : int
        Number of the first row among those that are not held out.
    n_training : int
        Number of all rows that are not held out.
    order : tuple of int or None
        Size of a round, seed and number of rows that may join; None for all, in their
        own order.
    first_held_out : int
        Rows that are held out in partitions before.
    """

    strata: list[Stratum]
    first: int
    n_training: int
    order: tuple[int, int, int] | None
    first_held_out: int


def pack(block: Block, encoding: Encoding, share: Share) -> tuple[Binned, Binned]:
    """Put rows into bins: those that may join, and those that are held out."""
    y, weights = encoding.targets(block)
    is_held_out = np.zeros(len(y), dtype=bool)
    for stratum in share.strata:
        rows = np.arange(len(y))
        if encoding.classes is not None:
            rows = rows[y == stratum.code]
        is_held_out[rows[stratum.draw(len(rows))]] = True
    training = np.flatnonzero(~is_held_out)
    if share.order is None:
        places = share.first + np.arange(len(training))
    else:
        round_size, seed, stop = share.order
        last = share.first + len(training)
        drawn, places = draw_share(
            share.n_training, round_size, seed, stop, share.first, last
        )
        training = training[drawn]
    held_out = np.flatnonzero(is_held_out)
    return tuple(
        Binned(
            encoding.bins(block.X, rows),
            y[rows].astype(np.float64),
            None if weights is None else weights[rows],
            numbers,
        )
        for rows, numbers in (
            (training, places),
            (held_out, share.first_held_out + np.arange(len(held_out))),
        )
    )


def merge(parts: list[tuple[Binned, Binned]]) -> tuple[Binned, Binned]:
    """Join what was packed of several partitions, by places."""
    return tuple(_merge(list(binned)) for binned in zip(*parts, strict=True))


def _merge(parts):
    places = np.concatenate([part.places for part in parts])
    order = np.argsort(places, kind="stable")
    columns = np.concatenate([part.columns for part in parts], axis=1)
    weights = None
    if parts[0].sample_weight is not None:
        weights = np.concatenate([part.sample_weight for part in parts])[order]
    y = np.concatenate([part.y for part in parts])
    if not np.array_equal(order, np.arange(len(order))):
        columns, y, places = columns[:, order], y[order], places[order]
    return Binned(columns, y, weights, places)


def cut(shard: tuple[Binned, Binned], which: int, start: int, stop: int) -> Binned:
    """Return the rows between two places: 0 of the training rows, 1 of the others."""
    binned = shard[which]
    rows = slice(*np.searchsorted(binned.places, [start, stop]))
    weights = binned.sample_weight
    return Binned(
        np.ascontiguousarray(binned.columns[:, rows]),
        binned.y[rows],
        None if weights is None else weights[rows],
        binned.places[rows],
    )


class Judgement(NamedTuple):
    """Raw predictions of rows that are held out, and the sums of their losses.

    Parameters
    ----------
    raw : ndarray of shape (n_rows, n_trees_per_iteration)
        After the last iteration.
    sums : list of Fraction or float
        Weighted losses after each iteration.
    """

    raw: np.ndarray
    sums: list[Fraction | float]


def start_judging(
    shard: tuple[Binned, Binned],
    baseline: np.ndarray,
    iterations: list,
    missing_bin: int,
) -> Judgement:
    """Return the raw predictions of held-out rows after some iterations."""
    held_out = shard[1]
    raw = np.empty((len(held_out.y), baseline.shape[1]), order="F")
    raw[:] = baseline
    add_trees(iterations, held_out.columns, raw, missing_bin, 1)
    return Judgement(raw, [])


def judge(
    shard: tuple[Binned, Binned],
    before: Judgement,
    iterations: list,
    loss: Any,
    missing_bin: int,
) -> Judgement:
    """Go on with the raw predictions, and sum losses after each iteration."""
    _, y, weights, _ = held_out = shard[1]
    raw = before.raw.copy(order="F")
    sums = []
    for trees in iterations:  # none before the first iteration
        add_trees([trees], held_out.columns, raw, missing_bin, 1)
        if len(y):
            losses = loss.loss(
                y_true=y, raw_prediction=raw, sample_weight=weights, n_threads=1
            )
        sums.append(exact_sum(losses) if len(y) else Fraction(0))
    return Judgement(raw, sums)


def sum_weights(shard: tuple[Binned, Binned]) -> Fraction | float:
    """Return the weight of the rows that are held out."""
    _, y, weights, _ = shard[1]
    return Fraction(len(y)) if weights is None else exact_sum(weights)


def sums_of(judgement: Judgement) -> list[Fraction | float]:
    """Return the sums alone, which are all that travels."""
    return judgement.sums
