"""Search in a fixed random sample of coordinates, laid out in tiles.

An inner product is split along a few orthonormal components U (the constant vector
and the leading directions of the atoms): ``v.q = (Uv).(Uq) + v~.q~``, where the tilde
is what the components leave. The first part is known exactly; only the second is
sampled, and its Cauchy-Schwarz bound already drops atoms with certainty
(`bound_by_norms`).

`search_sample` compares every atom with one leader on the same coordinates. It drops an
atom when k others are better, by the Student-t radius of the differences. The estimated
variance is too small if the mass of a vector is in few coordinates, which a sample may
miss. Two guards prevent that, for the query and for each atom:

- the effective number of coordinates sampled, ``(sum x^2)^2 / sum x^4``, must reach
  `MIN_EFFECTIVE` and gives the degrees of freedom;
- the variance is inflated by how much smaller the vector's mean square is on the
  sampled coordinates than on all of them, which is known.

A third one is for their products, whose mass may be in few coordinates where neither
vector's is: the variance is at least the mean square of the query times that of the
difference of the atoms, `_product_variance`. That is the variance if large entries of
the one are not more often at small entries of the other than chance has it.

Radii also cover the rounding of what is taken to be known exactly.
"""

from cython cimport floating
from libc.math cimport INFINITY, sqrt

from sklearn_bandit.bandit._moments cimport centred_powers
from sklearn_bandit.bandit._quantiles cimport tabled_quantile
from sklearn_bandit.bandit._radii cimport (
    MIN_EFFECTIVE,
    effective_size,
    finite_population,
    mean_radius,
)

from ._survivors cimport (
    DECIDED,
    GIVEN_UP,
    OPEN,
    Shrinkage,
    choose_leader,
    drop,
    estimate_spread,
    needed_work,
    predicted_work,
    real_part,
    set_quantiles,
    shrinkage,
    within,
)
from ._tile_sums cimport ProductSums, add_differences, add_products, subtract_components

# With a new leader all differences are summed anew. The sharper radii are worth it when
# that costs at most a third of the work so far, or when few atoms are left.
cdef double NEW_LEADER_COST = 1.0 / 3.0
cdef Py_ssize_t NEW_LEADER_ATOMS = 64

# Squares below the smallest float vanish from a variance. The differences behind them
# are at most this large, for entries of order one; the radius is widened by it.
cdef double UNDERFLOW = 2e-19

# Atoms that are compared with the leader to see whether to give up, before all are.
cdef Py_ssize_t PROBE_ATOMS = 256

# The sample is in single precision, whatever the type of the atoms.
cdef double SAMPLE_ROUNDING = 1.2e-7


cdef void bound_by_norms(
    const CoordinateSample* sample, const SampleQuery* query, Survivors* survivors
) noexcept nogil:
    """Compute each atom's part along the components; drop by bounds on the rest.

    The product of the residuals is at most the product of their norms (Cauchy and
    Schwarz), so that no atom is dropped by chance.
    """
    cdef Py_ssize_t i, c, slot, n = survivors.n_left, r = sample.n_components
    cdef double total, factor = sample.scale / sample.n_features
    cdef const double* coefs

    for i in range(n):
        slot = survivors.slots[i]
        coefs = sample.coefs + slot * r
        total = 0.0
        for c in range(r):
            total += coefs[c] * query.coefs[c]
        survivors.known[i] = -factor * total
        survivors.mean[i] = survivors.known[i]
        survivors.radius[i] = factor * (
            sample.residual_norms[slot] * query.residual_norm
            + sample.rounding * sample.norms[slot] * query.norm
        )
    survivors.n_multiplied += n * r
    survivors.leader = -1  # radii are absolute here: no atom is kept by identity
    drop(survivors, query.k)


cdef Outcome search_sample(
    const CoordinateSample* sample,
    const SampleQuery* query,
    const floating* entries,
    Survivors* survivors,
) noexcept nogil:
    """Sample tile by tile until k atoms are left, or further sampling does not pay."""
    cdef Py_ssize_t t = 1, n_used, k = query.k
    cdef double quantile, last_quantile, d = sample.n_features
    cdef double budget = query.give_up_fraction * query.n_atoms * d

    # The radius at the end of the sample, if the entries of the query are normal.
    set_quantiles(survivors, query.arm_delta)
    last_quantile = tabled_quantile(&survivors.quantiles, sample.n_coordinates / 3.0)
    n_used = sample.offsets[1]
    _fill_residual(sample, query.coefs, entries, 0, survivors)
    _sum_products(sample, survivors)
    choose_leader(survivors, k)
    quantile = _query_quantile(sample, query, n_used, survivors)
    # Standard deviations of single atoms bound those of differences from above.
    _marginal_radii(sample, query, quantile, survivors)
    estimate_spread(survivors, n_used, d, 1.0)
    drop(survivors, k)
    if survivors.n_left > 2 * PROBE_ATOMS and query.give_up_fraction < INFINITY:
        if _probed_work(sample, query, last_quantile, survivors) > budget:
            return GIVEN_UP
    if survivors.n_left > k:
        _start_differences(sample, 1, survivors)
        _paired_radii(sample, query, 1, quantile, survivors)
        drop(survivors, k)

    while survivors.n_left > k:
        if query.epsilon > 0.0 and within(survivors, k, query.epsilon):
            return DECIDED
        if query.give_up_fraction < INFINITY:
            if survivors.n_left * d <= survivors.n_multiplied:
                return OPEN
            if predicted_work(
                survivors, k, last_quantile, n_used, d, sample.n_coordinates,
                query.epsilon,
            ) > budget:
                return GIVEN_UP
        if t == sample.n_tiles:
            return OPEN
        _fill_residual(sample, query.coefs, entries, t, survivors)
        _add_differences(sample, t, survivors)
        t += 1
        n_used = sample.offsets[t]
        quantile = _query_quantile(sample, query, n_used, survivors)
        _paired_radii(sample, query, t, quantile, survivors)
        drop(survivors, k)
        if survivors.n_left > k and _should_change_leader(survivors, k, n_used):
            choose_leader(survivors, k)
            _start_differences(sample, t, survivors)
            _paired_radii(sample, query, t, quantile, survivors)
            drop(survivors, k)
    return DECIDED


cdef void _fill_residual(
    const CoordinateSample* sample,
    const double* coefs,
    const floating* entries,
    Py_ssize_t t,
    Survivors* survivors,
) noexcept nogil:
    """Compute what the components leave of a query in tile t, unless it is known.

    Only tiles that are used are read: each entry may be a cache miss.
    """
    if t >= survivors.n_filled:
        subtract_components(
            entries, sample.coordinates + sample.offsets[t], coefs, sample.n_components,
            <const floating*> sample.sampled_components + sample.offsets[t],
            sample.n_coordinates, sample.offsets[t + 1] - sample.offsets[t],
            survivors.residual + sample.offsets[t],
        )
        survivors.n_filled = t + 1


cdef double _query_quantile(
    const CoordinateSample* sample,
    const SampleQuery* query,
    Py_ssize_t n_used,
    Survivors* survivors,
) noexcept nogil:
    """Radius of a mean of n samples in units of its standard error.

    The query's guards are in it: it is infinite while too few coordinates carry the
    query's mass. Its mean square on the sample is kept for the guard of the products.
    """
    cdef double sums[2]
    cdef double size, population

    centred_powers(survivors.residual, 0.0, n_used, sums)
    survivors.query_square = sums[0] / n_used
    size = min(effective_size(sums[0], sums[1]), <double> n_used)
    if size < MIN_EFFECTIVE or sums[0] <= 0.0:
        return INFINITY
    population = query.residual_norm * query.residual_norm / sample.n_features
    return (
        tabled_quantile(&survivors.quantiles, size - 1.0)
        * sqrt(max(1.0, population * n_used / sums[0]))
        * finite_population(n_used, sample.n_features)
    )


cdef inline double _product_variance(
    const Survivors* survivors, double sum_1, double sum_2, double energy, double n
) noexcept nogil:
    """Variance of n products from their sums of powers, at least as for chance.

    `energy` is the sum of the squares of what the query is multiplied with.
    """
    return max(
        (sum_2 - sum_1 * sum_1 / n) / (n - 1.0), survivors.query_square * energy / n
    )


cdef double _slack(
    const CoordinateSample* sample,
    const SampleQuery* query,
    Py_ssize_t slot,
    Py_ssize_t leader,
) noexcept nogil:
    """What rounding and underflow may add to a mean difference."""
    cdef double known, sampled

    known = query.norm * (sample.norms[slot] + sample.norms[leader])
    sampled = query.residual_norm * (
        sample.residual_norms[slot] + sample.residual_norms[leader]
    )
    return UNDERFLOW + sample.scale / sample.n_features * (
        sample.rounding * known + SAMPLE_ROUNDING * sampled
    )


cdef inline ProductSums _sums_of(Survivors* survivors) noexcept nogil:
    return ProductSums(survivors.total, survivors.square, survivors.energy)


cdef void _clear_sums(Survivors* survivors) noexcept nogil:
    cdef Py_ssize_t i

    for i in range(survivors.n_left):
        survivors.total[i] = 0.0
        survivors.square[i] = 0.0
        survivors.energy[i] = 0.0


cdef void _sum_products(
    const CoordinateSample* sample, Survivors* survivors
) noexcept nogil:
    """Sums of products and of their squares over the first tile; means from them."""
    cdef Py_ssize_t i, width = sample.offsets[1]
    cdef ProductSums sums = _sums_of(survivors)

    _clear_sums(survivors)
    add_products(
        sample.tiles[0], survivors.residual, width, survivors.slots, survivors.n_left,
        &sums,
    )
    survivors.n_multiplied += survivors.n_left * width
    for i in range(survivors.n_left):
        survivors.mean[i] = survivors.known[i] - survivors.total[i] / width


cdef void _marginal_radii(
    const CoordinateSample* sample,
    const SampleQuery* query,
    double quantile,
    Survivors* survivors,
) noexcept nogil:
    """Radii of the differences to the leader from the two atoms' own variances."""
    cdef Py_ssize_t i, slot, leader = survivors.slots[survivors.leader]
    cdef double n = sample.offsets[1], factor, own
    cdef const float* inflation = sample.inflation[0]

    factor = quantile / sqrt(n)
    own = sqrt(_own_variance(sample, survivors, survivors.leader))
    for i in range(survivors.n_left):
        slot = survivors.slots[i]
        survivors.variance[i] = _own_variance(sample, survivors, i)
        survivors.radius[i] = _slack(sample, query, slot, leader)
        survivors.radius[i] += mean_radius(
            factor, sqrt(survivors.variance[i]) + own,
            max(inflation[slot], inflation[leader]),
        )
    survivors.radius[survivors.leader] = 0.0


cdef inline double _own_variance(
    const CoordinateSample* sample, const Survivors* survivors, Py_ssize_t i
) noexcept nogil:
    """Variance of one atom's products in the first tile; its mean square is known."""
    cdef double n = sample.offsets[1]
    cdef double norm = sample.scale * sample.residual_norms[survivors.slots[i]]

    return _product_variance(
        survivors, survivors.total[i], survivors.square[i],
        n * norm * norm / sample.n_features, n,
    )


cdef void _start_differences(
    const CoordinateSample* sample, Py_ssize_t n_tiles, Survivors* survivors
) noexcept nogil:
    """Sum the differences to the leader over the first tiles."""
    cdef Py_ssize_t t

    _clear_sums(survivors)
    for t in range(n_tiles):
        _add_differences(sample, t, survivors)


cdef void _add_differences(
    const CoordinateSample* sample, Py_ssize_t t, Survivors* survivors
) noexcept nogil:
    """Add one tile to the sums of the differences to the leader."""
    cdef Py_ssize_t width = sample.offsets[t + 1] - sample.offsets[t]
    cdef ProductSums sums = _sums_of(survivors)

    add_differences(
        sample.tiles[t], survivors.residual + sample.offsets[t], width,
        survivors.slots[survivors.leader], survivors.slots, survivors.n_left, &sums,
    )
    survivors.n_multiplied += survivors.n_left * width


cdef void _paired_radii(
    const CoordinateSample* sample,
    const SampleQuery* query,
    Py_ssize_t n_tiles,
    double quantile,
    Survivors* survivors,
) noexcept nogil:
    """Means and radii of the differences to the leader."""
    cdef Py_ssize_t i, slot, leader = survivors.slots[survivors.leader]
    cdef double n = sample.offsets[n_tiles], inflate, known
    cdef const float* inflation = sample.inflation[n_tiles - 1]

    known = survivors.known[survivors.leader]
    for i in range(survivors.n_left):
        slot = survivors.slots[i]
        inflate = max(inflation[slot], inflation[leader])
        survivors.mean[i] = survivors.total[i] / n + (survivors.known[i] - known)
        survivors.variance[i] = _product_variance(
            survivors, survivors.total[i], survivors.square[i], survivors.energy[i], n
        )
        survivors.radius[i] = _slack(sample, query, slot, leader)
        survivors.radius[i] += mean_radius(
            quantile, sqrt(survivors.variance[i] / n), inflate
        )
        # An atom whose sample says nothing yet is expected to be like the others.
        if inflate < INFINITY:
            survivors.variance[i] *= inflate * inflate
    survivors.mean[survivors.leader] = 0.0
    survivors.radius[survivors.leader] = 0.0


cdef double _probed_work(
    const CoordinateSample* sample,
    const SampleQuery* query,
    double quantile,
    Survivors* survivors,
) noexcept nogil:
    """Predict the work of a search from the differences of a few atoms."""
    cdef Py_ssize_t stride = survivors.n_left // PROBE_ATOMS
    cdef Py_ssize_t i = 0, width = sample.offsets[1]
    cdef double n = width, d = sample.n_features
    cdef Shrinkage shrink = shrinkage(survivors, n, d)
    cdef double known, gap, variance, work = 0.0
    cdef float total, square, energy
    cdef ProductSums sums = ProductSums(&total, &square, &energy)

    while i < survivors.n_left:
        total = 0.0
        square = 0.0
        energy = 0.0
        add_differences(
            sample.tiles[0], survivors.residual, width,
            survivors.slots[survivors.leader], &survivors.slots[i], 1, &sums,
        )
        known = survivors.known[i] - survivors.known[survivors.leader]
        gap = known + real_part(shrink, total / n) + query.epsilon
        variance = _product_variance(survivors, total, square, energy, n)
        work += needed_work(gap, variance, quantile, n, d, sample.n_coordinates)
        survivors.n_multiplied += width
        i += stride
    return work * stride


cdef bint _should_change_leader(
    const Survivors* survivors, Py_ssize_t k, Py_ssize_t n_used
) noexcept nogil:
    """Whether the leader is no longer the k-th best, and changing it costs little."""
    cdef Py_ssize_t i, n_better = 0

    if survivors.n_left > NEW_LEADER_ATOMS:
        if survivors.n_left * n_used > NEW_LEADER_COST * survivors.n_multiplied:
            return False
    for i in range(survivors.n_left):
        n_better += survivors.mean[i] < 0.0
    return n_better != k - 1
