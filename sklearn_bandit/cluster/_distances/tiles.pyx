"""Tiles of distances: many arms, a block of references.

*Tiles* hold the distances of arms (candidate medoids) to references in float32,
reference-major inside a tile of `ARM_TILE` arms: the searches then run SIMD over arms,
reading memory in order.

Euclidean and cosine tiles are matrix products. ``|x|^2 + |y|^2 - 2 x.y`` cancels for
near pairs: the data is centred beforehand, and a pair whose squared distance is below
`GUARD` times ``|x|^2 + |y|^2`` is computed again from the differences. BLAS runs on one
thread inside each OpenMP thread. l1 comes from the differences, a panel of arms at a
time.
"""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport sqrtf
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport sgemm

from sklearn_bandit._core.openmp cimport thread_num
from sklearn_bandit._core.simd cimport restrict_const_float, restrict_float, simd_void

from .blas_buffers cimport (
    begin_product,
    end_product,
    release_buffers,
    reserve_buffers,
)
from .metrics cimport COSINE, EUCLIDEAN, MANHATTAN, SQEUCLIDEAN, TILE
from .panels cimport PANEL, panel_absolute, transpose_rows

from .sparse_rows import GUARD as CANCELLED_SHARE

ARM_TILE = TILE
KINDS = {
    "sqeuclidean": SQEUCLIDEAN,
    "euclidean": EUCLIDEAN,
    "cosine": COSINE,
    "manhattan": MANHATTAN,
}

cdef enum:
    # Tiles are divided until there are as many tasks, to no fewer references: with 128
    # of them BLAS is a tenth below its speed.
    TASKS = 8
    LEAST_PART = 128
    # Fewer copies than this take a thread 0.1 ms: another is not woken for that.
    SERIAL_COPIES = 131072

# Below this share of |x|^2 + |y|^2 a squared distance has lost too many digits.
cdef float GUARD = CANCELLED_SHARE


cdef struct Samples:
    const float* rows           # prepared, see ``prepared_rows``
    const float* squares        # their squared norms
    Py_ssize_t d                # features
    int kind                    # one of `KINDS`


cdef struct Part:
    const Py_ssize_t* arms
    int width                   # number of arms, at most TILE
    Py_ssize_t start            # references: first, and how many
    int m
    float* out                  # a row of TILE for each reference


cdef struct Scratch:
    float* gathered             # rows of the arms, padded to whole panels
    float* norms                # and their squared norms
    float* panel                # l1: arms, transposed


def fill_tiles(
    const float[:, ::1] X,
    const float[::1] squares,
    int kind,
    const Py_ssize_t[::1] arms,
    Py_ssize_t start,
    Py_ssize_t stop,
    float[:, :, ::1] out,
    int n_threads,
):
    """Distances of `arms` to the references ``start:stop``.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Centred (Euclidean) or normalised (cosine) rows.
    squares : ndarray of shape (n_samples,)
        Squared norms of the rows.
    kind : int
        One of `KINDS`.
    arms : ndarray
        Rows of X.
    start, stop : int
        The references are these rows of X.
    out : ndarray of shape (ceil(len(arms) / ARM_TILE), stop - start, ARM_TILE)
        Written; what is beyond the last arm is set to zero.
    n_threads : int
        OpenMP threads.
    """
    cdef Py_ssize_t n_tiles = out.shape[0], n_arms = arms.shape[0], d = X.shape[1]
    cdef Py_ssize_t m = stop - start, t, p, n_parts, length, first
    cdef int n_buffers
    cdef float[:, :, ::1] gathered = np.empty((n_threads, TILE, d), dtype=np.float32)
    cdef float[:, ::1] norms = np.zeros((n_threads, TILE), dtype=np.float32)
    cdef float[:, ::1] panels = np.empty(
        (n_threads, PANEL * d if kind == MANHATTAN else 1), dtype=np.float32
    )
    cdef Samples samples

    if n_tiles == 0 or stop <= start:
        return
    samples = Samples(&X[0, 0], &squares[0], d, kind)
    # Few tiles are divided by references, in a way that does not depend on the threads.
    n_parts = max(min(TASKS // n_tiles, m // LEAST_PART), 1)
    length = (m + n_parts - 1) // n_parts
    # A thread without a task would only be waited for.
    n_threads = min(n_threads, n_tiles * n_parts)
    n_buffers = 0 if kind == MANHATTAN else n_threads
    reserve_buffers(n_buffers)
    try:
        for p in prange(
            n_tiles * n_parts, nogil=True, schedule="dynamic", num_threads=n_threads
        ):
            t = p // n_parts
            first = p % n_parts * length
            _tile(
                &samples,
                Part(
                    &arms[t * TILE], <int> min(TILE, n_arms - t * TILE), start + first,
                    <int> (min(first + length, m) - first), &out[t, first, 0],
                ),
                Scratch(
                    &gathered[thread_num(), 0, 0], &norms[thread_num(), 0],
                    &panels[thread_num(), 0],
                ),
            )
    finally:
        release_buffers(n_buffers)


cdef void _tile(const Samples* samples, Part part, Scratch scratch) noexcept nogil:
    """Distances of the arms of one tile to some references."""
    cdef Py_ssize_t d = samples.d, i, j
    cdef int w = part.width, padded = min(TILE, (w + PANEL - 1) // PANEL * PANEL)
    cdef int m = part.m, depth = d, ld = TILE
    cdef const float* references = samples.rows + part.start * d
    cdef float* gathered = scratch.gathered
    cdef float* row
    cdef float one = 1.0, zero = 0.0
    cdef long n_running

    for i in range(padded):
        # The padding repeats an arm: any finite numbers will do.
        j = part.arms[min(i, w - 1)]
        memcpy(gathered + i * d, samples.rows + j * d, d * sizeof(float))
        scratch.norms[i] = samples.squares[j]
    if samples.kind == MANHATTAN:
        _manhattan_tile(gathered, padded, references, m, d, scratch.panel, part.out)
    else:
        # Column-major BLAS sees the tile as (arms, references).
        n_running = begin_product()
        sgemm(
            "T", "N", &padded, &m, &depth, &one, gathered, &depth,
            <float*> references, &depth, &zero, part.out, &ld,
        )
        end_product(n_running)
        for j in range(m):
            row = part.out + j * TILE
            _finish_row(
                row, w, samples.squares[part.start + j], references + j * d, samples,
                &scratch,
            )
    for j in range(m):
        row = part.out + j * TILE
        for i in range(w, TILE):
            row[i] = 0.0
    for i in range(w):
        j = part.arms[i] - part.start
        if 0 <= j < m:
            part.out[j * TILE + i] = 0.0


cdef void _finish_row(
    float* row,
    int w,
    float square,
    const float* x,
    const Samples* samples,
    const Scratch* scratch,
) noexcept nogil:
    """Turn products of a reference into distances, and mend those that cancelled."""
    cdef int i, kind = samples.kind
    cdef float low = 0.0, least, exact
    cdef const float* norms = scratch.norms
    cdef Py_ssize_t d = samples.d

    if kind == COSINE:
        _finish_cosine(row, w, &low)
    else:
        _finish_euclidean(row, norms, square, w, &low)
    if low < 0.0:
        for i in range(w):
            least = GUARD if kind == COSINE else GUARD * (square + norms[i])
            if row[i] < least:
                exact = 0.0
                _square_difference(x, scratch.gathered + i * d, d, &exact)
                row[i] = 0.5 * exact if kind == COSINE else exact
    if kind == EUCLIDEAN:
        _square_roots(row, w)


cdef simd_void _finish_euclidean(
    restrict_float row, restrict_const_float norms, float square, int w, float* low
) noexcept nogil:
    cdef int i
    # C literals are double, and would take the loop with them.
    cdef float total, value, zero = 0.0, two = 2.0, guard = GUARD, least = 1.0
    for i in range(w):
        total = square + norms[i]
        value = total - two * row[i]
        least = min(least, value - guard * total)
        row[i] = value if value > zero else zero
    low[0] = least


cdef simd_void _finish_cosine(restrict_float row, int w, float* low) noexcept nogil:
    cdef int i
    cdef float value, zero = 0.0, one = 1.0, guard = GUARD, least = 1.0
    for i in range(w):
        value = one - row[i]
        least = min(least, value - guard)
        row[i] = value if value > zero else zero
    low[0] = least


cdef simd_void _square_roots(restrict_float row, int w) noexcept nogil:
    cdef int i
    for i in range(w):
        row[i] = sqrtf(row[i])


cdef simd_void _square_difference(
    restrict_const_float x, restrict_const_float y, Py_ssize_t d, float* out
) noexcept nogil:
    cdef Py_ssize_t t
    cdef float gap, total = 0.0
    for t in range(d):
        gap = x[t] - y[t]
        total += gap * gap
    out[0] = total


cdef void _manhattan_tile(
    const float* arms,
    int n_arms,
    const float* references,
    int m,
    Py_ssize_t d,
    float* panel,
    float* out,
) noexcept nogil:
    """Sums of absolute differences, a panel of arms at a time."""
    cdef Py_ssize_t j, p
    for p in range(n_arms // PANEL):
        transpose_rows(arms + p * PANEL * d, PANEL, d, panel)
        for j in range(0, m, 2):
            panel_absolute(
                panel, references + j * d, references + min(j + 1, m - 1) * d, d,
                out + j * TILE + p * PANEL, out + min(j + 1, m - 1) * TILE + p * PANEL,
            )


def gather_columns(
    const Py_ssize_t[::1] addresses, float[:, :, ::1] out, int n_threads
):
    """Copy the columns of arms from wherever they are to tiles of their own.

    Parameters
    ----------
    addresses : ndarray of shape (n_arms,)
        Where each column begins, inside of a tile.
    out : ndarray of shape (ceil(n_arms / ARM_TILE), n_references, ARM_TILE)
        Written; what is beyond the last arm is set to zero.
    n_threads : int
        OpenMP threads.
    """
    cdef Py_ssize_t j, m = out.shape[1], n = addresses.shape[0]

    if n == 0:
        return
    if n * m < SERIAL_COPIES:
        n_threads = 1
    for j in prange(m, nogil=True, schedule="static", num_threads=n_threads):
        _gather_row(&addresses[0], n, j * TILE, m * TILE, &out[0, j, 0])


cdef void _gather_row(
    const Py_ssize_t* addresses,
    Py_ssize_t n,
    Py_ssize_t offset,
    Py_ssize_t tile_size,
    float* out,
) noexcept nogil:
    """One reference's distances, `offset` floats into each column."""
    cdef Py_ssize_t i, first = 0

    while first < n:
        for i in range(min(TILE, n - first)):
            out[i] = (<const float*> addresses[first + i])[offset]
        for i in range(n - first, TILE):
            out[i] = 0.0
        out += tile_size
        first += TILE
