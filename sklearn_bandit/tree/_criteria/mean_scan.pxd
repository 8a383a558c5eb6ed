"""The scan of a histogram of weights and sums: see ``mean_scan.pyx``."""

from libc.stdint cimport int8_t, int32_t, uint32_t, uint64_t

from sklearn_bandit.tree._bin_sets cimport N_WORDS
from sklearn_bandit.tree._common cimport Limits, Split


cdef struct Scan:
    # One search along a histogram.
    Py_ssize_t n_cells
    bint poisson
    double tie                  # relative difference of scores that are the same
    const double* totals        # of the node
    double* left                # totals left of the threshold
    const Limits* limits
    int8_t constraint
    const uint64_t* allowed     # bins after which may be split (NULL: all)
    const uint32_t* sizes       # rows in each bin (NULL: not counted)
    uint64_t bins[N_WORDS]      # those to be scanned
    int32_t feature
    bint varies                 # out: whether two bins are occupied


cdef void scan_cells(
    double* cells, Scan* scan, bint missing_left, bint has_missing, bint clear,
    Split* best,
) noexcept nogil
