"""Add trees, iteration by iteration.

An iteration of a :class:`Booster` computes gradients of its rows, grows one tree (or
one for each class), adds its values to their raw predictions and hands the predictors
back.
"""

from functools import partial

import numpy as np
from sklearn.utils import gen_even_slices

from sklearn_bandit._compat import (
    FIRST_OF_EQUAL_THRESHOLDS,
    HalfBinomialLoss,
    HalfMultinomialLoss,
)
from sklearn_bandit._core.tasks import run_tasks

from ._data.layout import Layout
from ._data.row_lists import RowLists
from ._growing.grower import TreeGrower
from ._growing.growth_options import GrowthOptions
from ._growing.histogram import HistogramBuilder
from ._growing.monotonic import bound_leaf_values
from ._growing.predictor import PredictorMaker
from .losses import binomial, multinomial
from .thread_choice import ThreadChoice

# Raw predictions whose gradients are worth a task of their own: some 30 microseconds,
# of which the call takes five.
TASK_SIZE = 16_384

# scikit-learn's losses that have kernels of their own. They themselves: what derives
# from one of them, or has its name, may compute something else.
KERNELS = {HalfBinomialLoss: binomial, HalfMultinomialLoss: multinomial}


class Booster:
    """Adds trees that see all rows.

    Parameters
    ----------
    data : TrainingRows
        The training set; its raw predictions are changed in place.
    loss : BaseLoss
        scikit-learn's loss.
    bin_mapper : BinMapper
        Thresholds of the bins.
    learning_rate : float
        Factor of the values of the leaves.
    n_threads : int
        Threads to use.
    **grower_options
        Fields of ``GrowthOptions``.

    Attributes
    ----------
    n_insertions : int
        Insertions into histograms so far.
    n_grown : int
        Rows that a tree is grown on, about.
    n_scored : int
        Rows, from the first on, to judge the training loss by.
    state : SamplingState or None
        What a warm start has to know of samples; None if there are none.
    """

    state = None

    def __init__(
        self, data, *, loss, bin_mapper, learning_rate, n_threads, **grower_options
    ):
        self.data = data
        self.loss = loss
        self.bin_mapper = bin_mapper
        self.learning_rate = learning_rate
        self.n_threads = n_threads
        self.thread_choice = ThreadChoice(n_threads)
        self.maker = PredictorMaker(bin_mapper)
        self.grower_options = grower_options
        self.rows = None
        self.constant_hessian = loss.constant_hessian
        self.n_insertions = 0
        self._start()

    def _start(self):
        """Have the rows of the first tree."""
        self.data.join_all()
        self.n_scored = self.n_grown = self.data.n_rows

    def scored(self):
        """Return targets, raw predictions and weights to judge the training by."""
        return self.data.part(slice(self.n_scored))

    @property
    def n_seen(self):
        """Number of rows that the last tree was grown on."""
        return self.data.n_rows

    def _read_rows(self):
        """Write the rows as lists of cells, and make room for what trees need."""
        self.rows = self.growers = self.gradients = None  # not twice at a time
        data = self.data
        self.layout = Layout(
            data.columns,
            self.bin_mapper.n_bins_non_missing_,
            data.has_missing,
            self.bin_mapper.is_categorical_,
            data.missing_bin,
            n_grown=self.n_grown,
            n_threads=self.n_threads,
        )
        self.rows = RowLists(self.layout, data.columns, self.n_threads)
        self._make_room()

    def _make_room(self):
        """Make room for the gradients and hessians that trees are grown on."""
        self.growers = []
        width = 1 if self.constant_hessian else 2
        shape = (self.data.raw.shape[1], self.data.n_rows, width)
        self.gradients = np.empty(shape, dtype=np.float32)

    def _growers(self, n, n_threads):
        """Return `n` growers with `n_threads` threads each."""
        while len(self.growers) < n:
            builder = HistogramBuilder(
                self.layout, self.rows, self.constant_hessian, self.n_threads
            )
            self.growers.append(
                TreeGrower(
                    self.layout,
                    builder,
                    self.data.columns,
                    GrowthOptions(
                        first_of_equal=FIRST_OF_EQUAL_THRESHOLDS, **self.grower_options
                    ),
                    self.n_threads,
                )
            )
        for grower in self.growers[:n]:
            grower.use_threads(n_threads)
        return self.growers[:n]

    def iterate(self, rng):
        """Add the tree or trees of one iteration.

        Parameters
        ----------
        rng : numpy.random.Generator
            Draws features.

        Returns
        -------
        list of TreePredictor
            The trees.
        """
        if self.rows is None:
            self._read_rows()
        self._compute_gradients()
        n_trees = len(self.gradients)
        trees = [None] * n_trees

        def grow(k):
            grower = free.pop()
            trees[k] = self._grow(grower, k, rng)
            free.append(grower)
            return trees[k][0]

        n_apart = self._n_apart(n_trees)
        if n_apart:
            free = self._growers(min(n_apart, self.n_threads), 1)
            run_tasks(grow, list(range(n_apart)), self.n_threads)
        for k in range(n_apart, n_trees):
            free = self._growers(1, self.thread_choice.n_threads)
            self.thread_choice.measure(partial(grow, k))
        self.n_insertions += sum(n for n, _ in trees)
        return [predictor for _, predictor in trees]

    def _n_apart(self, n_trees):
        """How many trees of an iteration are grown side by side, one thread each.

        They need not wait for each other, as threads that share a tree do after every
        step. What is left over when each thread has had as many is shared again, unless
        it keeps most threads busy.
        """
        draws = self.grower_options["max_features"] < 1.0  # one after the other
        if draws or self.n_threads == 1:
            return 0
        left = n_trees % self.n_threads
        return n_trees if 2 * left > self.n_threads else n_trees - left

    def _compute_gradients(self):
        """Compute the gradients that trees are grown on: those of all rows."""
        compute_gradients(
            self.loss, *self.data.part(slice(None)), self.gradients, self.n_threads
        )

    def _check(self, grower):
        """Raise if the first tree could not be grown for want of finite gradients.

        It would be a root, and the model a constant, whatever the data. Later trees may
        be so: a loss that grows beyond all bounds says enough.
        """
        if not self.data.predictors and not np.isfinite(grower.sum_gradients):
            raise ValueError(
                "The gradients of the loss do not fit single precision: targets or "
                "sample weights are too large. Scale them down."
            )

    def _grow(self, grower, k, rng):
        """Grow one tree: number of insertions and predictor."""
        n_insertions = grower.grow(self.gradients[k], rng)
        self._check(grower)
        values = self.learning_rate * self._leaf_values(grower, k)
        grower.add_to(self.data.raw[:, k], values)
        return n_insertions, self.maker.make(grower.table(), values)

    def _leaf_values(self, grower, k, sample=None):
        """Values of a tree's leaves in the grower's order, before the learning rate.

        `sample` is what the tree was grown on, None for all rows.
        """
        nodes, starts, stops, values = grower.leaves()
        if self.loss.differentiable:
            return values
        # The Newton step means nothing: the best constant in each leaf does.
        for leaf, (start, stop) in enumerate(zip(starts, stops, strict=True)):
            rows, weights = grower.sample_indices[start:stop], None
            if sample is not None:
                rows, weights = sample.rows[rows], sample.weights[rows]
            values[leaf] = best_constant(self.loss, self.data, k, rows, weights)
        table = grower.table()
        leaves = np.argsort(table["node"])[nodes]
        return bound_leaf_values(
            table, leaves, values, self.grower_options["monotonic_cst"]
        )


def compute_gradients(loss, y, raw, sample_weight, out, n_threads):
    """Compute gradients and, unless constant, hessians of the loss.

    Parameters
    ----------
    loss : BaseLoss
        The loss.
    y, raw, sample_weight : ndarray
        Targets, raw predictions, and weights or None.
    out : ndarray of float32 of shape (n_trees_per_iteration, n_samples, 2 or 1)
        Output: gradient and, unless constant, hessian.
    n_threads : int
        Threads to use.
    """
    # Of all losses only the multinomial one has several raw predictions a row.
    kernel = KERNELS.get(type(loss))
    if kernel is not None:
        kernel(y, raw, sample_weight, out, n_threads)
        return

    def compute(rows):
        # In our own threads, see ``tasks``, and not in those of the loss.
        arguments = {
            "y_true": y[rows],
            "raw_prediction": raw[rows],
            "sample_weight": None if sample_weight is None else sample_weight[rows],
            "n_threads": 1,
        }
        if out.shape[-1] == 1:
            loss.gradient(gradient_out=out[0, rows, 0], **arguments)
        else:
            found = np.empty((2, rows.stop - rows.start), dtype=np.float32)
            loss.gradient_hessian(
                gradient_out=found[0], hessian_out=found[1], **arguments
            )
            out[0, rows] = found.T

    n_tasks = min(n_threads, max(1, raw.size // TASK_SIZE))
    run_tasks(compute, list(gen_even_slices(len(y), n_tasks)), n_threads)


def best_constant(loss, data, k, rows, weights=None):
    """Constant that some rows' k-th raw predictions are best changed by.

    `weights` are those of the rows in a sample, None for equal ones.
    """
    y, raw, sample_weight = data.part(rows)
    if weights is not None:
        weights = weights.astype(np.float64)
        sample_weight = weights if sample_weight is None else weights * sample_weight
    return loss.fit_intercept_only(
        y_true=y - raw[:, k],
        sample_weight=sample_weight,
    )
