"""The regression estimator for kernels: see ``_regression.pyx``."""

cdef struct Covariate:
    double mean                 # of the sample
    double variance             # of the sample
    double covariance           # with the values whose mean is sought
    double known_mean           # over all that the sample was drawn from
    double n                    # size of the sample; 3 at least


cdef inline bint regress(
    const Covariate* f, double* mean, double* variance
) noexcept nogil:
    """Improve the mean and variance of a sample; return whether that is possible."""
    # A regression on a small sample may fit too well: at least this share of the
    # variance is taken to be left.
    cdef double least_residue = 0.1
    cdef double gap

    if not f.variance > 0.0:
        return False
    gap = f.known_mean - f.mean
    mean[0] += f.covariance / f.variance * gap
    variance[0] = max(
        variance[0] - f.covariance * f.covariance / f.variance,
        least_residue * variance[0],
    )
    # The slope is uncertain too, the more the farther it reaches.
    variance[0] *= 1.0 + gap * gap / f.variance
    variance[0] *= f.n / (f.n - 2.0)
    return True
