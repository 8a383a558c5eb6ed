"""Add trees, iteration by iteration.

:class:`Booster` holds the training set in bins and the raw predictions of its rows.
An iteration computes gradients, grows one tree (or one for each class), adds its values
to the raw predictions and hands the predictors back.
"""

from functools import cache, partial

import numpy as np
from sklearn.utils import gen_even_slices

from sklearn_bandit._compat import BaseLoss

from ._binning import Binner
from ._grower import TreeGrower
from ._histogram import HistogramBuilder
from ._layout import Layout
from ._losses import binomial, multinomial
from ._predictor import PredictorMaker
from ._routing import MAX_LEAVES, Router
from ._rows import Rows
from ._tasks import run_tasks

# Raw predictions whose gradients are worth a task of their own: some 30 microseconds,
# of which the call takes five.
TASK_SIZE = 16_384

# scikit-learn's losses that have kernels of their own.
KERNELS = {"HalfBinomialLoss": binomial, "HalfMultinomialLoss": multinomial}


def bin_values(X, bin_mapper, n_threads):
    """Put a matrix into bins.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The values.
    bin_mapper : BinMapper
        Has the thresholds.
    n_threads : int
        Threads to use.

    Returns
    -------
    columns : ndarray of uint8 of shape (n_features, n_samples)
        The bins.
    has_missing : ndarray of uint8 of shape (n_features,)
        Whether the feature has missing values.
    """
    binner = Binner(
        bin_mapper.bin_thresholds_,
        bin_mapper.is_categorical_,
        int(bin_mapper.missing_values_bin_idx_),
    )
    columns = np.empty((X.shape[1], X.shape[0]), dtype=np.uint8)
    has_missing = np.zeros(X.shape[1], dtype=np.uint8)
    binner.assign(X, columns, has_missing, n_threads)
    return columns, has_missing


class Booster:
    """A training set and the trees that are added on it.

    Parameters
    ----------
    columns : ndarray of uint8 of shape (n_features, n_samples)
        The training set, in bins.
    has_missing : ndarray of uint8 of shape (n_features,)
        Which features have missing values.
    y, sample_weight : ndarray of shape (n_samples,)
        Encoded targets, and weights or None.
    raw : ndarray of shape (n_samples, n_trees_per_iteration), F-contiguous
        Raw predictions; changed in place.
    loss : BaseLoss
        scikit-learn's loss.
    bin_mapper : BinMapper
        Thresholds of the bins.
    learning_rate : float
        Factor of the values of the leaves.
    n_threads : int
        Threads to use.
    **grower_options
        Passed on to ``TreeGrower``.
    """

    def __init__(
        self,
        columns,
        has_missing,
        y,
        sample_weight,
        raw,
        *,
        loss,
        bin_mapper,
        learning_rate,
        n_threads,
        **grower_options,
    ):
        self.columns = columns
        self.y = y
        self.sample_weight = sample_weight
        self.raw = raw
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_threads = n_threads
        self.missing_bin = int(bin_mapper.missing_values_bin_idx_)
        self.maker = PredictorMaker(bin_mapper)
        self.layout_of = cache(
            partial(
                Layout,
                columns,
                bin_mapper.n_bins_non_missing_,
                has_missing,
                bin_mapper.is_categorical_,
                self.missing_bin,
                n_threads=n_threads,
            )
        )
        self.grower_options = grower_options
        self.growers = {}
        self.n_insertions = 0

    def make_grower(self, columns):
        """Make a grower of trees on some rows.

        Parameters
        ----------
        columns : ndarray of uint8 of shape (n_features, n_rows)
            The rows.

        Returns
        -------
        rows : Rows
            The rows as lists of cells.
        grower : TreeGrower
            The grower.
        gradients : ndarray of float32
            Room for the gradients and hessians of the rows, tree by tree.
        """
        layout = self.layout_of(may_bundle=columns is self.columns)
        rows = Rows(layout, columns, self.n_threads)
        grower = self._new_grower(rows, columns)
        return rows, grower, self.make_gradients(columns.shape[1])

    def _new_grower(self, rows, columns):
        """Make a grower on rows that were written already."""
        layout = self.layout_of(may_bundle=columns is self.columns)
        builder = HistogramBuilder(
            layout, rows, self.loss.constant_hessian, self.n_threads
        )
        return TreeGrower(
            layout,
            builder,
            columns,
            n_threads=self.n_threads,
            **self.grower_options,
        )

    def make_gradients(self, n_samples):
        """Make room for gradients, and hessians unless they are constant, by tree."""
        width = 1 if self.loss.constant_hessian else 2
        return np.empty((self.raw.shape[1], n_samples, width), dtype=np.float32)

    def _all_rows(self):
        """Rows, growers and gradients of the whole training set."""
        if None not in self.growers:
            rows, grower, gradients = self.make_grower(self.columns)
            self.growers[None] = rows, [grower], gradients
        return self.growers[None]

    def _growers(self, n):
        """Return so many growers on all rows."""
        rows, growers, _ = self._all_rows()
        while len(growers) < n:
            growers.append(self._new_grower(rows, self.columns))
        return growers[:n]

    @property
    def state(self):
        """What a warm start has to know of samples: there are none."""
        return None

    @property
    def raw_is_current(self):
        """Whether `raw` has the predictions of all trees."""
        return True

    def training_scores(self):
        """Return raw predictions, targets and weights to judge the training loss by."""
        return self.raw, self.y, self.sample_weight

    def iterate(self, rng):
        """Add the tree or trees of one iteration.

        Parameters
        ----------
        rng : numpy.random.Generator
            Draws features.

        Returns
        -------
        list of tuple of (TreePredictor, dict)
            For each tree its predictor and its table.
        """
        _, _, gradients = self._all_rows()
        compute_gradients(
            self.loss, self.y, self.raw, self.sample_weight, gradients, self.n_threads
        )
        n_trees = self.raw.shape[1]
        trees = [None] * n_trees

        def grow(k):
            grower = free.pop()
            trees[k] = self._grow(grower, gradients[k], k, rng)
            free.append(grower)

        n_apart = self._n_apart(n_trees)
        if n_apart:
            free = self._growers(min(n_apart, self.n_threads))
            for grower in free:
                grower.use_threads(1)
            run_tasks(grow, list(range(n_apart)), self.n_threads)
        free = self._growers(1)
        free[0].use_threads(self.n_threads)
        for k in range(n_apart, n_trees):
            grow(k)
        self.n_insertions += sum(n for n, _, _ in trees)
        return [(predictor, table) for _, predictor, table in trees]

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

    def _grow(self, grower, gradients, k, rng):
        """Grow one tree: number of insertions, predictor and table."""
        n_insertions = grower.grow(gradients, rng)
        values = self.learning_rate * leaf_values(
            grower, self.loss, self.y, self.raw[:, k], self.sample_weight
        )
        grower.add_to(self.raw[:, k], values)
        table = grower.table()
        return n_insertions, self.maker.make(table, values), table


def leaf_values(grower, loss, y, raw, sample_weight):
    """Values of the leaves of a tree, before the learning rate.

    Parameters
    ----------
    grower : TreeGrower
        Has grown the tree.
    loss : BaseLoss
        The loss.
    y, raw, sample_weight : ndarray
        Targets, raw predictions, and weights or None, of the grower's rows.

    Returns
    -------
    ndarray of shape (n_leaves,)
        The values, in the order of the grower's leaves.
    """
    _, starts, stops, values = grower.leaves()
    if not loss.differentiable:
        # The Newton step means nothing: the best constant in each leaf does.
        rows = grower.sample_indices
        for leaf, (start, stop) in enumerate(zip(starts, stops, strict=True)):
            values[leaf] = best_constant(loss, y, raw, sample_weight, rows[start:stop])
    return values


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
    if type(loss).__module__ == BaseLoss.__module__ and type(loss).__name__ in KERNELS:
        kernel = KERNELS[type(loss).__name__]
        kernel(y, raw, sample_weight, out, n_threads)
        return

    def compute(rows):
        # In our own threads, see ``_tasks``, and not in those of the loss.
        arguments = {
            "y_true": y[rows],
            "raw_prediction": raw[rows],
            "sample_weight": None if sample_weight is None else sample_weight[rows],
            "n_threads": 1,
        }
        if loss.constant_hessian:
            loss.gradient(gradient_out=out[0, rows, 0], **arguments)
        else:
            found = np.empty((2, rows.stop - rows.start), dtype=np.float32)
            loss.gradient_hessian(
                gradient_out=found[0], hessian_out=found[1], **arguments
            )
            out[0, rows] = found.T

    n_tasks = min(n_threads, max(1, raw.size // TASK_SIZE))
    run_tasks(compute, list(gen_even_slices(len(y), n_tasks)), n_threads)


def best_constant(loss, y, raw, sample_weight, rows):
    """Constant that some rows' raw predictions are best changed by."""
    return loss.fit_intercept_only(
        y_true=y[rows] - raw[rows],
        sample_weight=None if sample_weight is None else sample_weight[rows],
    )


def add_predictions(columns, trees, raw, missing_bin, n_threads):
    """Add the predictions of an iteration's trees for rows in bins.

    Parameters
    ----------
    columns : ndarray of uint8 of shape (n_features, n_samples)
        The rows.
    trees : list of tuple of (TreePredictor, dict)
        What ``Booster.iterate`` returned.
    raw : ndarray of shape (n_samples, n_trees_per_iteration), F-contiguous
        What to add to.
    missing_bin : int
        The bin of missing values.
    n_threads : int
        Threads to use.
    """
    for k, (predictor, table) in enumerate(trees):
        if table["is_leaf"].sum() <= MAX_LEAVES:
            router = Router(table, missing_bin, n_threads)
            values = predictor.nodes["value"][router.leaf_nodes]
            router.add_to(columns, np.ascontiguousarray(values), raw[:, k])
        else:
            raw[:, k] += predictor.predict_binned(columns.T, missing_bin, n_threads)
