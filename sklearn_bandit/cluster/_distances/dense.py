"""Distances of dense rows, by kernels of our own."""

from functools import cached_property

import numpy as np

from .base import Distances, tiles_shape
from .between import FAST_METRICS, SERIAL_SIZE
from .blas_threads import one_blas_thread
from .prepared_rows import prepare_rows
from .row_sums import add_rows, project_rows
from .rows import fill_rows
from .scaling import out_of_range, power_of_two
from .tiles import ARM_TILE, KINDS, fill_tiles

# Multiply-adds between two checks for signals (Ctrl-C): 0.1-0.3 s on two cores.
WORK_PER_CALL = 5e9

# Rows of the matrix that are computed before they are copied to its other triangle; a
# matrix that takes fewer operations than the second, 0.02 ms, is computed whole.
MATRIX_ROWS = 128
WHOLE_MATRIX = 2**17

# With fewer multiply-adds than this a distance is computed faster than new memory is
# had for it: 1.1 ns at 50, and 3.5 ns for four bytes. Of as many samples as the second
# the distances to 512 references stay in a cache of 32 MB.
KEPT_COST = 100
KEPT_SAMPLES = 16_384

# The centre is zero if its norm is no more than this times the root mean square of the
# distances from it: squared norms are then about twice as large as centred, and rows
# of float32, which exact distances need as they are, serve as tiles too.
CENTRED = 1.0

# Rows from which the centre and the scale are estimated; neither needs to be exact.
N_SCALE = 4096


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
        self.kept = cost >= KEPT_COST or self.n <= KEPT_SAMPLES

    # Copies of the data, made when they are first needed: "pam" needs no tiles.

    @cached_property
    def _tiles(self):
        return prepare_rows(*self._source, np.float32, self._n_threads)

    @cached_property
    def _rows(self):
        X, order, centre, scale, is_cosine = self._source
        if self.dtype == np.float32 and not centre.any():
            return self._tiles
        # As they are, but for the scale, a power of two: centring would round them.
        origin, n_threads = np.zeros_like(centre), self._n_threads
        return prepare_rows(X, order, origin, scale, is_cosine, self.dtype, n_threads)

    def threads(self):
        return one_blas_thread()

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
            # that memory is taken little by little.
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
        rows, squares = self._rows
        own = rows[arms], squares[arms]
        fill_rows(rows, squares, self._kind, *own, out, self._n_threads)
        if self._kind == KINDS["cosine"]:
            # Zeros are far from all others, not from themselves.
            inside = np.flatnonzero(arms < out.shape[1])
            out[inside, arms[inside]] = 0.0
        if self.scale != 1.0:
            with np.errstate(over="ignore"):  # their sum is checked
                out *= 1.0 / self.scale
        self.n_evaluations += out.size


def _centre_and_scale(X, order, kind):
    """Return the data's rough centre, and a factor that makes distances about one."""
    sample = X[order[:N_SCALE]].astype(np.float64)
    exponent = out_of_range(sample)
    if exponent:
        sample = np.ldexp(sample, -exponent)
    centre = np.zeros(X.shape[1])
    if kind == "cosine":
        return centre, power_of_two(np.abs(sample).max(initial=0.0), exponent)
    middle = sample.mean(axis=0)
    sample -= middle
    if kind == "manhattan":
        return centre, power_of_two(np.abs(sample).sum(axis=1).mean(), exponent)
    size = np.sqrt(np.vdot(sample, sample) / len(sample))
    if np.linalg.norm(middle) > CENTRED * size:
        centre = np.ldexp(middle, exponent)
    return centre, power_of_two(size, exponent)
