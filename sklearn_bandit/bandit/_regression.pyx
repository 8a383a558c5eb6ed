"""The regression estimator of survey sampling.

Where the mean over all of a covariate f is known, the mean of y is estimated by that of
the sample, moved along the regression line of y on f to the known mean of f [1]_. What
is left of the variance is that of the residues.

References
----------
.. [1] W. G. Cochran, "Sampling Techniques", 3rd ed., ch. 7 (1977).
"""

import numpy as np


def regression_estimate(values, covariate, double known_mean):
    """Estimate the mean of values from a sample and a covariate of known mean.

    Parameters
    ----------
    values : array-like of shape (n,)
        The sample; three values at least.
    covariate : array-like of shape (n,)
        The covariate, on the same sample.
    known_mean : float
        Its mean over all that the sample was drawn from.

    Returns
    -------
    mean : float
        Estimate of the mean of the values over all.
    variance : float
        Variance of a value about it; divided by the size of the sample, that of the
        estimate.
    """
    values, covariate = np.asarray(values, float), np.asarray(covariate, float)
    cdef double mean = values.mean(), variance = values.var()
    cdef Covariate f
    f.mean = covariate.mean()
    f.variance = covariate.var()
    f.covariance = np.mean(values * covariate) - mean * f.mean
    f.known_mean = known_mean
    f.n = len(values)
    regress(&f, &mean, &variance)
    return mean, variance
