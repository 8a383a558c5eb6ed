"""The first look at the data of a boosted model: what the client knows of them then.

Every partition is described. The rows that bins are found from come to the client with
their values: where trees are grown on samples, they are the first of the order in which
rows join the working set, and need not come again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_bandit.ensemble import MAX_BIN_ROWS, N_ROWS, READABLE, choose_rows

from ._boosting_blocks import Description, Sample, describe
from ._client import Tasks
from ._collections import Partitions
from ._sums import add_sums


class Summary:
    """What the descriptions of all partitions say together.

    Parameters
    ----------
    descriptions : list of Description
        In the order of partitions.
    is_classifier : bool
        Whether targets are classes.

    Attributes
    ----------
    classes : ndarray or None
        Sorted labels.
    counts : ndarray of shape (n_partitions, n_classes)
        Rows of each class; of all rows in regression.
    weights : ndarray of shape (n_classes,) or None
        Weights of each class, or of all rows.
    y_range : ndarray of shape (2,) or None
        Least and largest number.
    mean : float or None
        Mean of numbers.
    """

    def __init__(self, descriptions: list[Description], is_classifier: bool) -> None:
        self.descriptions = descriptions
        self.classes = self.y_range = self.mean = self.weights = None
        labels = [one.labels for one in descriptions]
        has_weights = descriptions[0].weights is not None
        if is_classifier:
            self.classes = np.unique(np.concatenate(labels))
            places = [np.searchsorted(self.classes, some) for some in labels]
            self.counts = np.zeros((len(labels), len(self.classes)), dtype=np.int64)
            sums: list[list] = [[] for _ in self.classes]
            for i, (one, at) in enumerate(zip(descriptions, places, strict=True)):
                self.counts[i, at] = one.counts
                for place, weight in zip(at, one.weights or [], strict=False):
                    sums[place].append(weight)
        else:
            self.counts = np.array([one.counts for one in descriptions])
            self.y_range = np.array([np.min(labels), np.max(labels)])
            sums = [[one.weights[0] for one in descriptions if one.weights]]
        if has_weights:
            self.weights = np.array([float(add_sums(some)) for some in sums])
        if not is_classifier:
            total = float(add_sums([one.total for one in descriptions]))
            count = self.weights[0] if has_weights else self.counts.sum()
            self.mean = total / count if count else 0.0

    def concatenate(self, name: str) -> Any:
        """Return the rows of a field of the descriptions, or None."""
        parts = [getattr(one, name) for one in self.descriptions]
        if parts[0] is None:
            return None
        if isinstance(parts[0], np.ndarray):
            return np.concatenate(parts)
        import pandas as pd

        return pd.concat(parts)

    def order(self) -> np.ndarray | None:
        """Return the order in which the rows of `values` join, or None."""
        places = self.concatenate("value_places")
        return None if places is None else np.argsort(places)

    def categories(self) -> list[np.ndarray]:
        """Return the distinct values of each categorical column."""
        columns = zip(*(one.categories for one in self.descriptions), strict=True)
        # Not sorted: an encoder sorts them, and there may be several types.
        return [
            np.array(list(dict.fromkeys(v for part in column for v in part)), object)
            for column in columns
        ]


def summarize(
    tasks: Tasks,
    partitions: Partitions,
    *,
    is_classifier: bool,
    categorical: list[int],
    seed: int,
    round_size: int | None,
) -> Summary:
    """Describe all partitions: the first look at the data.

    Parameters
    ----------
    tasks : Tasks
        Of the fit.
    partitions : Partitions
        The data.
    is_classifier : bool
        Whether targets are classes.
    categorical : list of int
        Columns whose values are categories.
    seed : int
        Draws the rows that bins are found from.
    round_size : int or None
        Size of the rounds in which rows join. Bins are then found from the first of
        these, as many as have `MAX_BIN_ROWS` rows. None for rows drawn apart, if not
        all, as the local estimators do.

    Returns
    -------
    Summary
        What was found.
    """
    n = partitions.n_samples
    step = max(1, n // N_ROWS)
    lasts = partitions.starts + partitions.n_rows
    values: list
    if round_size is None:
        rows, _ = choose_rows(n, None, seed)
        some = dict(partitions.locate(np.arange(n) if rows is None else rows))
        empty = np.empty(0, dtype=np.int64)
        values = [some.get(i, empty) for i in range(len(partitions))]
    else:
        stop = MAX_BIN_ROWS // round_size * round_size
        values = [
            (n, round_size, seed, stop, int(first), int(last))
            for first, last in zip(partitions.starts, lasts, strict=True)
        ]
    futures = tasks.compute(
        [
            partitions.call(
                i,
                describe,
                Sample(values[i], slice(int(-first % step), None, step), categorical),
                is_classifier,
            )
            for i, first in enumerate(partitions.starts)
        ]
    )
    return Summary(list(tasks.gather(futures)), is_classifier)


class FirstRows:
    """Rows that bins are found from, which are also the first of the working set.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_features)
        Their values, in the order in which they join.
    y, sample_weight : ndarray of shape (n_rows,)
        Encoded targets, and weights or None.
    """

    def __init__(self, values, y, sample_weight):
        values = np.ascontiguousarray(values)
        self.values = values if values.dtype in READABLE else values.astype(np.float64)
        self.y, self.sample_weight = y, sample_weight

    def read(self, binner, start, stop, columns, n_threads):
        """Put rows into bins; return targets, weights or None, what is missing."""
        has_missing = np.zeros(len(columns), dtype=np.uint8)
        some = slice(start, stop)
        binner.assign(self.values[some], None, columns, has_missing, n_threads)
        weights = self.sample_weight
        return self.y[some], None if weights is None else weights[some], has_missing
