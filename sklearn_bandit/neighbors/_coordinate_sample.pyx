"""Search in the head of an index: a fixed random sample of coordinates, in tiles.

An inner product is split along a few orthonormal components U (the constant vector
and the leading directions of the atoms): ``v.q = (Uv).(Uq) + v~.q~``, where the tilde
is what the components leave. The first part is known exactly; only the second is
sampled, and its Cauchy-Schwarz bound already drops atoms with certainty
(`bound_by_norms`).

`search_head` compares every atom with one pivot on the same coordinates and drops it
when k others are better, by the Student-t radius of the differences. Two guards keep
the estimated variance from being too small where the mass of a vector sits in few
coordinates, which a sample may miss. They look at the query and at the atoms, one by
one:

- the effective number of coordinates sampled, ``(sum x^2)^2 / sum x^4``, must reach
  `MIN_EFFECTIVE` and gives the degrees of freedom;
- the variance is inflated by how much smaller the vector's mean square is on the
  sampled coordinates than on all of them, which is known.

Radii also cover the rounding of what is taken to be known exactly.
"""

from cython cimport floating
from libc.math cimport INFINITY, sqrt

from sklearn_bandit._core.simd cimport prefetch, simd_void
from sklearn_bandit.bandit._radii cimport (
    MIN_EFFECTIVE,
    effective_size,
    finite_population,
    tabled_quantile,
)

from ._survivors cimport (
    DECIDED,
    HOPELESS,
    OPEN,
    choose_pivot,
    drop,
    estimate_spread,
    needed_work,
    predicted_work,
    real_share,
    share_quantiles,
    within,
)

# Changing the pivot means summing all differences anew; it sharpens the radii enough to
# pay when this costs a third of what was spent already, or next to nothing.
cdef double REPIVOT_SHARE = 1.0 / 3.0
cdef Py_ssize_t REPIVOT_ATOMS = 64

# Squares below the smallest float vanish from a variance: the differences behind them,
# at most this large for entries of order one, are made up for in the radius.
cdef double UNDERFLOW = 2e-19

# Atoms that are looked at to see whether a search is hopeless, before all are paired.
cdef Py_ssize_t PROBE_ATOMS = 256

cdef enum:
    RESIDUAL_BLOCK = 64
    ATOMS_AHEAD = 8     # whose rows are asked for ahead of their use
    LINE = 16           # entries of a cache line

# The head is in single precision, whatever the atoms are.
cdef double HEAD_ROUNDING = 1.2e-7


cdef void bound_by_norms(
    const Head* head, const HeadQuery* query, Survivors* alive
) noexcept nogil:
    """Compute what the components say of each atom; drop what cannot be among the best.

    The residuals' part is within the product of their norms (Cauchy and Schwarz), so
    nothing is dropped by chance.
    """
    cdef Py_ssize_t i, c, slot, n = alive.n_alive, r = head.n_components
    cdef double total, unit = head.scale / head.n_features
    cdef const double* coefs

    for i in range(n):
        slot = alive.slots[i]
        coefs = head.coefs + slot * r
        total = 0.0
        for c in range(r):
            total += coefs[c] * query.coefs[c]
        alive.base[i] = -unit * total
        alive.mean[i] = alive.base[i]
        alive.radius[i] = unit * (
            head.residual_norms[slot] * query.residual_norm
            + head.rounding * head.norms[slot] * query.norm
        )
    alive.n_multiplied += n * r
    alive.pivot = -1  # radii are absolute here: no atom is kept by identity
    drop(alive, query.k)


cdef Outcome search_head(
    const Head* head,
    const HeadQuery* query,
    const floating* entries,
    Survivors* alive,
) noexcept nogil:
    """Sample tile by tile until k atoms are left, or further sampling does not pay."""
    cdef Py_ssize_t t = 1, n_used, k = query.k
    cdef double quantile, last_quantile, d = head.n_features
    cdef double budget = query.give_up_share * query.n_atoms * d

    # The radius at the end of the head, should the query be as even as a normal one.
    share_quantiles(alive, query.share)
    last_quantile = tabled_quantile(&alive.quantiles, head.n_coordinates / 3.0)
    n_used = head.offsets[1]
    _fill_residual(head, query.coefs, entries, 0, alive)
    _sum_products(head, query, alive)
    choose_pivot(alive, k)
    quantile = _query_quantile(head, query, n_used, alive)
    # Standard deviations of single atoms bound those of differences from above.
    _marginal_radii(head, query, quantile, alive)
    estimate_spread(alive, n_used, d, 1.0)
    drop(alive, k)
    if alive.n_alive > 2 * PROBE_ATOMS and query.give_up_share < INFINITY:
        if _probed_work(head, query, last_quantile, alive) > budget:
            return HOPELESS
    if alive.n_alive > k:
        _start_differences(head, query, 1, alive)
        _paired_radii(head, query, 1, quantile, alive)
        drop(alive, k)

    while alive.n_alive > k:
        if query.epsilon > 0.0 and within(alive, k, query.epsilon):
            return DECIDED
        if query.give_up_share < INFINITY:
            if alive.n_alive * d <= alive.n_multiplied:
                return OPEN
            if predicted_work(
                alive, k, last_quantile, n_used, d, head.n_coordinates, query.epsilon
            ) > budget:
                return HOPELESS
        if t == head.n_tiles:
            return OPEN
        _fill_residual(head, query.coefs, entries, t, alive)
        _add_differences(head, query, t, alive)
        t += 1
        n_used = head.offsets[t]
        quantile = _query_quantile(head, query, n_used, alive)
        _paired_radii(head, query, t, quantile, alive)
        drop(alive, k)
        if alive.n_alive > k and _should_repivot(alive, k, n_used):
            choose_pivot(alive, k)
            _start_differences(head, query, t, alive)
            _paired_radii(head, query, t, quantile, alive)
            drop(alive, k)
    return DECIDED


cdef void _fill_residual(
    const Head* head,
    const double* coefs,
    const floating* entries,
    Py_ssize_t t,
    Survivors* alive,
) noexcept nogil:
    """What the components leave of a query in tile t, unless that is known already.

    Only the tiles that are used are read: each entry may cost a trip to memory.
    """
    if t >= alive.n_filled:
        _residual(
            entries, head.coordinates + head.offsets[t], coefs, head.n_components,
            <const floating*> head.components_there + head.offsets[t],
            head.n_coordinates, head.offsets[t + 1] - head.offsets[t],
            alive.residual + head.offsets[t],
        )
        alive.n_filled = t + 1


cdef simd_void _residual(
    const floating* entries,
    const Py_ssize_t* coordinates,
    const double* coefs,
    Py_ssize_t n_components,
    const floating* components,
    Py_ssize_t stride,
    Py_ssize_t n,
    float* residual,
) noexcept nogil:
    """Entries at some coordinates less the components there, in the atoms' type."""
    cdef Py_ssize_t j, c, first = 0, n_block
    cdef floating coef
    cdef floating left[RESIDUAL_BLOCK]
    cdef const floating* component

    while first < n:
        n_block = min(RESIDUAL_BLOCK, n - first)
        for j in range(n_block):
            left[j] = entries[coordinates[first + j]]
        for c in range(n_components):
            component = components + c * stride + first
            coef = <floating> coefs[c]
            for j in range(n_block):
                left[j] -= coef * component[j]
        for j in range(n_block):
            residual[first + j] = <float> left[j]
        first += n_block


cdef double _query_quantile(
    const Head* head, const HeadQuery* query, Py_ssize_t n_used, Survivors* alive
) noexcept nogil:
    """Radius of a mean of n samples, over standard deviation / sqrt(n): query's guards.

    Infinite while too few coordinates carry the query's mass.
    """
    cdef Py_ssize_t j
    cdef double square, sum_2 = 0.0, sum_4 = 0.0, size, population

    for j in range(n_used):
        square = <double> alive.residual[j] * <double> alive.residual[j]
        sum_2 += square
        sum_4 += square * square
    size = min(effective_size(sum_2, sum_4), <double> n_used)
    if size < MIN_EFFECTIVE or sum_2 <= 0.0:
        return INFINITY
    population = query.residual_norm * query.residual_norm / head.n_features
    return (
        tabled_quantile(&alive.quantiles, size - 1.0)
        * sqrt(max(1.0, population * n_used / sum_2))
        * finite_population(n_used, head.n_features)
    )


cdef inline double _wide(
    double quantile, double inflation, double error
) noexcept nogil:
    """A radius, infinite where it is not known: infinity times zero would be NaN."""
    if quantile == INFINITY or inflation == INFINITY:
        return INFINITY
    return quantile * inflation * error


cdef double _slack(
    const Head* head, const HeadQuery* query, Py_ssize_t slot, Py_ssize_t pivot
) noexcept nogil:
    """What rounding and underflow may add to a mean difference."""
    cdef double known, sampled

    known = query.norm * (head.norms[slot] + head.norms[pivot])
    sampled = query.residual_norm * (
        head.residual_norms[slot] + head.residual_norms[pivot]
    )
    return UNDERFLOW + head.scale / head.n_features * (
        head.rounding * known + HEAD_ROUNDING * sampled
    )


cdef void _sum_products(
    const Head* head, const HeadQuery* query, Survivors* alive
) noexcept nogil:
    """Sums of products and of their squares over the first tile; means from them."""
    cdef Py_ssize_t i, width = head.offsets[1]

    for i in range(alive.n_alive):
        alive.total[i] = 0.0
        alive.square[i] = 0.0
    _products(
        head.tiles[0], alive.residual, width, alive.slots, alive.n_alive, alive.total,
        alive.square,
    )
    alive.n_multiplied += alive.n_alive * width
    for i in range(alive.n_alive):
        alive.mean[i] = alive.base[i] - alive.total[i] / width


cdef void _marginal_radii(
    const Head* head,
    const HeadQuery* query,
    double quantile,
    Survivors* alive,
) noexcept nogil:
    """Radii of the differences to the pivot from the two atoms' own variances."""
    cdef Py_ssize_t i, slot, pivot = alive.slots[alive.pivot]
    cdef double n = head.offsets[1], factor, own, spread
    cdef const float* inflation = head.inflation[0]

    factor = quantile / sqrt(n * (n - 1.0))
    spread = alive.square[alive.pivot] - alive.total[alive.pivot] ** 2 / n
    own = sqrt(max(spread, 0.0))
    for i in range(alive.n_alive):
        slot = alive.slots[i]
        spread = max(alive.square[i] - alive.total[i] * alive.total[i] / n, 0.0)
        alive.variance[i] = spread / (n - 1.0)
        alive.radius[i] = _slack(head, query, slot, pivot)
        alive.radius[i] += _wide(
            factor, max(inflation[slot], inflation[pivot]), sqrt(spread) + own
        )
    alive.radius[alive.pivot] = 0.0


cdef void _start_differences(
    const Head* head, const HeadQuery* query, Py_ssize_t n_tiles, Survivors* alive
) noexcept nogil:
    """Sum the differences to the pivot over the first tiles."""
    cdef Py_ssize_t i, t

    for i in range(alive.n_alive):
        alive.total[i] = 0.0
        alive.square[i] = 0.0
    for t in range(n_tiles):
        _add_differences(head, query, t, alive)


cdef void _add_differences(
    const Head* head, const HeadQuery* query, Py_ssize_t t, Survivors* alive
) noexcept nogil:
    """Add one tile to the sums of the differences to the pivot."""
    cdef Py_ssize_t width = head.offsets[t + 1] - head.offsets[t]

    _differences(
        head.tiles[t], alive.residual + head.offsets[t], width,
        head.tiles[t] + alive.slots[alive.pivot] * width,
        alive.slots, alive.n_alive, alive.total, alive.square,
    )
    alive.n_multiplied += alive.n_alive * width


cdef void _paired_radii(
    const Head* head,
    const HeadQuery* query,
    Py_ssize_t n_tiles,
    double quantile,
    Survivors* alive,
) noexcept nogil:
    """Means and radii of the differences to the pivot."""
    cdef Py_ssize_t i, slot, pivot = alive.slots[alive.pivot]
    cdef double n = head.offsets[n_tiles], spread, inflate, known
    cdef const float* inflation = head.inflation[n_tiles - 1]

    known = alive.base[alive.pivot]
    for i in range(alive.n_alive):
        slot = alive.slots[i]
        inflate = max(inflation[slot], inflation[pivot])
        spread = max(alive.square[i] - alive.total[i] * alive.total[i] / n, 0.0)
        alive.mean[i] = alive.total[i] / n + (alive.base[i] - known)
        alive.variance[i] = spread / (n - 1.0)
        alive.radius[i] = _slack(head, query, slot, pivot)
        alive.radius[i] += _wide(quantile, inflate, sqrt(alive.variance[i] / n))
        # An atom whose sample says nothing yet is expected to be like the others.
        if inflate < INFINITY:
            alive.variance[i] *= inflate * inflate
    alive.mean[alive.pivot] = 0.0
    alive.radius[alive.pivot] = 0.0


cdef double _probed_work(
    const Head* head, const HeadQuery* query, double quantile, Survivors* alive
) noexcept nogil:
    """Predict the work of a search from the differences of a few atoms to the pivot."""
    cdef Py_ssize_t stride = alive.n_alive // PROBE_ATOMS
    cdef Py_ssize_t i = 0, width = head.offsets[1]
    cdef double n = width, d = head.n_features
    cdef double shrink = real_share(alive, n, d), known, gap, variance, work = 0.0
    cdef float total, square

    while i < alive.n_alive:
        total = 0.0
        square = 0.0
        _differences(
            head.tiles[0], alive.residual, width,
            head.tiles[0] + alive.slots[alive.pivot] * width, &alive.slots[i], 1,
            &total, &square,
        )
        known = alive.base[i] - alive.base[alive.pivot]
        gap = known + shrink * total / n + query.epsilon
        variance = max(square - total * total / n, 0.0) / (n - 1.0)
        work += needed_work(gap, variance, quantile, n, d, head.n_coordinates)
        alive.n_multiplied += width
        i += stride
    return work * stride


cdef bint _should_repivot(
    const Survivors* alive, Py_ssize_t k, Py_ssize_t n_used
) noexcept nogil:
    """Whether the pivot is no longer the k-th best, and changing it costs little."""
    cdef Py_ssize_t i, n_better = 0

    if alive.n_alive > REPIVOT_ATOMS:
        if alive.n_alive * n_used > REPIVOT_SHARE * alive.n_multiplied:
            return False
    for i in range(alive.n_alive):
        n_better += alive.mean[i] < 0.0
    return n_better != k - 1


cdef inline void fetch_ahead(
    const float* tile, const Py_ssize_t* slots, Py_ssize_t i, Py_ssize_t n,
    Py_ssize_t width,
) noexcept nogil:
    """Ask for the row of a survivor that comes later: survivors lie far apart."""
    cdef const float* row = tile + slots[min(i + ATOMS_AHEAD, n - 1)] * width
    cdef Py_ssize_t j = 0

    while j < width:
        prefetch(row + j)
        j += LINE


cdef simd_void _products(
    const float* tile,
    const float* query,
    Py_ssize_t width,
    const Py_ssize_t* slots,
    Py_ssize_t n,
    float* total,
    float* square,
) noexcept nogil:
    """Add the sums of products and of their squares; two halves keep the pipes full."""
    cdef Py_ssize_t i, j, half = width // 2
    cdef const float* atom
    cdef float a, b, sum_a, sum_b, square_a, square_b

    for i in range(n):
        atom = tile + slots[i] * width
        fetch_ahead(tile, slots, i, n, width)
        sum_a = sum_b = square_a = square_b = 0.0
        for j in range(half):
            a = query[j] * atom[j]
            b = query[j + half] * atom[j + half]
            sum_a += a
            sum_b += b
            square_a += a * a
            square_b += b * b
        total[i] += sum_a + sum_b
        square[i] += square_a + square_b


cdef simd_void _differences(
    const float* tile,
    const float* query,
    Py_ssize_t width,
    const float* pivot,
    const Py_ssize_t* slots,
    Py_ssize_t n,
    float* total,
    float* square,
) noexcept nogil:
    """The same for differences to the pivot, which are exactly 0 for equal atoms."""
    cdef Py_ssize_t i, j, half = width // 2
    cdef const float* atom
    cdef float a, b, sum_a, sum_b, square_a, square_b

    for i in range(n):
        atom = tile + slots[i] * width
        fetch_ahead(tile, slots, i, n, width)
        sum_a = sum_b = square_a = square_b = 0.0
        for j in range(half):
            a = query[j] * (pivot[j] - atom[j])
            b = query[j + half] * (pivot[j + half] - atom[j + half])
            sum_a += a
            sum_b += b
            square_a += a * a
            square_b += b * b
        total[i] += sum_a + sum_b
        square[i] += square_a + square_b
