"""Draw the rows that matter most to a tree: minimal variance sampling.

The gain of a split and the values of leaves are functions of sums of gradients g and
hessians h. B. Ibragimov and G. Gusev, "Minimal Variance Sampling in Stochastic Gradient
Boosting", NeurIPS 2019, show which independent draws estimate them with the least
variance: a row has the score ``s = sqrt(g^2 + lambda h^2)`` and is drawn with the
probability ``p = min(1, s / mu)``; what is drawn counts 1 / p times. ``mu`` is such
that the probabilities add up to the size of the sample.

Rows are drawn systematically: the probabilities are laid end to end, and the rows in
which one of equally spaced points falls are drawn. So each row is drawn with exactly
its probability, the sample is as large as it should be, and with the points moved on
from tree to tree all rows have their turn. The rows are in random order, see
``row_sampling``, so that rows which are drawn together have nothing in common.
Probabilities are summed as integers: sums do not depend on their order, and any number
of threads draws the same rows.
"""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport INFINITY, sqrt, sqrtf
from libc.stdint cimport int32_t, uint32_t, uint64_t
from libc.string cimport memset

from sklearn_bandit._core.simd cimport simd_void

from .._common cimport TASK_ROWS

cdef enum:
    # Bits of a probability in the integers that probabilities are summed in.
    BITS = 30
    # Sums that are made side by side, for wide vectors.
    N_SUMMED = 8

# A probability of 1 in these: it fits 32 bits, which processors convert several at a
# time.
cdef float ONE = 1073741824.0

# Scores beyond this do not fit single precision.
cdef double MAX_MU = 3e38

# Scores from which `mu` is found. The size of the sample then varies by about 1%.
N_SCORES = 16_384


cdef simd_void _add_squares(
    const float* pairs, Py_ssize_t n, float curvature, float* out
) noexcept nogil:
    """Add squared scores from pairs of gradient and hessian."""
    cdef Py_ssize_t i

    for i in range(n):
        out[i] += (
            pairs[2 * i] * pairs[2 * i]
            + curvature * (pairs[2 * i + 1] * pairs[2 * i + 1])
        )


cdef simd_void _divide(float* squares, Py_ssize_t n, float mu) noexcept nogil:
    """Probabilities from squared scores."""
    cdef Py_ssize_t i
    cdef float p

    for i in range(n):
        p = sqrtf(squares[i]) / mu
        squares[i] = p if p < 1.0 else 1.0


cdef inline int32_t _as_integer(float p) noexcept nogil:
    return <int32_t> (p * ONE)


cdef simd_void _sum(const float* p, Py_ssize_t n, uint64_t* out) noexcept nogil:
    """Sum of probabilities."""
    cdef uint64_t total = 0
    cdef Py_ssize_t i

    for i in range(n):
        total += _as_integer(p[i])
    out[0] = total


cdef simd_void _divide_up(
    const double* scores, Py_ssize_t n, double mu, double* n_above, double* sum_below
) noexcept nogil:
    """How many scores are above `mu`, and the sum of the others that are above 0."""
    cdef double[N_SUMMED] above, below
    cdef Py_ssize_t n_full = n - n % N_SUMMED, i = 0, lane

    for lane in range(N_SUMMED):
        above[lane] = below[lane] = 0.0
    while i < n_full:
        for lane in range(N_SUMMED):
            above[lane] += 1.0 if scores[i + lane] > mu else 0.0
            below[lane] += (
                scores[i + lane]
                if (scores[i + lane] > 0.0) & (scores[i + lane] <= mu)
                else 0.0
            )
        i += N_SUMMED
    for i in range(n_full, n):
        above[0] += 1.0 if scores[i] > mu else 0.0
        below[0] += scores[i] if (scores[i] > 0.0) & (scores[i] <= mu) else 0.0
    n_above[0] = sum_below[0] = 0.0
    for lane in range(N_SUMMED):
        n_above[0] += above[lane]
        sum_below[0] += below[lane]


def solve_mu(const double[::1] scores, double size):
    """Find the ``mu`` with which probabilities add up to the size of the sample.

    The sum of ``min(1, scores * x)`` is concave in ``x = 1 / mu``: Newton's steps from
    below never overshoot, and end when they no longer change which rows are certain.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        The scores. Those that are not numbers do not count.
    size : float
        Sum of ``min(1, scores / mu)``.

    Returns
    -------
    float
        0.0 if all rows with a score are to be drawn.
    """
    cdef Py_ssize_t n = scores.shape[0]
    cdef double mu = INFINITY, last, n_above, sum_below

    if n == 0:
        return 0.0
    _divide_up(&scores[0], n, 0.0, &n_above, &sum_below)
    if size >= n_above:
        return 0.0
    while True:
        _divide_up(&scores[0], n, mu, &n_above, &sum_below)
        last = mu
        mu = sum_below / (size - n_above)
        # Rounding may leave nothing to share among the rows that are not certain.
        if size <= n_above or not mu < last:
            return last if last < INFINITY else mu


cdef class RowDraw:
    """Probabilities of rows, and draws by them.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    n_threads : int
        Threads to use.

    Attributes
    ----------
    probabilities : ndarray of float32 of shape (n_rows,)
        Probability of each row to be drawn.
    """

    cdef readonly object probabilities
    cdef float[::1] p
    cdef uint64_t[::1] before               # sum of the probabilities before each task
    cdef int n_threads

    def __init__(self, Py_ssize_t n_rows, int n_threads):
        cdef Py_ssize_t n_tasks = (n_rows + TASK_ROWS - 1) // TASK_ROWS

        self.n_threads = max(1, min(n_threads, n_tasks))
        self.probabilities = np.empty(n_rows, dtype=np.float32)
        self.p = self.probabilities
        self.before = np.zeros(n_tasks + 1, dtype=np.uint64)

    def score(
        self, const float[:, :, ::1] gradients, double curvature, Py_ssize_t size
    ):
        """Set the probabilities.

        Parameters
        ----------
        gradients : ndarray of float32 of shape (n_trees, n_rows, 2)
            Gradients and hessians; the squared scores of all trees are added up.
        curvature : float
            The weight lambda of squared hessians: about a squared leaf value.
        size : int
            Rows to draw.
        """
        cdef Py_ssize_t n = self.p.shape[0], n_tasks = self.before.shape[0] - 1, task, i
        cdef Py_ssize_t step = max(1, n // N_SCORES)
        cdef double[::1] some = np.empty((n + step - 1) // step)
        cdef double mu

        for i in prange(some.shape[0], nogil=True, num_threads=self.n_threads):
            some[i] = _score(gradients, curvature, i * step)
        mu = solve_mu(some, size * some.shape[0] // n)
        if not 0.0 < mu < MAX_MU:
            mu = 0.0
        for task in prange(n_tasks, nogil=True, num_threads=self.n_threads):
            self.before[task + 1] = _fill_task(
                gradients, curvature, mu, task * TASK_ROWS,
                min((task + 1) * TASK_ROWS, n), self.p,
            )
        np.cumsum(self.before, out=self.before.base)

    def draw(self, double point, float scale=1.0):
        """Draw a sample.

        Parameters
        ----------
        point : float
            Where the first of the equally spaced points is, from 0 to 1.
        scale : float, default=1.0
            How often a row counts that is drawn for sure.

        Returns
        -------
        rows : ndarray of uint32
            The rows, ascending.
        weights : ndarray of float32
            How often each of them counts: `scale` divided by its probability.
        """
        cdef Py_ssize_t n_tasks = self.before.shape[0] - 1, task
        cdef uint64_t first = <uint64_t> (point * (<double> ONE - 1.0))
        cdef Py_ssize_t n_drawn = (self.before[n_tasks] + first) >> BITS
        cdef uint32_t[::1] rows = np.empty(n_drawn, dtype=np.uint32)
        cdef float[::1] weights = np.empty(n_drawn, dtype=np.float32)

        for task in prange(n_tasks, nogil=True, num_threads=self.n_threads):
            _draw_task(
                self.p, first + self.before[task], first + self.before[task + 1],
                task * TASK_ROWS, scale, rows, weights,
            )
        return np.asarray(rows), np.asarray(weights)


cdef double _score(
    const float[:, :, ::1] gradients, double curvature, Py_ssize_t row
) noexcept nogil:
    """Score of a row."""
    cdef Py_ssize_t k
    cdef double g, h, square = 0.0

    for k in range(gradients.shape[0]):
        g, h = gradients[k, row, 0], gradients[k, row, 1]
        square += g * g + curvature * (h * h)
    return sqrt(square)


cdef uint64_t _fill_task(
    const float[:, :, ::1] gradients, float curvature, float mu, Py_ssize_t start,
    Py_ssize_t stop, float[::1] out
) noexcept nogil:
    """Probabilities of some rows, and their sum."""
    cdef uint64_t total = 0
    cdef Py_ssize_t k, i

    memset(&out[start], 0, (stop - start) * sizeof(float))
    for k in range(gradients.shape[0]):
        _add_squares(&gradients[k, start, 0], stop - start, curvature, &out[start])
    if mu > 0.0:
        _divide(&out[start], stop - start, mu)
    else:
        for i in range(start, stop):
            out[i] = 1.0
    _sum(&out[start], stop - start, &total)
    return total


cdef simd_void _to_integers(const float* p, Py_ssize_t n, int32_t* out) noexcept nogil:
    """Probabilities as the integers that are summed."""
    cdef Py_ssize_t i

    for i in range(n):
        out[i] = _as_integer(p[i])


cdef simd_void _weigh(
    const float* p, const int32_t* drawn, Py_ssize_t n, float scale, float* out
) noexcept nogil:
    """Weights of drawn rows."""
    cdef Py_ssize_t i

    for i in range(n):
        out[i] = scale / p[drawn[i]]


cdef void _draw_task(
    const float[::1] p, uint64_t sum, uint64_t last_sum, Py_ssize_t start, float scale,
    uint32_t[::1] rows, float[::1] weights
) noexcept nogil:
    """Write those of a task's rows that are drawn, and weights, to their places."""
    cdef int32_t[TASK_ROWS] shares
    cdef int32_t[TASK_ROWS + 1] drawn
    cdef Py_ssize_t n = min(TASK_ROWS, p.shape[0] - start), place = 0, i
    cdef Py_ssize_t first = sum >> BITS, n_drawn = (last_sum >> BITS) - first

    if n_drawn == 0:
        return
    _to_integers(&p[start], n, shares)
    sum -= <uint64_t> first << BITS
    for i in range(n):
        drawn[place] = <int32_t> i  # stays if the row is drawn
        sum += shares[i]
        place = sum >> BITS
    for i in range(n_drawn):
        rows[first + i] = <uint32_t> (start + drawn[i])
    _weigh(&p[start], drawn, n_drawn, scale, &weights[first])
