"""Where distances come from, and the kernels that compute them.

- ``base``: the interface: tiles, rows or the whole matrix, by position
- ``dense``: Euclidean, cosine and l1 distances of dense rows, with the kernels
  ``prepared_rows``, ``tiles``, ``rows``, ``row_sums`` and ``panels``
- ``blocks``: metrics of scikit-learn, precomputed distances
- ``callables``: a function of the user's
- ``between``: distances of the rows of two arrays, for prediction; ``sparse_rows``:
  those of sparse ones
- ``cache``: distances that are kept, within a number of bytes
- ``metrics``, ``scaling``, ``blas_threads``, ``blas_buffers``: what they share
"""

from scipy import sparse

from .base import Distances
from .between import FAST_METRICS, distances_between, fix_params
from .blocks import PairwiseDistances, PrecomputedDistances
from .cache import RowCache, TileCache
from .callables import CallableDistances, call_metric
from .dense import N_SCALE, DenseDistances
from .tiles import ARM_TILE

__all__ = [
    "ARM_TILE",
    "FAST_METRICS",
    "N_SCALE",
    "Distances",
    "RowCache",
    "TileCache",
    "call_metric",
    "distances_between",
    "fix_params",
    "make_distances",
]


def make_distances(X, metric, params, order, cache_size, n_threads, n_jobs, **calls):
    """Return the `Distances` for a metric.

    Parameters
    ----------
    X : array, sparse matrix or sequence of objects
        The samples, already validated; the matrix if `metric` is "precomputed".
    metric : str or callable
        A name that scikit-learn knows, "precomputed", or a function of two objects.
    params : dict
        Further arguments of the metric, complete (see `fix_params`).
    order : ndarray
        The samples to use, in the order of their positions.
    cache_size : int
        Bytes for the table of a callable's values.
    n_threads, n_jobs : int
        Threads of our kernels, jobs of scikit-learn's metrics.
    **calls
        How a callable is called: `symmetric` and `batched` of `CallableDistances`.
    """
    if callable(metric):
        return CallableDistances(X, metric, params, order, cache_size, **calls)
    if metric == "precomputed":
        return PrecomputedDistances(X, order)
    if metric in FAST_METRICS and not sparse.issparse(X) and not params:
        return DenseDistances(X, metric, order, n_threads)
    return PairwiseDistances(X, metric, params, order, n_jobs)
