"""Confidence radii for kernels: ``_radii.pyx`` has the formulas and sources."""

from libc.math cimport INFINITY

from ._quantiles cimport Quantiles

# Fewer effective observations than this say nothing reliable about a variance.
cdef double MIN_EFFECTIVE

cpdef double split_delta(
    double delta, Py_ssize_t n_arms, Py_ssize_t n_round, Py_ssize_t n_rounds=*
) noexcept nogil
cpdef double step_delta(
    double delta, Py_ssize_t n_step, Py_ssize_t n_expected=*
) noexcept nogil
cpdef double finite_population(double n_used, double n_total) noexcept nogil
cpdef double effective_size(double sum_2, double sum_4) noexcept nogil
cpdef double hoeffding_radius(
    double sigma, double n_used, double delta, double n_total=*
) noexcept nogil
cpdef double bernstein_radius(
    double variance,             # of the values, or of paired differences
    double reach,                # largest distance of a value from the sample mean
    double n_used,
    double delta,
    double n_total=*,
) noexcept nogil
cpdef double normal_radius(
    double variance, double n_used, double delta, double n_total=*
) noexcept nogil
cpdef double paired_radius(
    double variance, double n_used, double n_effective, double delta, double n_total=*
) noexcept nogil
cdef double tabled_paired_radius(
    Quantiles* table,           # for the error probability
    double variance,
    double n_used,
    double n_effective,
    double n_total,
) noexcept nogil


cdef inline double mean_radius(
    double quantile, double error, double factor
) noexcept nogil:
    """Radius of a mean: a quantile times its standard error, times a factor.

    The factor is `finite_population`, or how much an error is inflated. The radius is
    infinite if the quantile or the factor is, even where no error has been seen.
    """
    if quantile == INFINITY or factor == INFINITY:
        return INFINITY
    return quantile * error * factor


cdef inline double needed_samples(
    double gap, double scale, double n_total
) noexcept nogil:
    """Samples until a gap exceeds its radius ``scale * sqrt(1/n - 1/n_total)``.

    `scale` is the quantile times the standard deviation of one observation. All of the
    references, or infinity, where there is no gap.
    """
    if gap <= 0.0:
        return n_total
    return 1.0 / (1.0 / n_total + gap * gap / (scale * scale))
