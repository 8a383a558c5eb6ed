"""Kernels over long columns: atoms and signals, one a row of a C-ordered array.

Columns have numbers: atoms first, then signals.
"""

import numpy as np

from cython cimport floating
from cython.parallel cimport prange
from libc.stdlib cimport free

from sklearn_bandit._core.memory cimport allocate
from sklearn_bandit._core.simd cimport simd_256_void

# Three columns are multiplied with three others at a time: six loads make nine
# products, and their sums stay in registers.
cdef enum:
    TILE = 3

# Rows that are read at a time: a piece of a column stays in the first-level cache while
# it is multiplied with all others. Measured, all pairs of six columns of
# 2.6 million rows: 2.1 ms, which is what it takes to read them.
cdef Py_ssize_t BLOCK_ROWS = 512

# Blocks that one thread sums up, so that sums do not depend on the number of threads.
cdef Py_ssize_t CHUNK_BLOCKS = 64

# Fewer products than this are computed by one thread, which nearly fills the memory's
# bandwidth. Starting more threads takes longer while others run (measured: 6 to 10 ms
# after a product by BLAS, whose threads wait for more work).
cdef Py_ssize_t MIN_PARALLEL = 1 << 28


def inner_products(
    const floating[:, ::1] atoms,
    const floating[:, ::1] signals,
    const Py_ssize_t[::1] columns,
    const Py_ssize_t[::1] others,
    int n_threads,
):
    """Inner products of some columns with others, in one pass over these.

    A sum does not depend on which others are computed with it.

    Parameters
    ----------
    atoms : ndarray of shape (n_atoms, n_samples)
        The atoms.
    signals : ndarray of shape (n_targets, n_samples)
        The signals.
    columns : ndarray of intp
        Numbers of the columns.
    others : ndarray of intp or None
        Numbers of the others; None for the columns themselves.
    n_threads : int
        Number of threads.

    Returns
    -------
    ndarray of shape (n_columns, n_others)
        The inner products. With ``others=None`` only those above and on the diagonal.
    """
    cdef bint is_symmetric = others is None
    cdef Py_ssize_t n_samples = atoms.shape[1], n_columns = columns.shape[0], chunk
    cdef Py_ssize_t n_others = n_columns if is_symmetric else others.shape[0]
    cdef Py_ssize_t n_left = _padded(n_columns), n_right = _padded(n_others)
    cdef Py_ssize_t n_chunk = BLOCK_ROWS * CHUNK_BLOCKS
    cdef Py_ssize_t n_chunks = (n_samples + n_chunk - 1) // n_chunk
    cdef const floating** left
    cdef const floating** right
    sums = np.zeros((n_chunks, n_left, n_right))
    cdef double[:, :, ::1] out = sums

    left = <const floating**> allocate(n_left + n_right, sizeof(floating*))
    if left == NULL:
        raise MemoryError("No memory for inner products.")
    right = left + n_left
    _point_at(atoms, signals, columns, n_left, left)
    _point_at(atoms, signals, columns if is_symmetric else others, n_right, right)
    if n_samples * n_columns * n_others < MIN_PARALLEL * (1 + is_symmetric):
        n_threads = 1
    for chunk in prange(
        n_chunks, nogil=True, schedule="dynamic", num_threads=n_threads
    ):
        _sum_tiles(
            left, n_left, right, n_right, is_symmetric, chunk * n_chunk,
            min((chunk + 1) * n_chunk, n_samples), &out[chunk, 0, 0],
        )
    free(left)
    return sums.sum(axis=0)[:n_columns, :n_others]


cdef inline Py_ssize_t _padded(Py_ssize_t n) noexcept nogil:
    return (n + TILE - 1) // TILE * TILE


cdef void _point_at(
    const floating[:, ::1] atoms,
    const floating[:, ::1] signals,
    const Py_ssize_t[::1] columns,
    Py_ssize_t n_padded,
    const floating** pointers,
) noexcept nogil:
    """Set where columns begin; the last one is repeated to fill the last tile."""
    cdef Py_ssize_t i, column

    for i in range(n_padded):
        column = columns[min(i, columns.shape[0] - 1)]
        if column < atoms.shape[0]:
            pointers[i] = &atoms[column, 0]
        else:
            pointers[i] = &signals[column - atoms.shape[0], 0]


cdef void _sum_tiles(
    const floating** left,
    Py_ssize_t n_left,
    const floating** right,
    Py_ssize_t n_right,
    bint is_symmetric,
    Py_ssize_t first,
    Py_ssize_t last,
    double* sums,
) noexcept nogil:
    """Add the products of rows first to last, block by block."""
    cdef Py_ssize_t i, j, n

    while first < last:
        n = min(BLOCK_ROWS, last - first)
        i = 0
        while i < n_left:
            j = i if is_symmetric else 0
            while j < n_right:
                _add_tile(
                    left + i, right + j, first, n, n_right, sums + i * n_right + j
                )
                j += TILE
            i += TILE
        first += n


cdef simd_256_void _add_tile(
    const floating** left,
    const floating** right,
    Py_ssize_t first,
    Py_ssize_t n,
    Py_ssize_t stride,
    double* sums,
) noexcept nogil:
    """Products of three columns with three others over one block; sums are in double.

    Written out, so that compilers keep all nine in registers.
    """
    cdef Py_ssize_t j
    cdef const floating* a = left[0] + first
    cdef const floating* b = left[1] + first
    cdef const floating* c = left[2] + first
    cdef const floating* x = right[0] + first
    cdef const floating* y = right[1] + first
    cdef const floating* z = right[2] + first
    cdef floating entry, u, v, w
    cdef floating ax = 0, ay = 0, az = 0, bx = 0, by = 0, bz = 0, cx = 0, cy = 0, cz = 0

    for j in range(n):
        # One column at a time: otherwise compilers read the others again for each.
        u, v, w = x[j], y[j], z[j]
        entry = a[j]
        ax += entry * u
        ay += entry * v
        az += entry * w
        entry = b[j]
        bx += entry * u
        by += entry * v
        bz += entry * w
        entry = c[j]
        cx += entry * u
        cy += entry * v
        cz += entry * w
    sums[0] += ax
    sums[1] += ay
    sums[2] += az
    sums += stride
    sums[0] += bx
    sums[1] += by
    sums[2] += bz
    sums += stride
    sums[0] += cx
    sums[1] += cy
    sums[2] += cz
