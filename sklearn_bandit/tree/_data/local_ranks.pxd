"""Ranks for bins in a block of few rows: see ``local_ranks.pyx``."""

from libc.stdint cimport int32_t, uint8_t, uint32_t

from sklearn_bandit._core.matrix cimport Matrix
from sklearn_bandit.tree._common cimport Block

from .value_ranks cimport ValueRanks

cdef enum:
    MAX_RANKED = 255        # rows, so that their ranks fit the bins


cdef class Ranker:
    cdef object view                        # keeps the matrix alive
    cdef const Matrix* matrix               # raw values
    cdef ValueRanks ranks                   # or their ranks among all samples
    cdef Py_ssize_t stride
    cdef const uint8_t[::1] is_coarse       # features with many values in a bin
    cdef uint8_t[:, ::1] rows               # the ranks
    cdef double[:, ::1] low                 # values of the ranks, or bins, of each
    cdef double[:, ::1] high                # feature
    cdef uint32_t[::1] samples              # scratch
    cdef float[::1] raw
    cdef uint8_t[::1] order

    cdef void rank(
        self, const Block* source, const uint32_t* ids, const uint32_t* origin,
        Py_ssize_t n, const int32_t* features, Py_ssize_t n_features, Block* out,
    ) noexcept nogil
    cdef void rank_feature(self, Py_ssize_t n, int32_t feature) noexcept nogil
