"""The search for the best split of a node: see ``exact.pyx``."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from sklearn_bandit.tree._common cimport MAX_GROUP, Block, Cut, Limits, Split
from sklearn_bandit.tree._criteria.base cimport Criterion
from sklearn_bandit.tree._criteria.histograms cimport Histograms

from .rank_search cimport RankSearch

cdef enum Outcome:
    FOUND           # the best split of all rows
    SAMPLED         # a split chosen on a sample: the children's totals are not known
    NOTHING         # no split respects the limits
    OUT_OF_BUDGET       # the budget does not allow the search
    UNDECIDED       # there are too few rows to tell


cdef struct Group:
    # Features that are searched together.
    Py_ssize_t n
    int32_t features[MAX_GROUP]


cdef class Splitter:
    cdef Criterion criterion
    cdef Histograms histograms
    cdef Py_ssize_t n_features
    cdef Py_ssize_t max_features            # varying features to look at in a node
    cdef Py_ssize_t n_thresholds            # random thresholds per feature; 0: all
    cdef const int32_t[::1] n_bins
    cdef const int8_t[::1] constraints      # monotonic, per feature
    cdef int32_t[::1] features              # all features, known constants in front
    cdef uint8_t[::1] differences           # scratch: which features vary among rows
    cdef uint8_t[::1] smallest              # scratch: range of the bins in a node
    cdef uint8_t[::1] largest
    cdef uint64_t random                    # state of the random numbers
    cdef Py_ssize_t n_sets                  # sets of histograms of all features
    cdef Py_ssize_t first_set               # slot in which they begin
    cdef Py_ssize_t[::1] free_sets          # those that no node has: all cells are 0
    cdef Py_ssize_t n_free
    cdef Py_ssize_t set                     # that of the node to search; -1: none
    cdef Py_ssize_t min_rows                # a node of this many rows may be sampled
    cdef readonly RankSearch rank_search    # None: bins tell all values apart
    cdef readonly Py_ssize_t n_sampled_nodes    # whose split a sample has chosen
    cdef readonly int64_t n_insertions
    cdef int64_t max_insertions

    cdef Outcome search(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits, Py_ssize_t* n_constant, Split* best,
    ) noexcept nogil
    cdef Outcome search_exactly(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits, Py_ssize_t* n_constant, Split* best,
    ) noexcept nogil
    cdef Outcome search_features(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits, Py_ssize_t* n_constant, Split* best,
    ) noexcept nogil
    cdef void search_histograms(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, const Group* group,
        const double* totals, const Limits* limits, uint8_t* varies, Split* best,
    ) noexcept nogil
    cdef bint search_ranks(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, int32_t feature,
        bint is_first, const double* totals, const Limits* limits, Split* best,
    ) noexcept nogil
    cdef Py_ssize_t take_set(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n
    ) noexcept nogil
    cdef void release_set(self, Py_ssize_t set) noexcept nogil
    cdef object save_set(self, Py_ssize_t set)
    cdef Py_ssize_t restore_set(self, saved) except -2
    cdef void subtract_set(self, Py_ssize_t part, Py_ssize_t whole) noexcept nogil
    cdef void draw_group(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, Py_ssize_t n_most,
        Py_ssize_t* place, Py_ssize_t* n_constant, Group* group,
    ) noexcept nogil
    cdef bint compares(
        self, const Block* block, Py_ssize_t n, Py_ssize_t n_left
    ) noexcept nogil
    cdef Py_ssize_t set_slot(self, Py_ssize_t set) noexcept nogil
    cdef bint is_tiny(self, Py_ssize_t n, const Limits* limits) noexcept nogil
    cdef Outcome search_tiny(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits, Py_ssize_t* n_constant, Split* best,
    ) noexcept nogil
    cdef Outcome search_random(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        const double* totals, const Limits* limits, Py_ssize_t* n_constant, Split* best,
    ) noexcept nogil
    cdef bint scan(
        self, const Block* block, Py_ssize_t slot, int32_t feature, int kind,
        const double* totals, const Limits* limits, bint clear, Split* best,
    ) noexcept nogil
    cdef bint scan_allowed(
        self, Py_ssize_t slot, int32_t feature, int kind, const double* totals,
        const Limits* limits, const uint64_t* allowed, bint clear, Split* best,
    ) noexcept nogil
    cdef void find_constants(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n,
        Py_ssize_t* n_constant,
    ) noexcept nogil
    cdef void draw(self, Py_ssize_t first, Py_ssize_t n_drawn) noexcept nogil
    cdef void set_aside(self, Py_ssize_t place, Py_ssize_t* n_constant) noexcept nogil
    cdef bint can_pay(self, int64_t n_insertions) noexcept nogil
