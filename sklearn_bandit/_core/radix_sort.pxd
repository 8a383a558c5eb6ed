"""Keys sorted digit by digit: see ``radix_sort.pyx``."""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

# Keys, and numbers of the same size that have one.
ctypedef fused sort_key_t:
    uint32_t
    uint64_t

ctypedef fused number_t:
    float
    double


cdef inline void to_key(number_t number, sort_key_t* key) noexcept nogil:
    """Set the key of a number, in whose order the keys are; NaN has none.

    Signs are no branches, which would be mispredicted.
    """
    cdef int sign = 8 * <int> sizeof(sort_key_t) - 1
    cdef sort_key_t bits, is_negative

    memcpy(&bits, &number, sizeof(bits))
    if bits == <sort_key_t> 1 << sign:  # -0 is 0
        bits = 0
    is_negative = bits >> sign
    # All bits of negative numbers are turned, of others the sign.
    key[0] = bits ^ (<sort_key_t> 1 << sign | (<sort_key_t> 0 - is_negative))


cdef inline void from_key(sort_key_t key, number_t* number) noexcept nogil:
    """Set a number to the one that has a key; the largest key is that of a NaN."""
    cdef int sign = 8 * <int> sizeof(sort_key_t) - 1
    cdef sort_key_t is_negative = 1 - (key >> sign)

    key = key ^ (<sort_key_t> 1 << sign | (<sort_key_t> 0 - is_negative))
    memcpy(number, &key, sizeof(key))


cdef inline void insert_keys(sort_key_t* keys, Py_ssize_t n) noexcept nogil:
    """Sort a few keys, or nearly sorted ones, in place, by insertion."""
    cdef Py_ssize_t i, place
    cdef sort_key_t key

    for i in range(1, n):
        key = keys[i]
        place = i
        while place > 0 and keys[place - 1] > key:
            keys[place] = keys[place - 1]
            place -= 1
        keys[place] = key


cdef sort_key_t* sort_keys(
    sort_key_t* keys,
    sort_key_t* spare,          # room for as many keys
    Py_ssize_t n,
    int first,                  # the lowest bit that counts; those below go along
) noexcept nogil

cdef uint32_t* sort_upper_half(
    uint32_t* keys,             # sorted by their upper 16 bits
    uint32_t* spare,            # room for as many keys
    Py_ssize_t n,
) noexcept nogil
