"""Thresholds drawn at random, moved to where bins can be told apart.

A threshold is uniform between the smallest and the largest value in a node. One that
falls inside a bin moves to the nearer of its edges.
"""

from libc.string cimport memcpy, memset

from sklearn_bandit._core.random cimport random_unit
from sklearn_bandit.tree._bin_sets cimport (
    N_WORDS,
    add_bin,
    has_bin,
    present_bins,
    take_bin,
)
from sklearn_bandit.tree._common cimport MISSING_BIN, N_SLOTS


cdef uint8_t draw_cut(
    const Block* block, int32_t feature, uint8_t smallest, uint8_t largest,
    uint64_t* random,
) noexcept nogil:
    """Draw a threshold between two bins; returns the last bin on its left."""
    cdef const double* low = block.low + feature * block.n_values
    cdef const double* high = block.high + feature * block.n_values
    cdef double threshold = low[smallest] + random_unit(random) * (
        high[largest] - low[smallest]
    )
    cdef int last = smallest, n_more = largest - 1 - smallest, half
    cdef double middle

    # The last bin whose middle is not above the threshold. Which half that is cannot be
    # predicted, so there is no branch.
    while n_more > 0:
        half = (n_more + 1) >> 1
        middle = low[last + half] + high[last + half]
        last += half if middle <= 2.0 * threshold else 0
        n_more -= half
    return <uint8_t> last


cdef void draw_thresholds(
    const Block* block, int32_t feature, Py_ssize_t n_thresholds, uint64_t* random,
    uint64_t* bins,
) noexcept nogil:
    """Replace the occupied bins by those after which random thresholds fall."""
    cdef const double* low = block.low + feature * block.n_values
    cdef const double* high = block.high + feature * block.n_values
    cdef uint64_t chosen[N_WORDS]
    cdef int32_t occupied[N_SLOTS]
    cdef int n_occupied = 0, word, i, first, last, middle
    cdef uint64_t bits
    cdef double threshold
    cdef Py_ssize_t _k

    memset(chosen, 0, sizeof(chosen))
    for word in range(N_WORDS):
        bits = present_bins(bins, word)
        while bits:
            occupied[n_occupied] = take_bin(&bits, word)
            n_occupied += 1
    if n_occupied:
        for _k in range(n_thresholds):
            threshold = low[occupied[0]] + random_unit(random) * (
                high[occupied[n_occupied - 1]] - low[occupied[0]]
            )
            first = 0
            last = max(n_occupied - 2, 0)
            while first < last:
                middle = (first + last + 1) // 2
                i = occupied[middle]
                if 0.5 * (low[i] + high[i]) <= threshold:
                    first = middle
                else:
                    last = middle - 1
            add_bin(chosen, occupied[first])
        # "All others on the left, missing ones on the right" is always tried.
        if has_bin(bins, MISSING_BIN):
            add_bin(chosen, occupied[n_occupied - 1])
    memcpy(bins, chosen, sizeof(chosen))
