"""What one pass over a vector tells: statistics and products with the components."""

import numpy as np

from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport INFINITY, sqrt

from sklearn_bandit._core.simd cimport simd_void

cdef enum:
    STATS_BLOCK = 512       # entries that stay in the first-level cache
    N_LANES = 64            # running maxima: fewer do not vectorise

# Fewer products than this are computed by one thread. The threads of BLAS still wait
# for work on the other processors, and starting a second thread there takes longer
# (measured: 20 ms) than all of the work.
cdef Py_ssize_t MIN_PARALLEL = 1 << 26


def describe_atoms(const floating[:, ::1] atoms):
    """Compute the statistics of some atoms in one pass.

    Parameters
    ----------
    atoms : ndarray of shape (n_atoms, n_features)
        The atoms.

    Returns
    -------
    ndarray of shape (n_atoms, 4)
        Whether the norm is NaN or infinite, number of entries that are not zero (not
        counted here), largest absolute entry, norm.
    """
    stats = np.empty((atoms.shape[0], N_STATS))
    cdef double[:, ::1] stats_out = stats
    cdef Py_ssize_t i

    for i in range(atoms.shape[0]):
        describe_vector(
            &atoms[i, 0], atoms.shape[1], <const floating*> NULL, 0, -1.0,
            &stats_out[i, 0], NULL,
        )
    return stats


def describe_queries(
    const floating[:, ::1] queries,
    const floating[:, ::1] components,
    double low,
    double high,
    double few,
    int n_threads,
):
    """Compute the statistics of the queries and their coefficients in one pass.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, n_features)
        The queries.
    components : ndarray of shape (n_components, n_features)
        The components, the constant one first.
    low, high : float
        Range of a query's largest entry in which squares neither over- nor underflow.
    few : float
        A query with at most this number of non-zero entries is sparse. More are not
        counted.
    n_threads : int
        Number of threads.

    Returns
    -------
    stats : ndarray of shape (n_queries, 4)
        As for `describe_atoms`.
    coefs : ndarray of shape (n_queries, n_components)
        Inner products with the components.
    n_bad, n_extreme, n_sparse : int
        Number of queries whose norm is NaN or infinite, that are out of range, that are
        sparse.
    """
    cdef Py_ssize_t i, n_queries = queries.shape[0], d = queries.shape[1]
    cdef Py_ssize_t n_components = components.shape[0]
    cdef Py_ssize_t n_bad = 0, n_extreme = 0, n_sparse = 0
    stats = np.empty((n_queries, N_STATS))
    coefs = np.empty((n_queries, n_components))
    cdef double[:, ::1] stats_out = stats
    cdef double[:, ::1] coefs_out = coefs
    cdef double* first_coef = NULL
    cdef const floating* first_component = NULL

    if n_components > 0:
        first_coef = &coefs_out[0, 0]
        first_component = &components[0, 0]
    if n_queries == 1 or n_queries * d * (n_components + 1) < MIN_PARALLEL:
        n_threads = 1
    for i in prange(n_queries, nogil=True, num_threads=n_threads):
        describe_vector(
            &queries[i, 0], d, first_component, n_components, few, &stats_out[i, 0],
            first_coef + i * n_components,
        )
    for i in range(n_queries):
        n_bad += stats_out[i, 0] != 0.0
        n_sparse += stats_out[i, 1] <= few
        if stats_out[i, 2] > high or 0.0 < stats_out[i, 2] < low:
            n_extreme += 1
    return stats, coefs, n_bad, n_extreme, n_sparse


cdef void describe_vector(
    const floating* vector,
    Py_ssize_t d,
    const floating* components,
    Py_ssize_t n_components,
    double few,
    double* stats,
    double* coefs,
) noexcept nogil:
    """`_describe`, for other modules."""
    _describe(vector, d, components, n_components, few, stats, coefs)


cdef simd_void _describe(
    const floating* vector,
    Py_ssize_t d,
    const floating* components,
    Py_ssize_t n_components,
    double few,
    double* stats,
    double* coefs,
) noexcept nogil:
    """Compute the statistics and the products with the components in one pass.

    The pass goes in blocks that stay in the cache for several simple loops: a single
    loop would not vectorise. The first component is constant and need not be read.
    """
    cdef Py_ssize_t i, j, c, n, first = 0, n_nonzero = 0
    cdef int n_block
    cdef floating largest[N_LANES]
    cdef floating size, total
    cdef double sum_2 = 0.0
    cdef const floating* other

    for i in range(N_LANES):
        largest[i] = 0
    for c in range(n_components):
        coefs[c] = 0.0
    while first < d:
        n = min(STATS_BLOCK, d - first)
        for j in range(n):
            sum_2 += <double> vector[j] * <double> vector[j]
        for j in range(n // N_LANES):
            for i in range(N_LANES):
                size = vector[j * N_LANES + i]
                size = size if size >= 0 else -size
                largest[i] = size if size > largest[i] else largest[i]
        for j in range(n - n % N_LANES, n):
            size = vector[j] if vector[j] >= 0 else -vector[j]
            largest[0] = size if size > largest[0] else largest[0]
        if n_nonzero <= few:
            n_block = 0
            for j in range(n):
                n_block += vector[j] != 0
            n_nonzero += n_block
        if n_components > 0:
            total = 0
            for j in range(n):
                total += vector[j]
            coefs[0] += total
        for c in range(1, n_components):
            other = components + c * d + first
            total = 0
            for j in range(n):
                total += vector[j] * other[j]
            coefs[c] += total
        vector += n
        first += n
    if n_components > 0:
        coefs[0] *= components[0]
    for i in range(1, N_LANES):
        largest[0] = largest[i] if largest[i] > largest[0] else largest[0]
    # The square of a finite double may overflow as well: the caller checks again.
    stats[0] = not sum_2 < INFINITY
    stats[1] = n_nonzero
    stats[2] = largest[0]
    stats[3] = sqrt(sum_2)
