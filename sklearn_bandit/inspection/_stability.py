"""Stability of feature selection, after Nogueira, Sechidis and Brown (2018)."""

from dataclasses import dataclass
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm
from sklearn.utils import check_array

from .._compat import Interval, validate_params


@dataclass(frozen=True)
class StabilityResult:
    """How stable the selections of repeated runs are.

    Attributes
    ----------
    stability : float
        1 if all runs select the same features, about 0 if they select at random.
    variance : float
        Estimated variance of `stability`.
    interval : tuple of float
        Confidence interval of `stability`.
    """

    stability: float
    variance: float
    interval: tuple[float, float]


@validate_params(
    {
        "selections": ["array-like"],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
    },
    prefer_skip_nested_validation=True,
)
def feature_selection_stability(
    selections: ArrayLike, *, confidence_level: float = 0.95
) -> StabilityResult:
    r"""Measure how alike the feature selections of repeated runs are.

    With :math:`\hat p_f` the share of the :math:`M` runs that select feature
    :math:`f` of :math:`d`, and :math:`\bar k` the mean number of features selected,

    .. math:: \hat\Phi = 1 - \frac{\frac{1}{d} \sum_f \frac{M}{M-1} \hat p_f (1 - \hat
        p_f)}{\frac{\bar k}{d} \bigl(1 - \frac{\bar k}{d}\bigr)}.

    Unlike averages of pairwise overlaps it is corrected for chance, allows runs that
    select different numbers of features, reaches its maximum exactly when all
    selections are equal, and has a known asymptotic distribution.

    Parameters
    ----------
    selections : array-like of bool of shape (n_runs, n_features)
        Which features each run has selected; at least two runs.
    confidence_level : float, default=0.95
        Coverage of the interval; a higher one makes it wider.

    Returns
    -------
    StabilityResult
        The stability, its variance and its confidence interval.

    See Also
    --------
    select_largest : Make selections of importances.

    References
    ----------
    S. Nogueira, K. Sechidis, G. Brown. "On the Stability of Feature Selection
    Algorithms". Journal of Machine Learning Research 18 (174), 2018.

    Examples
    --------
    >>> from sklearn_bandit.inspection import feature_selection_stability
    >>> runs = [[1, 1, 0, 0, 0], [1, 1, 0, 0, 0], [1, 0, 1, 0, 0]]
    >>> round(feature_selection_stability(runs).stability, 3)
    0.444
    """
    Z = check_array(selections, dtype=np.float64, ensure_min_samples=2)
    if not np.isin(Z, (0.0, 1.0)).all():
        raise ValueError("Selections must be true or false (1 or 0) for every feature.")
    n_runs, n_features = Z.shape
    n_selected = Z.sum(axis=1)
    share = Z.mean(axis=0)
    density = share.mean()  # k / d
    chance = density * (1.0 - density)
    if chance == 0.0:
        raise ValueError(
            "Stability is not defined if every run selects all features, or none."
        )
    spread = n_runs / (n_runs - 1.0) * share * (1.0 - share)
    stability = 1.0 - spread.mean() / chance

    # Theorem 7 of the paper: the variance from the influence of each run.
    k = n_selected / n_features
    influence = (
        Z @ share / n_features
        - k * density
        + stability / 2.0 * (2.0 * k * density - k - density + 1.0)
    ) / chance
    variance = 4.0 / n_runs * np.var(influence)
    half = norm.ppf(0.5 + confidence_level / 2.0) * np.sqrt(variance)
    interval = (float(stability - half), float(stability + half))
    return StabilityResult(float(stability), float(variance), interval)


def select_largest(
    importances: ArrayLike, n_features_to_select: int
) -> NDArray[np.bool_]:
    """Select the features with the largest importances of each run.

    Parameters
    ----------
    importances : array-like of shape (n_runs, n_features) or (n_features,)
        Importances, one row a run; those of one run may be a vector.
    n_features_to_select : int
        Features selected in each run. Equal importances are settled by the lower index.

    Returns
    -------
    ndarray of bool of the shape of `importances`
        The selections, for :func:`feature_selection_stability`.

    Examples
    --------
    >>> from sklearn_bandit.inspection import select_largest
    >>> select_largest([[0.1, 0.7, 0.2], [0.5, 0.0, 0.5]], 2).astype(int)
    array([[0, 1, 1],
           [1, 0, 1]])
    """
    if np.ndim(importances) == 1:
        return select_largest(np.reshape(importances, (1, -1)), n_features_to_select)[0]
    importances = check_array(importances, dtype=np.float64)
    if not 1 <= n_features_to_select <= importances.shape[1]:
        raise ValueError(
            f"n_features_to_select must be from 1 to {importances.shape[1]}, "
            f"got {n_features_to_select}."
        )
    largest = np.argsort(-importances, axis=1, kind="stable")[:, :n_features_to_select]
    selected = np.zeros(importances.shape, dtype=bool)
    np.put_along_axis(selected, largest, True, axis=1)
    return selected
