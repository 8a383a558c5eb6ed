"""The callables of a search: what they return is checked, counted, and made costs."""

from dataclasses import dataclass
from math import inf

import numpy as np

# How much more than `cost_range` the costs may span by rounding, relative to it.
RANGE_ROUNDING = 1e-9


@dataclass
class Problem:
    """Arms and references as a search sees them: smaller is better.

    Attributes
    ----------
    pull, exact : callable
        As `best_arm` was given them; `exact` is None where there is none.
    n_total : float
        References that exist, or infinity.
    max_pulls : float
        Budget, or infinity.
    sign : float
        -1 if larger values are better.
    cost_range : float or None
        Length of an interval that holds every cost, if it is known.
    n_pulls : int
        Costs computed so far.
    """

    pull: object
    exact: object
    n_total: float
    max_pulls: float
    sign: float
    cost_range: float | None
    n_pulls: int = 0
    _lowest: float = inf
    _highest: float = -inf

    def affordable(self, n_arms):
        """How many more references the budget allows for `n_arms` arms."""
        return (self.max_pulls - self.n_pulls) // n_arms

    def costs(self, ids, references):
        """Pull, and refuse what is not a finite cost for each pair."""
        shape = len(ids), len(references)
        costs = np.ascontiguousarray(self.pull(ids, references), dtype=np.float64)
        if costs.shape != shape:
            raise ValueError(
                "pull must return an array of shape (len(arms), len(references)) = "
                f"{shape}, got {costs.shape}."
            )
        if not np.isfinite(costs).all():
            raise ValueError("pull returned NaN or infinity; costs must be finite.")
        if self.cost_range is not None:
            self._check_range(costs)
        self.n_pulls += costs.size
        return costs if self.sign > 0 else -costs

    def exact_means(self, ids):
        """Ask for the means over all references."""
        means = np.array(self.exact(ids), dtype=np.float64)
        if means.shape != ids.shape or not np.isfinite(means).all():
            raise ValueError(
                f"exact must return {len(ids)} finite means, one for each of its arms."
            )
        self.n_pulls += len(ids) * int(self.n_total)
        return self.sign * means

    def _check_range(self, costs):
        """Radii that need a range are wrong if it is too small."""
        self._lowest = min(self._lowest, costs.min())
        self._highest = max(self._highest, costs.max())
        if self._highest - self._lowest > self.cost_range * (1 + RANGE_ROUNDING):
            raise ValueError(
                f"The costs span {self._highest - self._lowest:.6g}, more than "
                f"cost_range={self.cost_range:.6g}."
            )
