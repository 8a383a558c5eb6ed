"""Training rows that are in memory, or in a file that is mapped there.

What a fit asks of its rows is in the methods of `ArrayRows`; rows that are elsewhere
have the same methods. X may be larger than the memory: rows are held out by their
numbers, and no method copies more than a sample of X.
"""

import numpy as np
from sklearn.utils import check_random_state, gen_even_slices

from sklearn_bandit._compat import approximate_mode, shuffle_split_sizes
from sklearn_bandit._core.tasks import run_tasks

from .._data.bin_mapper import choose_rows, fit_bin_mapper
from .joining import IN_MEMORY
from .row_sampling import draw_rounds
from .row_weight import rarest_class


class ArrayRows:
    """Rows of arrays, all of them or some by number.

    Parameters
    ----------
    X : ndarray of shape (n_all, n_features)
        Values, never copied as a whole.
    y : ndarray of shape (n_samples,)
        Encoded targets.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights.
    numbers : ndarray of uint32 of shape (n_samples,) or None
        Which rows of X they are; None for all.

    Attributes
    ----------
    n_samples, n_features : int
        Numbers of rows and features.
    mapped_columns : ndarray of uint8 of shape (n_features, n_samples) or None
        The bins of all rows if they are there already, in a file.
    joining : Joining
        What it costs that rows join.
    """

    mapped_columns = None
    joining = IN_MEMORY

    def __init__(self, X, y, sample_weight, numbers=None):
        self.X = X
        self.y = y
        self.sample_weight = sample_weight
        self.numbers = numbers
        self.n_samples, self.n_features = len(y), X.shape[1]

    def _in_X(self, rows):
        """Numbers in X of some rows, None for all."""
        if self.numbers is None or rows is None:
            return self.numbers if rows is None else rows
        return self.numbers[rows]

    def fit_bin_mapper(self, *, max_bins, random_state, **options):
        """Find the thresholds of bins; parameters as for ``bin_mapper``."""
        rows, weights = choose_rows(self.n_samples, self.sample_weight, random_state)
        rows = self._in_X(rows)
        values = self.X
        if rows is not None:
            values = take_rows(self.X, rows, options["n_threads"])
        return fit_bin_mapper(values, weights, max_bins=max_bins, **options)

    def fit_baseline(self, loss):
        """Return the raw predictions before the first tree, of shape (1, n_trees)."""
        return loss.fit_intercept_only(
            y_true=self.y, sample_weight=self.sample_weight
        ).reshape((1, -1))

    def count_rarest(self):
        """Count the rows of the rarest class."""
        return rarest_class(self.y)

    def some_targets(self, step):
        """Return targets and weights (or None) of every `step`-th row."""
        weights = self.sample_weight
        if weights is not None:
            weights = np.ascontiguousarray(weights[::step])
        return self.y[::step].astype(np.float64), weights

    def read_all(self, binner, columns, has_missing, n_threads):
        """Read all rows, in their own order; see `read`."""
        binner.assign(self.X, self.numbers, columns, has_missing, n_threads)
        return self.y.astype(np.float64, copy=False), self.sample_weight

    def read(self, binner, drawn, columns, has_missing, n_threads):
        """Read rows in random order.

        Parameters
        ----------
        binner : BinAssigner
            Puts values into bins.
        drawn : tuple of int
            Arguments of ``draw_rounds``: size of a round, seed, first and last place
            in the order.
        columns : ndarray of uint8 of shape (n_features, n_rows)
            Output: the bins.
        has_missing : ndarray of uint8 of shape (n_features,)
            Output: set where a feature has missing values.
        n_threads : int
            Threads to use.

        Returns
        -------
        y, sample_weight : ndarray of shape (n_rows,)
            Targets, and weights or None.
        """
        rows = draw_rounds(self.n_samples, *drawn, n_threads)
        binner.assign(self.X, self._in_X(rows), columns, has_missing, n_threads)
        weights = self.sample_weight
        return self.y[rows], None if weights is None else weights[rows]

    def hold_out(self, test_size, random_state, *, stratify):
        """Divide the rows into a training and a validation part.

        Parameters
        ----------
        test_size : int or float
            Number or share of the rows to hold out.
        random_state : int
            Draws them.
        stratify : bool
            Whether to hold out the same share of each class.

        Returns
        -------
        train, held_out : ArrayRows
            The parts, with the rows and in the order of ``train_test_split``.
        """
        numbers = split_rows(
            self.y if stratify else None, self.n_samples, test_size, random_state
        )
        weights = self.sample_weight
        return [
            type(self)(
                self.X, self.y[part], None if weights is None else weights[part], part
            )
            for part in numbers
        ]


def take_rows(X, rows, n_threads):
    """Return some rows of a matrix, read by several threads."""
    taken = np.empty((len(rows), X.shape[1]), dtype=X.dtype)

    def take(part):
        taken[part] = X[rows[part]]

    run_tasks(take, list(gen_even_slices(len(rows), n_threads)), n_threads)
    return taken


def split_rows(y, n_samples, test_size, random_state):
    """Draw which rows to hold out: those that ``train_test_split`` would.

    scikit-learn makes a Python object of each row to hold out from the classes: ten
    times the memory that the numbers take here.

    Parameters
    ----------
    y : ndarray of shape (n_samples,) or None
        Classes to hold out equal shares of.
    n_samples : int
        Number of rows.
    test_size : int or float
        Number or share of the rows to hold out.
    random_state : int
        Draws them.

    Returns
    -------
    train, test : ndarray of uint32
        Numbers of the rows.
    """
    n_train, n_test = shuffle_split_sizes(n_samples, test_size)
    rng = check_random_state(random_state)
    if y is None:
        order = rng.permutation(np.arange(n_samples, dtype=np.uint32))
        return order[n_test : n_test + n_train], order[:n_test]
    codes = y.astype(np.intp, copy=False)
    counts = np.bincount(codes)
    classes = np.flatnonzero(counts)
    counts = counts[classes]
    _check_strata(classes, counts, n_train, n_test)
    n_trains = approximate_mode(counts, n_train, rng)
    n_tests = approximate_mode(counts - n_trains, n_test, rng)
    train, test = [], []
    for label, first, second in zip(classes, n_trains, n_tests, strict=True):
        rows = rng.permutation(np.flatnonzero(codes == label).astype(np.uint32))
        train.append(rows[:first])
        test.append(rows[first : first + second])
    return rng.permutation(np.concatenate(train)), rng.permutation(np.concatenate(test))


def _check_strata(classes, counts, n_train, n_test):
    """Raise where ``train_test_split`` does, in its words."""
    if counts.min() < 2:
        raise ValueError(
            "The least populated classes in y have only 1 member, which is too few. "
            "The minimum number of groups for any class cannot be less than 2. Classes "
            f"with too few members are: {classes[counts < 2].tolist()}"
        )
    for name, n in (("train_size", n_train), ("test_size", n_test)):
        if n < len(classes):
            raise ValueError(
                f"The {name} = {n} should be greater or equal to the number of classes "
                f"= {len(classes)}"
            )
