"""Sums over the tiles of a coordinate sample: products of atoms and query, and powers.

These moments are not in :mod:`sklearn_bandit.bandit`: they are summed in float32 while
rows of a tile are read, which is what a search waits for. What follows from them comes
from there.
"""

from cython cimport floating

from sklearn_bandit._core.memory cimport CACHE_LINE
from sklearn_bandit._core.simd cimport prefetch, simd_void

cdef enum:
    RESIDUAL_BLOCK = 64
    ATOMS_AHEAD = 8     # atoms between the prefetch of a row and its use


cdef simd_void subtract_components(
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


cdef inline void _fetch_ahead(
    const float* tile, const Py_ssize_t* slots, Py_ssize_t i, Py_ssize_t n,
    Py_ssize_t width,
) noexcept nogil:
    """Prefetch the row of a later survivor: survivors lie far apart in memory."""
    cdef const float* row = tile + slots[min(i + ATOMS_AHEAD, n - 1)] * width
    cdef Py_ssize_t j = 0

    while j < width:
        prefetch(row + j)
        j += CACHE_LINE // sizeof(float)


cdef simd_void add_products(
    const float* tile,
    const float* query,
    Py_ssize_t width,
    const Py_ssize_t* slots,
    Py_ssize_t n,
    ProductSums* sums,
) noexcept nogil:
    """Add the sums of products and of their squares, over both halves at a time."""
    cdef Py_ssize_t i, j, half = width // 2
    cdef const float* atom
    cdef float a, b, sum_a, sum_b, square_a, square_b
    cdef float* total = sums.total
    cdef float* square = sums.square

    for i in range(n):
        atom = tile + slots[i] * width
        _fetch_ahead(tile, slots, i, n, width)
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


cdef simd_void add_differences(
    const float* tile,
    const float* query,
    Py_ssize_t width,
    Py_ssize_t leader_slot,
    const Py_ssize_t* slots,
    Py_ssize_t n,
    ProductSums* sums,
) noexcept nogil:
    """The same for differences to the leader, which are exactly 0 for equal atoms.

    `energy` gets the squares of the differences themselves, without the query.
    """
    cdef Py_ssize_t i, j, half = width // 2
    cdef const float* atom
    cdef const float* leader = tile + leader_slot * width
    cdef float a, b, sum_a, sum_b, square_a, square_b, energy_a, energy_b
    cdef float* total = sums.total
    cdef float* square = sums.square
    cdef float* energy = sums.energy

    for i in range(n):
        atom = tile + slots[i] * width
        _fetch_ahead(tile, slots, i, n, width)
        sum_a = sum_b = square_a = square_b = energy_a = energy_b = 0.0
        for j in range(half):
            a = leader[j] - atom[j]
            b = leader[j + half] - atom[j + half]
            energy_a += a * a
            energy_b += b * b
            a *= query[j]
            b *= query[j + half]
            sum_a += a
            sum_b += b
            square_a += a * a
            square_b += b * b
        total[i] += sum_a + sum_b
        square[i] += square_a + square_b
        energy[i] += energy_a + energy_b
