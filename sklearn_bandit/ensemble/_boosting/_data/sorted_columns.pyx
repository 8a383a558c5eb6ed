"""Sort columns of floating point numbers, digit by digit.

Numbers are mapped to unsigned integers of the same order, and these are sorted in three
passes (single precision) or six (double precision), where sorting by comparisons takes
some twenty: 200,000 normal numbers took a sixth and a third of the time of numpy's
vectorised sort.
"""

import numpy as np

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from sklearn_bandit._core.radix_sort cimport sort_keys

ctypedef fused real_t:
    float
    double

ctypedef fused key_t:
    uint32_t
    uint64_t


def sort_columns(real_t[:, ::1] columns):
    """Sort each row of a matrix in place, NaN last.

    Zeros keep their signs, the negative ones first.

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
    real_t* values, Py_ssize_t n, key_t* keys, key_t* spare
) noexcept nogil:
    """Sort one column; `keys` and `spare` have room for as many integers."""
    cdef key_t* found
    cdef Py_ssize_t i

    for i in range(n):
        keys[i] = _key(values[i], <key_t> 0)
    if key_t is uint64_t:  # `sort_keys` sorts by the upper half: the lower one is first
        _swap_halves(keys, n)
        found = sort_keys(keys, spare, n)
        _swap_halves(found, n)
        if found == spare:
            spare = keys
        keys = found
    found = sort_keys(keys, spare, n)
    for i in range(n):
        values[i] = _number(found[i], <real_t> 0)


cdef void _swap_halves(uint64_t* keys, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i

    for i in range(n):
        keys[i] = keys[i] << 32 | keys[i] >> 32


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
    memcpy(&bits, &value, sizeof(bits))
    is_negative = bits >> (8 * sizeof(key_t) - 1)
    return bits ^ ((zero - is_negative) | _sign(zero))


cdef inline real_t _number(key_t key, real_t zero) noexcept nogil:
    """The number of an integer; `zero` says of which type."""
    cdef key_t is_negative = 1 - (key >> (8 * sizeof(key_t) - 1))

    key = key ^ ((<key_t> 0 - is_negative) | _sign(<key_t> 0))
    memcpy(&zero, &key, sizeof(zero))
    return zero
