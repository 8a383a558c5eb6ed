"""The sampled passes of BUILD and SWAP: moments of all arms, and their bounds.

An arm is a candidate x (BUILD) or a swap of x for the medoid l (SWAP); its cost on the
reference j is j's distance to the nearest medoid afterwards,

- BUILD: ``a = min(d(x, j), d1_j)``
- SWAP: ``a`` for a reference of another cluster than l, ``b = min(d(x, j), d2_j)`` for
  one of l's,

with d1 and d2 the distances to the nearest and second nearest medoid now. All costs are
taken relative to those of the leader on the same reference, ``g_j``, and times the
reference's weight. One distance serves the k swaps of a candidate [1]_: with the sums

    S = sum (a - g),                    V_l = sum_{j in l} (b - g) - (a - g),

those of the swap (x, l) are S + V_l, and the second and fourth powers go the same way.
Where the costs have a control variate (see `_distance_variate`), its sums and those of
its products with the costs are kept for the regression on it.

References
----------
.. [1] E. Schubert and P. J. Rousseeuw, "Faster k-medoids clustering: improving the PAM,
   CLARA, and CLARANS algorithms", SISAP (2019).
"""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport INFINITY, sqrt

from sklearn_bandit._core.simd cimport (
    LANES,
    add_floats,
    floats,
    least,
    load_floats,
    no_floats,
    prefetch_l2,
    simd_void,
)
from sklearn_bandit.bandit._radii cimport effective_size, finite_population
from sklearn_bandit.bandit._regression cimport Covariate, regress

from ._distances.metrics cimport TILE

cdef enum:
    # Arms that are one task of the sampled sums.
    SLICE = 128
    # References that are summed in registers, before the float32 sums there are added
    # to the double ones in memory. As many more are asked for ahead: they are from all
    # over the tile, where the processor does not expect them.
    RUN = 32
    # Planes of a group: sum, second and fourth power; three more with a control
    # variate.
    MOMENTS = 3
    WITH_VARIATE = 6
    # Clusters with fewer sampled references than this have no regression of their own.
    MIN_REFERENCES = 16


cdef struct Reference:
    Py_ssize_t place        # its row in the tiles
    int label               # its cluster; 0 in BUILD
    # The cost of a candidate at distance d, less that of the leader and times the
    # weight, is weight * d + shift, or what the other medoids leave if that is less.
    float weight
    float shift
    float most              # what they leave now,
    float most_without      # and without the medoid of this cluster
    # The control variate is square * d^2 + slope * d + origin.
    float square
    float slope
    float origin


cdef struct Sizes:
    double known            # references that are not estimated
    double used             # size of the sample of the others
    double total            # number of all references


def pack_references(
    references,
    const float[::1] leader,
    const float[::1] slopes,
    const float[::1] origins,
    int power,
    bint build,
):
    """Put what the passes have to know of some references into one array.

    Parameters
    ----------
    references : References
        Weight, d1, d2 and cluster of each.
    leader : ndarray of shape (n_references,)
        Cost of the leader on each.
    slopes, origins : ndarray of shape (n_references,)
        The control variate; see `ControlVariate`.
    power : int
        Power of the distances that it is linear in, 1 or 2.
    build : bool
        For BUILD, to which clusters do not matter.

    Returns
    -------
    ndarray of bytes
        The references, those of a cluster together: its sums stay in registers.
    """
    cdef const float[::1] weights = references.weights
    cdef const float[::1] nearest = references.nearest
    cdef const float[::1] second = references.second
    cdef const int[::1] labels = references.labels
    cdef const Py_ssize_t[::1] order = np.argsort(references.labels, kind="stable")
    cdef Py_ssize_t m = weights.shape[0], p, j
    cdef char[::1] memory = np.empty(m * sizeof(Reference), dtype=np.int8)
    cdef Reference* packed

    if m == 0:
        return memory.base
    packed = <Reference*> &memory[0]
    for p in range(m):
        j = order[p]
        packed[p].place = j
        packed[p].label = 0 if build else labels[j]
        packed[p].weight = weights[j]
        packed[p].shift = -weights[j] * leader[j]
        packed[p].most = weights[j] * (nearest[j] - leader[j])
        packed[p].most_without = weights[j] * (second[j] - leader[j])
        packed[p].square = slopes[j] if power == 2 else 0.0
        packed[p].slope = slopes[j] if power == 1 else 0.0
        packed[p].origin = -slopes[j] * origins[j]
    return memory.base


def accumulate(
    const float[:, :, ::1] tiles,
    const char[::1] references,
    int n_clusters,
    Py_ssize_t n_arms,
    double[:, :, ::1] sums,
    int n_threads,
):
    """Add a block of references to the sums of the arms.

    Parameters
    ----------
    tiles : ndarray of shape (n_tiles, n_block, ARM_TILE)
        Distances to the references of the block.
    references : ndarray of bytes
        Those that are added: the leading ones of the block, by `pack_references`.
    n_clusters : int
        Number of medoids for SWAP, 0 for BUILD.
    n_arms : int
        How many arms the tiles hold.
    sums : ndarray of shape (n_tiles, n_planes, ARM_TILE)
        Added to. The planes are S, and V_l for each l. Each may be a group: of three
        with the second and fourth power, of six with the control variate's first and
        second power and its products with the costs as well.
    n_threads : int
        OpenMP threads.
    """
    cdef Py_ssize_t m = references.shape[0] // sizeof(Reference)
    cdef Py_ssize_t n_slices = (n_arms + SLICE - 1) // SLICE, p, t, i
    cdef int group = sums.shape[1] // (1 + n_clusters)
    cdef const Reference* packed

    if m > tiles.shape[1]:
        raise ValueError("There are more references than distances.")
    if n_arms == 0 or m == 0:
        return
    packed = <const Reference*> &references[0]
    # A thread without a slice would only be waited for.
    n_threads = min(n_threads, n_slices)
    for p in prange(n_slices, nogil=True, schedule="dynamic", num_threads=n_threads):
        t = p * SLICE // TILE
        i = p * SLICE % TILE
        _accumulate_slice(
            &tiles[t, 0, i], min(SLICE, n_arms - p * SLICE), packed, m, n_clusters,
            group, &sums[t, 0, i],
        )


cdef void _accumulate_slice(
    const float* tile,
    Py_ssize_t width,
    const Reference* references,
    Py_ssize_t m,
    int n_clusters,
    int group,
    double* sums,
) noexcept nogil:
    # What is beyond the last arm comes along.
    cdef Py_ssize_t n_strips = (width + LANES - 1) // LANES, start = 0, stop, n, p, i
    cdef const Reference* run
    cdef double* own

    while start < m:
        stop = _run_end(references, start, m)
        run = references + start
        n = stop - start
        own = sums + (1 + run.label) * group * TILE
        for p in range(stop, min(stop + RUN, m)):
            for i in range(0, width, 16):
                prefetch_l2(tile + references[p].place * TILE + i)
        if n_clusters == 0 and group == 1:
            _build_sums(tile, n_strips, run, n, sums)
        elif n_clusters == 0:
            _build_moments(tile, n_strips, run, n, group, sums)
        elif group == 1:
            _swap_sums(tile, n_strips, run, n, sums, own)
        else:
            _swap_moments(tile, n_strips, run, n, group, sums, own)
        start = stop


cdef inline Py_ssize_t _run_end(
    const Reference* references, Py_ssize_t start, Py_ssize_t m
) noexcept nogil:
    """End of the references that are summed in registers from `start` on."""
    cdef Py_ssize_t stop = start
    while (
        stop < min(start + RUN, m) and references[stop].label == references[start].label
    ):
        stop += 1
    return stop


# The kernels below sum a run of references for some strips of a tile, LANES arms each,
# whose sums are in registers.


cdef simd_void _build_sums(
    const float* tile,
    Py_ssize_t n_strips,
    const Reference* run,
    Py_ssize_t n,
    double* s,
) noexcept nogil:
    cdef floats d, a_1
    cdef Py_ssize_t _strip, p
    for _strip in range(n_strips):
        a_1 = no_floats()
        for p in range(n):
            d = load_floats(tile + run[p].place * TILE)
            a_1 = a_1 + least(run[p].weight * d + run[p].shift, run[p].most)
        add_floats(s, a_1)
        tile += LANES
        s += LANES


cdef simd_void _build_moments(
    const float* tile,
    Py_ssize_t n_strips,
    const Reference* run,
    Py_ssize_t n,
    int group,
    double* s,
) noexcept nogil:
    cdef floats d, a, f, a_1, a_2, a_4, f_1, f_2, product
    cdef Py_ssize_t _strip, p
    for _strip in range(n_strips):
        a_1 = no_floats()
        a_2 = a_1
        a_4 = a_1
        f_1 = a_1
        f_2 = a_1
        product = a_1
        for p in range(n):
            d = load_floats(tile + run[p].place * TILE)
            a = least(run[p].weight * d + run[p].shift, run[p].most)
            f = d * (run[p].square * d + run[p].slope) + run[p].origin
            a_1 = a_1 + a
            f_1 = f_1 + f
            f_2 = f_2 + f * f
            product = product + a * f
            a = a * a
            a_2 = a_2 + a
            a_4 = a_4 + a * a
        add_floats(s, a_1)
        add_floats(s + TILE, a_2)
        add_floats(s + 2 * TILE, a_4)
        if group == WITH_VARIATE:
            add_floats(s + 3 * TILE, f_1)
            add_floats(s + 4 * TILE, f_2)
            add_floats(s + 5 * TILE, product)
        tile += LANES
        s += LANES


cdef simd_void _swap_sums(
    const float* tile,
    Py_ssize_t n_strips,
    const Reference* run,
    Py_ssize_t n,
    double* s,
    double* v,
) noexcept nogil:
    cdef floats x, a_1, b_1
    cdef Py_ssize_t _strip, p
    for _strip in range(n_strips):
        a_1 = no_floats()
        b_1 = a_1
        for p in range(n):
            x = load_floats(tile + run[p].place * TILE)
            x = run[p].weight * x + run[p].shift
            a_1 = a_1 + least(x, run[p].most)
            b_1 = b_1 + least(x, run[p].most_without)
        add_floats(s, a_1)
        add_floats(v, b_1 - a_1)
        tile += LANES
        s += LANES
        v += LANES


cdef simd_void _swap_moments(
    const float* tile,
    Py_ssize_t n_strips,
    const Reference* run,
    Py_ssize_t n,
    int group,
    double* s,
    double* v,
) noexcept nogil:
    cdef floats d, x, a, b, f, a_1, a_2, a_4, b_1, b_2, b_4, f_1, f_2, product
    cdef Py_ssize_t _strip, p
    for _strip in range(n_strips):
        a_1 = no_floats()
        a_2 = a_1
        a_4 = a_1
        b_1 = a_1
        b_2 = a_1
        b_4 = a_1
        f_1 = a_1
        f_2 = a_1
        product = a_1
        for p in range(n):
            d = load_floats(tile + run[p].place * TILE)
            x = run[p].weight * d + run[p].shift
            a = least(x, run[p].most)
            b = least(x, run[p].most_without)
            f = d * (run[p].square * d + run[p].slope) + run[p].origin
            a_1 = a_1 + a
            b_1 = b_1 + b
            f_1 = f_1 + f
            f_2 = f_2 + f * f
            product = product + b * f
            a = a * a
            b = b * b
            a_2 = a_2 + a
            b_2 = b_2 + b
            a_4 = a_4 + a * a
            b_4 = b_4 + b * b
        add_floats(s, a_1)
        add_floats(s + TILE, a_2)
        add_floats(s + 2 * TILE, a_4)
        add_floats(v, b_1 - a_1)
        add_floats(v + TILE, b_2 - a_2)
        add_floats(v + 2 * TILE, b_4 - a_4)
        if group == WITH_VARIATE:
            add_floats(v + 3 * TILE, f_1)
            add_floats(v + 4 * TILE, f_2)
            add_floats(v + 5 * TILE, product)
        tile += LANES
        s += LANES
        v += LANES


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
    int[::1] removed,
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
    bounds : ndarray of shape (2, n_arms)
        Written: the least mean and the least lower bound over the medoids to remove.
    removed : ndarray of shape (n_arms,)
        Written: the medoid of the least mean; 0 for BUILD.
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
            bounds[0, first:last], bounds[1, first:last], removed[first:last],
        )


cdef void _bounds_tile(
    const double[:, ::1] known,
    const double[:, ::1] sums,
    const Sizes* n,
    const double[::1] quantiles,
    const double[::1] counts,
    const double[:, ::1] totals,
    double[::1] means,
    double[::1] lower,
    int[::1] removed,
) noexcept nogil:
    cdef Py_ssize_t i, l, own, e, n_groups = known.shape[0], width = means.shape[0]
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
        means[i] = INFINITY
        lower[i] = INFINITY
        removed[i] = 0
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
                radius = quantiles[max(e, 0)] * factor
                if variance > 0.0:
                    radius = radius * sqrt(variance / max(n_used - 1.0, 1.0))
                elif radius < INFINITY:
                    radius = 0.0
            if value < means[i]:
                means[i] = value
                removed[i] = l
            lower[i] = min(lower[i], value - radius)
