"""The best split of a node: see ``splits.pyx``."""

from libc.stdint cimport uint8_t, uint32_t

cdef struct Rules:
    double min_samples_leaf
    double min_hessian          # least sum of hessians of a child
    double l2                   # regularisation; a tiny number avoids 0 / 0
    bint is_bounded             # whether there are monotonic constraints
    bint first_of_equal         # of equal thresholds, see `_scan`
    int width                   # doubles a cell; the sum of hessians is the half-th

cdef struct NodeSums:
    double n                    # rows
    double sum_g
    double sum_h
    double value                # Newton step, within the node's bounds
    double lower                # bounds of the values of the children
    double upper

cdef struct Split:
    double gain                 # decrease of the loss; below 0: there is no split
    Py_ssize_t feature
    int bin                     # last bin that goes left
    bint missing_left           # whether missing values go left
    bint is_categorical
    uint32_t[8] left_bins       # if categorical: the bins that go left, as a bit set
    double n_left
    double g_left
    double h_left
    double n_right
    double g_right
    double h_right
    double value_left
    double value_right

cdef void find_split(
    const double* cells,        # of the feature
    int n_bins,                 # missing values not counted
    bint has_missing,           # then their cell is the last
    int direction,              # monotonic constraint: -1, 0, 1
    const NodeSums* node,
    const Rules* rules,
    Split* best,
) noexcept nogil

cdef void find_categorical_split(
    const double* cells,
    int n_bins,
    bint has_missing,
    int missing_bin,            # their bit in `left_bins`
    const NodeSums* node,
    const Rules* rules,
    Split* best,
) noexcept nogil

cdef void fill_sides(
    const Split* split, int missing_bin, uint8_t* goes_left
) noexcept nogil
