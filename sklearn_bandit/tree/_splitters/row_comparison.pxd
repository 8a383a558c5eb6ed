"""Which features vary among rows: see ``row_comparison.pyx``."""

from libc.stdint cimport int32_t, uint8_t, uint32_t

from sklearn_bandit.tree._common cimport Block


cdef void find_varying(
    const Block* block,         # copied rows
    const uint32_t* ids,
    Py_ssize_t n,
    uint8_t* out,               # of each feature: 0 if it does not vary
) noexcept nogil

cdef void find_all_ranges(
    const Block* block,         # copied rows
    const uint32_t* ids,
    Py_ssize_t n,
    uint8_t* smallest,          # bin of each feature
    uint8_t* largest,
) noexcept nogil

cdef void find_range(
    const Block* block, const uint32_t* ids, Py_ssize_t n, int32_t feature,
    uint8_t* smallest,          # bin of the feature
    uint8_t* largest,
) noexcept nogil

cdef bint is_constant(
    const uint8_t* column, const uint32_t* ids, Py_ssize_t n
) noexcept nogil
