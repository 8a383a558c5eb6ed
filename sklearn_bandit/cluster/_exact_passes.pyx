"""Exact sums: the loss after each BUILD or SWAP of some arms, from their distances.

The first half is for many distances, in any layout and by several threads. The second,
from `assign` on, is for a small matrix: a step takes microseconds there, and calls of
numpy, other threads and new memory take longer than the sums, so that one call makes
the whole step.
"""

import numpy as np

from cython cimport floating
from cython.parallel cimport prange
from libc.math cimport INFINITY, fabs
from libc.string cimport memset

from sklearn_bandit._core.openmp cimport thread_num
from sklearn_bandit._core.simd cimport simd_void

cdef enum:
    # Arms at a time, references transposed to reference-major order at a time,
    # references whose sums are one task.
    STRIP = 512
    TRANSPOSED = 64
    SEGMENT = 4096
    # Numbers of a cache line, of either type at least.
    ALIGNED = 16
    # Samples whose nearest medoids are found together.
    NEAREST = 1024
    # Sums of one thread stay within this many bytes, a quarter of a 512 KB L2: with
    # many clusters there are fewer arms at a time.
    SCRATCH_BYTES = 131072


def exact_build(
    const floating[:, :] columns,
    const double[::1] weights,
    const floating[::1] nearest,
    double[:] losses,
    int n_threads,
):
    """Loss after adding each arm: the sum of weight times ``min(d, d1)``.

    Parameters
    ----------
    columns : ndarray of shape (n_samples, n_arms)
        Distances of each arm to all samples, in any layout.
    weights, nearest : ndarray of shape (n_samples,)
        Weight and distance to the nearest medoid of each sample.
    losses : ndarray of shape (n_arms,)
        Written.
    n_threads : int
        OpenMP threads.
    """
    cdef int[::1] labels = np.empty(0, dtype=np.intc)
    sums = _exact_sums(columns, weights, nearest, nearest, labels, 0, n_threads)
    np.asarray(losses)[:] = sums[0]


def exact_swap(
    const floating[:, :] columns,
    const double[::1] weights,
    const floating[::1] nearest,
    const floating[::1] second,
    const int[::1] labels,
    double[:, :] changes,
    int n_threads,
):
    """Change of the loss by each swap of each arm.

    Parameters
    ----------
    columns, weights, nearest, n_threads
        As in `exact_build`.
    second, labels : ndarray of shape (n_samples,)
        Distance to the second nearest medoid, which must be finite, and the nearest
        medoid.
    changes : ndarray of shape (n_arms, n_clusters)
        Written: the loss after replacing the medoid less the loss before.
    """
    cdef Py_ssize_t j
    cdef double[::1] removals = np.zeros(changes.shape[1])

    for j in range(weights.shape[0]):
        removals[labels[j]] += weights[j] * (<double> second[j] - nearest[j])
    sums = _exact_sums(
        columns, weights, nearest, second, labels, changes.shape[1], n_threads
    )
    np.asarray(changes)[:] = (sums[0] + sums[1:]).T + np.asarray(removals)


def _exact_sums(
    const floating[:, :] columns,
    const double[::1] weights,
    const floating[::1] nearest,
    const floating[::1] second,
    const int[::1] labels,
    int n_clusters,
    int n_threads,
):
    """Sums over all samples, of shape (1 + n_clusters, n_arms).

    BUILD: the losses. SWAP: what adding an arm changes, and what more (or less) it
    changes if a medoid is removed.
    """
    cdef Py_ssize_t n = columns.shape[0], n_arms = columns.shape[1]
    cdef Py_ssize_t t, start, stop, first
    cdef int n_planes = 1 + n_clusters
    cdef Py_ssize_t strip = STRIP
    while strip > 16 and strip * n_planes * 8 > SCRATCH_BYTES:
        strip //= 2
    cdef Py_ssize_t n_strips = (n_arms + strip - 1) // strip
    # Sums over segments are added up in the order of the segments, whichever thread
    # computed them.
    cdef Py_ssize_t n_segments = (n + SEGMENT - 1) // SEGMENT
    cdef double[:, :, :, ::1] sums = np.zeros((n_segments, n_strips, n_planes, strip))
    dtype = np.float32 if floating is float else np.float64
    cdef floating[:, ::1] scratch = np.empty(
        (n_threads, TRANSPOSED * (strip + ALIGNED)), dtype=dtype
    )

    for t in prange(
        n_strips * n_segments, nogil=True, schedule="dynamic", num_threads=n_threads
    ):
        start = t % n_segments * SEGMENT
        stop = min(start + SEGMENT, n)
        first = t // n_segments * strip
        _add_strip(
            columns[start:stop, first:min(first + strip, n_arms)], weights[start:stop],
            nearest[start:stop], second[start:stop], labels[start:stop],
            &scratch[thread_num(), 0], sums[t % n_segments, t // n_segments],
        )
    total = np.asarray(sums).sum(axis=0) if n_segments > 1 else np.asarray(sums)[0]
    return total.transpose(1, 0, 2).reshape(n_planes, -1)[:, :n_arms]


cdef void _add_strip(
    const floating[:, :] columns,
    const double[::1] weights,
    const floating[::1] nearest,
    const floating[::1] second,
    const int[::1] labels,
    floating* scratch,
    double[:, ::1] sums,
) noexcept nogil:
    """Add some references to the sums of some arms; without labels, for BUILD."""
    cdef Py_ssize_t n = columns.shape[0], width = columns.shape[1], j, block, last
    cdef bint contiguous = columns.strides[1] == sizeof(floating)
    cdef bint is_build = labels.shape[0] == 0
    # An odd number of cache lines, so that a column does not fall into few of them.
    cdef Py_ssize_t pitch = ((width + ALIGNED - 1) // ALIGNED | 1) * ALIGNED
    cdef const floating* row

    block = 0
    while block < n:
        last = min(block + TRANSPOSED, n)
        if not contiguous:
            _transpose(columns[block:last], pitch, scratch)
        for j in range(block, last):
            row = &columns[j, 0] if contiguous else scratch + (j - block) * pitch
            if is_build:
                _exact_build_row(row, width, weights[j], nearest[j], &sums[0, 0])
            else:
                _exact_swap_row(
                    row, width, weights[j], nearest[j], second[j], &sums[0, 0],
                    &sums[1 + labels[j], 0],
                )
        block = last


cdef void _transpose(
    const floating[:, :] columns, Py_ssize_t pitch, floating* out
) noexcept nogil:
    """Copy some references of some arms to reference-major order."""
    cdef Py_ssize_t n = columns.shape[0], i, j
    cdef Py_ssize_t step = columns.strides[0] // <Py_ssize_t> sizeof(floating)
    cdef const floating* column

    for i in range(columns.shape[1]):
        column = &columns[0, i]
        for j in range(n):
            out[j * pitch + i] = column[j * step]


cdef simd_void _exact_build_row(
    const floating* d, int n, double weight, floating d1, double* s
) noexcept nogil:
    cdef int i
    for i in range(n):
        s[i] += weight * (d[i] if d[i] < d1 else d1)


cdef simd_void _exact_swap_row(
    const floating* d,
    int n,
    double weight,
    floating d1,
    floating d2,
    double* s,
    double* v,
) noexcept nogil:
    cdef int i
    cdef double a, b, near = d1, far = d2
    for i in range(n):
        a = weight * (<double> (d[i] if d[i] < d1 else d1) - near)
        b = weight * (<double> (d[i] if d[i] < d2 else d2) - far)
        s[i] += a
        v[i] += b - a


def nearest_two(
    const floating[:, ::1] rows,
    floating[::1] nearest,
    floating[::1] second,
    int[::1] labels,
    int n_threads,
):
    """Nearest and second nearest medoid of each sample; the first of equals is nearest.

    Parameters
    ----------
    rows : ndarray of shape (n_medoids, n_samples)
        Distances of each medoid to all samples.
    nearest, second, labels : ndarray of shape (n_samples,)
        Written; `second` is infinite with one medoid.
    n_threads : int
        OpenMP threads.
    """
    cdef Py_ssize_t n = rows.shape[1], n_blocks = (n + NEAREST - 1) // NEAREST, p, j

    for p in prange(n_blocks, nogil=True, schedule="static", num_threads=n_threads):
        j = p * NEAREST
        _nearest_of_block(
            &rows[0, j], rows.shape[0], n, min(NEAREST, n - j), &nearest[j],
            &second[j], &labels[j],
        )


cdef void _nearest_of_block(
    const floating* rows,
    int n_medoids,
    Py_ssize_t pitch,
    Py_ssize_t n,
    floating* nearest,
    floating* second,
    int* labels,
) noexcept nogil:
    """Find the two nearest of the medoids, whose rows are `pitch` apart."""
    cdef Py_ssize_t j
    cdef int l
    for j in range(n):
        nearest[j] = INFINITY
        second[j] = INFINITY
        labels[j] = 0
    for l in range(n_medoids):
        _compare_row(rows + l * pitch, l, n, nearest, second, labels)


cdef simd_void _compare_row(
    const floating* row,
    int l,
    Py_ssize_t n,
    floating* nearest,
    floating* second,
    int* labels,
) noexcept nogil:
    cdef Py_ssize_t j
    cdef floating d, d1, far
    for j in range(n):
        d = row[j]
        d1 = nearest[j]
        # The farther of the two competes for the second place.
        far = d1 if d < d1 else d
        labels[j] = l if d < d1 else labels[j]
        nearest[j] = d if d < d1 else d1
        second[j] = far if far < second[j] else second[j]


def assign(
    const floating[:, ::1] matrix,
    medoids,
    floating[::1] nearest,
    floating[::1] second,
    int[::1] labels,
):
    """Find the nearest and second nearest medoid of each sample.

    Parameters
    ----------
    matrix : ndarray of shape (n_samples, n_samples)
        Distances from samples to medoids.
    medoids : list of int
        Columns of the matrix.
    nearest, second, labels : ndarray of shape (n_samples,)
        Written; `second` is infinite with one medoid.
    """
    cdef Py_ssize_t j, x, n = matrix.shape[0]
    cdef int l
    cdef floating d

    for j in range(n):
        nearest[j] = INFINITY
        second[j] = INFINITY
        labels[j] = 0
    for l in range(len(medoids)):
        x = medoids[l]
        for j in range(n):
            d = matrix[j, x]
            if d < nearest[j]:
                second[j] = nearest[j]
                nearest[j] = d
                labels[j] = l
            elif d < second[j]:
                second[j] = d


def best_addition(
    const floating[:, ::1] matrix,
    const double[::1] weights,
    const floating[::1] nearest,
    medoids,
    double equal,
    double[:, ::1] sums,
):
    """Return the sample whose addition gives the least loss, and that loss.

    Parameters
    ----------
    matrix, nearest, medoids
        As in `assign`.
    weights : ndarray of shape (n_samples,)
        Weights of the samples.
    equal : float
        Losses closer than this, relative to them, are equal; the first is taken.
    sums : ndarray of shape (1 + n_clusters, n_samples)
        Memory to work in.
    """
    cdef Py_ssize_t j, i, n = matrix.shape[0]
    cdef double least = INFINITY

    memset(&sums[0, 0], 0, n * sizeof(double))
    for j in range(n):
        _exact_build_row(&matrix[j, 0], n, weights[j], nearest[j], &sums[0, 0])
    for i in medoids:
        sums[0, i] = INFINITY
    for i in range(n):
        least = min(least, sums[0, i])
    for i in range(n):
        if sums[0, i] <= least + equal * fabs(least):
            return i, sums[0, i]
    raise ValueError("The distances contain NaN.")


def best_swap(
    const floating[:, ::1] matrix,
    const double[::1] weights,
    const floating[::1] nearest,
    const floating[::1] second,
    const int[::1] labels,
    medoids,
    double equal,
    double[:, ::1] sums,
):
    """Return the best swap: sample, place of the medoid it replaces, change of loss.

    Parameters
    ----------
    matrix, weights, nearest, second, labels, medoids, sums
        As in `best_addition`; there are two medoids at least.
    equal : float
        Changes closer than this are equal; the first sample is taken, and the first
        medoid.
    """
    cdef Py_ssize_t j, i, n = matrix.shape[0], k = sums.shape[0] - 1, l
    cdef double removal, least = INFINITY

    memset(&sums[0, 0], 0, (1 + k) * n * sizeof(double))
    for j in range(n):
        _exact_swap_row(
            &matrix[j, 0], n, weights[j], nearest[j], second[j], &sums[0, 0],
            &sums[1 + labels[j], 0],
        )
    for i in medoids:
        sums[0, i] = INFINITY
    for l in range(k):
        removal = 0.0
        for j in range(n):
            if labels[j] == l:
                removal += weights[j] * (<double> second[j] - nearest[j])
        for i in range(n):
            sums[1 + l, i] += sums[0, i] + removal
            least = min(least, sums[1 + l, i])
    for i in range(n):
        for l in range(k):
            if sums[1 + l, i] <= least + equal:
                return i, l, sums[1 + l, i]
    raise ValueError("The distances contain NaN.")
