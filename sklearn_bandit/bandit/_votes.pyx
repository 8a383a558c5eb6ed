"""When a vote is decided before all have voted.

Arms are classes, references are voters: each gives every class a share of its vote, and
shares add up to one. The best arm is the class with the largest sum. Voters are asked
in a random order, without replacement, and looked at a few times on the way.

The margin of a voter is its share for the leader minus its share for the runner-up. Its
square is at most the sum of the two shares. If the two classes are level in the end,
the lead of one after n of N voters has a mean of 0 and a variance of at most
s (1 - n / N), where s is the sum of their votes. A lead of more than `quantile`
standard deviations decides the vote. So does one that is larger than the number of
those who have not been asked; that is certain.

The quantile is found by counting, not by a bound. The hardest case is that of voters
who give all to one class and are split evenly between two: the lead is a random walk
with steps of one that ends at 0, and the probability that it is beyond the quantile at
any look is a sum over its states (Armitage, McPherson and Rowe, for normal steps). Half
of that is the probability of a wrong class. The quantile, one for all looks as that of
Pocock, is the least for which it is at most delta. Voters for other classes thin the
walk out; it is counted for several shares of them, and the worst counts. Shares that
are divided vary less than votes that are not, and of three classes that are level each
has to be ahead of two: neither errs as often.

References
----------
- P. Armitage, C. K. McPherson and B. C. Rowe, "Repeated significance tests on
  accumulating data", Journal of the Royal Statistical Society A 132 (1969).
- S. J. Pocock, "Group sequential methods in the design and analysis of clinical
  trials", Biometrika 64 (1977).
- W. G. Cochran, "Sampling Techniques", 3rd ed., Wiley (1977), section 2.6.
"""

from functools import lru_cache

import numpy as np

from libc.math cimport INFINITY, sqrt

# Voters before the first look, and how many times as many are asked before the next.
# Looks from 6 voters on, or at every 1.1 times as many, ask 2% fewer voters and take
# longer (seven data sets, among them electricity, adult and digits).
FIRST_LOOK = 10
LOOK_GROWTH = 1.25

# Fewer voters are asked until the outcome is certain. Walks of so few steps differ by
# more than the shares that are counted show: up to 1.3 delta for 30 voters.
LEAST_VOTERS = 40

# Shares of the voters that are for one of the two classes: from LEAST_SHARE, where a
# third class is level with them, to 1.
cdef int N_SHARES = 8
cdef double LEAST_SHARE = 2.0 / 3.0

# Quantiles are known as exactly as this.
cdef double PRECISION = 1e-3


def decides(double leader, double runner_up, double n_left, double threshold):
    """Whether a vote is decided, as `is_decided` for kernels.

    Parameters
    ----------
    leader, runner_up : float
        Sums of votes of the two classes.
    n_left : float
        Number of voters that have not been asked.
    threshold : float
        That of the look, from `look_schedule`.

    Returns
    -------
    bool
        Whether the leader stays ahead, with the probability that was asked for.
    """
    return is_decided(leader, runner_up, n_left, threshold)


def look_schedule(Py_ssize_t n_total, double delta):
    """Return after how many voters to look at a vote, and the thresholds to use.

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
    thresholds : list of float
        For `is_decided`; infinite where only a certain outcome counts, and at the last
        look, which needs none.
    """
    ends, thresholds = _look_schedule(n_total, delta)
    return list(ends), list(thresholds)


@lru_cache(maxsize=64)
def _look_schedule(n_total, delta):
    ends = []
    end = FIRST_LOOK
    while end < n_total:
        ends.append(end)
        end = int(end * LOOK_GROWTH)
    square = INFINITY
    if n_total >= LEAST_VOTERS:
        square = look_quantile(ends, n_total, delta) ** 2
    thresholds = [square * (1.0 - end / n_total) for end in ends]
    return (*ends, n_total), (*thresholds, INFINITY)


def look_quantile(ends, Py_ssize_t n_total, double delta):
    """Return the least quantile for an error probability of `delta` in all.

    Parameters
    ----------
    ends : list of int
        Number of voters asked at each look, all below `n_total`.
    n_total : int
        Number of voters.
    delta : float
        Probability that any look finds the wrong class.

    Returns
    -------
    float
        Standard deviations of the lead.
    """
    cdef double least = 0.0, most = 1.0, middle
    cdef double[:, ::1] chances = np.empty((2, n_total + 2))
    cdef list walks = _walks(np.asarray(ends), n_total)

    def suffices(double quantile):
        return all(
            _wrong(looks, n_steps, quantile**2, chances) <= delta
            for looks, n_steps in walks
        )

    while not suffices(most):
        least = most
        most *= 2.0
    while most - least > PRECISION:
        middle = 0.5 * (least + most)
        if suffices(middle):
            most = middle
        else:
            least = middle
    return most


def _walks(ends, n_total):
    """Return the looks at walks of voters for two classes, and the lengths of these."""
    walks = []
    for share in np.linspace(LEAST_SHARE, 1.0, N_SHARES):
        n_steps = 2 * int(round(share * (n_total // 2)))
        steps = ends * (n_steps / n_total)
        for looks in (np.floor(steps), np.ceil(steps)):
            walks.append((np.unique(looks.astype(np.intc)), n_steps))
    return walks


cdef double _wrong(
    const int[::1] looks, Py_ssize_t n_steps, double square, double[:, ::1] chances
) noexcept:
    """Return the probability that a walk is beyond the quantile, on one side.

    The states of a walk are the numbers of steps up; half of all are, in the end.
    `chances` has room for the probabilities of all states, twice, and one before them.
    """
    cdef Py_ssize_t half = n_steps // 2, least = 0, most = 0, n, up, look = 0
    cdef double found = 0.0, limit, unit
    cdef double* now = &chances[0, 1]
    cdef double* then = &chances[1, 1]

    chances[0, 0] = 0.0
    now[0] = 1.0
    for n in range(1, n_steps):
        if look == looks.shape[0] or most < least:
            break
        now, then = then, now
        most += 1
        then[most] = 0.0
        unit = 1.0 / (n_steps - n + 1)
        for up in range(least, most + 1):
            now[up] = unit * (
                then[up] * (half - (n - 1 - up)) + then[up - 1] * (half - (up - 1))
            )
        now[least - 1] = 0.0
        if n != looks[look]:
            continue
        look += 1
        limit = sqrt(square * n * (1.0 - n / <double> n_steps))
        while most >= least and 2 * most - n > limit:
            found += now[most]
            most -= 1
        while least <= most and n - 2 * least > limit:
            now[least] = 0.0
            least += 1
    return found
