"""Histograms of some features of a node: see ``histograms.pyx``."""

from libc.stdint cimport int8_t, int32_t, uint8_t, uint32_t, uint64_t

from sklearn_bandit._core.interrupts cimport Interrupts
from sklearn_bandit.tree._common cimport Block, Cut, Limits, ScanRequest, Split

from .base cimport Criterion


cdef class Histograms:
    cdef Criterion criterion
    cdef const int32_t[::1] n_bins          # of each feature
    cdef bint divides                       # whether cuts need no histogram
    cdef Py_ssize_t sparse_rows             # most rows whose histograms are SPARSE
    cdef Py_ssize_t tiny_rows               # most rows of a tiny node; 0: none is
    cdef Py_ssize_t tiny_group              # most features searched there at once
    cdef const Limits* tiny_limits          # of the tiny node that was loaded
    cdef double tie                         # relative rounding error of a score
    cdef double[:, ::1] lefts               # scratch: totals left of the cuts
    cdef uint32_t* sizes                    # rows in each cell (NULL: not wanted)
    cdef Interrupts interrupts              # of the builder

    # -- one histogram ----
    cdef int choose_kind(self, Py_ssize_t n, const double* totals) noexcept nogil
    cdef bint is_small(self, const double* totals) noexcept nogil
    cdef bint is_small_sample(self, Py_ssize_t n) noexcept nogil
    cdef void fill(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_features, Py_ssize_t slot, int kind,
    ) noexcept nogil
    cdef void count_rows(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const int32_t* features, Py_ssize_t n_features, Py_ssize_t slot,
    ) noexcept nogil
    cdef bint scan(
        self, Py_ssize_t slot, int kind, const ScanRequest* request, Split* best
    ) noexcept nogil
    cdef void find_occupied(
        self, Py_ssize_t slot, int kind, int32_t feature, uint64_t* out
    ) noexcept nogil
    cdef void clear(self, Py_ssize_t slot, int kind) noexcept nogil
    cdef void subtract(self, Py_ssize_t part, Py_ssize_t whole) noexcept nogil
    cdef uint8_t* find_cells(self, Py_ssize_t slot) noexcept nogil
    cdef Py_ssize_t histogram_bytes(self) noexcept nogil

    # -- thresholds drawn beforehand ----
    cdef void try_cuts(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, Cut* cuts,
        Py_ssize_t n_cuts, const double* totals, const Limits* limits, Split* best,
    ) noexcept nogil
    cdef void scan_cuts(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, const Cut* cuts,
        Py_ssize_t n_cuts, const double* totals, const Limits* limits, Split* best,
    ) noexcept nogil
    cdef void divide(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, Cut* cuts,
        Py_ssize_t n_cuts, const double* totals,
    ) noexcept nogil
    cdef void count_left(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, Cut* cut
    ) noexcept nogil

    # -- tiny nodes, without histograms ----
    cdef void load_tiny(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits,
    ) noexcept nogil
    cdef int search_tiny(
        self, const int32_t* features, Py_ssize_t n_features, uint8_t* varies,
        Split* best,
    ) noexcept nogil


cdef inline bint is_allowed(
    const Limits* limits,
    int8_t constraint,
    double weight_left,
    double weight_right,
    Py_ssize_t n_left,
    double value_left,
    double value_right,
) noexcept nogil:
    """Whether a split that is the best so far respects the limits."""
    if weight_left < limits.min_weight_leaf or weight_right < limits.min_weight_leaf:
        return False
    if limits.min_samples_leaf > 1 and (
        n_left < limits.min_samples_leaf
        or limits.n_rows - n_left < limits.min_samples_leaf
    ):
        return False
    # As in scikit-learn, splits of unconstrained features may leave the bounds (and the
    # children's values are clipped).
    if limits.monotonic and constraint != 0:
        return (
            limits.lower <= value_left <= limits.upper
            and limits.lower <= value_right <= limits.upper
            and (value_left - value_right) * constraint <= 0.0
        )
    return True
