"""Quantiles for kernels: see ``_quantiles.pyx``."""

cdef enum:
    N_QUANTILES = 1024


cdef struct Quantiles:
    # Student quantiles of one error probability, computed when first needed. Degrees
    # of freedom are rounded down, which makes a radius wider, never narrower.
    double delta
    double values[N_QUANTILES]      # 0: not known yet


cpdef double normal_quantile(double delta) noexcept nogil
cpdef double student_quantile(double delta, double df) noexcept nogil

cdef void start_quantiles(Quantiles* table, double delta) noexcept nogil
cdef double tabled_quantile(Quantiles* table, double df) noexcept nogil
cdef double coarse_size(double size) noexcept nogil
