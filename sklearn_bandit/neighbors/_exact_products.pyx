"""Leaf kernels over rows of atoms.

The inner products that a search returns come from `exact_products` on every route, and
are accumulated in double. So neither they nor the order of near ties depend on the
route, the batch or the number of threads.
"""

from cython cimport floating
from libc.stdlib cimport free, qsort

from sklearn_bandit._core.memory cimport CACHE_LINE, allocate
from sklearn_bandit._core.simd cimport prefetch_l2, simd_void

# How much of an atom is prefetched while those before it are multiplied. Processors do
# not prefetch across atoms: a cache line takes 10 nanoseconds without, 3 with it
# (measured: 784 features).
cdef enum:
    ATOMS_AHEAD = 2
    LINES_AHEAD = 64

# Up to this k the best are kept in order by insertion; for a larger k all are sorted.
cdef Py_ssize_t INSERTION_LIMIT = 64


cdef struct Scored:
    double product
    Py_ssize_t slot


cdef simd_void _dot(
    const floating* x, const floating* y, Py_ssize_t n, double* result
) noexcept nogil:
    """Inner product, over four quarters at a time to reach the memory's speed."""
    cdef Py_ssize_t j, quarter = n // 4
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0

    for j in range(quarter):
        a += <double> x[j] * <double> y[j]
        b += <double> x[j + quarter] * <double> y[j + quarter]
        c += <double> x[j + 2 * quarter] * <double> y[j + 2 * quarter]
        d += <double> x[j + 3 * quarter] * <double> y[j + 3 * quarter]
    for j in range(4 * quarter, n):
        a += <double> x[j] * <double> y[j]
    result[0] = (a + b) + (c + d)


cdef void exact_products(
    const Rows* rows,
    const floating* query,
    const Py_ssize_t* slots,
    Py_ssize_t n_slots,
    double* products,
) noexcept nogil:
    """Inner products of some atoms with the query."""
    cdef Py_ssize_t i, j
    cdef Py_ssize_t n_lines = rows.n_features * sizeof(floating) // CACHE_LINE + 1
    cdef const floating* atom

    for i in range(n_slots):
        if i + ATOMS_AHEAD < n_slots:
            atom = row(rows, slots[i + ATOMS_AHEAD], <floating*> NULL)
            for j in range(min(n_lines, LINES_AHEAD)):
                prefetch_l2(<const char*> atom + j * CACHE_LINE)
        atom = row(rows, slots[i], <floating*> NULL)
        _dot(atom, query, rows.n_features, &products[i])


cdef void support_products(
    const Rows* rows,
    const floating* values,
    const Py_ssize_t* support,
    Py_ssize_t n_support,
    const Py_ssize_t* slots,
    Py_ssize_t n_slots,
    double* products,
) noexcept nogil:
    """Inner products with a sparse query, from its non-zero entries alone."""
    cdef Py_ssize_t i, j
    cdef double total
    cdef const floating* atom

    for i in range(n_slots):
        atom = row(rows, slots[i], <floating*> NULL)
        total = 0.0
        for j in range(n_support):
            total += <double> values[j] * <double> atom[support[j]]
        products[i] = total


cdef void sort_best(
    double* products, Py_ssize_t* slots, Py_ssize_t n, Py_ssize_t k
) noexcept nogil:
    """Move the best k to the front, in order: larger products, then smaller slots."""
    cdef Py_ssize_t i, j, slot
    cdef double product
    cdef Scored* pairs = NULL

    if k > INSERTION_LIMIT:
        pairs = <Scored*> allocate(n, sizeof(Scored))
    if pairs != NULL:
        for i in range(n):
            pairs[i].product = products[i]
            pairs[i].slot = slots[i]
        qsort(pairs, n, sizeof(Scored), _compare)
        for i in range(n):
            products[i] = pairs[i].product
            slots[i] = pairs[i].slot
        free(pairs)
        return
    for i in range(n):
        product = products[i]
        slot = slots[i]
        j = min(i, k)
        # An entry that does not make the front stays where it is.
        if j == k and not _precedes(product, slot, products[k - 1], slots[k - 1]):
            continue
        if j == k:
            products[i] = products[k - 1]
            slots[i] = slots[k - 1]
            j = k - 1
        while j > 0 and _precedes(product, slot, products[j - 1], slots[j - 1]):
            products[j] = products[j - 1]
            slots[j] = slots[j - 1]
            j -= 1
        products[j] = product
        slots[j] = slot


cdef inline bint _precedes(
    double product, Py_ssize_t slot, double other, Py_ssize_t other_slot
) noexcept nogil:
    return product > other or (product == other and slot < other_slot)


cdef int _compare(const void* a, const void* b) noexcept nogil:
    cdef const Scored* x = <const Scored*> a
    cdef const Scored* y = <const Scored*> b

    if _precedes(x.product, x.slot, y.product, y.slot):
        return -1
    return _precedes(y.product, y.slot, x.product, x.slot)
