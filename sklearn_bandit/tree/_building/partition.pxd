"""A split carried out: see ``partition.pyx``."""

from libc.stdint cimport uint32_t, uint64_t

from sklearn_bandit.tree._common cimport Block, Split


cdef Py_ssize_t partition_rows(
    const Block* block,
    uint32_t* ids,              # rows of the node
    Py_ssize_t n,
    uint32_t* scratch,          # room for n
    Split* split,               # by bins, not by ranks
) noexcept nogil

cdef double find_threshold(const Block* block, const Split* split) noexcept nogil

cdef double draw_threshold(
    const Block* block,
    const Split* split,
    bint is_listed,             # whether each value of the feature has its own bin
    uint64_t* random,           # state of the random numbers
) noexcept nogil
