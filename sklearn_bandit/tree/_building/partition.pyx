"""A split carried out: its rows divided, and the threshold between two bins."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy

from sklearn_bandit._core.random cimport random_unit
from sklearn_bandit.tree._common cimport MISSING_BIN, UNKNOWN_BIN, bins_of


cdef Py_ssize_t partition_rows(
    const Block* block, uint32_t* ids, Py_ssize_t n, uint32_t* scratch, Split* split
) noexcept nogil:
    """Move the rows that go left to the front, keeping their order.

    Of a threshold drawn at random, the bins next to it are found on the way.
    """
    cdef Py_ssize_t i, stride = 0, n_left = 0, n_right = 0
    cdef const uint8_t* bins = bins_of(block, split.feature, &stride)
    cdef uint32_t id
    cdef int32_t bin, below = 0, above = MISSING_BIN, last = split.bin
    cdef bint goes_right, missing_left = split.missing_left
    cdef bint any_missing = split.has_missing and missing_left

    if split.next_bin == UNKNOWN_BIN:
        for i in range(n):
            id = ids[i]
            bin = bins[<Py_ssize_t> id * stride]
            goes_right = bin > last
            ids[n_left] = id
            scratch[n_right] = id
            n_left += not goes_right
            n_right += goes_right
            # Masks of all bits or none: the next side cannot be predicted.
            below = max(below, bin & (goes_right - 1))
            above = min(above, bin | (MISSING_BIN & (goes_right - 1)))
        split.bin = below
        split.next_bin = above
    else:
        for i in range(n):
            id = ids[i]
            bin = bins[<Py_ssize_t> id * stride]
            goes_right = bin > last
            if any_missing:
                goes_right &= bin != MISSING_BIN
            ids[n_left] = id
            scratch[n_right] = id
            n_left += not goes_right
            n_right += goes_right
    memcpy(ids + n_left, scratch, n_right * sizeof(uint32_t))
    return n_left


cdef double find_threshold(const Block* block, const Split* split) noexcept nogil:
    """The middle between the bins on both sides."""
    cdef Py_ssize_t first = split.feature * block.n_values
    cdef double low = block.high[first + split.bin], high, threshold

    if split.next_bin == MISSING_BIN:
        return INFINITY
    high = block.low[first + split.next_bin]
    threshold = low / 2.0 + high / 2.0
    return threshold if threshold < high else low


cdef double draw_threshold(
    const Block* block, const Split* split, bint is_listed, uint64_t* random
) noexcept nogil:
    """A random threshold between the bins on both sides.

    Given that a uniform threshold is in this gap, it is uniform in it.
    """
    cdef Py_ssize_t first = split.feature * block.n_values
    cdef double low = block.high[first + split.bin], high, threshold, edge

    if split.next_bin == MISSING_BIN:
        return INFINITY
    high = block.low[first + split.next_bin]
    threshold = low + (high - low) * random_unit(random)
    if not is_listed:
        # Not inside a bin, where there may be values that were not sampled.
        edge = block.low[first + split.bin + 1]
        threshold = max(threshold, low / 2.0 + edge / 2.0)
        edge = block.high[first + split.next_bin - 1]
        threshold = min(threshold, edge / 2.0 + high / 2.0)
    return threshold if threshold < high else low
