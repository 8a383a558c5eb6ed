"""Where distances come from: one small interface.

The searches ask for distances in three shapes only, by *position* in a fixed random
order of the samples: tiles (many arms, a block of references; float32, times `scale`),
rows (one arm, all samples; exact) and the whole matrix. Each source counts the
distances that it computed.

A distance runs from a sample to a medoid: ``metric(sample, medoid)``, and entry
``[sample, medoid]`` of a precomputed matrix, so that metrics need not be symmetric.
"""

from abc import ABC, abstractmethod
from contextlib import nullcontext

import numpy as np

from .tiles import ARM_TILE


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
    kept : bool
        Whether distances to many arms are worth the memory to keep them.
    n_evaluations : int
        Distances computed so far.
    """

    power = 0
    kept = True

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


def tiles_shape(arms, start, stop):
    """Shape of the tiles of some arms and references."""
    return -(-len(arms) // ARM_TILE), stop - start, ARM_TILE
