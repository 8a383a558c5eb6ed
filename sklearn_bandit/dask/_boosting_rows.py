"""The rows of a boosted model, on the workers that have them.

`ClusterRows` answers what a fit asks of its rows (see ``ArrayRows`` of the local
estimators). All that depends on chance is a function of the seed and of row numbers,
and all sums are exact: where the collection is cut, and on which workers the parts are,
makes no difference.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from dask.delayed import delayed
from distributed import Future

from sklearn_bandit._compat import (
    BINS_BY_WEIGHT,
    BinMapper,
    approximate_mode,
    shuffle_split_sizes,
)
from sklearn_bandit.ensemble import Joining, fit_bin_mapper

from ._boosting_blocks import (
    Encoding,
    Share,
    Stratum,
    cut,
    merge,
    pack,
    sum_weights,
    take,
)
from ._boosting_summary import FirstRows
from ._sums import add_sums

# A first working set of three samples has the rows that bins are found from.
SAMPLES_OF_FIRST_SET = 3

# Work of a row that joins later, and of each of its values. To cut, send and gather
# rows took 190 ns of processor time (8 values) and 290 ns (28) a row, in two workers
# and the client, where an insertion takes 1 to 2 ns; to put all rows into bins before,
# once, 300 and 460 ns for each of them, joining or not. What is taken here is in
# between: 198 and 318 insertions. Log-losses of 100, 200 and 300 trees on the flights
# (one seed; in memory .4492, .4388, .4322): with 114 insertions .4514, .4429, .4369;
# with 198 .4514, .4457, .4391; with 228 .4514, .4457, .4397. The set grew after 101,
# 208 and 248 trees; the loss of 100 trees of LightGBM was reached after 147.
WORK_OF_ROW = 150.0
WORK_OF_MOVED_VALUE = 6.0

ON_CLUSTER = Joining(SAMPLES_OF_FIRST_SET, False, WORK_OF_ROW, WORK_OF_MOVED_VALUE)


def count_joining(n_training: int, max_rows: int, batch_size: int) -> int:
    """Return how many of the training rows may join: all, or whole batches."""
    if n_training <= max_rows:
        return n_training
    return max_rows // batch_size * batch_size


class ClusterRows:
    """Rows of partitions; the methods are those of ``ArrayRows``.

    Parameters
    ----------
    tasks : Tasks
        Of the fit.
    partitions : Partitions
        The data.
    summary : Summary
        What is known of them.
    class_weight : ndarray of shape (n_classes,) or None
        Weights of the classes.
    preprocess : callable or None
        Makes numbers of a data frame or of categories.
    max_rows : int
        Most rows that leave the workers.
    batch_size : int
        Rows of the first sample.
    seed : int
        Draws the rows that may join where these are not all.

    Attributes
    ----------
    n_samples, n_features : int
        Numbers of rows that may join, and of features.
    sample_weight : object
        None if there are no weights.
    n_moved : int
        Rows that were brought to the client so far.
    """

    mapped_columns = None  # see ``ArrayRows``
    joining = ON_CLUSTER

    def __init__(
        self,
        tasks,
        partitions,
        summary,
        *,
        class_weight,
        preprocess,
        max_rows,
        batch_size,
        seed,
    ):
        self.tasks = tasks
        self.partitions = partitions
        self.summary = summary
        self.class_weight = class_weight
        self.preprocess = preprocess
        self.max_rows = max_rows
        self.batch_size = batch_size
        self.seed = seed
        self.n_features = partitions.n_features
        has_weights = summary.weights is not None or class_weight is not None
        self.sample_weight = () if has_weights else None
        self.mapper: BinMapper | None = None
        self.first: FirstRows | None = None
        self.shards: list[Future] | None = None
        self.strata = [
            [Stratum(k, 0, 0, 0, 0) for k in range(summary.counts.shape[1])]
            for _ in range(len(partitions))
        ]
        self.n_held_out = np.zeros(len(partitions), dtype=np.int64)
        self.n_moved = 0
        self._set_size()

    def _set_size(self):
        """Set how many rows may join: whole batches, or all."""
        self.n_training = int(self.partitions.n_samples - self.n_held_out.sum())
        self.n_samples = count_joining(self.n_training, self.max_rows, self.batch_size)

    def hold_out(self, test_size, random_state, *, stratify):
        """Hold rows out by number; return the training part and the other.

        The share of each class is held out: one row out of each of equally long
        stretches of its rows. ``stratify`` is whether there are classes.
        """
        counts = self.summary.counts
        totals = counts.sum(axis=0)
        n_train, n_test = shuffle_split_sizes(self.partitions.n_samples, test_size)
        rng = np.random.RandomState(random_state)
        if stratify:
            if totals.min() < 2:
                raise ValueError(
                    "The least populated class in y has only 1 member, which is too "
                    "few to hold rows out for early stopping: set early_stopping=False "
                    "or pass X_val and y_val."
                )
            kept = np.minimum(approximate_mode(totals, n_train, rng), totals - 1)
            n_held_out = totals - kept
        else:
            n_held_out = np.array([n_test])
        seeds = rng.randint(np.iinfo(np.int32).max, size=len(totals))
        before = np.cumsum(counts, axis=0) - counts
        self.strata = [
            [
                Stratum(k, *(int(v) for v in numbers))
                for k, numbers in enumerate(
                    zip(totals, n_held_out, seeds, first, strict=True)
                )
            ]
            for first in before
        ]
        drawn = np.array(
            [
                [len(one.draw(int(n))) for one, n in zip(strata, some, strict=True)]
                for strata, some in zip(self.strata, counts, strict=True)
            ]
        )
        self.n_held_out = drawn.sum(axis=1)
        self.summary.counts = counts - drawn
        self._set_size()
        return self, HeldOutRows(self)

    def fit_bin_mapper(self, *, random_state, **options):
        """Find the thresholds of bins from the sample that `summarize` drew."""
        values = self.summary.concatenate("values")
        y, weights = self._encoded("value_targets", "value_weights")
        order = self.summary.order()
        if order is not None:
            values, y = take(values, order), y[order]
            weights = None if weights is None else weights[order]
        if self.preprocess is not None:
            values = self.preprocess(values)
        # Held-out rows may be among them; without these the order is another one.
        if order is not None and not self.n_held_out.any():
            self.first = FirstRows(values, y, weights)
        self.n_moved += len(values)
        self.mapper = fit_bin_mapper(
            values, weights if BINS_BY_WEIGHT else None, **options
        )
        return self.mapper

    def fit_baseline(self, loss):
        """Return the raw predictions before the first tree, of shape (1, n_trees)."""
        summary = self.summary
        if summary.classes is not None:
            counts = summary.counts.sum(axis=0)
            weights = counts if summary.weights is None else summary.weights
            if self.class_weight is not None:
                weights = weights * self.class_weight
            y = np.arange(len(counts), dtype=np.float64)
            weights = np.asarray(weights, dtype=np.float64)
        elif loss.differentiable:
            y, weights = np.array([summary.mean]), None
        else:
            y, weights = self.some_targets(1)
        return loss.fit_intercept_only(y_true=y, sample_weight=weights).reshape((1, -1))

    def count_rarest(self):
        """Count the rows of the rarest class that may join."""
        counts = self.summary.counts.sum(axis=0)
        return int(counts[counts > 0].min() * self.n_samples // self.n_training)

    def some_targets(self, step):
        """Return targets and weights (or None) of the rows that `summarize` drew."""
        return self._encoded("targets", "target_weights")

    def _encoded(self, targets, weights):
        """Return encoded targets and weights (or None) of some rows."""
        y = self.summary.concatenate(targets)
        weights = self.summary.concatenate(weights)
        if self.summary.classes is not None:
            y = np.searchsorted(self.summary.classes, y)
            if self.class_weight is not None:
                by_class = self.class_weight[y]
                weights = by_class if weights is None else weights * by_class
        return y.astype(np.float64), weights

    def read_all(self, binner, columns, has_missing, n_threads):
        """Read all rows that may join, in their own order if these are all rows."""
        order = None
        if self.n_samples < self.n_training:
            order = self.batch_size, self.seed, self.n_samples
        return self._read(order, 0, self.n_samples, columns, has_missing)

    def read(self, binner, drawn, columns, has_missing, n_threads):
        """Read rows in random order; see ``ArrayRows.read``."""
        round_size, seed, start, stop = drawn
        order = round_size, seed, self.n_samples
        n_first = 0 if self.first is None else len(self.first.y)
        if start >= n_first:
            return self._read(order, start, stop, columns, has_missing)
        middle = min(stop, n_first)
        here, there = columns[:, : middle - start], columns[:, middle - start :]
        y, weights, has_missing[:] = self.first.read(
            binner, start, middle, here, n_threads
        )
        if middle == stop:
            return y, weights
        more = np.zeros_like(has_missing)
        y_there, weights_there = self._read(order, middle, stop, there, more)
        has_missing |= more
        if weights is not None:
            weights = np.concatenate([weights, weights_there])
        return np.concatenate([y, y_there]), weights

    def _read(self, order, start, stop, columns, has_missing):
        """Bring the rows between two places of the order to the client."""
        if self.shards is None:
            self._pack(order)
        return self.bring(0, start, stop, columns, has_missing)

    def bring(self, which, start, stop, columns, has_missing):
        """Bring training (0) or held-out (1) rows between two places to the client."""
        pieces = [
            self.tasks.submit(cut, shard, which, start, stop) for shard in self.shards
        ]
        y = np.empty(stop - start)
        weights = None if self.sample_weight is None else np.empty_like(y)
        size = (self.n_features + 16) * (stop - start) // len(pieces) + 1
        for piece in self.tasks.gather(pieces, bytes_each=size):
            places = piece.places - start
            columns[:, places] = piece.columns
            y[places] = piece.y
            if weights is not None:
                weights[places] = piece.sample_weight
        missing_bin = int(self.mapper.missing_values_bin_idx_)
        has_missing[:] = (columns == missing_bin).any(axis=1)
        self.n_moved += stop - start
        return y, weights

    def _pack(self, order):
        """Put rows into bins where they are: the second and last look at the data."""
        mapper = self.mapper
        encoding = delayed(
            Encoding(
                self.preprocess,
                mapper.bin_thresholds_,
                mapper.is_categorical_,
                int(mapper.missing_values_bin_idx_),
                self.summary.classes,
                self.class_weight,
            ),
            pure=False,
            traverse=False,
        )
        n_rows, held = self.partitions.n_rows, self.n_held_out
        firsts = np.cumsum(n_rows - held) - (n_rows - held)
        share = Share([], 0, self.n_training, order, 0)
        packed = self.tasks.compute(
            [
                self.partitions.call(
                    i,
                    pack,
                    encoding,
                    replace(
                        share,
                        strata=strata,
                        first=int(first),
                        first_held_out=int(before),
                    ),
                )
                for i, (strata, first, before) in enumerate(
                    zip(self.strata, firsts, np.cumsum(held) - held, strict=True)
                )
            ]
        )
        self.shards = self._merge(packed)

    def _merge(self, packed):
        """Join what each worker has: one task a worker is cheaper than many."""
        self.tasks.wait(packed)
        where = self.tasks.client.who_has(packed)
        groups: dict[str, list[Future]] = {}
        for future in packed:
            workers = where.get(future.key) or ("",)
            groups.setdefault(min(workers), []).append(future)
        shards = []
        for worker, futures in groups.items():
            # What is lost may be joined elsewhere.
            options = {"workers": [worker], "allow_other_workers": True}
            shards.append(
                self.tasks.submit(merge, futures, **(options if worker else {}))
            )
        self.tasks.wait(shards)
        for future in packed:
            self.tasks.release(future)
        return shards


class HeldOutRows:
    """The rows that `ClusterRows` holds out.

    Parameters
    ----------
    rows : ClusterRows
        All rows.
    """

    mapped_columns = None

    def __init__(self, rows: ClusterRows) -> None:
        self.rows = rows
        self.n_samples = int(rows.n_held_out.sum())
        self.n_features = rows.n_features
        self.sample_weight = rows.sample_weight

    def weight(self) -> float:
        """Return the sum of their weights."""
        tasks = self.rows.tasks
        sums = [tasks.submit(sum_weights, shard) for shard in self.rows.shards]
        weight = float(add_sums(list(tasks.gather(sums))))
        if weight == 0.0:
            raise ValueError(
                "All samples with weight are in the training set: set "
                "early_stopping=False, change random_state or pass X_val and y_val."
            )
        return weight

    def read_all(self, binner, columns, has_missing, n_threads):
        """Bring all of them to the client."""
        return self.rows.bring(1, 0, self.n_samples, columns, has_missing)
