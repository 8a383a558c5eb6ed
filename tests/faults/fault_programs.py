"""What the tests of faults run in processes of their own."""

import errno
import gc
import multiprocessing
import os
import pickle
from pathlib import Path

import numpy as np
from fault_families import answer, make_data, make_family
from threadpoolctl import threadpool_limits


def fit_answer(family):
    """Fit an estimator of a family and return what it says."""
    X, y = make_data(family, 20_000 if family.startswith("boosting") else 2_000, 20)
    return answer(make_family(family).fit(X, y), X)


def fork_after_fit(family):
    """Fit, fork, and fit in the child; return its exit code: 0 for the same answer."""
    with threadpool_limits(2, "openmp"):
        here = fit_answer(family)
        child = os.fork()
        if child == 0:
            os._exit(0 if np.array_equal(here, fit_answer(family)) else 3)
        _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def pool_after_fit(family):
    """Fit, and fit in a pool of forked processes; return whether answers are equal."""
    multiprocessing.current_process()._config["daemon"] = False
    with threadpool_limits(2, "openmp"):
        here = fit_answer(family)
        with multiprocessing.get_context("fork").Pool(2) as pool:
            answers = pool.map(fit_answer, [family] * 4)
    return all(np.array_equal(here, there) for there in answers)


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


def fit_within(family, n_threads, megabytes):
    """Fit with a limit to the memory beyond what is taken already.

    BLAS and Python have what they need before the limit is set: how they behave without
    memory is not ours to test.
    """
    import resource

    sizes = {"search": (400, 5_000), "pursuit": (50_000, 20)}
    sizes |= {"tree, absolute error": (3_000, 20), "k-medoids, exact": (3_000, 20)}
    with threadpool_limits(n_threads, "openmp"):
        X, y = make_data(family, *sizes.get(family, (10_000, 20)))
        small = make_data(family, 50, 5)
        answer(make_family(family).fit(*small), small[0])
        np.ones((300, 300)) @ np.ones((300, 300))
        limit = _pages(0) * resource.getpagesize() + (megabytes << 20)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        try:
            answer(make_family(family).fit(X, y), X)
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
