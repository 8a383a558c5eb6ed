"""The scan of a histogram of one real output: see ``squared_error_scan.pyx``."""

from libc.stdint cimport int32_t, uint64_t

from sklearn_bandit.tree._common cimport Split


cdef bint scan_means(
    double* cells, const uint64_t* bins, const double* totals, int32_t feature,
    double tie, bint clear, Split* best,
) noexcept nogil
