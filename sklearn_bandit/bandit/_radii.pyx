"""Confidence radii: how far a sample mean may be from the mean of all references.

Every radius is one-sided: ``P(sample mean - mean > radius) <= delta``, and the same for
the other side. A search over many arms and rounds first divides its ``delta`` among
them with :func:`split_delta`. ``n_total`` is the number of references that exist; when
the sample is drawn from them without replacement the radius shrinks with what is left
unseen. Leave it infinite for sampling with replacement and for streams.

``delta = 0`` gives an infinite radius: nothing is ever decided by a sample.

References
----------
- W. Hoeffding, "Probability inequalities for sums of bounded random variables",
  JASA 58 (1963).
- R. Bardenet and O.-A. Maillard, "Concentration inequalities for sampling without
  replacement", Bernoulli 21 (2015).
- A. Maurer and M. Pontil, "Empirical Bernstein bounds and sample variance
  penalization", COLT (2009).
- X. Fan, I. Grama and Q. Liu, "Exponential inequalities for martingales with
  applications", Electronic Journal of Probability 20 (2015).
- I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by
  betting", JRSS B 86 (2024).
- E. Even-Dar, S. Mannor and Y. Mansour, "Action elimination and stopping
  conditions for the multi-armed bandit and reinforcement learning problems",
  JMLR 7 (2006).
- M. Tiwari, "Accelerating Machine Learning Algorithms with Adaptive Sampling",
  PhD thesis, Stanford University (2023).
- W. G. Cochran, "Sampling Techniques", 3rd ed., Wiley (1977), sections
  2.6 and 2.8.
"""

from libc.math cimport INFINITY, ceil, isinf, log, log1p, log2, sqrt

from ._quantiles cimport normal_quantile, student_quantile, tabled_quantile

MIN_EFFECTIVE = 16.0

# The same for Python, where declared names are not seen.
LEAST_EFFECTIVE_SIZE = MIN_EFFECTIVE

# The largest bet of the Bernstein radius, in units of the reach: at one a single value
# at the bound would lose everything. For n = 128 to 131,072 and variances of 1e-5 to 1,
# radii for .7 and .9 are .87 to 1.15 times as wide, .99 to 1.02 times at the median.
cdef double LARGEST_BET = 0.8


cpdef double split_delta(
    double delta, Py_ssize_t n_arms, Py_ssize_t n_round, Py_ssize_t n_rounds=0
) noexcept nogil:
    """Divide an error probability among the arms and rounds of a search.

    With a known number of rounds each has an equal share. Without (``n_rounds=0``)
    round t has the share ``1 / (t (t + 1))``, which sums to one over all rounds: the
    bound holds at any time, whenever the search stops (Even-Dar et al., 2006).

    Parameters
    ----------
    delta : float
        Error probability of the whole search.
    n_arms : int
        Number of arms at its start.
    n_round : int
        The present round, counted from 1.
    n_rounds : int, default=0
        Number of rounds if it is known, 0 if it is not.

    Returns
    -------
    float
        Error probability for one side of one arm's interval in this round.
    """
    if n_rounds > 0:
        return delta / (<double> n_arms * n_rounds)
    return step_delta(delta, n_round) / n_arms


cpdef double step_delta(
    double delta, Py_ssize_t n_step, Py_ssize_t n_expected=0
) noexcept nogil:
    """Divide an error probability among steps whose number is not known.

    Step t has the share ``(e + 1) / ((t + e) (t + e + 1))``, for e expected steps. The
    shares sum to one over all steps, and are nearly equal for the first e of them.

    Parameters
    ----------
    delta : float
        Error probability of all steps together.
    n_step : int
        The present step, counted from 1.
    n_expected : int, default=0
        Of which order the number of steps is.

    Returns
    -------
    float
        Error probability for this step.
    """
    cdef double place = n_step + n_expected

    return delta * (n_expected + 1.0) / (place * (place + 1.0))


cpdef double finite_population(double n_used, double n_total) noexcept nogil:
    """Share of a mean's standard error that is left after a sample without replacement.

    The factor ``sqrt(1 - n_used / n_total)`` (Cochran, 1977): 1 for an infinite
    population, 0 when every reference has been used and the mean is exact.

    Parameters
    ----------
    n_used, n_total : float
        References used, and references that exist.

    Returns
    -------
    float
        The factor.
    """
    if n_used >= n_total:
        return 0.0
    return sqrt(1.0 - n_used / n_total)


cpdef double effective_size(double sum_2, double sum_4) noexcept nogil:
    """Effective number of observations behind an estimated variance.

    ``(sum d^2)^2 / sum d^4`` for centred observations d: the number of non-zero ones
    when few are non-zero and alike, a third of all for normal ones, one when a single
    outlier holds all the variance.

    Parameters
    ----------
    sum_2, sum_4 : float
        Sums of the second and fourth powers of the centred observations.

    Returns
    -------
    float
        The effective number; zero where no variation has been seen: nothing is known
        of a variance then, and arms that were equal so far need not be equal.
    """
    if sum_4 <= 0.0:
        return 0.0
    return sum_2 * sum_2 / sum_4


cpdef double hoeffding_radius(
    double sigma, double n_used, double delta, double n_total=INFINITY
) noexcept nogil:
    """Radius for sub-Gaussian costs: ``sigma sqrt(2 log(1/delta) / n)``.

    Hoeffding's inequality (1963), as in the thesis, Theorem 1; costs within an
    interval of length R have ``sigma <= R / 2``. Without replacement Hoeffding's own
    bound holds unchanged, and Serfling's factor, in the form of Bardenet and
    Maillard (2015, Corollary 2.5, for bounded costs), sharpens it.

    Parameters
    ----------
    sigma : float
        Sub-Gaussian scale of one cost.
    n_used : float
        Number of references sampled.
    delta : float
        Error probability.
    n_total : float, default=inf
        Number of references that exist.

    Returns
    -------
    float
        The radius.
    """
    if delta <= 0.0 or n_used < 1.0:
        return 0.0 if n_used >= n_total else INFINITY
    return sigma * sqrt(2.0 * _serfling(n_used, n_total) * log(1.0 / delta) / n_used)


cpdef double bernstein_radius(
    double variance,
    double reach,
    double n_used,
    double delta,
    double n_total=INFINITY,
) noexcept nogil:
    """Radius for bounded values of unknown variance: an empirical Bernstein bound.

    Holds for every population within the bounds, however rare its large values are. A
    mean m is refused where a bet against it would have multiplied its stake by more
    than ``1 / delta`` (Waudby-Smith and Ramdas, 2024). The stake after n values,
    ``prod(1 + b (x - m))``, has an expectation of at most one: with replacement because
    the factors are independent, without by Maclaurin's inequality for the elementary
    symmetric means of the population. Fan, Grama and Liu's inequality (2015),
    ``log(1 + u) >= u - psi(v) (u / v)^2`` for ``u >= -v`` and
    ``psi(v) = -log(1 - v) - v``, bounds the stake by the mean and the variance of the
    sample, so that the refused means begin at the root of a quadratic equation.
    `delta` is shared among bets a factor of two apart; the smallest radius counts.

    Over Maurer and Pontil's closed form (2009, Theorem 4) the term that is proportional
    to the range is 1.6 to 1.8 times smaller, and 3.2 to 3.5 times for differences,
    whose reach is half their range; the leading term is wider by up to 15%.

    Parameters
    ----------
    variance : float
        Sample variance of the values.
    reach : float
        Largest distance from the mean that a value can have, known in advance: the
        length of an interval that holds every value. Differences of values from such
        an interval of length R have one of length ``2 R``.
    n_used : float
        Number of references sampled.
    delta : float
        Error probability.
    n_total : float, default=inf
        Number of references that exist.

    Returns
    -------
    float
        The radius.
    """
    cdef double log_term, spread, bet, cost, root, radius
    cdef int _i, n_bets = 1

    if n_used >= n_total:
        return 0.0
    if delta <= 0.0 or n_used < 1.0:
        return INFINITY
    if reach <= 0.0:
        return 0.0
    # In units of the reach. The best bet for the largest variance is the smallest one.
    log_term = log(1.0 / delta)
    bet = min(LARGEST_BET, sqrt(2.0 * log_term / n_used))
    n_bets += <int> ceil(log2(LARGEST_BET / bet))
    log_term = (log_term + log(<double> n_bets)) / n_used
    spread = variance / reach / reach * (n_used - 1.0) / n_used
    # No value is farther away than the reach, and those seen are no part of the error.
    radius = 1.0 if isinf(n_total) else 1.0 - n_used / n_total
    bet = LARGEST_BET
    for _i in range(n_bets):
        cost = -log1p(-bet) - bet
        root = bet * bet - 4.0 * cost * (cost * spread + log_term)
        if root >= 0.0:
            # The smaller solution of bet * r - cost * (spread + r^2) = log_term
            radius = min(
                radius, 2.0 * (cost * spread + log_term) / (bet + sqrt(root))
            )
        bet *= 0.5
    return reach * radius


cpdef double normal_radius(
    double variance, double n_used, double delta, double n_total=INFINITY
) noexcept nogil:
    """Radius from the central limit theorem, with an estimated variance.

    The thesis's practice: asymptotic, so its error probability is a target and not
    a guarantee for small samples.

    Parameters
    ----------
    variance : float
        Sample variance of the costs.
    n_used : float
        Number of references sampled.
    delta : float
        Error probability.
    n_total : float, default=inf
        Number of references that exist.

    Returns
    -------
    float
        The radius.
    """
    if n_used >= n_total:
        return 0.0
    if n_used < 2.0:
        return INFINITY
    return mean_radius(
        normal_quantile(delta),
        sqrt(variance / n_used),
        finite_population(n_used, n_total),
    )


cpdef double paired_radius(
    double variance,
    double n_used,
    double n_effective,
    double delta,
    double n_total=INFINITY,
) noexcept nogil:
    """Radius for the mean difference of two arms on the same references.

    A Student-t interval for the differences, whose variance is far smaller than either
    arm's because what the references have in common cancels. The degrees of freedom are
    those of the effective sample size (:func:`effective_size`), and below
    `MIN_EFFECTIVE` of them the radius is infinite: a variance estimated from a handful
    of non-zero differences is too small, too often.

    Parameters
    ----------
    variance : float
        Sample variance of the differences.
    n_used : float
        Number of references sampled.
    n_effective : float
        Effective number of observations behind `variance`.
    delta : float
        Error probability.
    n_total : float, default=inf
        Number of references that exist.

    Returns
    -------
    float
        The radius.
    """
    n_effective = min(n_effective, n_used)
    if n_used >= n_total:
        return 0.0
    if n_effective < MIN_EFFECTIVE:
        return INFINITY
    return mean_radius(
        student_quantile(delta, n_effective - 1.0),
        sqrt(variance / n_used),
        finite_population(n_used, n_total),
    )


cdef double tabled_paired_radius(
    Quantiles* table,
    double variance,
    double n_used,
    double n_effective,
    double n_total,
) noexcept nogil:
    """`paired_radius` for many arms: computing a quantile takes 4 microseconds."""
    n_effective = min(n_effective, n_used)
    if n_used >= n_total:
        return 0.0
    if n_effective < MIN_EFFECTIVE:
        return INFINITY
    return mean_radius(
        tabled_quantile(table, n_effective - 1.0),
        sqrt(variance / n_used),
        finite_population(n_used, n_total),
    )


cdef inline double _serfling(double n_used, double n_total) noexcept nogil:
    """The factor rho_n of Bardenet and Maillard (2015), with its form for n > N/2."""
    if isinf(n_total):
        return 1.0
    if n_used >= n_total:
        return 0.0
    if 2.0 * n_used <= n_total:
        return 1.0 - (n_used - 1.0) / n_total
    return (1.0 - n_used / n_total) * (1.0 + 1.0 / n_used)
