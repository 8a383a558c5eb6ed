"""How many threads a kernel should use.

In a forked child it is one. A fork copies no thread but the one that calls it, and the
common OpenMP runtime of GCC does not know that the others are gone: the first loop that
shares its work would wait for them forever. Results do not depend on the number of
threads, so nothing but the time of a fit changes.
"""

import os

from joblib import cpu_count, effective_n_jobs

from .openmp cimport max_threads

cdef extern from "openmp.h":
    const int SKB_HAS_OPENMP


# Whether this process was forked from one that had imported the package.
cdef bint in_forked_child = False


def _after_fork():
    """Note in a child that it is one."""
    global in_forked_child
    in_forked_child = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def limit_threads(int n_threads):
    """Return the number of threads that a loop may have.

    Parameters
    ----------
    n_threads : int
        The number that it asks for.

    Returns
    -------
    int
        The same; 1 in a forked child.
    """
    return 1 if in_forked_child else n_threads


def has_openmp():
    """Whether the kernels were built with OpenMP."""
    return bool(SKB_HAS_OPENMP)


def effective_n_threads(n_jobs):
    """Return the number of OpenMP threads for an estimator's `n_jobs`.

    Parameters
    ----------
    n_jobs : int or None
        None means all threads that the process may use, as in scikit-learn's own OpenMP
        kernels (``OMP_NUM_THREADS`` and container limits are honoured). An integer has
        joblib's meaning; -1 is all cores.

    Returns
    -------
    int
        At least 1; always 1 without OpenMP and in a forked child.
    """
    if not SKB_HAS_OPENMP or in_forked_child:
        return 1
    if n_jobs is not None:
        return effective_n_jobs(n_jobs)
    if "OMP_NUM_THREADS" in os.environ:
        return max_threads()
    return min(max_threads(), cpu_count(only_physical_cores=True))
