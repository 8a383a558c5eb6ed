"""Keys sorted digit by digit: see ``radix_sort.pyx``."""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

# Sorted by their upper 32 bits; what is below goes along.
ctypedef fused sort_key_t:
    uint32_t
    uint64_t


cdef inline uint32_t key_of_float(float value) noexcept nogil:
    """A key whose order is that of the values, none of which is NaN."""
    cdef uint32_t bits

    memcpy(&bits, &value, sizeof(bits))
    if bits == 0x80000000U:  # -0 is 0
        bits = 0
    # Negative numbers are reversed.
    return ~bits if bits >> 31 else bits | 0x80000000U


cdef inline float float_of_key(uint32_t key) noexcept nogil:
    """The value that has a key."""
    cdef uint32_t bits = key & 0x7FFFFFFFU if key >> 31 else ~key
    cdef float value

    memcpy(&value, &bits, sizeof(bits))
    return value


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
) noexcept nogil

cdef uint32_t* sort_upper_half(
    uint32_t* keys,             # sorted by their upper 16 bits
    uint32_t* spare,            # room for as many keys
    Py_ssize_t n,
) noexcept nogil
