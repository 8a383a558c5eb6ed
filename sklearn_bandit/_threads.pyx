"""How many threads a kernel should use."""

import os

from joblib import cpu_count, effective_n_jobs

from ._openmp cimport max_threads

cdef extern from *:
    """
    #ifdef _OPENMP
    #define SKB_HAS_OPENMP 1
    #else
    #define SKB_HAS_OPENMP 0
    #endif
    """
    const int SKB_HAS_OPENMP


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
        At least 1; always 1 without OpenMP.
    """
    if not SKB_HAS_OPENMP:
        return 1
    if n_jobs is not None:
        return effective_n_jobs(n_jobs)
    if "OMP_NUM_THREADS" in os.environ:
        return max_threads()
    return min(max_threads(), cpu_count(only_physical_cores=True))
