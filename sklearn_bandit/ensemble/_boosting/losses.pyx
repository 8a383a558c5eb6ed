"""Gradients and hessians of the logistic losses.

They are scikit-learn's ``HalfBinomialLoss`` and ``HalfMultinomialLoss``, which take a
good part of a fit there: here exponentials are computed four or eight at a time, and
what is computed is written as histograms read it, hessians beside gradients. Computed
in double precision, stored in single: results differ from scikit-learn's in the last
digit at most.
"""

from cython.parallel cimport prange
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from sklearn_bandit._core.simd cimport inline_void, simd_void

from ._common cimport TASK_ROWS

cdef enum:
    # Rows whose exponentials stay in the first-level cache; with many classes, in the
    # second-level one.
    BLOCK_ROWS = 256

cdef double LOG2_E = 1.4426950408889634
# ln 2, in two parts: the first has few digits, so that its multiples are exact.
cdef double LN2_HIGH = 6.93147180369123816490e-01
cdef double LN2_LOW = 1.90821492927058770002e-10
# The exponential of less is 0 to single precision, and no hessian needs it.
cdef double LEAST = -700.0


cdef inline_void _exponentials(double* x, Py_ssize_t n) noexcept nogil:
    """Replace numbers of at most 0 by their exponentials, to some 15 digits.

    exp(x) = 2^k exp(r) with |r| at most half of ln 2, and eleven terms of the series.
    """
    cdef int32_t[BLOCK_ROWS] powers
    cdef int64_t[BLOCK_ROWS] bits
    cdef double[BLOCK_ROWS] scales
    cdef Py_ssize_t i
    cdef double r, e

    for i in range(n):
        x[i] = x[i] if x[i] > LEAST else LEAST
        powers[i] = <int32_t> (x[i] * LOG2_E - 0.5)  # towards 0: to nearest
    for i in range(n):
        bits[i] = (<int64_t> powers[i] + 1023) << 52
    memcpy(scales, bits, n * sizeof(double))
    for i in range(n):
        r = x[i] - powers[i] * LN2_HIGH
        r = r - powers[i] * LN2_LOW
        e = 1.0 / 39916800.0
        e = e * r + 1.0 / 3628800.0
        e = e * r + 1.0 / 362880.0
        e = e * r + 1.0 / 40320.0
        e = e * r + 1.0 / 5040.0
        e = e * r + 1.0 / 720.0
        e = e * r + 1.0 / 120.0
        e = e * r + 1.0 / 24.0
        e = e * r + 1.0 / 6.0
        e = e * r + 0.5
        e = e * r + 1.0
        e = e * r + 1.0
        x[i] = e * scales[i]


cdef inline_void _store(
    double* gradients, double* hessians, const double* weights, Py_ssize_t n, float* out
) noexcept nogil:
    """Write pairs, with weights unless these are NULL."""
    cdef Py_ssize_t i

    if weights != NULL:
        for i in range(n):
            gradients[i] *= weights[i]
            hessians[i] *= weights[i]
    for i in range(n):
        out[2 * i] = <float> gradients[i]
        out[2 * i + 1] = <float> hessians[i]


cdef simd_void _binomial_block(
    const double* y, const double* raw, const double* weights, Py_ssize_t n, float* out
) noexcept nogil:
    """Pairs of at most BLOCK_ROWS rows; `weights` may be NULL."""
    cdef double[BLOCK_ROWS] e, g
    cdef Py_ssize_t i
    cdef double s, p, q

    for i in range(n):
        e[i] = -raw[i] if raw[i] > 0.0 else raw[i]
    _exponentials(e, n)
    for i in range(n):
        # Both probabilities without cancellation.
        s = 1.0 / (1.0 + e[i])
        p = s if raw[i] > 0.0 else e[i] * s
        q = e[i] * s if raw[i] > 0.0 else s
        g[i] = p * (1.0 - y[i]) - q * y[i]
        e[i] = p * q
    _store(g, e, weights, n, out)


cdef simd_void _exponentials_of_class(
    const double* raw, const double* top, Py_ssize_t n, double* e, double* total
) noexcept nogil:
    """Exponentials of raw predictions less the largest of the row, and their sum."""
    cdef Py_ssize_t i

    for i in range(n):
        e[i] = raw[i] - top[i]
    _exponentials(e, n)
    for i in range(n):
        total[i] += e[i]


cdef simd_void _larger(const double* raw, Py_ssize_t n, double* top) noexcept nogil:
    cdef Py_ssize_t i

    for i in range(n):
        top[i] = raw[i] if raw[i] > top[i] else top[i]


cdef simd_void _pairs_of_class(
    const double* y, const double* weights, double* e, const double* total,
    double label, Py_ssize_t n, float* out
) noexcept nogil:
    """Pairs of a class from its exponentials and their sums over classes."""
    cdef double[BLOCK_ROWS] g
    cdef Py_ssize_t i
    cdef double p

    for i in range(n):
        p = e[i] / total[i]
        g[i] = p - (1.0 if y[i] == label else 0.0)
        e[i] = p * (1.0 - p)
    _store(g, e, weights, n, out)


cdef const double* _from(const double* weights, Py_ssize_t start) noexcept nogil:
    """Weights from a row on, or NULL."""
    return weights + start if weights != NULL else weights


def binomial(
    const double[::1] y, const double[:, :] raw, const double[::1] sample_weight,
    float[:, :, :] out, int n_threads
):
    """Gradients and hessians of the binomial loss.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        0 or 1.
    raw : ndarray of shape (n_samples, 1)
        Raw predictions, contiguous.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights.
    out : ndarray of float32 of shape (1, n_samples, 2)
        Output: gradient and hessian of each row.
    n_threads : int
        Threads to use.
    """
    cdef Py_ssize_t n = y.shape[0], task
    cdef Py_ssize_t n_tasks = (n + TASK_ROWS - 1) // TASK_ROWS
    cdef const double* weights = NULL
    if sample_weight is not None:
        weights = &sample_weight[0]

    n_threads = max(1, min(n_threads, n_tasks))
    for task in prange(n_tasks, nogil=True, num_threads=n_threads):
        _binomial_task(
            y, raw, weights, task * TASK_ROWS, min((task + 1) * TASK_ROWS, n), out
        )


cdef void _binomial_task(
    const double[::1] y, const double[:, :] raw, const double* weights,
    Py_ssize_t start, Py_ssize_t stop, float[:, :, :] out
) noexcept nogil:
    while start < stop:
        _binomial_block(
            &y[start], &raw[start, 0], _from(weights, start),
            min(BLOCK_ROWS, stop - start), &out[0, start, 0],
        )
        start += BLOCK_ROWS


def multinomial(
    const double[::1] y, const double[:, :] raw, const double[::1] sample_weight,
    float[:, :, :] out, int n_threads
):
    """Gradients and hessians of the multinomial loss.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        0, 1, 2, ...
    raw : ndarray of shape (n_samples, n_classes)
        Raw predictions, contiguous for each class.
    sample_weight : ndarray of shape (n_samples,) or None
        Weights.
    out : ndarray of float32 of shape (n_classes, n_samples, 2)
        Output: gradient and hessian of each row, class by class.
    n_threads : int
        Threads to use.
    """
    cdef Py_ssize_t n = y.shape[0], task
    cdef Py_ssize_t n_tasks = (n + BLOCK_ROWS - 1) // BLOCK_ROWS
    cdef const double* weights = NULL
    if sample_weight is not None:
        weights = &sample_weight[0]

    n_threads = max(1, min(n_threads, n_tasks))
    for task in prange(n_tasks, nogil=True, num_threads=n_threads):
        _multinomial_block(
            y, raw, weights, task * BLOCK_ROWS, min(BLOCK_ROWS, n - task * BLOCK_ROWS),
            out,
        )


cdef void _multinomial_block(
    const double[::1] y, const double[:, :] raw, const double* weights,
    Py_ssize_t start, Py_ssize_t n, float[:, :, :] out
) noexcept nogil:
    """Pairs of a block of rows; the exponentials wait where its pairs will be."""
    cdef double[BLOCK_ROWS] top, total, e
    cdef Py_ssize_t k, i, n_classes = raw.shape[1]

    memcpy(top, &raw[start, 0], n * sizeof(double))
    for k in range(1, n_classes):
        _larger(&raw[start, k], n, top)
    for i in range(n):
        total[i] = 0.0
    for k in range(n_classes):
        _exponentials_of_class(&raw[start, k], top, n, e, total)
        memcpy(&out[k, start, 0], e, n * sizeof(double))
    for k in range(n_classes):
        memcpy(e, &out[k, start, 0], n * sizeof(double))
        _pairs_of_class(
            &y[start], _from(weights, start), e, total, k, n, &out[k, start, 0]
        )
