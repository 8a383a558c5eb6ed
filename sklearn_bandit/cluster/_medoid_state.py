"""The medoids chosen so far, and what they are to each sample."""

from math import isfinite
from typing import NamedTuple

import numpy as np

from ._exact_passes import (
    assign,
    best_addition,
    best_swap,
    exact_build,
    exact_swap,
    nearest_two,
)

# Bytes of exact rows that are held at once, beside the cache.
ROWS_AT_ONCE = 2**26

# Losses closer than this, relative to the loss, are equal: they differ by the order in
# which a processor adds them up. The two samples of a cluster of two are such equals.
EQUAL = 1e-12

# Below this many distances a second thread costs more than it saves.
SERIAL_DISTANCES = 2**19

OUT_OF_RANGE = (
    "The sum of the distances is not finite: they are too large for their type. Scale "
    "X down, or use float64."
)

# As many samples have a matrix so small that a step is one call of a kernel; beyond,
# two threads are faster. Without it whole fits take 1.24 times as long on iris, 1.72
# with ten clusters, 1.26 on breast cancer, 1.45 on 700 digits (processor time).
# Benchmark: `kmedoids.cut_over`.
SMALL = 700


class References(NamedTuple):
    """What the sampled passes know of some references, in float32 and in scale."""

    weights: np.ndarray  # relative to their mean
    nearest: np.ndarray  # distance to the nearest medoid
    second: np.ndarray  # and to the second nearest
    labels: np.ndarray  # the nearest medoid


class MedoidState:
    """Medoids with the nearest and second nearest distance of every sample.

    Everything is by position; see `Distances`.

    Parameters
    ----------
    rows : callable
        Rows of given arms: a `RowCache`.
    order : ndarray of shape (n,)
        The sample at each position.
    weights : ndarray of shape (n,)
        Positive weights of the samples.
    n_clusters : int
        Number of medoids wanted.
    n_threads : int
        OpenMP threads.

    Attributes
    ----------
    medoids : list of int
        Positions.
    loss : float
        Sum of the weighted distances to the nearest medoid; infinite without medoids.
    """

    def __init__(self, rows, order, weights, n_clusters, n_threads):
        self.rows = rows
        self.order = order
        self.n = len(order)
        self.n_clusters = n_clusters
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        self.n_threads = n_threads
        self.clear()
        relative = self.weights / self.weights.mean()
        self._relative_weights = relative.astype(np.float32)

    def clear(self):
        """Forget the medoids."""
        n, dtype = self.n, self.rows.dtype
        self.medoids = []
        self._medoid_rows = np.empty((self.n_clusters, n), dtype)
        self.nearest = np.full(n, np.inf, dtype)
        self.second = np.full(n, np.inf, dtype)
        self.labels = np.zeros(n, np.intc)
        self.loss = np.inf
        self._scaled = None

    def add(self, arm):
        """Make a sample the next medoid."""
        self.medoids.append(int(arm))
        self._medoid_rows[len(self.medoids) - 1] = self.rows([int(arm)])[0]
        self._update()

    def replace(self, removed, arm):
        """Make a sample the medoid in place of the one of a cluster."""
        self.medoids[removed] = int(arm)
        self._medoid_rows[removed] = self.rows([int(arm)])[0]
        self._update()

    def swap(self, removed, arm):
        """Swap the medoid of a cluster for a sample, if the loss is smaller then.

        The change of the loss is a difference of sums. Where it is far smaller than
        these it is their rounding, and swaps that follow it never end.

        Returns
        -------
        bool
            Whether the swap was made.
        """
        before, loss = self.medoids[removed], self.loss
        self.replace(removed, arm)
        if self.loss < loss:
            return True
        self.replace(removed, before)
        return False

    def set(self, medoids):
        """Make these samples the medoids."""
        self.clear()
        self.medoids = [int(arm) for arm in medoids]
        if self.medoids:
            self._medoid_rows[: len(self.medoids)] = self.rows(self.medoids)
            self._update()

    def _update(self):
        rows = self._medoid_rows[: len(self.medoids)]
        n_threads = self._threads(rows.size)
        nearest_two(rows, self.nearest, self.second, self.labels, n_threads)
        self._set_loss()
        self._scaled = None

    def _set_loss(self):
        nearest = self.nearest.astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            self.loss = float(self.weights @ nearest)
        if not isfinite(self.loss):
            raise ValueError(OUT_OF_RANGE)

    def _threads(self, n_distances):
        return 1 if n_distances < SERIAL_DISTANCES else self.n_threads

    # -- for the sampled passes, in float32 and times the distances' scale -----------

    def references(self, start, stop):
        """Return what is known of the references at some positions."""
        nearest, second = self._in_scale()
        part = slice(start, stop)
        return References(
            self._relative_weights[part],
            nearest[part],
            second[part],
            self.labels[part],
        )

    def present(self):
        """Return the costs of changing nothing."""
        return self._in_scale()[0]

    def costs(self, arm, removed=None):
        """Return the costs of adding an arm, or of swapping it for a medoid."""
        row = self.rows([int(arm)])[0]
        others = self.nearest
        if removed is not None:
            others = np.where(self.labels == removed, self.second, self.nearest)
        return (np.minimum(row, others) * self.rows.scale).astype(np.float32)

    def in_scale(self, total):
        """Return a total as the sampled passes see it: a scaled mean."""
        return total / self.weights.sum() * self.rows.scale

    def _in_scale(self):
        if self._scaled is None:
            scale = self.rows.scale
            self._scaled = tuple(
                (values * scale).astype(np.float32)
                for values in (self.nearest, self.second)
            )
        return self._scaled

    # -- exact searches -------------------------------------------------------------

    def best_addition(self, arms):
        """Return the arm whose addition gives the least loss, and that loss.

        Of equal arms the one that comes first in the data is taken.
        """
        losses = np.empty(len(arms))
        first = 0
        for part in self._parts(arms):
            d = self.rows.columns(part)
            out = losses[first : first + len(part)]
            exact_build(d, self.weights, self.nearest, out, self._threads(d.size))
            first += len(part)
        losses[self._are_medoids(arms)] = np.inf
        least = losses.min(initial=np.inf)
        if not isfinite(least):
            raise ValueError(OUT_OF_RANGE)
        equals = np.flatnonzero(losses <= least + EQUAL * abs(least))
        i = equals[np.argmin(self.order[np.asarray(arms)[equals]])]
        return int(arms[i]), float(losses[i])

    def swap_changes(self, arms):
        """Change of the loss by each swap, of shape (n_arms, n_clusters)."""
        changes = np.empty((len(arms), self.n_clusters))
        first = 0
        for part in self._parts(arms):
            d = self.rows.columns(part)
            out = changes[first : first + len(part)]
            n_threads = self._threads(d.size)
            if self.n_clusters == 1:
                # Without another medoid a swap is a first choice.
                exact_build(d, self.weights, self.second, out[:, 0], n_threads)
                out -= self.loss
            else:
                state = self.weights, self.nearest, self.second, self.labels
                exact_swap(d, *state, out, n_threads)
            first += len(part)
        changes[self._are_medoids(arms)] = np.inf
        return changes

    def best_swap(self, arms):
        """Return the best swap of some arms: arm, removed medoid, change of the loss.

        Of equal swaps the one whose arm comes first in the data is taken, then the one
        that removes the first medoid.
        """
        return self.best_change(arms, self.swap_changes(arms))

    def best_change(self, arms, changes):
        """Return the best of some swaps, as `best_swap`, from what they change."""
        if len(arms) == 0:
            return None, None, np.inf
        equal = changes <= changes.min() + EQUAL * abs(self.loss)
        i, removed = np.nonzero(equal)
        first = np.lexsort((removed, self.order[np.asarray(arms)[i]]))[0]
        i, removed = i[first], removed[first]
        return int(arms[i]), int(removed), float(changes[i, removed])

    def is_improvement(self, change, tol=0.0):
        """Whether a change of the loss is worth a swap, rounding considered."""
        return change < -max(tol, EQUAL) * abs(self.loss)

    def _are_medoids(self, arms):
        is_medoid = np.zeros(self.n, dtype=bool)
        is_medoid[self.medoids] = True
        return is_medoid[arms]

    def _parts(self, arms):
        row_bytes = self.n * self.rows.dtype.itemsize
        step = max(ROWS_AT_ONCE // row_bytes, 1)
        arms = np.asarray(arms).tolist()
        for first in range(0, len(arms), step):
            yield arms[first : first + step]


class SmallMedoidState(MedoidState):
    """Medoids of few samples: the whole matrix, and one call of a kernel for each step.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
        All distances: from i to the medoid j is entry ``[i, j]``.
    order, weights, n_clusters
        As for `MedoidState`.
    """

    def __init__(self, matrix, order, weights, n_clusters):
        self.matrix = matrix
        self.order = order
        self.n = len(order)
        self.n_clusters = n_clusters
        self.weights = np.ascontiguousarray(weights, dtype=np.float64)
        self.clear()

    def clear(self):
        """Forget the medoids."""
        self.medoids = []
        self.loss = np.inf
        self.nearest = np.full(self.n, np.inf, self.matrix.dtype)
        self.second = self.nearest.copy()
        self.labels = np.zeros(self.n, np.intc)
        self._sums = np.empty((1 + self.n_clusters, self.n))

    def add(self, arm):
        """Make a sample the next medoid."""
        self.medoids.append(int(arm))
        self._update()

    def replace(self, removed, arm):
        """Make a sample the medoid in place of the one of a cluster."""
        self.medoids[removed] = int(arm)
        self._update()

    def set(self, medoids):
        """Make these samples the medoids."""
        self.clear()
        self.medoids = [int(arm) for arm in medoids]
        if self.medoids:
            self._update()

    def _update(self):
        assign(self.matrix, self.medoids, self.nearest, self.second, self.labels)
        self._set_loss()

    def best_addition(self, arms=None):
        """Return the arm whose addition gives the least loss, and that loss.

        All arms are looked at.
        """
        state = self.matrix, self.weights, self.nearest, self.medoids
        return best_addition(*state, EQUAL, self._sums)

    def best_swap(self, arms=None):
        """Return the best of all swaps: arm, removed medoid, change of the loss."""
        equal = EQUAL * abs(self.loss)
        if self.n_clusters == 1:
            # Without another medoid a swap is a first choice.
            state = self.matrix, self.weights, self.second, self.medoids
            arm, loss = best_addition(*state, EQUAL, self._sums)
            return arm, 0, loss - self.loss
        state = self.matrix, self.weights, self.nearest, self.second, self.labels
        return best_swap(*state, self.medoids, equal, self._sums)
