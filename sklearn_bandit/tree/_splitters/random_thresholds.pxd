"""Thresholds drawn at random: see ``random_thresholds.pyx``."""

from libc.stdint cimport int32_t, uint8_t, uint64_t

from sklearn_bandit.tree._common cimport Block


cdef uint8_t draw_cut(
    const Block* block,
    int32_t feature,
    uint8_t smallest,           # bin of the feature in the node
    uint8_t largest,
    uint64_t* random,           # state of the random numbers
) noexcept nogil

cdef void draw_thresholds(
    const Block* block,
    int32_t feature,
    Py_ssize_t n_thresholds,
    uint64_t* random,
    uint64_t* bins,             # bitmap: those occupied; out: those chosen
) noexcept nogil
