"""Add trees, iteration by iteration.

:class:`Booster` holds the training set in bins and the raw predictions of its rows.
An iteration computes gradients, grows one tree (or one for each class), adds its values
to the raw predictions and hands the predictors back.
"""

from functools import cache, partial

import numpy as np
from sklearn.utils import gen_even_slices

from ._binning import Binner
from ._grower import TreeGrower
from ._histogram import HistogramBuilder
from ._layout import Layout
from ._predictor import PredictorMaker
from ._routing import MAX_LEAVES, Router
from ._rows import Rows
from ._tasks import run_tasks

# Raw predictions whose gradients are worth a task of their own: some 30 microseconds,
# of which the call takes five.
TASK_SIZE = 16_384


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
        gradient, hessian : ndarray of float32
            Room for the gradients and hessians of the rows, one column a tree.
        """
        layout = self.layout_of(may_bundle=columns is self.columns)
        rows = Rows(layout, columns, self.n_threads)
        builder = HistogramBuilder(
            layout, rows, self.loss.constant_hessian, self.n_threads
        )
        grower = TreeGrower(
            layout,
            builder,
            columns,
            n_threads=self.n_threads,
            **self.grower_options,
        )
        gradient, hessian = self.loss.init_gradient_and_hessian(
            n_samples=columns.shape[1], dtype=np.float32, order="F"
        )
        return rows, grower, gradient, hessian

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
        if None not in self.growers:
            self.growers[None] = self.make_grower(self.columns)
        _, grower, gradient, hessian = self.growers[None]
        compute_gradients(
            self.loss,
            self.y,
            self.raw,
            self.sample_weight,
            gradient,
            hessian,
            self.n_threads,
        )
        gradient, hessian = as_columns(gradient), as_columns(hessian)
        trees = []
        for k in range(self.raw.shape[1]):
            self.n_insertions += grower.grow(gradient[:, k], hessian[:, k], rng)
            values = self.learning_rate * leaf_values(
                grower, self.loss, self.y, self.raw[:, k], self.sample_weight
            )
            grower.add_to(self.raw[:, k], values)
            table = grower.table()
            trees.append((self.maker.make(table, values), table))
        return trees


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


def compute_gradients(loss, y, raw, sample_weight, gradient, hessian, n_threads):
    """Compute gradients and, unless constant, hessians of the loss.

    The rows are shared among the threads of our own kernels, see ``_tasks``, and not by
    the loss itself.
    """

    def compute(rows):
        arguments = {
            "y_true": y[rows],
            "raw_prediction": raw[rows],
            "sample_weight": None if sample_weight is None else sample_weight[rows],
            "gradient_out": gradient[rows],
            "n_threads": 1,
        }
        if loss.constant_hessian:
            loss.gradient(**arguments)
        else:
            loss.gradient_hessian(hessian_out=hessian[rows], **arguments)

    n_tasks = min(n_threads, max(1, raw.size // TASK_SIZE))
    run_tasks(compute, list(gen_even_slices(len(y), n_tasks)), n_threads)


def as_columns(array):
    """Return a two-dimensional view: one column a tree."""
    return array.reshape(-1, 1) if array.ndim == 1 else array


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
