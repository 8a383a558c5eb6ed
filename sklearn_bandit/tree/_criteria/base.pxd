"""What a tree predicts, as its splitters see it: see ``base.pyx``."""

from libc.stdint cimport uint16_t, uint32_t

from sklearn_bandit.tree._common cimport Block, Split


cdef class Criterion:
    cdef readonly Py_ssize_t n_outputs
    cdef readonly Py_ssize_t n_channels     # numbers in the totals of a node
    cdef readonly Py_ssize_t n_values       # numbers in the prediction of a node
    cdef readonly bint has_losses           # whether the bandit can compare splits
    cdef readonly bint subtracts            # whether histograms can be subtracted
    cdef bint keeps_left                    # Split.left is right, differences are exact
    cdef double max_weight                  # of a row, if `find_bounds` was called

    # -- rows ----
    cdef int reserve_copy(self, Py_ssize_t level, Py_ssize_t n_rows) except -1
    cdef void describe(self, Block* block) noexcept nogil
    cdef void gather(
        self, Py_ssize_t level, const Block* source, const uint32_t* ids, Py_ssize_t n,
        Py_ssize_t first, Block* copy,
    ) noexcept nogil

    # -- nodes ----
    cdef void summarise(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, double* totals
    ) noexcept nogil
    cdef void add_rows(
        self, const Block* block, Py_ssize_t start, Py_ssize_t n, const uint16_t* nodes,
        double* totals,
    ) noexcept nogil
    cdef double weight(self, const double* totals) noexcept nogil
    cdef double impurity(self, const double* totals) noexcept nogil
    cdef double score(self, const double* totals) noexcept nogil
    cdef double perfect_score(self, const double* totals) noexcept nogil
    cdef double middle(self, const double* left, const double* right) noexcept nogil
    cdef void value(
        self, const double* totals, double lower, double upper, double* out
    ) noexcept nogil

    # -- the bandit's costs ----
    cdef void losses(
        self, const Block* block, const Split* split, const double* totals,
        double* loss, double* weight,
    ) noexcept nogil

    cdef double difference_range(
        self, const Split* one, const Split* other, const double* totals
    ) noexcept nogil
