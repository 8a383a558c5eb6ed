"""Rows of an array that are equal: found by hashes, and compared."""

import numpy as np

from cython cimport floating
from cython.parallel cimport prange
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    # Bits of half a hash.
    HALF = 32


def hash_rows(
    const floating[:, ::1] X, const Py_ssize_t[::1] rows, int n_threads
):
    """Return a hash of 64 bits of some rows; equal rows have equal hashes.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Finite values.
    rows : ndarray of shape (n_rows,)
        Which rows.
    n_threads : int
        OpenMP threads.

    Returns
    -------
    ndarray of shape (n_rows,)
        The hashes. Negative zeros count as zeros.
    """
    cdef Py_ssize_t i, n = rows.shape[0], d = X.shape[1]
    cdef uint64_t[::1] out = np.empty(n, dtype=np.uint64)

    for i in prange(n, nogil=True, schedule="static", num_threads=n_threads):
        out[i] = _hash(&X[rows[i], 0], d)
    return out.base


cdef inline uint64_t _hash(const floating* x, Py_ssize_t d) noexcept nogil:
    cdef Py_ssize_t t
    cdef uint64_t bits, state = <uint64_t> d
    cdef uint32_t short_bits
    for t in range(d):
        # A zero of either sign has no other bits than that of the sign. It is told by
        # bits: the compiler may ignore the sign of a zero.
        if floating is float:
            memcpy(&short_bits, x + t, sizeof(float))
            bits = short_bits if short_bits << 1 else 0
        else:
            memcpy(&bits, x + t, sizeof(double))
            bits = bits if bits << 1 else 0
        state = _mixed(state ^ bits)
    return state


cdef inline uint64_t _mixed(uint64_t bits) noexcept nogil:
    """Multiply by an odd constant, that of the golden ratio, and fold the halves."""
    bits *= <uint64_t> 0x9E3779B97F4A7C15
    return bits ^ (bits >> HALF)


def n_different(
    const floating[:, ::1] X,
    const Py_ssize_t[::1] rows,
    const Py_ssize_t[::1] others,
    int n_threads,
):
    """Return how many rows differ from the other that is given for each.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The values.
    rows, others : ndarray of shape (n_rows,)
        Pairs of rows.
    n_threads : int
        OpenMP threads.
    """
    cdef Py_ssize_t i, n = rows.shape[0], d = X.shape[1], count = 0

    for i in prange(n, nogil=True, schedule="static", num_threads=n_threads):
        count += _differ(&X[rows[i], 0], &X[others[i], 0], d)
    return count


cdef inline bint _differ(
    const floating* x, const floating* y, Py_ssize_t d
) noexcept nogil:
    cdef Py_ssize_t t
    for t in range(d):
        if x[t] != y[t]:
            return True
    return False
