"""The score of a split from what is on either side: see ``scores.pyx``."""

from libc.math cimport INFINITY, log, log2

cdef enum:
    SCORE_LANES = 8             # scores compared at a time

cdef double TIE                 # relative difference of scores that are the same
cdef double POISSON_ROUNDING    # share of the node's sum that rounding may leave


cdef inline double xlogx(double x) noexcept nogil:
    return x * log2(x) if x > 0.0 else 0.0


cdef inline double ylogy(double total, double weight) noexcept nogil:
    """``S log(S / W)``, the part of the Poisson deviance that depends on the split."""
    return total * log(total / weight) if total > 0.0 else 0.0


cdef inline double gini_score(
    double left, double right, double left_weight, double right_weight
) noexcept nogil:
    """Score by the Gini impurity, from the sums of squared class weights."""
    return left / left_weight + right / right_weight


cdef inline double entropy_score(
    double left, double right, double left_weight, double right_weight,
    Py_ssize_t n_outputs,
) noexcept nogil:
    """Score by the entropy, from the sums of `xlogx` of the class weights."""
    return left + right - n_outputs * (xlogx(left_weight) + xlogx(right_weight))


cdef inline double mean_score(
    double left, double right, double left_weight, double right_weight
) noexcept nogil:
    """Score of one output by the squared error, from the sums of y: one division."""
    return (left * left * right_weight + right * right * left_weight) / (
        left_weight * right_weight
    )


cdef inline double squares_score(
    Py_ssize_t n_cells, const double* left, const double* totals
) noexcept nogil:
    """Score by the squared error, over all outputs."""
    cdef double right, right_weight = totals[0] - left[0], score = 0.0
    cdef Py_ssize_t k

    for k in range(1, n_cells):
        right = totals[k] - left[k]
        score += left[k] * left[k] / left[0]
        score += right * right / right_weight
    return score


cdef inline double poisson_score(
    Py_ssize_t n_cells, const double* left, const double* totals
) noexcept nogil:
    """Score by the Poisson deviance, over all outputs."""
    cdef double right, score = 0.0
    cdef Py_ssize_t k

    for k in range(1, n_cells):
        right = totals[k] - left[k]
        if left[k] <= 0.0 or right <= POISSON_ROUNDING * totals[k]:
            return -INFINITY
        score += ylogy(left[k], left[0]) + ylogy(right, totals[0] - left[0])
    return score
