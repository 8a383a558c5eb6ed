"""Kernels over long columns: atoms and signals, one a row of a C-ordered array.

A column is known by its number: atoms first, then signals.
"""

import numpy as np

from cython cimport floating
from cython.parallel cimport prange
from libc.stdlib cimport free, malloc

from sklearn_bandit._simd cimport simd_void

# Rows that are read at a time: a piece of a column stays in the first-level cache while
# it is multiplied with all that it is wanted for.
cdef Py_ssize_t BLOCK_ROWS = 2048

# Blocks that one thread sums up: sums do not depend on the number of threads.
cdef Py_ssize_t CHUNK_BLOCKS = 16

# Fewer products than this are left to one thread, which nearly fills the memory's
# bandwidth: a team of threads takes longer to assemble where other work is running.
cdef Py_ssize_t MIN_PARALLEL = 1 << 25


def inner_products(
    const floating[:, ::1] atoms,
    const floating[:, ::1] signals,
    Py_ssize_t column,
    const Py_ssize_t[::1] others,
    int n_threads,
):
    """Inner products of one column with others.

    Parameters
    ----------
    atoms : ndarray of shape (n_atoms, n_samples)
        The atoms.
    signals : ndarray of shape (n_targets, n_samples)
        The signals.
    column : int
        Number of the one column.
    others : ndarray of intp
        Numbers of the others.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray of shape (n_others,)
        The inner products.
    """
    cdef Py_ssize_t n_samples = atoms.shape[1], n_others = others.shape[0], i, chunk
    cdef Py_ssize_t n_chunk = BLOCK_ROWS * CHUNK_BLOCKS
    cdef Py_ssize_t n_chunks = (n_samples + n_chunk - 1) // n_chunk
    cdef const floating* own = _column(atoms, signals, column)
    cdef const floating** pointers = <const floating**> malloc(
        n_others * sizeof(floating*)
    )
    sums = np.zeros((n_chunks, n_others))
    cdef double[:, ::1] out = sums

    if pointers == NULL:
        raise MemoryError("No memory for inner products.")
    for i in range(n_others):
        pointers[i] = _column(atoms, signals, others[i])
    if n_samples * n_others < MIN_PARALLEL:
        n_threads = 1
    for chunk in prange(
        n_chunks, nogil=True, schedule="dynamic", num_threads=n_threads
    ):
        _sum_products(
            own, pointers, n_others, chunk * n_chunk,
            min((chunk + 1) * n_chunk, n_samples), &out[chunk, 0],
        )
    free(pointers)
    return sums.sum(axis=0)


def gram(
    const floating[:, ::1] atoms,
    const floating[:, ::1] signals,
    const Py_ssize_t[::1] columns,
    int n_threads,
):
    """Inner products of all pairs of some columns: one pass over these.

    Parameters
    ----------
    atoms, signals, n_threads
        As for `inner_products`.
    columns : ndarray of intp
        Numbers of the columns.

    Returns
    -------
    ndarray of shape (n_columns, n_columns)
        The inner products, above and on the diagonal; zeros below it.
    """
    cdef Py_ssize_t n_samples = atoms.shape[1], n = columns.shape[0], i, chunk
    cdef Py_ssize_t n_chunk = BLOCK_ROWS * CHUNK_BLOCKS
    cdef Py_ssize_t n_chunks = (n_samples + n_chunk - 1) // n_chunk
    cdef const floating** pointers = <const floating**> malloc(n * sizeof(floating*))
    sums = np.zeros((n_chunks, n, n))
    cdef double[:, :, ::1] out = sums

    if pointers == NULL:
        raise MemoryError("No memory for inner products.")
    for i in range(n):
        pointers[i] = _column(atoms, signals, columns[i])
    if n_samples * n * (n + 1) < 2 * MIN_PARALLEL:
        n_threads = 1
    for chunk in prange(
        n_chunks, nogil=True, schedule="dynamic", num_threads=n_threads
    ):
        _sum_gram(
            pointers, n, chunk * n_chunk, min((chunk + 1) * n_chunk, n_samples),
            &out[chunk, 0, 0],
        )
    free(pointers)
    return sums.sum(axis=0)


cdef void _sum_gram(
    const floating** columns,
    Py_ssize_t n,
    Py_ssize_t first,
    Py_ssize_t last,
    double* sums,
) noexcept nogil:
    """Add the products of all pairs, in the order of `_sum_products`."""
    cdef Py_ssize_t i, stop

    while first < last:
        stop = min(first + BLOCK_ROWS, last)
        for i in range(n):
            _sum_products(
                columns[i], columns + i, n - i, first, stop, sums + i * n + i
            )
        first = stop


cdef inline const floating* _column(
    const floating[:, ::1] atoms, const floating[:, ::1] signals, Py_ssize_t column
) noexcept nogil:
    if column < atoms.shape[0]:
        return &atoms[column, 0]
    return &signals[column - atoms.shape[0], 0]


cdef simd_void _sum_products(
    const floating* own,
    const floating** others,
    Py_ssize_t n_others,
    Py_ssize_t first,
    Py_ssize_t last,
    double* sums,
) noexcept nogil:
    """Add the products of rows first to last, block by block; sums are in double.

    Four quarters of a block at a time keep the pipes full.
    """
    cdef Py_ssize_t i, j, n, quarter
    cdef floating total_a, total_b, total_c, total_d
    cdef const floating* a
    cdef const floating* b

    while first < last:
        n = min(BLOCK_ROWS, last - first)
        quarter = n // 4
        for i in range(n_others):
            a = own + first
            b = others[i] + first
            total_a = total_b = total_c = total_d = 0
            for j in range(quarter):
                total_a += a[j] * b[j]
                total_b += a[j + quarter] * b[j + quarter]
                total_c += a[j + 2 * quarter] * b[j + 2 * quarter]
                total_d += a[j + 3 * quarter] * b[j + 3 * quarter]
            for j in range(4 * quarter, n):
                total_a += a[j] * b[j]
            sums[i] += <double> (total_a + total_b) + <double> (total_c + total_d)
        first += n
