"""Best-arm identification: the idea that every estimator of the package shares.

Each algorithm here spends its time on ``argmin_x mean_j g_x(j)``: the best of many
candidates (arms x) by an average over many data points, features or coordinates
(references j). Instead of the full average for every arm, references are sampled in
batches; each arm has a mean and a confidence radius; arms that cannot be best any more
are dropped; only the few that are left are computed exactly.

- ``_radii``: confidence radii, pure functions for Python and for ``nogil`` kernels
- ``_fold_radius``: radii of means over folds, whose references come in groups
- ``_quantiles``: normal and Student quantiles; ``_quantile_table``: those of Student by
  effective size
- ``_moments``: sums of powers, what variances and effective sizes are made of
- ``_votes``: when a vote is decided before all have voted
- ``_arms``: the arms of a search and their elimination, also from kernels
- ``_control_variate``, ``_regression``: what is known of all arms without their costs
- ``_best_arm``: :func:`best_arm`, the search for user-defined problems; its methods are
  ``_elimination`` and ``_halving``, what it is given ``_problem``, what it returns
  ``_result``
"""

from ._best_arm import best_arm

# For the families; not part of the public interface.
from ._control_variate import ControlVariate as ControlVariate
from ._fold_radius import MIN_FOLDS as MIN_FOLDS
from ._fold_radius import FoldDifferences as FoldDifferences
from ._fold_radius import SampleMoments as SampleMoments
from ._fold_radius import fold_radius as fold_radius
from ._fold_radius import sample_moments as sample_moments
from ._moments import sums_of_powers as sums_of_powers
from ._quantile_table import quantile_table
from ._quantiles import normal_quantile, student_quantile
from ._radii import (
    LEAST_EFFECTIVE_SIZE,
    bernstein_radius,
    effective_size,
    finite_population,
    hoeffding_radius,
    normal_radius,
    paired_radius,
    split_delta,
    step_delta,
)
from ._result import BestArmResult, Round

__all__ = [
    "LEAST_EFFECTIVE_SIZE",
    "BestArmResult",
    "Round",
    "bernstein_radius",
    "best_arm",
    "effective_size",
    "finite_population",
    "hoeffding_radius",
    "normal_quantile",
    "normal_radius",
    "paired_radius",
    "quantile_table",
    "split_delta",
    "step_delta",
    "student_quantile",
]
