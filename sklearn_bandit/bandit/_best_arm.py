"""Best-arm identification for user-defined problems: batched successive elimination.

Algorithms 1 and 2 of the thesis, with the arms compared with the leader on common
references and the batches growing geometrically.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, inf, log2
from numbers import Integral, Real
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from .._compat import Interval, StrOptions, validate_params
from .._core.typing import RandomState
from ._arms import Arms
from ._radii import split_delta

# With a faster way to exact means, sampling is given up for it from this round on when
# finishing is predicted to cost more than this share of computing every survivor (the
# first radii are too rough for a prediction), and at the latest when the next batch
# would use more than this share of the references: what was sampled is lost then.
GIVE_UP_ROUND = 3
GIVE_UP_COST = 0.9
GIVE_UP_SAMPLE = 0.125

# References pulled at once by the exact fall-back: bounds the memory that it takes.
MAX_BATCH = 4096


@dataclass(frozen=True)
class BestArmResult:
    """What a search found and what it cost.

    Attributes
    ----------
    best : ndarray of shape (k,)
        The best arms, best first; ties by index.
    means : ndarray of shape (n_arms,)
        Mean reward of every arm over the references that it was pulled on; NaN if there
        are none, as where all arms are asked for.
    radii : ndarray of shape (n_arms,)
        Confidence radius of every arm when it was last looked at: of its mean
        difference to the leader for ``radius="paired"``, of its mean otherwise. Zero
        where the mean is exact.
    n_pulls : int
        Rewards computed, those of the exact fall-back included.
    n_rounds : int
        Batches sampled.
    exact : bool
        Whether the survivors' means were computed over all references.
    n_survivors : int
        Arms that had not been told from the best k when the search ended; k if they
        were found by elimination alone.
    """

    best: np.ndarray
    means: np.ndarray
    radii: np.ndarray
    n_pulls: int
    n_rounds: int
    exact: bool
    n_survivors: int

    def __repr__(self):
        n_arms, k = len(self.means), len(self.best)
        shown = ", ".join(map(str, self.best[:5])) + (", ..." if k > 5 else "")
        how = "exactly" if self.exact else "by elimination"
        if not self.exact and self.n_survivors > k:
            how = f"{self.n_survivors} not told apart"
        return (
            f"BestArmResult(best=[{shown}] of {n_arms} arms, {how}; "
            f"n_pulls={self.n_pulls}, n_rounds={self.n_rounds})"
        )


@validate_params(
    {
        "pull": [callable],
        "n_arms": [Interval(Integral, 1, None, closed="left")],
        "n_references": [Interval(Integral, 1, None, closed="left"), None],
        "k": [Interval(Integral, 1, None, closed="left")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "radius": [StrOptions({"paired", "normal", "bernstein", "hoeffding"})],
        "sigma": [Interval(Real, 0, None, closed="neither"), None],
        "reward_range": [Interval(Real, 0, None, closed="neither"), None],
        "exact": [callable, "boolean", None],
        "max_pulls": [Interval(Integral, 1, None, closed="left"), None],
        "tol": [Interval(Real, 0, None, closed="left")],
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
    delta: float = 0.01,
    batch_size: int = 128,
    radius: Literal["paired", "normal", "bernstein", "hoeffding"] = "paired",
    sigma: float | None = None,
    reward_range: float | None = None,
    exact: Callable[[np.ndarray], ArrayLike] | bool | None = None,
    max_pulls: int | None = None,
    tol: float = 0.0,
    random_state: RandomState = None,
) -> BestArmResult:
    """Find the arms with the smallest mean reward from as few rewards as it takes.

    Every arm that may still be among the best is pulled on the same batch of
    references; arms that cannot be among the best any more are dropped; the next batch
    is as large as all before it. What is left when sampling no longer pays is computed
    exactly.

    Parameters
    ----------
    pull : callable
        ``pull(arms, references)`` returns the rewards as an array of shape
        ``(len(arms), len(references))``. Both arguments are integer arrays. Smaller
        rewards are better.
    n_arms : int
        Number of arms.
    n_references : int or None
        Number of references that a mean is taken over. They are sampled without
        replacement. ``None`` for an endless stream: `pull` is then given the running
        numbers 0, 1, 2, ... and is expected to draw something new for each; `max_pulls`
        or `tol` should bound the search in case of ties.
    k : int, default=1
        Number of arms wanted.
    delta : float, default=0.01
        Probability that the answer may be wrong. With ``delta=0`` it never is:
        everything is computed.
    batch_size : int, default=128
        References in the first batch. Smaller ones find obvious answers sooner, larger
        ones make better use of a vectorised `pull`.
    radius : {"paired", "normal", "bernstein", "hoeffding"}, default="paired"
        How an arm is told from the best:

        - "paired": by a Student-t interval for the differences to the leader on common
          references; by far the sharpest. Asymptotic, with a guard for sparse and
          heavy-tailed rewards.
        - "normal": marginal intervals from the central limit theorem, as in the thesis.
        - "bernstein": marginal empirical Bernstein bounds; rigorous, needs the range.
        - "hoeffding": marginal sub-Gaussian bounds; rigorous, needs `sigma` or
          `reward_range`.
    sigma : float, default=None
        Sub-Gaussian scale of a single reward, for "hoeffding".
    reward_range : float, default=None
        Length of an interval that holds every reward, for "bernstein" and "hoeffding".
    exact : callable, bool or None, default=None
        ``exact(arms)`` returns the means of these arms over all references, if there is
        a faster way to them than `pull`. By default the remaining references are
        pulled. False disables the fall-back: the search samples until it is decided or
        until references or budget are used up.
    max_pulls : int, default=None
        Budget of rewards. When it is used up the best arms by estimated mean are
        returned (the fixed-budget form); it is never exceeded. One that is not enough
        for one reward of every arm is an error.
    tol : float, default=0.0
        Stop as soon as no arm left out can be better than one that is returned by more
        than this.
    random_state : int, RandomState instance or None, default=None
        Determines the order of the references.

    Returns
    -------
    BestArmResult
        The best arms, all means and radii, and the cost.

    Examples
    --------
    The medoid of 2,000 points: each point is an arm, its distances are the rewards.

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
    """
    if k > n_arms:
        raise ValueError(f"k={k} arms are wanted, but there are only {n_arms}.")
    if delta == 0 and (n_references is None or exact is False):
        raise ValueError(
            "delta=0 asks for exact means: it needs a finite n_references and exact "
            "other than False."
        )
    sigma, reward_range = _check_scale(radius, sigma, reward_range)
    fall_back = exact is not False
    search = _Search(
        pull,
        n_arms,
        n_references,
        k=k,
        exact=exact if callable(exact) else None,
        paired=radius == "paired",
        max_pulls=max_pulls,
        random_state=random_state,
    )
    n_rounds = 0  # of an endless stream: not known beforehand
    if n_references is not None:
        n_rounds = 1 + max(0, ceil(log2(n_references / batch_size)))

    decided = delta > 0 and n_arms == k
    n_batch = batch_size
    while delta > 0 and not decided and search.sample(n_batch):
        share = split_delta(delta, n_arms, search.n_rounds, n_rounds)
        search.eliminate(radius, share, sigma, reward_range)
        decided = search.is_decided(tol)
        if fall_back and not decided and search.is_hopeless(tol):
            break
        n_batch = search.arms.n_used
    if fall_back and not decided:
        search.finish_exactly()
    if search.n_pulls == 0 and k < n_arms:
        per_arm = n_references if callable(exact) and delta == 0 else None
        needed = n_arms * (per_arm or 1)
        raise ValueError(
            f"max_pulls={max_pulls} does not allow to pull a single time: at least "
            f"{needed} are needed here."
        )
    return search.result()


def _check_scale(radius, sigma, reward_range):
    """Return the scales that a rigorous radius needs, or raise."""
    if radius == "hoeffding" and sigma is None:
        if reward_range is None:
            raise ValueError("radius='hoeffding' needs sigma or reward_range.")
        sigma = reward_range / 2
    if radius == "bernstein" and reward_range is None:
        raise ValueError("radius='bernstein' needs reward_range.")
    return sigma or 0.0, reward_range or 0.0


class _Search:
    """The state of one call of `best_arm`."""

    def __init__(
        self, pull, n_arms, n_references, *, k, exact, paired, max_pulls, random_state
    ):
        self.pull = pull
        self.k = k
        self.compute_exactly = exact
        self.n_total = inf if n_references is None else n_references
        self.max_pulls = inf if max_pulls is None else max_pulls
        random_state = check_random_state(random_state)
        self.order = None
        if n_references is not None:
            self.order = random_state.permutation(n_references)
        self.arms = Arms(n_arms, paired=paired)
        # Of all arms; a survivor's are brought up to date when it falls or at the end.
        self.means = np.full(n_arms, np.nan)
        self.radii = np.full(n_arms, inf)
        self.n_pulls = 0
        self.n_rounds = 0
        self.is_exact = False

    def sample(self, n_batch):
        """Pull the survivors on up to `n_batch` new references; False if none."""
        arms = self.arms
        n_batch = min(
            n_batch,
            self.n_total - arms.n_used,
            (self.max_pulls - self.n_pulls) // arms.n_alive,
        )
        if n_batch < 1:
            return False
        n_batch = int(n_batch)
        arms.add(self._rewards(arms.ids, arms.n_used, n_batch), self.k)
        self.n_rounds += 1
        self.is_exact = arms.n_used == self.n_total
        return True

    def eliminate(self, radius, delta, sigma, reward_range):
        """Drop the arms that cannot be among the best k."""
        arms = self.arms
        arms.update_radii(radius, delta, self.n_total, sigma, reward_range)
        self._record()
        arms.eliminate(self.k)

    def is_decided(self, tol):
        """Whether the best k are known, exactly or to within `tol`."""
        arms = self.arms
        if arms.n_alive == self.k or self.is_exact:
            return True
        order = np.lexsort((arms.ids, arms.means))
        chosen, others = order[: self.k], order[self.k :]
        upper = (arms.gaps + arms.radii)[chosen].max()
        lower = (arms.gaps - arms.radii)[others].min()
        return upper - lower <= tol

    def is_hopeless(self, tol):
        """Whether sampling on is likely to cost more than `exact` on the survivors.

        A radius shrinks as the root of the number of references, so an arm whose gap to
        the k-th best is a share of its radius needs that share squared times as many.
        Without a way of its own to exact means this never happens: what was sampled is
        part of the exact mean.
        """
        if self.compute_exactly is None or self.n_rounds < GIVE_UP_ROUND:
            return False
        arms = self.arms
        if 2 * arms.n_used > GIVE_UP_SAMPLE * self.n_total:
            return True
        gaps, radii = arms.gaps, arms.radii
        gaps = np.abs(gaps - np.partition(gaps, self.k - 1)[self.k - 1]) + tol
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = arms.n_used * (radii / gaps) ** 2
        needed = np.fmin(needed, self.n_total)  # NaN: no gap, no radius, no way
        return needed.sum() > GIVE_UP_COST * arms.n_alive * self.n_total

    def finish_exactly(self):
        """Compute the survivors' means over all references, if the budget allows."""
        arms = self.arms
        if self.compute_exactly is None:
            left = self.n_total - arms.n_used
            while left and self.sample(min(left, MAX_BATCH)):
                left = self.n_total - arms.n_used
            return
        if arms.n_alive * self.n_total > self.max_pulls - self.n_pulls:
            return
        ids = arms.ids
        means = np.asarray(self.compute_exactly(ids), dtype=np.float64)
        if means.shape != ids.shape or not np.isfinite(means).all():
            raise ValueError(
                f"exact must return {len(ids)} finite means, one for each of its arms."
            )
        self.n_pulls += len(ids) * self.n_total
        self.is_exact = True
        self.means[ids] = means
        self.radii[ids] = 0.0

    def result(self):
        """Sum up."""
        ids = self.arms.ids
        if self.n_rounds == 0 and not self.is_exact:
            # k = n: every arm is wanted, and nothing had to be pulled to know it.
            best = ids
        else:
            if not (self.is_exact and self.compute_exactly):
                self._record()
            best = ids[np.lexsort((ids, self.means[ids]))]
        return BestArmResult(
            best=best[: self.k],
            means=self.means,
            radii=self.radii,
            n_pulls=self.n_pulls,
            n_rounds=self.n_rounds,
            exact=self.is_exact,
            n_survivors=len(ids),
        )

    def _record(self):
        """Write down the survivors' means and radii."""
        ids = self.arms.ids
        self.means[ids] = self.arms.means
        self.radii[ids] = 0.0 if self.is_exact else self.arms.radii

    def _rewards(self, ids, start, n_batch):
        """Pull, and refuse what is not a finite reward for each pair."""
        if self.order is None:
            references = np.arange(start, start + n_batch)
        else:
            references = self.order[start : start + n_batch]
        rewards = np.ascontiguousarray(self.pull(ids, references), dtype=np.float64)
        if rewards.shape != (len(ids), n_batch):
            raise ValueError(
                "pull must return an array of shape (len(arms), len(references)) = "
                f"{(len(ids), n_batch)}, got {rewards.shape}."
            )
        if not np.isfinite(rewards).all():
            raise ValueError("pull returned NaN or infinity; rewards must be finite.")
        self.n_pulls += rewards.size
        return rewards
