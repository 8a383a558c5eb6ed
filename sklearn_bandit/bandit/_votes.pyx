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

References
----------
- A. Agresti and B. A. Coull, "Approximate is better than 'exact' for interval
  estimation of binomial proportions", The American Statistician 52 (1998).
- W. G. Cochran, "Sampling Techniques", 3rd ed., Wiley (1977), section 2.6.
"""

from libc.math cimport sqrt

from ._radii cimport finite_population, split_delta, student_quantile

# Voters before the first look: a unanimous vote is decided by ten to sixteen for delta
# from .1 to .001. Each look is after so many times as many voters; more looks leave
# less of delta to each. Mean number of trees on covertype, 200 trees, delta .01: 37
# with a factor of 1.25, 39 with 1.5, 41 with 2 (benchmark predict.adaptive).
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
    return mean - quantile * factor * sqrt(max(variance, 0.0) / n)


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
    ends = []
    end = FIRST_LOOK
    while end < n_total:
        ends.append(end)
        end = int(end * LOOK_GROWTH)
    n_looks = max(1, len(ends))
    quantiles = [
        student_quantile(split_delta(delta, 1, 1, n_looks), end) for end in ends
    ]
    return [*ends, n_total], [*quantiles, float("inf")]
