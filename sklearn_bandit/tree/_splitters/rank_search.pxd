"""The best split of a feature between any two of its values: see ``rank_search.pyx``.
"""

cimport cython
from libc.stdint cimport int8_t, int32_t, uint8_t, uint16_t, uint32_t

from sklearn_bandit.tree._common cimport Block, Limits, Split
from sklearn_bandit.tree._criteria.base cimport Criterion
from sklearn_bandit.tree._data.value_ranks cimport ValueRanks

cdef enum Impurity:
    GINI
    ENTROPY
    SQUARED_ERROR
    POISSON
    ABSOLUTE_ERROR      # the criterion sorts the rows itself


cdef struct Side:
    # What goes left of a threshold.
    double* sums        # totals: class weights, or weight and sums of y
    double weight
    Py_ssize_t n_rows
    double left         # of class weights: sums of squares, or of x log x
    double right        # the same on the right


cdef struct RankTask:
    # A feature whose splits are searched in a node.
    int32_t feature
    const double* totals        # of the node
    const Limits* limits
    int8_t constraint           # of the feature: monotonic


@cython.final
cdef class RankSearch:
    cdef readonly ValueRanks ranks
    cdef Criterion criterion
    cdef Impurity impurity
    cdef Py_ssize_t n_outputs
    cdef Py_ssize_t n_cells                 # numbers in a cell that are totals
    cdef Py_ssize_t width                   # numbers in a cell
    cdef double* cells                      # totals of each bin, deviations above mean
    cdef double* before                     # totals of all bins before
    cdef double* sums                       # scratch of a `Side`
    cdef double weight                      # of the node
    cdef double centre                      # score of the node without a split
    cdef double weights[256]                # weight of each bin,
    cdef double weights_before[256]         # and of all bins before
    cdef uint32_t sizes[256]                # rows of each bin,
    cdef uint32_t sizes_before[256]         # and of all bins before
    cdef int32_t occupied[256]              # bins with rows, missing values left out
    cdef int n_occupied
    cdef uint8_t is_open[256]               # bins that may hide the best split
    cdef uint32_t* keys                     # rank and place of rows in such bins
    cdef uint32_t* spare

    cdef bint search(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, int32_t feature,
        const double* totals, const Limits* limits, int8_t constraint, Split* best,
    ) noexcept nogil
    cdef void fill(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, int32_t feature,
        const double* totals,
    ) noexcept nogil
    cdef void sum_bins(self) noexcept nogil
    cdef double weigh(self, const double* sums) noexcept nogil
    cdef void start(
        self, int32_t bin, bint missing_left, const double* totals, Side* side
    ) noexcept nogil
    cdef void measure(self, const double* totals, Side* side) noexcept nogil
    cdef void add(
        self, const Block* block, uint32_t id, const double* totals, Side* side
    ) noexcept nogil
    cdef double score(self, const double* totals, const Side* side) noexcept nogil
    cdef bint take(
        self, const RankTask* task, const Side* side, bint missing_left, Split* best
    ) noexcept nogil
    cdef void try_bins(
        self, const RankTask* task, bint by_rank, bint missing_left, Split* best
    ) noexcept nogil
    cdef double bound(
        self, int32_t bin, bint missing_left, const double* totals
    ) noexcept nogil
    cdef Py_ssize_t list_open(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, int32_t feature
    ) noexcept nogil
    cdef void try_ranks(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n_keys,
        const RankTask* task, bint missing_left, Split* best,
    ) noexcept nogil
