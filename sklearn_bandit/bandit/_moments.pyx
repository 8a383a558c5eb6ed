"""Sums of second and fourth powers: what a variance and its effective size are made of.

Powers are taken about a centre or about a shift near it, never about zero, so that a
large common mean does not cancel the digits of a small variance.
"""

from cython cimport floating

import numpy as np

from sklearn_bandit._core.simd cimport simd_void


cdef inline void _add_powers(double gap, double* sum_2, double* sum_4) noexcept nogil:
    """Add the second and the fourth power; inlined, the sums are in registers."""
    cdef double square = gap * gap

    sum_2[0] += square
    sum_4[0] += square * square


cdef void add_moments(
    const double* costs,
    const double* leader,
    Py_ssize_t n_batch,
    double shift,
    double* sums,
) noexcept nogil:
    """Add one arm's batch to the sums of the powers of its (paired) costs."""
    cdef Py_ssize_t j
    cdef double d, sum_1 = 0.0, sum_2 = 0.0, sum_4 = 0.0

    for j in range(n_batch):
        d = costs[j] - shift
        if leader != NULL:
            d -= leader[j]
        sum_1 += d
        _add_powers(d, &sum_2, &sum_4)
    sums[0] += sum_1
    sums[1] += sum_2
    sums[2] += sum_4


def sums_of_powers(const double[:, ::1] costs, const double[::1] shifts):
    """Sums of powers for Python, as in `add_moments`.

    Parameters
    ----------
    costs : ndarray of shape (n_arms, n_references)
        Costs of some arms.
    shifts : ndarray of shape (n_arms,)
        Subtracted first from the costs of each arm, against cancellation.

    Returns
    -------
    ndarray of shape (n_arms, 3)
        Sums of the first, second and fourth powers of the costs of each arm.
    """
    cdef double[:, ::1] sums = np.zeros((costs.shape[0], 3))
    cdef Py_ssize_t i

    if shifts.shape[0] != costs.shape[0]:
        raise ValueError(
            f"Expected the shifts of {costs.shape[0]} arms, got {shifts.shape[0]}."
        )
    if costs.shape[1] > 0:
        with nogil:
            for i in range(costs.shape[0]):
                add_moments(
                    &costs[i, 0], NULL, costs.shape[1], shifts[i], &sums[i, 0]
                )
    return np.asarray(sums)


cdef simd_void centred_powers(
    const float* values, double centre, Py_ssize_t n, double* sums
) noexcept nogil:
    """Sums of the second and fourth powers of centred values."""
    cdef Py_ssize_t j
    cdef double sum_2 = 0.0, sum_4 = 0.0

    for j in range(n):
        _add_powers(<double> values[j] - centre, &sum_2, &sum_4)
    sums[0] = sum_2
    sums[1] = sum_4


cdef simd_void paired_powers(
    const floating* first,
    const floating* second,
    double centre,
    Py_ssize_t n,
    double* sums,
) noexcept nogil:
    """Sums of the second and fourth powers of centred differences of two arms."""
    cdef Py_ssize_t j
    cdef double gap, sum_2 = 0.0, sum_4 = 0.0

    for j in range(n):
        gap = <double> first[j] - <double> second[j] - centre
        _add_powers(gap, &sum_2, &sum_4)
    sums[0] = sum_2
    sums[1] = sum_4


cdef simd_void weighted_powers(
    const double* first,
    const double* second,
    const double* weight,
    double centre,
    Py_ssize_t n,
    double* sums,
) noexcept nogil:
    """Sums of the second and fourth powers of what each reference adds to the error.

    The weighted mean of the differences, linearised: ``weight (difference - centre)``.
    """
    cdef Py_ssize_t j
    cdef double gap, sum_2 = 0.0, sum_4 = 0.0

    for j in range(n):
        gap = weight[j] * (first[j] - second[j] - centre)
        _add_powers(gap, &sum_2, &sum_4)
    sums[0] = sum_2
    sums[1] = sum_4


cdef simd_void add_product_powers(
    const double* leader,
    const double* column,
    const double* residual,
    double own,
    const double* centres,
    Py_ssize_t n,
    ProductPowers* sums,
) noexcept nogil:
    """Add powers of centred differences of two products, for both signs of the second.

    `own` is the leader's sign. The atom's is the same first, and then the other one.
    """
    cdef Py_ssize_t j
    cdef double factor, less, more, gap, same = centres[0], other = centres[1]
    cdef double same_2 = 0.0, same_4 = 0.0, other_2 = 0.0, other_4 = 0.0
    cdef double less_2 = 0.0, more_2 = 0.0, residual_2 = 0.0

    for j in range(n):
        factor = own * residual[j]
        less = leader[j] - column[j]
        more = leader[j] + column[j]
        residual_2 += factor * factor
        less_2 += less * less
        more_2 += more * more
        gap = factor * less - same
        _add_powers(gap, &same_2, &same_4)
        gap = factor * more - other
        _add_powers(gap, &other_2, &other_4)
    sums.second[0] += same_2
    sums.fourth[0] += same_4
    sums.energy[0] += less_2
    sums.second[1] += other_2
    sums.fourth[1] += other_4
    sums.energy[1] += more_2
    sums.residual += residual_2
