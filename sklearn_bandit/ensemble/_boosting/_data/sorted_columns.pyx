"""Sort columns of floating point numbers, digit by digit.

Numbers are mapped to unsigned integers of the same order, and these are sorted in three
passes (single precision) or six (double precision), where sorting by comparisons takes
some twenty: 200,000 normal numbers took a sixth and a third of the time of numpy's
vectorised sort.
"""

import numpy as np

from libc.stdint cimport uint32_t, uint64_t

from sklearn_bandit._core.radix_sort cimport (
    from_key, number_t, sort_key_t, sort_keys, to_key
)


def sort_columns(number_t[:, ::1] columns):
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
    if number_t is float:
        keys = np.empty((2, n), dtype=np.uint32)
    else:
        long_keys = np.empty((2, n), dtype=np.uint64)
    with nogil:
        for column in range(columns.shape[0]):
            if number_t is float:
                _sort(&columns[column, 0], n, &keys[0, 0], &keys[1, 0])
            else:
                _sort(&columns[column, 0], n, &long_keys[0, 0], &long_keys[1, 0])


cdef void _sort(
    number_t* numbers, Py_ssize_t n, sort_key_t* keys, sort_key_t* spare
) noexcept nogil:
    """Sort one column; `keys` and `spare` have room for as many integers."""
    cdef Py_ssize_t i

    for i in range(n):
        if numbers[i] == numbers[i]:
            to_key(numbers[i], &keys[i])
        else:
            keys[i] = ~<sort_key_t> 0
    keys = sort_keys(keys, spare, n, 0)
    for i in range(n):
        from_key(keys[i], &numbers[i])
