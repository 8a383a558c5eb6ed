"""Losses of two splits on the same sampled rows: their mean difference and its radius.

Differences vary far less than the losses themselves, so that radii of differences are
small. Each row has a weight; what a row adds to the error of the weighted mean is its
weight times how far its difference is from the mean.
"""

import numpy as np

from libc.math cimport INFINITY
from libc.stdint cimport int32_t

from sklearn_bandit.bandit._moments cimport weighted_powers
from sklearn_bandit.bandit._radii cimport (
    MIN_EFFECTIVE,
    bernstein_radius,
    effective_size,
    paired_radius,
)
from sklearn_bandit.tree._common cimport MISSING_BIN


cdef class LossComparison:
    """Compares splits with the leader on the rows of a sample.

    Parameters
    ----------
    criterion : Criterion
        Whose losses these are.
    sample : RowSample
        The rows, with the bins of the feature of the split that is compared.
    radius : {"paired", "bernstein"}
        How far a mean difference may be from that of all rows.
    """

    def __init__(self, Criterion criterion, RowSample sample, radius):
        self.criterion = criterion
        self.sample = sample
        self.bernstein = radius == "bernstein"
        if self.bernstein:
            criterion.find_bounds()
        self.totals = np.empty(criterion.n_channels)
        self.leader_loss = np.empty(sample.room)
        self.other_loss = np.empty(sample.room)
        self.row_weight = np.empty(sample.room)

    cdef void summarise(self) noexcept nogil:
        """Sum up the targets of the sample."""
        self.criterion.summarise(
            &self.sample.block, &self.sample.places[0], self.sample.n_rows,
            &self.totals[0],
        )

    cdef void leave_whole(self, Split* split, int32_t feature) noexcept nogil:
        """No split: as an arm, everything stays left."""
        cdef Py_ssize_t k

        split.feature = feature
        split.bin = MISSING_BIN
        split.next_bin = MISSING_BIN
        split.missing_left = True
        split.score = self.criterion.score(&self.totals[0])
        for k in range(self.criterion.n_channels):
            split.left[k] = self.totals[k]

    cdef void set_leader(self, const Split* split) noexcept nogil:
        """Compute the losses of the leader, whose slot the sample shows."""
        cdef Py_ssize_t i

        self.leader = split
        self.criterion.losses(
            &self.sample.block, split, &self.totals[0], &self.leader_loss[0],
            &self.row_weight[0],
        )
        self.weight = 0.0
        for i in range(self.sample.n_rows):
            self.weight += self.row_weight[i]

    cdef double compare(
        self, const Split* other, double share, double* radius
    ) noexcept nogil:
        """Mean difference of a split's losses and the leader's, and its radius.

        The sample shows the split's slot; `share` is the error probability.
        """
        cdef Py_ssize_t n = self.sample.n_rows
        cdef double mean, variance, size
        cdef double[2] sums

        self.criterion.losses(
            &self.sample.block, other, &self.totals[0], &self.other_loss[0], NULL
        )
        # The mean of the losses is the impurity of the children, which is known.
        mean = self.leader.score - other.score
        mean /= self.weight * self.criterion.n_outputs
        weighted_powers(
            &self.other_loss[0], &self.leader_loss[0], &self.row_weight[0], mean, n,
            sums,
        )
        variance = n * sums[0] / (self.weight * self.weight)
        size = effective_size(sums[0], sums[1])
        if not self.bernstein:
            radius[0] = paired_radius(variance, n, size, share)
        elif size < MIN_EFFECTIVE:
            # The bound holds for the values that the sample gives the children. Those
            # that rest on a handful of rows are not the ones that all rows would give.
            radius[0] = INFINITY
        else:
            radius[0] = bernstein_radius(
                variance,
                self.criterion.difference_range(other, self.leader, &self.totals[0])
                * n / self.weight,
                n, share,
            )
        return mean
