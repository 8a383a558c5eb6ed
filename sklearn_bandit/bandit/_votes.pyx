"""When a vote is decided before all have voted.

Arms are classes, references are voters: each gives every class a share of its vote, and
shares add up to one. The best arm is the class with the largest sum. Voters are asked
in a random order, without replacement, and looked at a few times on the way.

The margin of a voter is its share for the leader minus its share for the runner-up. The
square of a margin is at most the sum of the two shares, so that sums of votes suffice
for a bound of its variance. A unanimous sample would have no variance at all, whatever
those say who have not been asked: one vote for the runner-up is added, as in the
interval of Agresti and Coull (which adds two of each kind for two-sided 95%). Classes
with fewer votes than the runner-up have wider margins; they are decided with it.

Looks at one vote are alike: the mean margin of the first n voters of N, if that of all
is 0, has a correlation of sqrt((1/m - 1/N) / (1/n - 1/N)) with that of the first m > n.
By Worsley's bound the probability that any look errs is at most that of the first,
plus, for each other, that it errs and the one before it does not. So delta is divided
by fewer than the number of looks.

References
----------
- A. Agresti and B. A. Coull, "Approximate is better than 'exact' for interval
  estimation of binomial proportions", The American Statistician 52 (1998).
- K. J. Worsley, "An improved Bonferroni inequality and applications", Biometrika 69
  (1982).
- W. G. Cochran, "Sampling Techniques", 3rd ed., Wiley (1977), section 2.6.
"""

from functools import lru_cache
from itertools import pairwise

from libc.math cimport sqrt

from ._quantiles cimport student_quantile
from ._radii cimport finite_population, mean_radius

from scipy.optimize import brentq
from scipy.special import ndtr, ndtri, owens_t

# Voters before the first look, and how many times as many are asked before the next
# (benchmark predict.adaptive counts the trees that are asked).
FIRST_LOOK = 10
LOOK_GROWTH = 1.25


cpdef double margin_bound(
    double leader, double runner_up, double n_used, double n_total, double quantile
) noexcept nogil:
    """Lower confidence bound of the leader's mean margin over the runner-up.

    Parameters
    ----------
    leader, runner_up : float
        Sums of votes of the two classes.
    n_used : float
        Number of voters asked.
    n_total : float
        Number of voters.
    quantile : float
        Student quantile of the error probability, for `n_used` degrees of freedom.

    Returns
    -------
    float
        The bound for all voters; above 0 the leader stays ahead of the runner-up.
    """
    cdef double n = n_used + 1.0
    cdef double mean = (leader - runner_up - 1.0) / n
    cdef double variance = (leader + runner_up + 1.0 - n * mean * mean) / n_used
    cdef double factor = finite_population(n_used, n_total)

    # Those who have not been asked cannot change a lead that is larger than they are.
    if leader - runner_up > n_total - n_used:
        return (leader - runner_up - (n_total - n_used)) / n_total
    return mean - mean_radius(quantile, sqrt(max(variance, 0.0) / n), factor)


def look_schedule(Py_ssize_t n_total, double delta):
    """Return after how many voters to look at a vote, and the quantiles to use.

    Parameters
    ----------
    n_total : int
        Number of voters.
    delta : float
        Probability that the class that is found is not the best one.

    Returns
    -------
    ends : list of int
        Number of voters asked at each look; the last is `n_total`.
    quantiles : list of float
        Student quantiles; infinite for the last look, which needs none.
    """
    ends, quantiles = _look_schedule(n_total, delta)
    return list(ends), list(quantiles)


@lru_cache(maxsize=64)
def _look_schedule(n_total, delta):
    ends = []
    end = FIRST_LOOK
    while end < n_total:
        ends.append(end)
        end = int(end * LOOK_GROWTH)
    share = look_delta(ends, n_total, delta)
    quantiles = [student_quantile(share, end) for end in ends]
    return (*ends, n_total), (*quantiles, float("inf"))


def look_delta(ends, n_total, delta):
    """Return the error probability of each look for one of `delta` in all.

    Parameters
    ----------
    ends : list of int
        Number of voters asked at each look.
    n_total : int
        Number of voters.
    delta : float
        Probability that any look errs.

    Returns
    -------
    float
        At most `delta`, and at least `delta` divided by the number of looks.
    """
    if len(ends) < 2 or delta >= 0.5:
        return delta / max(1, len(ends))
    variances = [1.0 / end - 1.0 / n_total for end in ends]
    correlations = [
        sqrt(later / earlier) for earlier, later in pairwise(variances)
    ]
    slopes = [sqrt((1.0 - each) / (1.0 + each)) for each in correlations]

    def excess(quantile):
        # Twice Owen's T is the probability that one of two neighbours is beyond the
        # quantile and the other, a given one, is not.
        new = sum(2.0 * owens_t(quantile, slope) for slope in slopes)
        return ndtr(-quantile) + new - delta

    least, most = -ndtri(delta), -ndtri(delta / len(ends))
    if not excess(most) < 0.0:  # delta is too small for differences of probabilities
        return delta / len(ends)
    return float(ndtr(-brentq(excess, least, most)))
