"""Rows that are searched together: see ``_segment.pyx``."""

from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int32_t, uint8_t

from ._encode cimport Space

cdef extern from "kernels.h":
    enum:
        SKB_N_STATS
        SKB_RESIDUAL
        SKB_SIZE
        SKB_N_DIFFERENCE_STATS
    ctypedef struct QueryBytes "skb_query":
        const int8_t* high
        const int8_t* low
        int32_t n_words
        int32_t sum_high
        int32_t sum_low
        float unit
        float bias
        float residual
        float size
        float constant
        float outside
    ctypedef struct Kernels "skb_kernels":
        const char* name
        void (*scan_one)(
            const uint8_t*, const float*, ptrdiff_t, const QueryBytes*, float*
        ) noexcept nogil
        void (*scan_group)(
            const uint8_t*, const float*, ptrdiff_t, const QueryBytes*, float*,
            ptrdiff_t,
        ) noexcept nogil
        float (*scan_row)(
            const uint8_t*, const float*, const QueryBytes*
        ) noexcept nogil
        void (*scan_differences)(
            const uint8_t*, const float*, ptrdiff_t, const QueryBytes*, float*
        ) noexcept nogil
        ptrdiff_t (*select)(
            const float*, const float*, ptrdiff_t, float, float, int32_t*
        ) noexcept nogil
        void (*squares[2])(
            const void*, const double*, ptrdiff_t, double*
        ) noexcept nogil
        void (*products[2])(
            const void*, const double*, ptrdiff_t, double*
        ) noexcept nogil
        void (*absolutes[2])(
            const void*, const double*, ptrdiff_t, double*
        ) noexcept nogil
    const Kernels* kernels_of "skb_kernels_of"(const char*) noexcept nogil

# The first features of rotated rows, searched before the others.
cdef struct Head:
    Py_ssize_t width            # number of features, a multiple of four
    const uint8_t* codes        # by block and word
    const float* stats
    const float* tails          # norms of what the head leaves out
    const float* basis          # (width, n_features): the rotation
    const double* steps
    double ratio                # if not 0, how much of a distance the head may hold
    double error                # of the rotation, relative to the norm of a row

# What kernels know of a segment.
cdef struct Rows:
    const void* rows            # the user's, of float or double
    bint is_double
    bint by_row                 # codes are contiguous by row, because there is a head
    bint has_no_bounds          # too many features: every row is computed
    int metric
    int n_stats
    Py_ssize_t n
    Py_ssize_t n_features
    Py_ssize_t width            # codes of a row
    Py_ssize_t first            # position of the first row in the index
    double unit
    const double* centre
    const double* direction
    const double* steps
    const uint8_t* codes
    const float* stats
    double max_bias             # largest part along the centre
    double max_norm             # of centred rows, in units
    double max_row              # of rows, in units
    Head head


cdef class Segment:
    cdef Rows data
    cdef readonly object rows, codes, stats, head, limits
    cdef readonly Space space
    cdef readonly Py_ssize_t first

    cdef void _set_head(self, head) except *
