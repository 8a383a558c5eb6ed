"""Rows as bytes: see ``_encode.pyx``."""

cdef enum:
    EUCLIDEAN = 0
    COSINE = 1
    INNER_PRODUCT = 2
    MANHATTAN = 3


cdef class Space:
    cdef readonly int metric            # one of the above
    cdef readonly double unit           # a power of two, about the size of a row
    cdef readonly object centre_array, direction_array, steps_array
    cdef const double[::1] centre       # what is subtracted from a (normalised) row
    cdef const double[::1] direction    # the centre, of norm one (or zero)
    cdef const double[::1] steps        # of each feature, in units
    cdef const double[::1] inverse_steps
