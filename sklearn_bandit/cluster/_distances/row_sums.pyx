"""Weighted sums of rows, and products of rows with them.

They give sums of squared distances over many references without the distances.
"""

import numpy as np

from cython.parallel cimport prange
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

cdef enum:
    # Rows that a thread multiplies with a few vectors at a time, and rows that it adds
    # up in float32.
    PROJECTED = 256
    ADDED = 512


def project_rows(
    const float[:, ::1] X,
    const Py_ssize_t[::1] arms,
    const float[:, ::1] vectors,
    float[:, ::1] out,
    int n_threads,
):
    """Products of some rows of X with a few vectors.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The rows.
    arms : ndarray
        Which of them, ascending.
    vectors : ndarray of shape (n_vectors, n_features)
        The vectors.
    out : ndarray of shape (len(arms), n_vectors)
        Written.
    n_threads : int
        OpenMP threads.
    """
    cdef Py_ssize_t n = arms.shape[0], d = X.shape[1], t
    cdef Py_ssize_t n_blocks = (n + PROJECTED - 1) // PROJECTED
    cdef float[:, :, ::1] gathered

    if n == 0:
        return
    n_threads = min(n_threads, n_blocks)
    gathered = np.empty((n_threads, PROJECTED, d), dtype=np.float32)
    reserve_buffers(n_threads)
    try:
        for t in prange(n_blocks, nogil=True, schedule="static", num_threads=n_threads):
            _project(
                X, arms, t * PROJECTED, min(PROJECTED, n - t * PROJECTED), vectors,
                &gathered[thread_num(), 0, 0], &out[t * PROJECTED, 0],
            )
    finally:
        release_buffers(n_threads)


cdef void _project(
    const float[:, ::1] X,
    const Py_ssize_t[::1] arms,
    Py_ssize_t first,
    Py_ssize_t width,
    const float[:, ::1] vectors,
    float* gathered,
    float* out,
) noexcept nogil:
    cdef Py_ssize_t d = X.shape[1], i
    cdef int m = width, k = vectors.shape[0], depth = d
    cdef float one = 1.0, zero = 0.0
    cdef long n_running
    cdef const float* rows = &X[arms[first], 0]

    if arms[first + width - 1] - arms[first] != width - 1:
        for i in range(width):
            memcpy(gathered + i * d, &X[arms[first + i], 0], d * sizeof(float))
        rows = gathered
    n_running = begin_product()
    sgemm(
        "T", "N", &k, &m, &depth, &one, <float*> &vectors[0, 0], &depth,
        <float*> rows, &depth, &zero, out, &k,
    )
    end_product(n_running)


def add_rows(
    const float[:, ::1] X,
    const float[::1] weights,
    const int[::1] labels,
    int n_groups,
    int n_threads,
):
    """Weighted sums of the rows of X, group by group.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_features)
        The rows.
    weights, labels : ndarray of shape (n_rows,)
        Weight and group of each.
    n_groups : int
        Number of groups.
    n_threads : int
        OpenMP threads.

    Returns
    -------
    ndarray of shape (n_groups, n_features)
        The sums.
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], t
    cdef Py_ssize_t n_blocks = (n + ADDED - 1) // ADDED
    # Blocks are added up in their order, whichever thread summed them.
    cdef float[:, :, ::1] sums = np.zeros((n_blocks, n_groups, d), dtype=np.float32)

    n_threads = max(min(n_threads, n_blocks), 1)
    for t in prange(n_blocks, nogil=True, schedule="static", num_threads=n_threads):
        _add_block(
            &X[t * ADDED, 0], &weights[t * ADDED], &labels[t * ADDED],
            min(ADDED, n - t * ADDED), d, &sums[t, 0, 0],
        )
    return np.asarray(sums).sum(axis=0, dtype=np.float64)


cdef simd_void _add_block(
    restrict_const_float X,
    restrict_const_float weights,
    const int* labels,
    Py_ssize_t n,
    Py_ssize_t d,
    restrict_float sums,
) noexcept nogil:
    cdef Py_ssize_t j, t
    cdef float weight
    cdef restrict_const_float x
    cdef restrict_float own
    for j in range(n):
        x = X + j * d
        own = sums + labels[j] * d
        weight = weights[j]
        for t in range(d):
            own[t] += weight * x[t]
