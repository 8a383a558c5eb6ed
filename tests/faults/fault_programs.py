"""What the tests of faults run in processes of their own."""

import errno
import gc
import multiprocessing
import os
import pickle
import signal
from functools import partial
from pathlib import Path

import joblib
import numpy as np
from fault_families import answer, make_data, make_family
from fork_models import MODELS
from scipy.linalg import blas
from sklearn_bandit._core.threads import effective_n_threads
from sklearn_bandit.cluster._distances.blas_buffers import n_buffers
from threadpoolctl import threadpool_limits

from sklearn_bandit.cluster._distances import ARM_TILE
from sklearn_bandit.cluster._distances.dense import DenseDistances
from sklearn_bandit.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from sklearn_bandit.ensemble._boosting._data import bin_mapper
from sklearn_bandit.tree import DecisionTreeClassifier, PackedDataset
from sklearn_bandit.tree._policy import SamplingPolicy


def count_threads():
    """Return how many threads kernels would use of two."""
    with threadpool_limits(2, "openmp"):
        return effective_n_threads(2)


def fork_after_fit(name):
    """Fit, fork, and fit in the child; return its exit code: 0 for the same answer."""
    with threadpool_limits(2, "openmp"):
        here = MODELS[name]()
        child = os.fork()
        if child == 0:
            os._exit(0 if np.array_equal(here, MODELS[name]()) else 3)
        _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _compute(name):
    return MODELS[name]()


def pool_after_fit(names):
    """Fit, and fit in a pool of forked processes; return whether answers are equal."""
    multiprocessing.current_process()._config["daemon"] = False
    with threadpool_limits(2, "openmp"):
        here = [MODELS[name]() for name in names]
        run = joblib.Parallel(n_jobs=2, backend="multiprocessing")
        there = run(joblib.delayed(_compute)(name) for name in names)
    return all(map(np.array_equal, here, there))


def load_and_answer(path):
    """Load models with data and answers; return the names of those that differ."""
    different = []
    for name, (model, X, y, said) in pickle.loads(Path(path).read_bytes()).items():
        if not np.array_equal(answer(model, X), said):
            different.append(name)
        model.fit(X[:30], None if y is None else y[:30])
    return different


def _pages(column):
    return int(Path("/proc/self/statm").read_text().split()[column])


def _take_freed_memory():
    """Return blocks that fill what was freed before, so that a limit is felt at once.

    The allocator looks in what it holds for other threads too, ended ones included. A
    megabyte is left.
    """
    import resource

    limits = resource.getrlimit(resource.RLIMIT_AS)
    size = _pages(0) * resource.getpagesize()
    blocks = []
    resource.setrlimit(resource.RLIMIT_AS, (size, limits[1]))
    try:
        while True:
            blocks.append(bytes(1 << 16))
    except MemoryError:
        del blocks[-16:]
    resource.setrlimit(resource.RLIMIT_AS, limits)
    return blocks


def _outcome(compute):
    """Return "done", or "memory" if there is an error that says there is too little."""
    try:
        compute()
    except (MemoryError, SystemError):
        # Without memory numpy may return an error without saying which.
        return "memory"
    except RuntimeError as error:
        # What Python says if the stack of a thread cannot be had.
        if "new thread" not in str(error):
            raise
        return "memory"
    except OSError as error:
        # What it says if the locks of a pool cannot be had.
        if error.errno != errno.ENOMEM:
            raise
        return "memory"
    return "done"


def fit_within(family, n_threads, megabytes):
    """Fit with a limit to the memory beyond what is taken already.

    BLAS and Python have what they need before the limit is set: how they behave without
    memory is not ours to test.
    """
    import resource

    sizes = {"search": (400, 5_000), "pursuit": (50_000, 20)}
    sizes |= {"neighbors": (20_000, 100)}
    sizes |= {"tree, absolute error": (3_000, 20), "k-medoids, exact": (3_000, 20)}
    with threadpool_limits(n_threads, "openmp"):
        X, y = make_data(family, *sizes.get(family, (10_000, 20)))
        small = make_data(family, 50, 5)
        answer(make_family(family).fit(*small), small[0])
        # numpy's BLAS, and scipy's.
        square = np.ones((300, 300))
        blas.dgemm(1.0, square, square @ square)
        freed = _take_freed_memory()
        limit = _pages(0) * resource.getpagesize() + (megabytes << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        outcome = _outcome(lambda: answer(make_family(family).fit(X, y), X))
        del freed
        return outcome


def multiply_within(megabytes):
    """Compute distances in two threads, and again with little memory left.

    Returns
    -------
    list
        How many buffers of BLAS are known of after the first time and in a fork, and
        what `_outcome` says of the second time.
    """
    import resource

    os.environ["OMP_NUM_THREADS"] = "2"
    with threadpool_limits(2, "openmp"):
        X = np.random.default_rng(0).standard_normal((8192, 100)).astype(np.float32)
        distances = DenseDistances(X, "euclidean", np.arange(len(X)), 2)
        arms, out = np.arange(4096), np.empty((8, 1024, ARM_TILE), np.float32)
        with distances.threads():
            # Other processes may keep the threads from running at the same time.
            for _ in range(1000):
                distances.tiles(arms, 0, 1024, out)
                if n_buffers() == 2:
                    break
            known = n_buffers()
            with multiprocessing.get_context("fork").Pool(1) as pool:
                in_fork = pool.apply(n_buffers)
            freed = _take_freed_memory()
            limit = _pages(0) * resource.getpagesize() + (megabytes << 20)
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
            outcome = _outcome(lambda: distances.tiles(arms, 0, 1024, out))
            del freed
    return [known, in_fork, outcome]


def grow_within(model, n_threads, room, is_noise):
    """Fit a tree that has several threads again and again, with more and more memory.

    Parameters
    ----------
    model : estimator
        The tree. Its policy lets it be divided, and fitted on a subsample.
    n_threads : int
        Also where there are fewer processors. A thread takes eight megabytes or so for
        its stack, more than all of the data.
    room : list of int
        Megabytes beyond what is taken before the first fit.
    is_noise : bool
        Whether no sample tells splits apart: subtrees take histograms over.

    Returns
    -------
    list of str
        What `_outcome` says of each.
    """
    import resource

    os.environ["OMP_NUM_THREADS"] = str(n_threads)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60_000, 20)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    y = rng.permutation(y) if is_noise else y
    model._sampling_policy = SamplingPolicy(
        min_divided_values=20 * 20_000,
        min_subsampled_per_leaf=512,
        min_rows_by_square=1,
    )
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    outcomes = []
    with threadpool_limits(n_threads, "openmp"):
        freed = _take_freed_memory()
        before = _pages(0) * resource.getpagesize()
        for megabytes in room:
            limit = before + (megabytes << 20)
            resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
            outcomes.append(_outcome(lambda: model.fit(X, y)))
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        del freed
    return outcomes


def fit_memory_map(path, is_classifier, share):
    """Fit to a file with less memory than it is long; return whether it was enough."""
    import resource

    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(path, "w+", np.float64, (150_000, 80))
    for start in range(0, len(X), 10_000):
        X[start : start + 10_000] = rng.standard_normal((10_000, 80))
    X = np.load(path, mmap_mode="r")
    estimator = HistGradientBoostingRegressor
    y = np.asarray(X[:, 0])
    if is_classifier:
        estimator, y = HistGradientBoostingClassifier, y > 0
    # Histograms take next to nothing.
    model = estimator(
        solver="mab",
        batch_size=2048,
        max_iter=10,
        max_leaf_nodes=4,
        max_bins=31,
        early_stopping=True,
        random_state=0,
    )
    # As small a part of the rows as it is of a large file.
    bin_mapper.MAX_BIN_ROWS = 20_000
    model.fit(X[:5000], y[:5000])
    status = Path("/proc/self/status").read_text()
    (taken,) = (line.split()[1] for line in status.splitlines() if "VmData" in line)
    limit = (int(taken) << 10) + int(share * X.nbytes)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    try:
        model.fit(X, y)
    except MemoryError:
        return False
    return model.do_early_stopping_ and len(model.validation_score_) == 11


def fit_packed(path, kind, share):
    """Fit to a packed data set, then to the same values in a file, with little memory.

    Returns what came of each: there were so many bytes for each value.
    """
    import resource

    shape = (60_000, 192)
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape, dtype=np.float32)
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(int)
    data = PackedDataset.write(path, X, keep_values=False)
    model = {
        "forest": RandomForestClassifier(n_estimators=3, random_state=0),
        "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    }[kind]
    np.save(path.parent / "X.npy", X)
    X = np.load(path.parent / "X.npy", mmap_mode="r")
    outcomes = []
    with threadpool_limits(1, "openmp"):
        for samples in (data, X):
            model.fit(X[:1000], y[:1000])
            freed = _take_freed_memory()
            status = Path("/proc/self/status").read_text()
            lines = status.splitlines()
            (taken,) = (line.split()[1] for line in lines if "VmData" in line)
            limit = (int(taken) << 10) + int(share * X.size)
            hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
            resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
            outcomes.append(_outcome(partial(model.fit, samples, y)))
            resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
            del freed
    return outcomes


def memory_growth(family, n_fits):
    """Return by what factor resident memory grows over so many fits."""
    X, y = make_data(family, 300, 8)
    small = {"n_estimators": 3, "max_iter": 5}

    def work(n):
        for _ in range(n):
            model = make_family(family)
            known = small.keys() & model.get_params().keys()
            model.set_params(**{name: small[name] for name in known})
            answer(model.fit(X, y), X)
        gc.collect()
        return _pages(1)

    # The allocator needs some fits until its pools are as large as they will be.
    before = work(n_fits // 5)
    return work(n_fits) / before


def _interrupt(function, seconds):
    """Call a function again and again until it is interrupted.

    In a process of its own: an interrupt in the middle of what measures coverage would
    leave its lock locked.
    """

    def interrupt(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        while True:
            function()
    except KeyboardInterrupt:
        pass


def interrupt_pursuits():
    """Interrupt fits to atoms of two numbers; whether each left a whole estimator."""
    from sklearn_bandit.linear_model import BanditMatchingPursuit

    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((60_000, 12)))
    y = X[:, 2] * 9 + X[:, 4] * 5 + X[:, 7]
    wide, narrow = X.astype(np.float32), X[:, :5]
    estimator = BanditMatchingPursuit(n_nonzero_coefs=3, random_state=0).fit(narrow, y)
    whole = []
    for _ in range(10):
        _interrupt(lambda: estimator.fit(wide, y).fit(narrow, y), 0.02)
        whole.append(estimator.coef_.shape == (estimator.n_features_in_,))
    return whole


def interrupt_medoids(algorithm):
    """Interrupt a fit to more features; whether that left a whole estimator."""
    from sklearn_bandit.cluster import BanditKMedoids

    X = np.random.default_rng(0).standard_normal((2500, 20))
    estimator = BanditKMedoids(12, algorithm=algorithm, random_state=0, cache_size=0)
    estimator.fit(X[:100, :5])
    _interrupt(lambda: estimator.fit(X), 0.05)
    n_features = estimator.n_features_in_
    estimator.predict(X[:, :n_features])
    return estimator.cluster_centers_.shape == (12, n_features)
