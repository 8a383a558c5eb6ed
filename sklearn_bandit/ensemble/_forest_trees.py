"""One tree of a forest: the sample that it draws, and where it grows."""

import os
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from threading import Lock

import numpy as np
from joblib.parallel import (
    LokyBackend,
    MultiprocessingBackend,
    SequentialBackend,
    ThreadingBackend,
    get_active_backend,
)
from sklearn.utils import compute_sample_weight

from sklearn_bandit._compat import (
    DRAWS_BY_WEIGHT,
    MAX_INT,
    bootstrap_indices,
    make_estimator,
)
from sklearn_bandit._core.progress import say
from sklearn_bandit._core.seeds import seeded
from sklearn_bandit.tree._building import (
    TrainingSetFile,
    TrainingSetTransfer,
    as_counts,
    is_mapped,
)
from sklearn_bandit.tree._data import draw_counts

# Seeds that are tried for draws with any weight. As many draws as samples leave out a
# sample in a third of the cases: only far fewer draws need more than a few seeds.
MAX_SEEDS = 100

# Tasks for each process of joblib's own backends, each of which maps the samples anew.
# With one for each of 32 trees on 1,000,000 x 30 samples a forest took 1.5 times the
# process time of one in threads, with four 1.1 times.
TASKS_PER_PROCESS = 4

THREADS = SequentialBackend, ThreadingBackend
PROCESSES = LokyBackend, MultiprocessingBackend


@contextmanager
def sent_to_workers(training_set, tree):
    """Yield what stands for a training set in the tasks of joblib's active backend.

    Parameters
    ----------
    training_set : TrainingSet
        The training set.
    tree : DecisionTreeClassifier or DecisionTreeRegressor
        One of the trees that are to grow.

    Yields
    ------
    TrainingSet, TrainingSetFile or TrainingSetTransfer
        What tasks are given.
    """
    backend, _ = get_active_backend(prefer="threads")
    if shares_files(backend) and not is_mapped(training_set):
        with TemporaryDirectory(
            prefix="sklearn-bandit-", ignore_cleanup_errors=True
        ) as folder:
            yield TrainingSetFile.write(folder, training_set, tree)
    elif type(backend) in THREADS + PROCESSES:  # joblib maps the arrays of processes
        yield training_set
    else:
        yield TrainingSetTransfer(training_set, tree)


def shares_files(backend):
    """Whether trees grow in other processes, all of them on this machine.

    Those of dask are, if no other machine can reach the scheduler: its workers that
    join later are here, too. On Windows a file cannot be removed as long as one of them
    maps it, and none is shared.
    """
    scheduler = getattr(getattr(backend, "client", None), "scheduler", None)
    is_here = "://127.0.0.1:" in getattr(scheduler, "address", "")
    return os.name == "posix" and (is_here or type(backend) in PROCESSES)


def choose_batch_size(n_trees, n_jobs):
    """Return how many trees a task has: several, if every task maps the samples anew.

    Parameters
    ----------
    n_trees, n_jobs : int
        Trees that are to grow, and tasks that run at a time.

    Returns
    -------
    int or "auto"
        The `batch_size` of :class:`joblib.Parallel`.
    """
    backend, _ = get_active_backend(prefer="threads")
    if type(backend) not in PROCESSES:
        return "auto"
    return max(n_trees // (TASKS_PER_PROCESS * n_jobs), 1)


class TreesToGrow(Sequence):
    """Trees that are made when they are first asked for, in their order.

    To make one takes .6 ms: more than to grow one on few samples. A forest that stops
    when it is settled asks for fewer than it could have.

    Parameters
    ----------
    forest : BanditForest
        The forest.
    random_state : RandomState
        Draws the seeds of the trees.
    n_trees : int
        How many there can be.
    """

    def __init__(self, forest, random_state, n_trees):
        self._forest = forest
        self._random_state = random_state
        self._n_trees = n_trees
        self._made = []
        self._making = Lock()

    def __getstate__(self):
        return {**self.__dict__, "_making": None}

    def __setstate__(self, state):
        # A lock of its own: none can be sent, and a fork may copy one that is held.
        self.__dict__.update(state, _making=Lock())

    def __len__(self):
        return self._n_trees

    def __getitem__(self, number):
        if not 0 <= number < self._n_trees:
            raise IndexError(number)
        # Threads of a dask worker ask at the same time; each tree has its own seed.
        with self._making:
            while len(self._made) <= number:
                self._made.append(make_estimator(self._forest, self._random_state))
            return self._made[number]


@dataclass(frozen=True)
class Draws:
    """How the sample of a tree is drawn.

    Parameters
    ----------
    n_draws : int or None
        Draws of a bootstrap sample; None for all samples once.
    weights : ndarray of shape (n_samples,) or None
        Weights of samples and classes.
    balance : bool
        Whether to balance the classes of the bootstrap sample.
    """

    n_draws: int | None
    weights: np.ndarray | None
    balance: bool

    def __sizeof__(self):
        # Backends of joblib send what is large once a worker.
        return 0 if self.weights is None else self.weights.nbytes

    def choose_seed(self, seed, n_samples):
        """Return a seed whose draws have weight: this one, or the next that does.

        scikit-learn before 1.8 draws samples whatever their weight. Out-of-bag scores
        draw them again from the seed of the tree, which is therefore this one.

        Parameters
        ----------
        seed, n_samples : int
            The first seed, and the number of samples to draw from.

        Returns
        -------
        int
            The seed.
        """
        if self.n_draws is None or self.weights is None or DRAWS_BY_WEIGHT:
            return seed
        for _ in range(MAX_SEEDS):
            indices = bootstrap_indices(seed, n_samples, self.n_draws, self.weights)
            if self.weights[indices].any():
                return seed
            seed = int(seeded(seed).randint(MAX_INT))
        raise ValueError(
            "All samples that were drawn for a tree have weight zero: scikit-learn "
            "before 1.8 draws them whatever their weight. Leave out the samples that "
            "have none."
        )

    def draw(self, seed, training_set):
        """Draw the sample of one tree.

        Parameters
        ----------
        seed : int
            Of the draws.
        training_set : TrainingSet
            What is drawn from.

        Returns
        -------
        counts : ndarray of shape (n_samples,), uint16, or None
            How often each sample is drawn; None if weights tell, or for all once.
        weights : ndarray of shape (n_samples,) or None
            Weights, the draws included, if they are no counts.
        """
        weights, n_samples = self.weights, training_set.n_samples
        if self.n_draws is not None and weights is None and not self.balance:
            counts = draw_counts(seed, n_samples, self.n_draws)
            if counts.dtype == np.uint16:
                return counts, None
            weights = counts.astype(np.float64)
        elif self.n_draws is not None:
            indices = bootstrap_indices(seed, n_samples, self.n_draws, weights)
            drawn = np.bincount(indices, minlength=n_samples)
            if weights is None or DRAWS_BY_WEIGHT:
                weights = drawn.astype(np.float64)
            else:
                weights = weights * drawn
            if self.balance:
                weights *= compute_sample_weight(
                    "balanced", training_set.codes, indices=indices
                )
        if weights is None:
            return None, None
        counts = as_counts(weights)
        return counts, weights if counts is None else None


def grow_one(tree, training_set, index, *, draws, verbose, n_trees, budget=None):
    """Grow one tree of a forest on its bootstrap sample.

    Parameters
    ----------
    tree : DecisionTreeClassifier or DecisionTreeRegressor
        The estimator; its `random_state` is an integer.
    training_set : TrainingSet
        The packed training set.
    index, n_trees : int
        Number of the tree and of all trees, for messages.
    draws : Draws
        How its sample is drawn.
    verbose : int
        Above 1, say which tree is built.
    budget : int or None
        Insertions that the tree may make.

    Returns
    -------
    DecisionTreeClassifier or DecisionTreeRegressor
        The estimator, fitted.
    """
    if isinstance(training_set, TrainingSetFile | TrainingSetTransfer):
        training_set = training_set.training_set
    if verbose > 1:
        say(f"building tree {index + 1} of {n_trees}")
    tree.random_state = draws.choose_seed(tree.random_state, training_set.n_samples)
    # A tree fitted to its sample by itself takes the same seed from `random_state`.
    seed = seeded(tree.random_state).randint(MAX_INT)
    counts, weights = draws.draw(tree.random_state, training_set)
    classes = None
    if training_set.is_classification:
        # As in scikit-learn, the trees of a forest predict the indices of classes.
        classes = [np.arange(n, dtype=np.float64) for n in training_set.n_classes]
    tree._grow(training_set, classes, seed, counts, weights, budget)
    return tree
