"""Student quantiles for kernels that index them by effective sizes."""

import numpy as np

from ._quantiles import student_quantile

# Effective sizes with a quantile of their own: below, the radius is that of the least;
# beyond, Student-t is normal to 0.3%. A table does not refuse sizes between this and
# `LEAST_EFFECTIVE_SIZE`: it is for searches that compare each arm with a base arm that
# other references chose, one test in a round instead of one for every arm. Quantiles of
# three degrees of freedom are 6 times the normal one at 1e-4, 22 times at 1e-6.
# ``benchmarks kmedoids.identity`` counts what follows: none of 100 subsets failed.
SMALLEST_SIZE = 4
LARGEST_SIZE = 1024


def quantile_table(delta: float) -> np.ndarray:
    """Radius in units of the standard error, for each effective size.

    Student-t with the effective size for the degrees of freedom: most references gain
    nothing from a candidate, and few of them may hold most of the variance. Entries are
    computed on a grid and hold from there on, on the safe side.

    Parameters
    ----------
    delta : float
        Error probability.

    Returns
    -------
    ndarray of shape (1025,)
        The radius for every effective size; the last entry is for all larger ones.
    """
    table = np.empty(LARGEST_SIZE + 1)
    sizes = np.geomspace(SMALLEST_SIZE, LARGEST_SIZE, 100).astype(int)
    table[:SMALLEST_SIZE] = student_quantile(delta, SMALLEST_SIZE - 1)
    for size in np.unique(sizes).tolist():
        table[size:] = student_quantile(delta, size - 1)
    return table
