"""Gradients and hessians of a sample: see ``sampled_pairs.pyx``."""

from libc.stdint cimport uint32_t, uint64_t

cdef enum:
    # Bits of the number of rows and of the sum of hessians in a packed cell; the other
    # 27 have the sum of gradients, with its sign.
    COUNT_BITS = 14
    HESSIAN_BITS = 23
    # Rows whose sums fit these bits.
    MAX_PACKED_ROWS = (1 << 14) - 1


cdef class SampledPairs:
    """Weighted gradients and hessians of the rows of a sample."""

    cdef readonly bint is_packed
    cdef readonly double step_g         # gradients are whole multiples of it, if packed
    cdef readonly double step_h         # hessians likewise
    cdef Py_ssize_t n
    cdef float[:, ::1] room             # for pairs
    cdef uint64_t[::1] packed_room
    cdef double[:, ::1] extremes        # of each task, see `_weigh`

    cdef int fill(
        self,
        const float[:, ::1] gradients,
        const uint32_t[::1] rows,
        const float[::1] weights,
        uint64_t seed,
        int n_threads,
    ) except -1

    cdef bint _choose_steps(self, Py_ssize_t n_tasks)
