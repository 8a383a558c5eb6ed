"""Exact PAM [1]_: BUILD, then the best of all swaps until none improves.

A SWAP iteration costs n^2 operations, not k n^2: the k swaps of a candidate come from
one pass over its distances (FastPAM1 [2]_), with PAM's own result.

References
----------
.. [1] L. Kaufman and P. J. Rousseeuw, "Clustering by means of medoids" (1987).
.. [2] E. Schubert and P. J. Rousseeuw, "Faster k-medoids clustering: improving the PAM,
   CLARA, and CLARANS algorithms", SISAP (2019).
"""

import numpy as np


class ExactSearch:
    """BUILD and SWAP by computing every arm.

    Parameters
    ----------
    clusters : MedoidState
        The medoids; changed by the steps.
    tol : float
        Least improvement of a swap, relative to the loss.
    """

    def __init__(self, clusters, tol):
        self.clusters = clusters
        self.tol = tol
        self.n_truncated = 0
        self._arms = np.arange(clusters.n)

    def start(self, medoids=None):
        """Begin from these medoids, or from none for BUILD."""
        self.clusters.set([] if medoids is None else medoids)

    def finish(self):
        """End a start; an exact search leaves nothing undone."""

    def build_step(self):
        """Add the best next medoid."""
        arm, _ = self.clusters.best_addition(self._arms)
        self.clusters.add(arm)

    def swap_step(self):
        """Make the best swap; return whether there was one."""
        arm, removed, change = self.clusters.best_swap(self._arms)
        if not self.clusters.is_improvement(change, self.tol):
            return False
        return self.clusters.swap(removed, arm)


class FullMatrix:
    """All distances at once, in place of a `RowCache`: for small n."""

    scale = 1.0

    def __init__(self, distances):
        self._matrix = distances.matrix()
        self.dtype = distances.dtype

    def __call__(self, arms):
        """Distances of each arm to all positions, of shape (len(arms), n)."""
        return self.columns(arms).T

    def columns(self, arms):
        """Distances of each arm to all positions, of shape (n, len(arms))."""
        if len(arms) == len(self._matrix):
            return self._matrix
        if arms[-1] - arms[0] == len(arms) - 1:
            return self._matrix[:, arms[0] : arms[-1] + 1]
        return self._matrix[:, arms]
