"""The scan of a histogram of weights and sums: see ``mean_scan.pyx``."""

from libc.math cimport log
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


cdef inline double squares_score(
    Py_ssize_t n_cells, const double* left, const double* totals
) noexcept nogil:
    """Score of a split by the squared error, over all outputs."""
    cdef double right, right_weight = totals[0] - left[0], score = 0.0
    cdef Py_ssize_t k

    for k in range(1, n_cells):
        right = totals[k] - left[k]
        score += left[k] * left[k] / left[0]
        score += right * right / right_weight
    return score


cdef inline double ylogy(double total, double weight) noexcept nogil:
    """``S log(S / W)``, the part of the Poisson deviance that depends on the split."""
    return total * log(total / weight) if total > 0.0 else 0.0
