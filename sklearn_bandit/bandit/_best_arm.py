"""Best-arm identification for user-defined problems."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from .._compat import Interval, StrOptions, validate_params
from .._core.typing import RandomState
from ._elimination import Sampling, eliminate
from ._halving import eliminate_medians, halve
from ._problem import Problem
from ._result import BestArmResult

METHODS = ("elimination", "sequential-halving", "median-elimination")
RADII = ("paired", "normal", "bernstein", "hoeffding")


@dataclass
class Settings:
    """What a search is asked for, checked."""

    method: str
    k: int
    delta: float
    batch_size: int
    radius: str
    sigma: np.ndarray | None  # one an arm
    cost_range: float | None
    tol: float
    fall_back: bool


@validate_params(
    {
        "pull": [callable],
        "n_arms": [Interval(Integral, 1, None, closed="left")],
        "n_references": [Interval(Integral, 1, None, closed="left"), None],
        "k": [Interval(Integral, 1, None, closed="left")],
        "maximize": ["boolean"],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "method": [StrOptions(set(METHODS))],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "radius": [StrOptions(set(RADII))],
        "sigma": [Interval(Real, 0, None, closed="neither"), "array-like", None],
        "cost_range": [Interval(Real, 0, None, closed="neither"), None],
        "exact": [callable, "boolean", None],
        "max_pulls": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
        "history": ["boolean"],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)
def best_arm(
    pull: Callable[[np.ndarray, np.ndarray], ArrayLike],
    n_arms: int,
    n_references: int | None,
    *,
    k: int = 1,
    maximize: bool = False,
    delta: float = 0.01,
    method: Literal[
        "elimination", "sequential-halving", "median-elimination"
    ] = "elimination",
    batch_size: int = 128,
    radius: Literal["paired", "normal", "bernstein", "hoeffding"] = "paired",
    sigma: float | ArrayLike | None = None,
    cost_range: float | None = None,
    exact: Callable[[np.ndarray], ArrayLike] | bool | None = None,
    max_pulls: int | None = None,
    tol: float = 0.0,
    history: bool = False,
    random_state: RandomState = None,
) -> BestArmResult:
    """Find the arms with the smallest mean cost from as few costs as it takes.

    Every arm that may still be among the best is pulled on the same batch of
    references; arms that cannot be among the best any more are dropped; the next batch
    is as large as all before it. What is left when sampling no longer pays is computed
    exactly.

    Parameters
    ----------
    pull : callable
        ``pull(arms, references)`` returns the costs as an array of shape
        ``(len(arms), len(references))``. Both arguments are integer arrays. Smaller
        costs are better, unless `maximize`.
    n_arms : int
        Number of arms.
    n_references : int or None
        Number of references that a mean is taken over. They are sampled without
        replacement. ``None`` for an endless stream: `pull` is then given the running
        numbers 0, 1, 2, ... and is expected to draw something new for each; `max_pulls`
        or `tol` should bound the search in case of ties.
    k : int, default=1
        Number of arms wanted.
    maximize : bool, default=False
        Whether larger values are better: `pull` returns gains rather than costs.
    delta : float, default=0.01
        Probability that the answer may be wrong. With ``delta=0`` it never is:
        everything is computed. What it takes for this to hold is said at `radius`; it
        is not used by sequential halving.
    method : {"elimination", "sequential-halving", "median-elimination"}, \
            default="elimination"
        How the arms are searched:

        - "elimination": arms are dropped as soon as their confidence intervals say so;
          the cost adapts to how different the arms are.
        - "sequential-halving": the budget `max_pulls` is spent in rounds of equal cost,
          and each drops the worse half of the arms. The best use of a fixed budget, but
          nothing is claimed of the answer: `delta`, `radius` and `tol` are not used.
        - "median-elimination": finds an arm within `tol` of the best with probability
          at least ``1 - delta``, for any costs of scale `sigma` or range `cost_range`,
          by rounds of fresh samples that drop the worse half. How many is set in
          advance: it does not adapt, and is dearer than elimination but for very many
          nearly equal arms. ``k=1`` only.
    batch_size : int, default=128
        References in the first batch of an elimination. Smaller ones find obvious
        answers sooner, larger ones make better use of a vectorised `pull` and see rarer
        parts of the references.
    radius : {"paired", "normal", "bernstein", "hoeffding"}, default="paired"
        How an arm is told from the best by elimination:

        - "paired": by the differences to the leader on common references; by far the
          sharpest. With `cost_range` it is an empirical Bernstein bound that holds for
          any costs within the range. Without, it is a Student-t interval for
          populations whose rare part shows in the first batch: large costs on so few
          references that a batch may see none of them are believed not to exist.
        - "normal": marginal intervals from the central limit theorem, as in the thesis.
          It needs the same.
        - "bernstein": marginal empirical Bernstein bounds. They hold for any costs
          within `cost_range`.
        - "hoeffding": marginal sub-Gaussian bounds. They hold for any costs of scale
          `sigma`, or within `cost_range`.
    sigma : float or array-like of shape (n_arms,), default=None
        Sub-Gaussian scale of a single cost, of all arms or of each, for "hoeffding" and
        median elimination.
    cost_range : float, default=None
        Length of an interval that holds every cost of every arm. Costs that span more
        are an error.
    exact : callable, bool or None, default=None
        ``exact(arms)`` returns the means of these arms over all references, if there is
        a faster way to them than `pull`. By default the remaining references are
        pulled. False disables the fall-back: the search samples until it is decided or
        until references or budget are used up. Sequential halving has none.
    max_pulls : int, default=None
        Budget of costs. When it is used up the best arms by estimated mean are returned
        (the fixed-budget form); it is never exceeded. One that is not enough for one
        cost of every arm is an error.
    tol : float, default=0.0
        Stop as soon as no arm left out can be better than one that is returned by more
        than this.
    history : bool, default=False
        Whether to keep which arms were left after every round.
    random_state : int, RandomState instance or None, default=None
        Determines the order of the references.

    Returns
    -------
    BestArmResult
        The best arms, all means and radii, and the cost.

    Examples
    --------
    The medoid of 2,000 points: each point is an arm, its distances are the costs.

    >>> import numpy as np
    >>> from sklearn_bandit.bandit import best_arm
    >>> points = np.random.default_rng(0).standard_normal((2000, 2))
    >>> def distance(arms, references):
    ...     gap = points[arms, None] - points[None, references]
    ...     return np.sqrt((gap ** 2).sum(axis=2))
    >>> result = best_arm(distance, 2000, 2000, random_state=0)
    >>> result.best
    array([462])
    >>> bool(result.n_pulls < 2000 ** 2 / 2)
    True

    An A/B test: the variant that most visitors click on. Clicks are 0 or 1, a range
    that makes `delta` hold whatever the rates are.

    >>> rates = np.array([0.05, 0.06, 0.12])
    >>> rng = np.random.default_rng(0)
    >>> def clicks(arms, visitors):
    ...     return rng.random((len(arms), len(visitors))) < rates[arms, None]
    >>> best_arm(clicks, 3, None, maximize=True, cost_range=1).best
    array([2])
    """
    if k > n_arms:
        raise ValueError(f"k={k} arms are wanted, but there are only {n_arms}.")
    settings = Settings(
        method,
        k,
        delta,
        batch_size,
        radius,
        _check_sigma(sigma, n_arms, cost_range),
        cost_range,
        tol,
        exact is not False and method != "sequential-halving",
    )
    _check_settings(settings, n_references, max_pulls)
    rng = check_random_state(random_state)
    problem = Problem(
        pull,
        exact if callable(exact) else None,
        inf if n_references is None else n_references,
        inf if max_pulls is None else max_pulls,
        -1.0 if maximize else 1.0,
        cost_range,
    )
    order = None if n_references is None else rng.permutation(n_references)
    is_paired = method == "elimination" and radius == "paired"
    sampling = Sampling(problem, n_arms, k, paired=is_paired, order=order)
    if method == "sequential-halving":
        halve(sampling, max_pulls)
    elif method == "median-elimination" and delta > 0:
        eliminate_medians(sampling, settings, rng)
    else:
        eliminate(sampling, settings)
    if problem.n_pulls == 0 and k < n_arms:
        _refuse_budget(settings, problem, n_arms)
    return BestArmResult(
        best=sampling.best(),
        means=problem.sign * sampling.means,
        radii=sampling.radii,
        survivors=sampling.arms.ids,
        n_pulls=problem.n_pulls,
        n_rounds=sampling.n_rounds,
        exact=sampling.is_exact,
        method=method,
        history=tuple(sampling.history) if history else None,
    )


def _check_sigma(sigma, n_arms, cost_range):
    """Return the scale of every arm's costs, or None if it is not known."""
    if sigma is None:
        # Hoeffding's lemma
        return None if cost_range is None else np.full(n_arms, cost_range / 2)
    scales = np.asarray(sigma, dtype=np.float64)
    if scales.ndim and scales.shape != (n_arms,):
        raise ValueError(
            f"sigma must be a number or one for each of the {n_arms} arms, got an "
            f"array of shape {scales.shape}."
        )
    if not (np.isfinite(scales) & (scales > 0)).all():
        raise ValueError("sigma must be positive and finite.")
    return np.array(np.broadcast_to(scales, n_arms))


def _check_settings(settings, n_references, max_pulls):
    """Raise where a method or a radius lacks what it needs."""
    method, radius = settings.method, settings.radius
    if settings.delta == 0 and (n_references is None or not settings.fall_back):
        raise ValueError(
            "delta=0 asks for exact means: it needs a finite n_references, exact other "
            "than False, and a method other than 'sequential-halving'."
        )
    if method == "sequential-halving":
        if max_pulls is None:
            raise ValueError("method='sequential-halving' spends a budget: max_pulls.")
    elif method == "median-elimination":
        if settings.k > 1:
            raise ValueError(
                f"method='median-elimination' finds one arm, not k={settings.k}."
            )
        if settings.delta > 0 and (settings.tol == 0 or settings.sigma is None):
            raise ValueError(
                "method='median-elimination' needs tol > 0, and sigma or cost_range."
            )
    elif radius == "hoeffding" and settings.sigma is None:
        raise ValueError("radius='hoeffding' needs sigma or cost_range.")
    elif radius == "bernstein" and settings.cost_range is None:
        raise ValueError("radius='bernstein' needs cost_range.")


def _refuse_budget(settings, problem, n_arms):
    """Raise where a budget was not enough to know anything of any arm."""
    needed = n_arms
    if settings.method == "median-elimination" and settings.delta > 0:
        raise ValueError(
            f"tol={settings.tol} takes more samples of costs of this scale than "
            "max_pulls allows or can be drawn at all."
        )
    if problem.exact is not None and settings.delta == 0:
        needed *= int(problem.n_total)
    raise ValueError(
        f"max_pulls={problem.max_pulls} does not allow to pull a single time: at least "
        f"{needed} are needed here."
    )
