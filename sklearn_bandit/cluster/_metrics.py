"""Where distances come from: one small interface, one class for each kind of metric.

The searches ask for distances in three shapes only, by *position* in a fixed random
order of the samples: tiles (many arms, a block of references; float32, times `scale`),
rows (one arm, all samples; exact) and the whole matrix. Each class counts the distances
that it computed.

A distance runs from a sample to a medoid: ``metric(sample, medoid)``, and entry
``[sample, medoid]`` of a precomputed matrix, so that metrics need not be symmetric.
"""

import threading
from abc import ABC, abstractmethod
from contextlib import contextmanager, nullcontext
from functools import cache, cached_property

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import euclidean_distances
from threadpoolctl import ThreadpoolController

from ._distances import (
    ARM_TILE,
    KINDS,
    add_rows,
    fill_rows,
    fill_tiles,
    prepare_rows,
    project_rows,
)

# Metrics with kernels of our own, by scikit-learn's names.
FAST_METRICS = {
    "euclidean": "euclidean",
    "l2": "euclidean",
    "sqeuclidean": "sqeuclidean",
    "cosine": "cosine",
    "manhattan": "manhattan",
    "l1": "manhattan",
    "cityblock": "manhattan",
}

# Multiply-adds between two chances for a signal to be seen: 0.1-0.3 s on two cores.
WORK_PER_CALL = 5e9

# Numbers in X below which one thread computes the distances.
SERIAL_SIZE = 2**14

# Rows of the matrix that are computed before they are copied to its other triangle; a
# matrix that takes fewer operations than the second, 0.02 ms, is computed whole.
MATRIX_ROWS = 128
WHOLE_MATRIX = 2**17

# Distances of one call of scikit-learn's metrics: 0.3 s for the slow ones (canberra)
# with 784 features, between two chances for a signal to be seen.
CHUNK_DISTANCES = 2**18

# Rows from which the centre and the scale are estimated; neither needs to be exact.
N_SCALE = 4096

# Between these, squares and sums of squares neither over- nor underflow.
SAFE_RANGE = {
    np.dtype(np.float32): (1e-15, 1e15),
    np.dtype(np.float64): (1e-120, 1e120),
}

# Exponents of scales: their inverses are finite and not zero.
MAX_EXPONENT = 1000


class Distances(ABC):
    """Distances between samples, by position in a fixed order.

    Parameters
    ----------
    order : ndarray of shape (n,)
        The sample at each position.
    dtype : dtype
        Of the rows.

    Attributes
    ----------
    n : int
        Number of positions.
    scale : float
        What the distances of tiles are multiplied with, so that they are about one:
        a power of two.
    power : int
        The power of the distances whose weighted sums need no distances (2 for the
        Euclidean), or 0; see `power_sums`.
    n_evaluations : int
        Distances computed so far.
    """

    power = 0

    def __init__(self, order, dtype):
        self.order = np.ascontiguousarray(order, dtype=np.intp)
        self.n = len(self.order)
        self.dtype = np.dtype(dtype)
        self.scale = 1.0
        self.n_evaluations = 0

    def threads(self):
        """Context to compute in: limits thread pools that would get in the way."""
        return nullcontext()

    @abstractmethod
    def tiles(self, arms, start, stop, out=None):
        """Distances of `arms` to the references at positions ``start:stop``.

        Returns
        -------
        ndarray of shape (ceil(len(arms) / ARM_TILE), stop - start, ARM_TILE)
            float32, times `scale`; zero beyond the last arm. It is `out` if that is
            given.
        """

    @abstractmethod
    def rows(self, arms):
        """Distances of `arms` to all positions: an array of shape (len(arms), n)."""

    @abstractmethod
    def matrix(self):
        """All distances: the one from i to j is entry ``[i, j]``."""


class DenseDistances(Distances):
    """Euclidean, squared Euclidean, cosine and l1 distances of dense rows."""

    def __init__(self, X, metric, order, n_threads):
        super().__init__(order, X.dtype)
        kind = FAST_METRICS[metric]
        self._kind = KINDS[kind]
        # Waking a second thread takes longer than the whole of a small fit.
        self._n_threads = n_threads if X.size >= SERIAL_SIZE else 1
        centre, scale = _centre_and_scale(X, self.order, kind)
        if kind == "sqeuclidean":
            # Its square is a scale as well.
            scale = min(max(scale, 2.0**-500), 2.0**500)
        self._source = X, self.order, centre, scale, kind == "cosine"
        self.scale = {"sqeuclidean": scale * scale, "cosine": 1.0}.get(kind, scale)
        self.power = {"euclidean": 2, "manhattan": 0}.get(kind, 1)
        # l1 takes about five times as long as a multiply-add in BLAS.
        cost = X.shape[1] * (5 if kind == "manhattan" else 1)
        self._per_call = max(int(WORK_PER_CALL / cost), 1)

    # Copies of the data, made when they are first needed: "pam" needs no tiles.

    @cached_property
    def _tiles(self):
        return prepare_rows(*self._source, np.float32, self._n_threads)

    @cached_property
    def _rows(self):
        if self.dtype == np.float32:
            return self._tiles
        return prepare_rows(*self._source, self.dtype, self._n_threads)

    def threads(self):
        return _one_blas_thread()

    def tiles(self, arms, start, stop, out=None):
        arms = np.ascontiguousarray(arms, dtype=np.intp)
        if out is None:
            out = np.empty(tiles_shape(arms, start, stop), np.float32)
        step = max(self._per_call // ((stop - start) * ARM_TILE), 1)
        for first in range(0, len(out), step):
            fill_tiles(
                *self._tiles,
                self._kind,
                arms[first * ARM_TILE : (first + step) * ARM_TILE],
                start,
                stop,
                out[first : first + step],
                self._n_threads,
            )
        self.n_evaluations += len(arms) * (stop - start)
        return out

    def rows(self, arms):
        arms = np.ascontiguousarray(arms, dtype=np.intp)
        out = np.empty((len(arms), self.n), self.dtype)
        step = max(self._per_call // self.n, 1)
        for first in range(0, len(arms), step):
            part = slice(first, first + step)
            self._fill(arms[part], out[part])
        return out

    def matrix(self):
        out = np.empty((self.n, self.n), self.dtype)
        if self.n**2 * self._source[0].shape[1] <= WHOLE_MATRIX:
            self._fill(np.arange(self.n), out)
            return out
        step = min(max(self._per_call // self.n, 1), MATRIX_ROWS)
        for first in range(0, self.n, step):
            # One triangle is computed: these distances are symmetric. The lower one, so
            # that memory is touched bit by bit.
            last = min(first + step, self.n)
            part = out[first:last, :last]
            self._fill(np.arange(first, last), part)
            out[:first, first:last] = part[:, :first].T
        return out

    def power_sums(self, weights, labels, n_groups):
        """What `powers_of` needs to sum powers of distances over the last positions.

        Parameters
        ----------
        weights : ndarray of shape (n_last,)
            Weight of each of the last positions.
        labels : ndarray of shape (n_last,)
            Its group.
        n_groups : int
            Number of groups.

        Returns
        -------
        totals, squares : ndarray of shape (n_groups,)
            Sums of the weights, and of the weighted squared norms.
        vectors : ndarray of shape (n_groups, n_features)
            Sums of the weighted rows.
        """
        rows, norms = self._tiles
        first = self.n - len(weights)
        totals = np.bincount(labels, weights, n_groups)
        squares = np.bincount(labels, weights * norms[first:].astype(float), n_groups)
        vectors = add_rows(rows[first:], weights, labels, n_groups, self._n_threads)
        return totals, squares, vectors

    def powers_of(self, arms, totals, squares, vectors):
        """Sum the distances of arms, to the power of `power`, over groups of positions.

        Parameters
        ----------
        arms : ndarray
            Ascending positions.
        totals, squares, vectors
            The groups; from `power_sums`.

        Returns
        -------
        ndarray of shape (len(arms), n_groups)
            The weighted sums.
        """
        rows, norms = self._tiles
        out = np.empty((len(arms), len(totals)), np.float32)
        vectors = vectors.astype(np.float32)
        project_rows(rows, arms, vectors, out, self._n_threads)
        if self._kind == KINDS["cosine"]:
            return totals - out
        return norms[arms, None] * totals + squares - 2 * out

    def _fill(self, arms, out):
        """Write the distances of some arms to the leading positions."""
        fill_rows(*self._rows, self._kind, arms, out, self._n_threads)
        if self.scale != 1.0:
            with np.errstate(over="ignore"):  # their sum is checked
                out *= 1.0 / self.scale
        self.n_evaluations += out.size


class BlockDistances(Distances):
    """Base of the metrics that are computed by calls from Python.

    A subclass computes ``_block(samples, medoids)``, the matrix of the distances from
    some samples to others, given by their numbers.
    """

    def __init__(self, order, dtype):
        super().__init__(order, dtype)
        self._scaled = False

    @abstractmethod
    def _block(self, samples, medoids): ...

    def _checked_block(self, samples, medoids):
        block = self._block(samples, medoids)
        if not np.isfinite(block).all():
            what = "NaN" if np.isnan(block).any() else "infinite values"
            raise ValueError(f"The distances contain {what}.")
        return block

    def tiles(self, arms, start, stop, out=None):
        if out is None:
            out = np.empty(tiles_shape(arms, start, stop), np.float32)
        out[-1:] = 0.0
        samples = self.order[start:stop]
        for t in range(len(out)):
            medoids = self.order[arms[t * ARM_TILE : (t + 1) * ARM_TILE]]
            block = self._checked_block(samples, medoids)
            if not self._scaled:
                self.scale = _power_of_two(_root_mean_square(block))
                self._scaled = True
            # Sums of fourth powers must not overflow float32.
            out[t, :, : len(medoids)] = np.clip(block * self.scale, -1e9, 1e9)
        return out

    def rows(self, arms):
        out = np.empty((len(arms), self.n), self.dtype)
        step = max(CHUNK_DISTANCES // max(len(arms), 1), 1)
        for first in range(0, self.n, step):
            samples = self.order[first : first + step]
            block = self._checked_block(samples, self.order[arms])
            out[:, first : first + step] = block.T
        return out

    def matrix(self):
        out = np.empty((self.n, self.n), self.dtype)
        step = max(CHUNK_DISTANCES // self.n, 1)
        for first in range(0, self.n, step):
            samples = self.order[first : first + step]
            out[first : first + step] = self._checked_block(samples, self.order)
        return out


class PairwiseDistances(BlockDistances):
    """Any metric of scikit-learn's, dense or sparse, in chunks."""

    def __init__(self, X, metric, params, order, n_jobs):
        dtype = X.dtype if X.dtype == np.float32 else np.float64
        super().__init__(order, dtype)
        self._X = X
        self._metric = metric
        self._params = params
        self._n_jobs = n_jobs

    def _block(self, samples, medoids):
        self.n_evaluations += len(samples) * len(medoids)
        X, Y = self._X[samples], self._X[medoids]
        block = distances_between(X, Y, self._metric, self._params, self._n_jobs)
        if self._metric in FAST_METRICS:
            # Cancellation leaves a trace of the norm.
            block[samples[:, None] == medoids] = 0.0
        return block


class PrecomputedDistances(BlockDistances):
    """Entries of a matrix, memory-mapped or not; what is not asked for is not read."""

    def __init__(self, X, order):
        super().__init__(order, X.dtype)
        self._X = X

    def _block(self, samples, medoids):
        self.n_evaluations += len(samples) * len(medoids)
        return self._X[samples[:, None], medoids]


class CallableDistances(BlockDistances):
    """A function of two objects, called once for each pair as long as memory allows.

    Parameters
    ----------
    X : sequence
        Any objects.
    metric : callable
        ``metric(sample, medoid, **params)``.
    memory : int
        Bytes for the table of pairs. Too little for all pairs means no table: then a
        pair is evaluated again when it is asked for again.
    """

    def __init__(self, X, metric, params, order, memory):
        super().__init__(order, np.float64)
        self._X = X
        self._metric = metric
        self._params = params
        self._table = None
        n_objects = len(X) if not sparse.issparse(X) else X.shape[0]
        if 9 * n_objects**2 <= memory:
            # Neither array takes memory before it is written to.
            self._table = np.empty((n_objects, n_objects))
            self._known = np.zeros((n_objects, n_objects), dtype=bool)

    def _block(self, samples, medoids):
        if self._table is None:
            return self._evaluate(
                np.repeat(samples, len(medoids)), np.tile(medoids, len(samples))
            ).reshape(len(samples), len(medoids))
        grid = np.ix_(samples, medoids)
        i, j = np.nonzero(~self._known[grid])
        i, j = samples[i], medoids[j]
        self._table[i, j] = self._evaluate(i, j)
        self._known[i, j] = True
        return self._table[grid]

    def _evaluate(self, samples, medoids):
        X, metric, params = self._X, self._metric, self._params
        values = np.empty(len(samples))
        for p, (i, j) in enumerate(
            zip(samples.tolist(), medoids.tolist(), strict=True)
        ):
            values[p] = metric(X[i], X[j], **params)
            self.n_evaluations += 1
        return values


def tiles_shape(arms, start, stop):
    """Shape of the tiles of some arms and references."""
    return -(-len(arms) // ARM_TILE), stop - start, ARM_TILE


def make_distances(X, metric, params, order, cache_size, n_threads, n_jobs):
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
    """
    if callable(metric):
        return CallableDistances(X, metric, params, order, cache_size)
    if metric == "precomputed":
        return PrecomputedDistances(X, order)
    if metric in FAST_METRICS and not sparse.issparse(X) and not params:
        return DenseDistances(X, metric, order, n_threads)
    return PairwiseDistances(X, metric, params, order, n_jobs)


def distances_between(X, Y, metric, params, n_jobs=None):
    """Distances of the rows of two arrays, by scikit-learn.

    It squares entries as they are; those whose squares would over- or underflow are
    scaled before.
    """
    if metric == "sqeuclidean" and sparse.issparse(X):
        return euclidean_distances(X, Y, squared=True)
    exponent = 0
    if metric in FAST_METRICS and not sparse.issparse(X) and not params:
        exponent = _out_of_range(X, Y)
    if exponent:
        X, Y = (np.ldexp(x, -exponent, dtype=np.float64) for x in (X, Y))
    distances = pairwise_distances(X, Y, metric=metric, n_jobs=n_jobs, **params)
    if exponent and FAST_METRICS[metric] != "cosine":
        power = 2 if metric == "sqeuclidean" else 1
        with np.errstate(over="ignore", under="ignore"):
            distances = np.ldexp(distances, power * exponent)
    return distances


def fix_params(X, metric, params):
    """Complete the parameters that scikit-learn would estimate from each chunk anew."""
    params = dict(params or {})
    if metric == "seuclidean" and "V" not in params:
        params["V"] = np.var(X, axis=0, ddof=1)
    if metric == "mahalanobis" and not {"V", "VI"} & set(params):
        params["VI"] = np.linalg.inv(np.cov(X.T)).T
    return params


def _centre_and_scale(X, order, kind):
    """Return a point amid the data, and a factor that makes distances about one."""
    sample = X[order[:N_SCALE]].astype(np.float64)
    exponent = _out_of_range(sample)
    if exponent:
        sample = np.ldexp(sample, -exponent)
    centre = np.zeros(X.shape[1])
    if kind == "cosine":
        return centre, _power_of_two(np.abs(sample).max(initial=0.0), exponent)
    middle = sample.mean(axis=0)
    sample -= middle
    if kind == "manhattan":
        return centre, _power_of_two(np.abs(sample).sum(axis=1).mean(), exponent)
    size = np.sqrt(np.vdot(sample, sample) / len(sample))
    return np.ldexp(middle, exponent), _power_of_two(size, exponent)


def _power_of_two(size, exponent=0):
    """Return the power of two that brings ``size * 2**exponent`` into [1/2, 1)."""
    if not size > 0:
        return 1.0
    exponent += int(np.frexp(size)[1])
    return 2.0 ** -min(max(exponent, -MAX_EXPONENT), MAX_EXPONENT)


def _out_of_range(*arrays):
    """Return the exponent of the largest entry if squares are out of range, else 0."""
    largest = max(max(float(x.max()), -float(x.min())) for x in arrays)
    low, high = SAFE_RANGE[np.result_type(*arrays, np.float32)]
    return 0 if largest == 0 or low < largest < high else int(np.frexp(largest)[1])


def _root_mean_square(values):
    """Return the root of the mean square, which is in range if the values are."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0:
        return 0.0
    return largest * np.sqrt(np.mean(np.square(values / largest, dtype=np.float64)))


@cache
def _thread_pools():
    return ThreadpoolController()


class _BlasLimit:
    """The limit on BLAS's threads, which is one for the whole process."""

    lock = threading.Lock()
    n_users = 0
    limiter = None


@contextmanager
def _one_blas_thread():
    """Have BLAS compute on one thread.

    Fits may run at the same time in several threads of the process. The first sets the
    limit and the last takes it back: each by itself would put back what it found, which
    may be the limit of another.
    """
    with _BlasLimit.lock:
        if _BlasLimit.n_users == 0:
            _BlasLimit.limiter = _thread_pools().limit(limits=1, user_api="blas")
        _BlasLimit.n_users += 1
    try:
        yield
    finally:
        with _BlasLimit.lock:
            _BlasLimit.n_users -= 1
            if _BlasLimit.n_users == 0:
                _BlasLimit.limiter.restore_original_limits()
