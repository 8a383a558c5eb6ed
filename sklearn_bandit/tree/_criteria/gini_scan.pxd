"""The scan of a small histogram of one output by Gini: see ``gini_scan.pyx``."""

from libc.stdint cimport int32_t, uint8_t, uint16_t

from sklearn_bandit.tree._common cimport Split

cdef enum:
    # Sums of class weights fit signed 16-bit integers, their products 32 bits.
    GINI_WEIGHT = 32767


cdef bint scan_gini(
    uint16_t* cells,            # of all bins, `n_cells` numbers each
    Py_ssize_t n_cells,         # 2, 4, 8 or 16
    const uint8_t* bins,        # those to be scanned, ascending
    Py_ssize_t n_bins,
    const double* totals,       # of the node, at most GINI_WEIGHT in all
    Py_ssize_t n_classes,
    int32_t feature,
    Split* best,
) noexcept nogil
