"""Sort columns of floating point numbers, digit by digit.

A number is mapped to an unsigned integer of the same order. These are sorted by their
lowest digit, then by the next one, and so on; each sort keeps the order of the one
before. That is three passes over a column of single precision and six of double
precision, where sorting by comparisons takes some twenty: 200,000 normal numbers took a
sixth and a quarter of the time of numpy's vectorised sort.
"""

import numpy as np

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy, memset

cdef enum:
    DIGIT_BITS = 11
    N_VALUES = 1 << DIGIT_BITS  # of a digit
    MAX_DIGITS = 6              # of 64 bits; 32 bits have three

ctypedef fused real_t:
    float
    double

ctypedef fused key_t:
    uint32_t
    uint64_t


def sort_columns(real_t[:, ::1] columns):
    """Sort each row of a matrix in place, NaN last.

    The sign of zeros is lost.

    Parameters
    ----------
    columns : ndarray of float32 or float64 of shape (n_columns, n_values)
        The columns to sort, each contiguous.
    """
    cdef Py_ssize_t n = columns.shape[1], column
    cdef uint32_t[:, ::1] keys
    cdef uint64_t[:, ::1] long_keys

    if n == 0:
        return
    if real_t is float:
        keys = np.empty((2, n), dtype=np.uint32)
    else:
        long_keys = np.empty((2, n), dtype=np.uint64)
    with nogil:
        for column in range(columns.shape[0]):
            if real_t is float:
                _sort(&columns[column, 0], n, &keys[0, 0], &keys[1, 0])
            else:
                _sort(&columns[column, 0], n, &long_keys[0, 0], &long_keys[1, 0])


cdef void _sort(
    real_t* values, Py_ssize_t n, key_t* keys, key_t* others
) noexcept nogil:
    """Sort one column; `keys` and `others` have room for as many integers."""
    cdef uint32_t[MAX_DIGITS * N_VALUES] places
    cdef uint32_t* place
    cdef key_t* sorted_keys
    cdef key_t key
    cdef Py_ssize_t i
    cdef int n_digits = 3 if key_t is uint32_t else MAX_DIGITS, digit, value

    memset(places, 0, n_digits * N_VALUES * sizeof(uint32_t))
    for i in range(n):
        key = _key(values[i], <key_t> 0)
        keys[i] = key
        for digit in range(n_digits):
            value = (key >> (digit * DIGIT_BITS)) & (N_VALUES - 1)
            places[digit * N_VALUES + value] += 1
    for digit in range(n_digits):
        place = &places[digit * N_VALUES]
        value = (keys[0] >> (digit * DIGIT_BITS)) & (N_VALUES - 1)
        if place[value] == n:
            continue  # all have the same
        _sum_before(place)
        for i in range(n):
            key = keys[i]
            value = (key >> (digit * DIGIT_BITS)) & (N_VALUES - 1)
            others[place[value]] = key
            place[value] += 1
        sorted_keys = others
        others = keys
        keys = sorted_keys
    for i in range(n):
        values[i] = _number(keys[i], <real_t> 0)


cdef void _sum_before(uint32_t* counts) noexcept nogil:
    """Replace the count of each value of a digit by the sum of those before."""
    cdef uint32_t total = 0, count
    cdef Py_ssize_t i

    for i in range(N_VALUES):
        count = counts[i]
        counts[i] = total
        total += count


cdef inline key_t _sign(key_t zero) noexcept nogil:
    """The bit that negative numbers have; `zero` says of how many."""
    return (zero + 1) << (8 * sizeof(key_t) - 1)


cdef inline key_t _key(real_t value, key_t zero) noexcept nogil:
    """The integer of a number: all bits of negative ones are turned, else the sign.

    That of a missing value is the largest. Signs are no branches, which would be
    mispredicted.
    """
    cdef key_t bits, is_negative

    if value != value:
        return ~zero
    value = value + <real_t> 0  # no negative zeros
    memcpy(&bits, &value, sizeof(bits))
    is_negative = bits >> (8 * sizeof(key_t) - 1)
    return bits ^ ((zero - is_negative) | _sign(zero))


cdef inline real_t _number(key_t key, real_t zero) noexcept nogil:
    """The number of an integer; `zero` says of which type."""
    cdef key_t is_negative = 1 - (key >> (8 * sizeof(key_t) - 1))

    key = key ^ ((<key_t> 0 - is_negative) | _sign(<key_t> 0))
    memcpy(&zero, &key, sizeof(zero))
    return zero
