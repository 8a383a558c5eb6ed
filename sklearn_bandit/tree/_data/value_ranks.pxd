"""Ranks of values that share a bin: see ``value_ranks.pyx``."""

from libc.stdint cimport int32_t, uint16_t, uint32_t

from sklearn_bandit.tree._common cimport Block, Split


cdef class ValueRanks:
    cdef const uint16_t[:, ::1] ranks       # of all samples, for each column
    cdef const int32_t[::1] columns         # that of each feature; -1: none is needed
    cdef const float[:, ::1] low            # smallest and largest value of each rank,
    cdef const float[:, ::1] high           # for each column
    cdef const int32_t[:, ::1] last         # the last rank of each bin, for each column

    cdef void describe(self, Block* block) noexcept nogil
    cdef float low_value(self, int32_t feature, int32_t rank) noexcept nogil
    cdef float high_value(self, int32_t feature, int32_t rank) noexcept nogil
    cdef double threshold(self, const Split* split) noexcept nogil
    cdef Py_ssize_t partition(
        self, const Block* block, uint32_t* ids, Py_ssize_t n, uint32_t* scratch,
        Split* split,
    ) noexcept nogil


cdef inline bint holds_several(const int32_t* last, int32_t bin) noexcept nogil:
    """Whether a bin has several ranks; `last` are the last ones of all bins."""
    cdef int32_t before = bin - 1

    while before >= 0 and last[before] < 0:
        before -= 1
    return last[bin] > (last[before] + 1 if before >= 0 else 0)
