"""The scan of a histogram of class weights: see ``class_scan.pyx``."""

from libc.stdint cimport int8_t, int32_t, uint16_t, uint32_t, uint64_t

from sklearn_bandit.tree._bin_sets cimport N_WORDS
from sklearn_bandit.tree._common cimport Limits, Split

# A number in a cell, and what it is summed in: short integers in `int32_t`, integers
# and real weights in double.
ctypedef fused cell_t:
    uint16_t
    int32_t
    double

ctypedef fused sum_t:
    int32_t
    double


cdef struct Scan:
    # One search along a histogram.
    Py_ssize_t n_channels
    Py_ssize_t n_cells
    Py_ssize_t n_outputs
    bint entropy
    const double* totals        # of the node
    double weight               # of the node
    const Limits* limits
    int8_t constraint
    const uint64_t* allowed     # bins after which may be split (NULL: all)
    double tie                  # relative difference of scores that are the same
    const uint32_t* sizes       # rows in each bin (NULL: not counted)
    uint64_t bins[N_WORDS]      # those to be scanned
    bint clear                  # empty the cells
    int32_t feature
    bint varies                 # out: whether two bins are occupied


cdef void scan_cells(
    cell_t* cells, sum_t* room, Scan* scan, Split* best
) noexcept nogil
