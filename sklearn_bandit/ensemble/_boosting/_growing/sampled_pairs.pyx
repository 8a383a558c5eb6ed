"""Gradients and hessians of a sample, as histograms read them.

A row of a sample counts 1 / p times, for its probability p. Where minimal variance
sampling draws with p < 1, ``g / p`` is about as large for all rows, so that few digits
tell all: gradients are rounded to 12 bits and a sign, hessians to 9 bits. Rounding is
stochastic, up with the probability of the part that is cut off: sums stay unbiased,
and their variance grows by less than 2%.

Gradient, hessian and the number 1 are then packed into one integer of 64 bits. To
insert a row into a cell is one addition of integers, and a cell is a quarter of what
it is otherwise. Nothing is lost by it: steps are powers of two, so that sums of either
kind are exact, and the same. As integers, sums do not depend on their order.

Where a few pairs are so large that steps would be too coarse for the others, nothing is
rounded or packed.
"""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport exp2, fabsf, isfinite, log2, sqrtf
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from sklearn_bandit._core.random cimport random_bits
from sklearn_bandit._core.simd cimport inline_void, simd_void

from .._common cimport TASK_ROWS

cdef enum:
    # Largest rounded numbers: MAX_PACKED_ROWS rows of these fit into a cell.
    MAX_GRADIENT = 4095
    MAX_HESSIAN = 511
    # Sums and maxima that are made side by side, for wide vectors.
    N_LANES = 16

# Largest step, relative to the usual size of a number: the squared mean of square
# roots, which a few large numbers do not change. Rounding adds at most a quarter of the
# squared step to the variance of a row, which is at least about that size squared.
cdef double MAX_STEP = 0.25

# Steps from which on single precision has all their multiples.
cdef double MIN_STEP = 1e-30

# 2^-24: random fractions that numbers are rounded by have 24 bits.
cdef double FRACTION = 5.9604644775390625e-08


cdef class SampledPairs:
    """Weighted gradients and hessians of the rows of a sample.

    Attributes
    ----------
    is_packed : bool
        Whether the pairs are rounded and packed.
    step_g, step_h : float
        Of what gradients and hessians are whole multiples then.
    """

    def __cinit__(self):
        self.room = np.empty((0, 2), dtype=np.float32)
        self.packed_room = np.empty(0, dtype=np.uint64)

    @property
    def pairs(self):
        """The pairs, rounded if packed: ndarray of float32 of shape (n_rows, 2)."""
        return np.asarray(self.room)[: self.n]

    @property
    def packed(self):
        """The packed pairs, or None: ndarray of uint64 of shape (n_rows,)."""
        return np.asarray(self.packed_room)[: self.n] if self.is_packed else None

    def weigh(self, gradients, rows, weights, seed, n_threads):
        """Take the pairs of a sample; the memory of the one before is used again.

        Parameters
        ----------
        gradients : ndarray of float32 of shape (n_samples, 2)
            Gradients and hessians of all rows.
        rows : ndarray of uint32 of shape (n_rows,)
            The sample.
        weights : ndarray of float32 of shape (n_rows,)
            How often each row of it counts.
        seed : int
            What rounding depends on.
        n_threads : int
            Threads to use.
        """
        self.fill(gradients, rows, weights, seed, n_threads)

    cdef int fill(
        self, const float[:, ::1] gradients, const uint32_t[::1] rows,
        const float[::1] weights, uint64_t seed, int n_threads
    ) except -1:
        """See `weigh`."""
        cdef Py_ssize_t n = rows.shape[0], task
        cdef Py_ssize_t n_tasks = (n + TASK_ROWS - 1) // TASK_ROWS

        if self.room.shape[0] < n:
            # Samples vary a little in size.
            self.packed_room = np.empty(n + n // 8, dtype=np.uint64)
            self.extremes = np.empty(
                ((n + n // 8) // TASK_ROWS + 1, 4), dtype=np.float64
            )
            # Last: its length stands for all, whichever there was memory for.
            self.room = np.empty((n + n // 8, 2), dtype=np.float32)
        self.n = n
        n_threads = max(1, min(n_threads, n_tasks))
        for task in prange(n_tasks, nogil=True, num_threads=n_threads):
            _weigh(
                gradients, rows, weights, task * TASK_ROWS,
                min((task + 1) * TASK_ROWS, n), self.room, &self.extremes[task, 0],
            )
        self.is_packed = self._choose_steps(n_tasks)
        if self.is_packed:
            for task in prange(n_tasks, nogil=True, num_threads=n_threads):
                _round(
                    self.step_g, self.step_h, seed, task * TASK_ROWS,
                    min(TASK_ROWS, n - task * TASK_ROWS),
                    &self.room[task * TASK_ROWS, 0],
                    &self.packed_room[task * TASK_ROWS],
                )
        return 0

    cdef bint _choose_steps(self, Py_ssize_t n_tasks):
        """Choose the steps; return whether they are fine enough."""
        if n_tasks == 0:
            return False
        found = np.asarray(self.extremes)[:n_tasks]
        most_g, most_h = found[:, :2].max(axis=0)
        usual_g, usual_h = (found[:, 2:].sum(axis=0) / self.n) ** 2
        # Negative hessians have no square roots.
        if not (
            isfinite(usual_g) and isfinite(usual_h) and most_g > 0.0 and most_h > 0.0
        ):
            return False
        self.step_g = exp2(np.ceil(log2(most_g / MAX_GRADIENT)))
        self.step_h = exp2(np.ceil(log2(most_h / MAX_HESSIAN)))
        return (
            min(self.step_g, self.step_h) >= MIN_STEP
            and self.step_g <= MAX_STEP * usual_g
            and self.step_h <= MAX_STEP * usual_h
        )


cdef void _weigh(
    const float[:, ::1] gradients, const uint32_t[::1] rows, const float[::1] weights,
    Py_ssize_t start, Py_ssize_t stop, float[:, ::1] out, double* extremes
) noexcept nogil:
    """Weigh some pairs, and measure them."""
    cdef Py_ssize_t i

    for i in range(start, stop):
        out[i, 0] = gradients[rows[i], 0] * weights[i]
        out[i, 1] = gradients[rows[i], 1] * weights[i]
    _measure(&out[start, 0], stop - start, extremes)


cdef simd_void _measure(
    const float* pairs, Py_ssize_t n, double* extremes
) noexcept nogil:
    """Of both numbers of some pairs: largest, and sums of square roots."""
    cdef float[N_LANES] most_g, most_h, roots_g, roots_h
    cdef Py_ssize_t n_full = n - n % N_LANES, i = 0, lane

    for lane in range(N_LANES):
        most_g[lane] = most_h[lane] = roots_g[lane] = roots_h[lane] = 0.0
    while i < n_full:
        for lane in range(N_LANES):
            _measure_pair(
                pairs + 2 * (i + lane), most_g + lane, most_h + lane, roots_g + lane,
                roots_h + lane,
            )
        i += N_LANES
    for i in range(n_full, n):
        _measure_pair(pairs + 2 * i, most_g, most_h, roots_g, roots_h)
    extremes[0] = extremes[1] = extremes[2] = extremes[3] = 0.0
    for lane in range(N_LANES):
        extremes[0] = max(extremes[0], most_g[lane])
        extremes[1] = max(extremes[1], most_h[lane])
        extremes[2] += roots_g[lane]
        extremes[3] += roots_h[lane]


cdef inline_void _measure_pair(
    const float* pair, float* most_g, float* most_h, float* roots_g, float* roots_h
) noexcept nogil:
    cdef float g = fabsf(pair[0]), h = pair[1]

    most_g[0] = g if g > most_g[0] else most_g[0]
    most_h[0] = h if h > most_h[0] else most_h[0]
    roots_g[0] += sqrtf(g)
    roots_h[0] += sqrtf(h)


cdef simd_void _round(
    double step_g, double step_h, uint64_t seed, Py_ssize_t start, Py_ssize_t n,
    float* pairs, uint64_t* packed
) noexcept nogil:
    """Round some pairs, and pack them; `start` is the number of the first."""
    cdef double per_g = 1.0 / step_g, per_h = 1.0 / step_h
    cdef uint64_t state, bits
    cdef int32_t g, h
    cdef Py_ssize_t i

    for i in range(n):
        state = seed + <uint64_t> (start + i) * <uint64_t> 0x9E3779B97F4A7C15
        bits = random_bits(&state)
        # Towards 0, of numbers above 0: down.
        g = <int32_t> (
            pairs[2 * i] * per_g + <int32_t> (bits >> 40) * FRACTION
            + (MAX_GRADIENT + 1)
        ) - (MAX_GRADIENT + 1)
        h = <int32_t> (
            pairs[2 * i + 1] * per_h + <int32_t> (bits & 0xFFFFFF) * FRACTION
        )
        pairs[2 * i] = <float> (g * step_g)
        pairs[2 * i + 1] = <float> (h * step_h)
        packed[i] = (
            (<uint64_t> (<int64_t> g) << (COUNT_BITS + HESSIAN_BITS))
            + (<uint64_t> h << COUNT_BITS) + 1
        )
