"""Best-arm identification: the idea that every estimator of the package shares.

Each algorithm here spends its time on ``argmin_x mean_j g_x(j)``: the best of many
candidates (arms x) by an average over many data points, features or coordinates
(references j). Instead of the full average for every arm, references are sampled in
batches; each arm has a mean and a confidence radius; arms that cannot be best any more
are dropped; only the few that are left are computed exactly.

- ``_radii``: confidence radii, pure functions for Python and for ``nogil`` kernels
- ``_votes``: when a vote is decided before all have voted
- ``_arms``: paired moments and elimination, with a C-level interface in ``_arms.pxd``
- ``_best_arm``: :func:`best_arm`, the search for user-defined problems
"""

from ._best_arm import BestArmResult, best_arm
from ._radii import (
    bernstein_radius,
    effective_size,
    finite_population,
    hoeffding_radius,
    normal_quantile,
    normal_radius,
    paired_radius,
    split_delta,
    student_quantile,
)

__all__ = [
    "BestArmResult",
    "bernstein_radius",
    "best_arm",
    "effective_size",
    "finite_population",
    "hoeffding_radius",
    "normal_quantile",
    "normal_radius",
    "paired_radius",
    "split_delta",
    "student_quantile",
]
