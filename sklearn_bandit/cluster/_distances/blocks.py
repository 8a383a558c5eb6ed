"""Distances that are computed by calls from Python, a block of them at a time."""

from abc import abstractmethod

import numpy as np

from .base import Distances, tiles_shape
from .between import FAST_METRICS, distances_between
from .scaling import power_of_two, root_mean_square
from .sparse_rows import CHUNK_DISTANCES
from .tiles import ARM_TILE


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
                self.scale = power_of_two(root_mean_square(block))
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
            # Zeros are far from all others under the cosine, not from themselves.
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
