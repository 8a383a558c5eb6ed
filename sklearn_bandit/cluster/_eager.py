"""A local optimum under single swaps, by whichever swaps come first.

BUILD and a first descent run on the first block of references alone. Then swaps are
made as soon as they improve the exact loss, looking only at the arms that the sample
likes best; several of them share the rows of one look. When none of those improves, a
stop test over all arms decides: arms whose change may be an improvement are sampled
further, and computed exactly when few. The path is not PAM's and the optimum may be
another one; its loss is as good on average.
"""

import numpy as np

from ..bandit import split_delta
from ._bandit_pam import ROUNDING, BanditSearch, smallest

# Arms of one look, whose exact rows are computed together: as many as a quarter of the
# block, so that small blocks mean few distances, and at most this many.
N_CANDIDATES = 32

# Least improvement on the sample, relative to the distances, that is worth a swap.
SAMPLE_TOL = 1e-5


class EagerSearch(BanditSearch):
    """BUILD on the sample, eager swaps, and a stop test; see `BanditSearch`."""

    def __init__(self, *args):
        super().__init__(*args)
        self.sample.grow(2 * self.sample.block)

    def restart(self):
        """Prepare for another start, from other medoids."""
        super().restart()
        self._on_sample = True
        self._candidates = []

    def build_step(self):
        """Add the medoid that is best on the first block."""
        means, _ = self.sample.means(self.clusters, self.sample.block, build=True)
        means[self.clusters.medoids] = np.inf
        self.clusters.add(np.argmin(means))

    def swap_step(self):
        """Make a swap that improves the loss; return whether there was one."""
        self._on_sample = self._on_sample and self._swap_on_sample()
        return (
            self._on_sample
            or self._swap_one_of(self._candidates)
            or self._swap_one_of(self._look())
            or self._swap_one_of(self._undecided())
        )

    def _swap_on_sample(self):
        clusters, size = self.clusters, self.sample.block
        means, removed = self._changes(size)
        arm = np.argmin(means)
        present = clusters.in_scale(abs(clusters.loss))
        if means[arm] >= -max(SAMPLE_TOL, self.tol) * present:
            return False
        clusters.replace(removed[arm], arm)
        return True

    def _swap_one_of(self, arms):
        """Make the best swap of some arms if it improves the loss."""
        arm, removed, change = self.clusters.best_swap(arms)
        if not self.clusters.is_improvement(change, self.tol):
            return False
        self.clusters.replace(removed, arm)
        self._candidates = arms
        return True

    def _look(self):
        """Arms that the sample likes best."""
        means, _ = self._changes(self.sample.size)
        return smallest(means, min(N_CANDIDATES, max(self.sample.block // 4, 1)))

    def _changes(self, size):
        means, removed = self.sample.means(self.clusters, size, build=False)
        means[self.clusters.medoids] = np.inf
        return means, removed

    def _undecided(self):
        """Do the stop test: return the arms that may improve by more than `tol`."""
        clusters = self.clusters
        self._n_swap_searches += 1
        delta = split_delta(self.delta, 1, self._n_swap_searches)
        slack = (ROUNDING - self.tol) * clusters.in_scale(abs(clusters.loss))
        return self._eliminate(clusters.present(), slack, delta, build=False)
