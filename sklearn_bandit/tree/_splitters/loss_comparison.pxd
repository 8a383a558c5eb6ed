"""Losses of two splits on a sample, row by row: see ``loss_comparison.pyx``."""

from libc.stdint cimport int32_t

from sklearn_bandit.tree._common cimport Split
from sklearn_bandit.tree._criteria.base cimport Criterion

from .row_sample cimport RowSample


cdef class LossComparison:
    cdef Criterion criterion
    cdef RowSample sample
    cdef bint bernstein             # radii for losses of a known range
    cdef const Split* leader
    cdef double[::1] totals         # of the sample
    cdef double[::1] leader_loss
    cdef double[::1] other_loss
    cdef double[::1] row_weight
    cdef double weight              # of all rows of the sample

    cdef void summarise(self) noexcept nogil
    cdef void leave_whole(self, Split* split, int32_t feature) noexcept nogil
    cdef void set_leader(self, const Split* split) noexcept nogil
    cdef double compare(
        self, const Split* other, double share, double* radius
    ) noexcept nogil
