"""Regression by means: squared error and Poisson deviance.

The y are centred first, so that sums of squares lose no digits to a large mean.
"""

import numpy as np

from libc.math cimport INFINITY, log
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.string cimport memset

from sklearn_bandit.tree._common cimport MISSING_BIN, Block, Split

from .moments cimport MomentCriterion
from .scores cimport ylogy

from .mean_histograms import MeanHistograms

cdef extern from "regression.h":
    void sum_moments "skb_sum_moments"(     # weights, sums and squares of one output
        const double* moments, const uint32_t* ids, Py_ssize_t n, double* out
    ) noexcept nogil


# Relative rounding error of an impurity.
cdef double ROUNDING = 1e-14


cdef class RegressionCriterion(MomentCriterion):
    """Real targets with weights, predicted by their mean.

    Totals of a node are its weight, the weighted sum of each output and, for the
    impurity, the weighted sum of squares (squared error) or of ``y log y`` (Poisson)
    over all outputs.

    Parameters
    ----------
    moments : ndarray of shape (n_samples, 1 + n_outputs), float64
        Weight of each sample, and weight times y less `shift`.
    shift : ndarray of shape (n_outputs,), float64
        What was subtracted from y: its mean, or 0 for the Poisson deviance.
    poisson : bool
        Half Poisson deviance instead of the squared error.
    integral : bool
        Whether all weights are integers.
    """

    cdef const double[::1] shift
    cdef bint poisson
    cdef double[:, ::1] bounds              # smallest and largest y of each output

    def __init__(self, moments, shift, poisson, integral):
        MomentCriterion.__init__(self, moments)
        self.shift = shift
        self.poisson = poisson
        self.has_losses = True
        self.subtracts = integral and not poisson

    def make_histograms(self, n_slots, n_bins, count_rows):
        """Make the histograms of a splitter; see `Criterion.make_histograms`."""
        return MeanHistograms(self, n_slots, n_bins, count_rows, self.poisson)

    # -- nodes ----

    cdef void summarise(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, double* totals
    ) noexcept nogil:
        cdef Py_ssize_t i

        memset(totals, 0, self.n_channels * sizeof(double))
        if self.n_moments == 2 and not self.poisson:
            sum_moments(block.moments, ids, n, totals)
            return
        for i in range(n):
            add_moments(
                block.moments + <Py_ssize_t> ids[i] * self.n_moments, self.n_moments,
                self.poisson, totals,
            )

    cdef void add_rows(
        self, const Block* block, Py_ssize_t start, Py_ssize_t n, const uint16_t* nodes,
        double* totals,
    ) noexcept nogil:
        cdef Py_ssize_t i

        for i in range(n):
            add_moments(
                block.moments + (start + i) * self.n_moments, self.n_moments,
                self.poisson, totals + nodes[i] * self.n_channels,
            )

    cdef double score(self, const double* totals) noexcept nogil:
        cdef double score = 0.0
        cdef Py_ssize_t k

        for k in range(1, self.n_moments):
            if self.poisson:
                score += ylogy(totals[k], totals[0])
            else:
                score += totals[k] * totals[k] / totals[0]
        return score

    cdef double perfect_score(self, const double* totals) noexcept nogil:
        if self.poisson:
            return INFINITY
        return (1.0 - ROUNDING) * totals[self.n_moments]

    cdef double impurity(self, const double* totals) noexcept nogil:
        cdef double loss

        if self.n_moments == 2 and not self.poisson:
            loss = totals[2] - totals[1] * totals[1] / totals[0]
        else:
            loss = totals[self.n_moments] - self.score(totals)

        # What rounding leaves of a constant y is no impurity.
        if loss <= ROUNDING * totals[self.n_moments]:
            return 0.0
        return loss / (totals[0] * self.n_outputs)

    cdef double middle(self, const double* left, const double* right) noexcept nogil:
        return 0.5 * (left[1] / left[0] + right[1] / right[0])

    cdef void value(
        self, const double* totals, double lower, double upper, double* out
    ) noexcept nogil:
        cdef Py_ssize_t k

        for k in range(self.n_outputs):
            out[k] = totals[k + 1] / totals[0]
        if self.n_outputs == 1:
            out[0] = min(max(out[0], lower), upper)
        for k in range(self.n_outputs):
            out[k] += self.shift[k]

    # -- the bandit's costs ----

    def find_bounds(self):
        moments = np.asarray(self.moments)
        used = moments[:, 0] > 0.0
        y = moments[used, 1:] / moments[used, :1]
        self.max_weight = moments[:, 0].max()
        self.bounds = np.ascontiguousarray([y.min(axis=0), y.max(axis=0)])

    cdef double difference_range(
        self, const Split* one, const Split* other, const double* totals
    ) noexcept nogil:
        cdef double smallest = INFINITY, largest = -INFINITY, first, second, low, high
        cdef Py_ssize_t side, k

        for side in range(4):
            # A split that leaves a node whole has no right side.
            if (side & 1 and one.left[0] >= totals[0]) or (
                side & 2 and other.left[0] >= totals[0]
            ):
                continue
            low = 0.0
            high = 0.0
            for k in range(1, self.n_moments):
                # Linear in y: extreme where y is.
                first = self.difference(one, other, totals, side, k, 0)
                second = self.difference(one, other, totals, side, k, 1)
                low += min(first, second)
                high += max(first, second)
            smallest = min(smallest, low)
            largest = max(largest, high)
        return self.max_weight * (largest - smallest) / self.n_outputs

    cdef double difference(
        self, const Split* one, const Split* other, const double* totals,
        Py_ssize_t side, Py_ssize_t k, Py_ssize_t end,
    ) noexcept nogil:
        """Difference of the losses of an output at one end of its range.

        The first bit of `side` says on which side of the one split, the second of the
        other.
        """
        cdef double y = self.bounds[end, k - 1]
        cdef double mean = one.left[k] / one.left[0], other_mean = other.left[k]

        if side & 1:
            mean = (totals[k] - one.left[k]) / (totals[0] - one.left[0])
        other_mean /= other.left[0]
        if side & 2:
            other_mean = (totals[k] - other.left[k]) / (totals[0] - other.left[0])
        if self.poisson:
            if mean <= 0.0 or other_mean <= 0.0:
                return INFINITY if end else -INFINITY
            return mean - other_mean - y * (log(mean) - log(other_mean))
        return (mean - other_mean) * (mean + other_mean - 2.0 * y)

    cdef void losses(
        self, const Block* block, const Split* split, const double* totals,
        double* loss, double* weight,
    ) noexcept nogil:
        cdef Py_ssize_t i, k, n_moments = self.n_moments, n = block.n_rows
        cdef const double* moment
        cdef double mean, y, right_weight = totals[0] - split.left[0]
        cdef uint8_t bin
        cdef bint goes_left

        for i in range(n):
            moment = block.moments + i * n_moments
            bin = block.columns[i]
            goes_left = bin <= split.bin
            if bin == MISSING_BIN:
                goes_left = split.missing_left
            loss[i] = 0.0
            for k in range(1, n_moments):
                if goes_left:
                    mean = split.left[k] / split.left[0]
                else:
                    mean = (totals[k] - split.left[k]) / right_weight
                y = moment[k] / moment[0]
                if self.poisson:
                    loss[i] += mean - y * log(mean)
                else:
                    loss[i] += (y - mean) * (y - mean)
            loss[i] /= self.n_outputs
        if weight != NULL:
            for i in range(n):
                weight[i] = block.moments[i * n_moments]


cdef inline void add_moments(
    const double* moments, Py_ssize_t n_moments, bint poisson, double* totals
) noexcept nogil:
    """Add a row to the totals of a node."""
    cdef Py_ssize_t k

    totals[0] += moments[0]
    for k in range(1, n_moments):
        totals[k] += moments[k]
        if poisson:
            totals[n_moments] += ylogy(moments[k], moments[0])
        else:
            totals[n_moments] += moments[k] * moments[k] / moments[0]
