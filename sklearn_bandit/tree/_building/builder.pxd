"""Growing one tree: see ``builder.pyx``."""

from libc.stdint cimport uint8_t, uint32_t

from sklearn_bandit._core.interrupts cimport Interrupts
from sklearn_bandit.tree._common cimport Block, Limits, Split
from sklearn_bandit.tree._criteria.base cimport Criterion
from sklearn_bandit.tree._splitters.exact cimport Outcome, Splitter

from .node_buffer cimport NodeBuffer, NodeRecord
from .node_stack cimport Pending

cdef enum:
    # Levels of blocks: all samples, copied rows, copied rows with ranks for bins.
    ALL_ROWS = 0
    COPIED = 1
    RANKED = 2


cdef class Builder:
    cdef Splitter splitter
    cdef Criterion criterion
    cdef Block blocks[3]                    # by levels, see above
    cdef const uint8_t[:, ::1] rows
    cdef const uint8_t[:, ::1] columns
    cdef const double[:, ::1] low
    cdef const double[:, ::1] high
    cdef const uint8_t[::1] is_listed
    cdef uint32_t[::1] ids
    cdef uint32_t[::1] scratch_ids
    cdef Py_ssize_t max_depth
    cdef Py_ssize_t min_samples_split
    cdef double min_impurity_decrease
    cdef Limits limits
    cdef double root_weight
    cdef NodeBuffer buffer
    cdef NodeRecord* nodes                  # these two are the buffer's
    cdef double* values
    cdef Py_ssize_t n_nodes
    cdef readonly Py_ssize_t depth
    cdef double* work                       # WORK_TOTALS totals: see `builder.pyx`
    cdef Split split
    cdef Interrupts interrupts

    cdef int describe_samples(self) except -1
    cdef int grow_nodes(self) noexcept nogil
    cdef bint is_interrupted(self, Py_ssize_t n) noexcept nogil
    cdef void start_root(self, Pending* node) noexcept nogil
    cdef bint is_leaf(
        self, Py_ssize_t id, const Pending* node, const double* totals
    ) noexcept nogil
    cdef Py_ssize_t split_node(
        self, Pending* node, double* totals, double* left, double* right
    ) noexcept nogil
    cdef double improvement(
        self, const double* totals, const double* left, const double* right
    ) noexcept nogil
    cdef void summarise_children(
        self, const Block* block, const uint32_t* ids, Py_ssize_t n, Py_ssize_t n_left,
        Outcome outcome, const double* totals, double* left, double* right,
    ) noexcept nogil
    cdef bint is_valid(
        self, Py_ssize_t n, Py_ssize_t n_left, const double* left, const double* right
    ) noexcept nogil
    cdef Py_ssize_t partition(
        self, const Block* block, uint32_t* ids, Py_ssize_t n
    ) noexcept nogil
    cdef void bound(
        self, Pending* child, const Pending* node, double middle
    ) noexcept nogil
    cdef Py_ssize_t add_node(
        self, const Pending* node, const double* totals
    ) noexcept nogil
    cdef void set_split(
        self, Py_ssize_t id, Py_ssize_t n_left, Py_ssize_t n, const Block* block
    ) noexcept nogil
