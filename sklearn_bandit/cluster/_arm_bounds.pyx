"""Means and confidence bounds of the arms of BUILD and SWAP, from sampled sums.

The sums are those of `_sampled_passes`; :mod:`sklearn_bandit.bandit` has the
statistics.
"""

from cython.parallel cimport prange
from libc.math cimport INFINITY, sqrt

from sklearn_bandit.bandit._radii cimport (
    effective_size,
    finite_population,
    mean_radius,
)
from sklearn_bandit.bandit._regression cimport Covariate, regress

from ._distances.metrics cimport TILE
from ._sampled_passes cimport MOMENTS, WITH_VARIATE

cdef enum:
    # Clusters with fewer sampled references than this have no regression of their own.
    MIN_REFERENCES = 16


cdef struct Sizes:
    double known            # references that are not estimated
    double used             # size of the sample of the others
    double total            # number of all references


def reduce_means(
    const double[:, :, ::1] sums, double scale, double[::1] means, int[::1] removed
):
    """The best swap of each candidate by its mean, from the sums of `accumulate`.

    Parameters
    ----------
    sums : ndarray of shape (n_tiles, 1 + n_clusters, ARM_TILE)
        Sums without moments.
    scale : float
        The sums are multiplied by it.
    means : ndarray of shape (n_arms,)
        Written: the least over the medoids to remove.
    removed : ndarray of shape (n_arms,)
        Written: which medoid that is; 0 for BUILD.
    """
    cdef Py_ssize_t x, t, i, l, n_planes = sums.shape[1]
    cdef double value

    for x in range(means.shape[0]):
        t = x // TILE
        i = x % TILE
        means[x] = sums[t, 0, i] * scale
        removed[x] = 0
        if n_planes > 1:
            means[x] = INFINITY
            for l in range(n_planes - 1):
                value = (sums[t, 0, i] + sums[t, 1 + l, i]) * scale
                if value < means[x]:
                    means[x] = value
                    removed[x] = l


def reduce_bounds(
    const double[:, :, ::1] known,
    const double[:, :, ::1] sums,
    sizes,
    const double[::1] quantiles,
    const double[::1] counts,
    const double[:, ::1] totals,
    double[:, ::1] bounds,
    int n_threads,
):
    """Mean and lower confidence bound of each candidate's swaps; the least of each.

    Some references are summed in `known`, whatever depended on them; a random sample of
    the others in `sums`. The mean over all is then ``(n_known / n_total) mean(known) +
    (1 - n_known / n_total) mean(rest)``, and only its second part is uncertain. It is
    estimated by the mean of the sample or, with a control variate, by the regression on
    it, whose mean over the rest is known.

    Parameters
    ----------
    known : ndarray of shape (n_tiles, 1 + n_clusters, ARM_TILE)
        Sums over the known references.
    sums : ndarray of shape (n_tiles, 3 (1 + n_clusters), ARM_TILE)
        Sums with moments over the sample; 6 planes in place of 3 with a variate.
    sizes : SampleSizes
        Numbers of known, sampled and all references.
    quantiles : ndarray
        ``quantiles[e]`` is the Student-t quantile for the effective size e; the last
        one serves all larger sizes.
    counts : ndarray of shape (n_groups,)
        Sampled references that have a variate. One group for BUILD, as many as there
        are clusters for SWAP, none without a variate.
    totals : ndarray of shape (n_arms, n_groups)
        Sums of the variate over all references that are not known.
    bounds : ndarray of shape (3, n_arms)
        Written: the least mean and the least lower bound over the medoids to remove,
        and the medoid of the least mean; 0 for BUILD.
    n_threads : int
        OpenMP threads.
    """
    cdef Py_ssize_t t, first, last, n_arms = bounds.shape[1], n_tiles = known.shape[0]
    cdef Sizes n = Sizes(sizes.known, sizes.used, sizes.total)

    n_threads = min(n_threads, max(n_tiles, 1))
    for t in prange(n_tiles, nogil=True, schedule="static", num_threads=n_threads):
        first = t * TILE
        last = min(first + TILE, n_arms)
        _bounds_tile(
            known[t], sums[t], &n, quantiles, counts, totals[first:last],
            bounds[:, first:last],
        )


cdef void _bounds_tile(
    const double[:, ::1] known,
    const double[:, ::1] sums,
    const Sizes* n,
    const double[::1] quantiles,
    const double[::1] counts,
    const double[:, ::1] totals,
    double[:, :] bounds,
) noexcept nogil:
    cdef Py_ssize_t i, l, own, e, n_groups = known.shape[0], width = bounds.shape[1]
    cdef Py_ssize_t group = WITH_VARIATE if counts.shape[0] else MOMENTS
    cdef Py_ssize_t largest = quantiles.shape[0] - 1
    cdef bint swap = n_groups > 1, has_variate
    cdef double value, mean, variance, size, radius, total_2, total_4
    cdef double n_used = n.used, n_total = n.total
    cdef double rest = n_total - n.known, share = rest / n_total
    cdef double m = max(n_used, 1.0)
    cdef double factor = share * finite_population(n_used, rest)
    cdef Covariate f

    if n_used < 1.0:
        factor = 0.0 if rest < 1.0 else INFINITY
    for i in range(width):
        bounds[0, i] = INFINITY
        bounds[1, i] = INFINITY
        bounds[2, i] = 0.0
    for l in range(max(n_groups - 1, 1)):
        own = (1 + l) * group if swap else 0
        has_variate = (
            group == WITH_VARIATE and factor > 0.0 and counts[l] >= MIN_REFERENCES
        )
        for i in range(width):
            value = known[0, i]
            mean = sums[0, i]
            total_2 = sums[1, i]
            total_4 = sums[2, i]
            if swap:
                value += known[1 + l, i]
                mean += sums[own, i]
                total_2 += sums[own + 1, i]
                total_4 += sums[own + 2, i]
            mean /= m
            variance = total_2 / m - mean * mean
            size = min(effective_size(total_2, total_4), n_used)
            if has_variate:
                f.mean = sums[own + 3, i] / m
                f.variance = sums[own + 4, i] / m - f.mean * f.mean
                f.covariance = sums[own + 5, i] / m - mean * f.mean
                f.known_mean = totals[i, l] / rest
                f.n = counts[l]
                if regress(&f, &mean, &variance):
                    size = min(size, counts[l])
            value = value / n_total + share * mean
            radius = 0.0
            if factor > 0.0 and total_2 > 0.0:
                e = <Py_ssize_t> size if size < largest else largest
                radius = mean_radius(
                    quantiles[max(e, 0)],
                    sqrt(max(variance, 0.0) / max(n_used - 1.0, 1.0)), factor,
                )
            if value < bounds[0, i]:
                bounds[0, i] = value
                bounds[2, i] = l
            bounds[1, i] = min(bounds[1, i], value - radius)
