"""Keys sorted digit by digit.

Each digit takes a pass over the keys, and a digit that is the same in all of them takes
none. Both functions keep the order of keys that are equal, and return where the sorted
keys are: in the array that they were in, or in the spare one.
"""

from libc.string cimport memset

cdef enum:
    # Three digits of eleven bits are 32 bits, and counted at once.
    DIGIT_BITS = 11
    N_DIGITS = 3
    RADIX = 2048
    # Up to this number, keys are sorted by insertion.
    FEW_KEYS = 32


cdef sort_key_t* sort_keys(
    sort_key_t* keys, sort_key_t* spare, Py_ssize_t n, int first
) noexcept nogil:
    """Sort many keys by their bits from the `first` on."""
    cdef sort_key_t* found

    while first < 8 * <int> sizeof(sort_key_t):
        found = _sort_digits(keys, spare, n, first)
        if found == spare:
            spare = keys
        keys = found
        first += N_DIGITS * DIGIT_BITS
    return keys


cdef sort_key_t* _sort_digits(
    sort_key_t* keys, sort_key_t* spare, Py_ssize_t n, int first
) noexcept nogil:
    """Sort keys by three digits, the lowest of which begins at the `first` bit."""
    cdef uint32_t[N_DIGITS][RADIX] counts
    cdef uint32_t start, count, digit, place
    cdef sort_key_t key
    cdef sort_key_t* swap
    cdef Py_ssize_t i
    cdef int k, shift

    memset(counts, 0, sizeof(counts))
    for i in range(n):
        key = keys[i] >> first
        for k in range(N_DIGITS):
            counts[k][(key >> (k * DIGIT_BITS)) & (RADIX - 1)] += 1
    for k in range(N_DIGITS):
        shift = first + k * DIGIT_BITS
        if n == 0 or counts[k][(keys[0] >> shift) & (RADIX - 1)] == n:
            continue
        start = 0
        for i in range(RADIX):
            count = counts[k][i]
            counts[k][i] = start
            start += count
        for i in range(n):
            key = keys[i]
            digit = (key >> shift) & (RADIX - 1)
            place = counts[k][digit]
            counts[k][digit] = place + 1
            spare[place] = key
        swap = keys
        keys = spare
        spare = swap
    return keys


cdef uint32_t* sort_upper_half(
    uint32_t* keys, uint32_t* spare, Py_ssize_t n
) noexcept nogil:
    """Sort a few or some thousands of keys by their upper 16 bits.

    A few are sorted by all bits, so the lower ones have to be ascending.
    """
    cdef uint32_t starts[257]
    cdef uint32_t digit
    cdef uint32_t* swap
    cdef Py_ssize_t i
    cdef int shift

    if n <= FEW_KEYS:
        insert_keys(keys, n)
        return keys
    for shift in range(16, 32, 8):
        memset(starts, 0, sizeof(starts))
        for i in range(n):
            starts[((keys[i] >> shift) & 255) + 1] += 1
        if starts[((keys[0] >> shift) & 255) + 1] == n:
            continue
        for i in range(1, 256):
            starts[i] += starts[i - 1]
        for i in range(n):
            digit = (keys[i] >> shift) & 255
            spare[starts[digit]] = keys[i]
            starts[digit] += 1
        swap = keys
        keys = spare
        spare = swap
    return keys
