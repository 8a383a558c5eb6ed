"""Sets of bins: a bit for each of the N_SLOTS, in four words."""

from libc.stdint cimport int32_t, uint8_t, uint64_t
from libc.string cimport memset

from sklearn_bandit._core.simd cimport lowest_bit, top_bits_16
from sklearn_bandit.tree._common cimport MISSING_BIN, N_SLOTS

cdef enum:
    N_WORDS = 4


cdef inline bint has_bin(const uint64_t* bins, int bin) noexcept nogil:
    return (bins[bin >> 6] >> (bin & 63)) & 1


cdef inline void add_bin(uint64_t* bins, int bin) noexcept nogil:
    bins[bin >> 6] |= (<uint64_t> 1) << (bin & 63)


cdef inline void drop_bin(uint64_t* bins, int bin) noexcept nogil:
    bins[bin >> 6] &= ~((<uint64_t> 1) << (bin & 63))


cdef inline int take_bin(uint64_t* bits, int word) noexcept nogil:
    """Take the smallest bin out of what is left of a word."""
    cdef int bin = 64 * (word if word < N_WORDS else N_WORDS - 1) + lowest_bit(bits[0])

    bits[0] &= bits[0] - 1
    return bin


cdef inline uint64_t present_bins(const uint64_t* bins, int word) noexcept nogil:
    """A word of a set without the bin of missing values."""
    if word < N_WORDS - 1:
        return bins[word]
    return bins[word] & ~((<uint64_t> 1) << (MISSING_BIN & 63))


cdef inline uint64_t scan_word(
    const uint64_t* bins, int word, bint missing_last
) noexcept nogil:
    """A word of a set in the order of a scan, which has one more: missing values."""
    if word < N_WORDS:
        return present_bins(bins, word)
    return (<uint64_t> missing_last) << (MISSING_BIN & 63)


cdef inline void first_bins(int32_t n_bins, uint64_t* out) noexcept nogil:
    """The bins 0 to n_bins - 1 and the missing one."""
    cdef int word

    for word in range(N_WORDS):
        if n_bins >= 64 * (word + 1):
            out[word] = ~<uint64_t> 0
        elif n_bins <= 64 * word:
            out[word] = 0
        else:
            out[word] = ((<uint64_t> 1) << (n_bins - 64 * word)) - 1
    add_bin(out, MISSING_BIN)


cdef inline void read_marks(
    uint8_t* marks, bint clear, uint64_t* bins
) noexcept nogil:
    """The bins that are marked."""
    cdef int word, i

    for word in range(N_WORDS):
        bins[word] = 0
        for i in range(4):
            bins[word] |= top_bits_16(marks + 64 * word + 16 * i) << (16 * i)
    if clear:
        memset(marks, 0, N_SLOTS)


cdef inline void keep_highest(uint64_t* bins, int last) noexcept nogil:
    """Keep only the highest bin that is not above `last`."""
    cdef int word = last >> 6
    cdef uint64_t bits = bins[word] & (~<uint64_t> 0 >> (63 - (last & 63)))

    while bits == 0 and word > 0:
        word -= 1
        bits = bins[word]
    while bits & (bits - 1):
        bits &= bits - 1
    memset(bins, 0, N_WORDS * sizeof(uint64_t))
    bins[word] = bits
