"""Scales by powers of two, so that squares and their sums stay in range."""

import numpy as np

# Between these, squares and sums of squares neither over- nor underflow: not even the
# square of a difference in the last digit.
SAFE_RANGE = {
    np.dtype(np.float32): (1e-9, 1e15),
    np.dtype(np.float64): (1e-120, 1e120),
}

# Exponents of scales: their inverses are finite and not zero.
MAX_EXPONENT = 1000


def power_of_two(size, exponent=0):
    """Return the power of two that brings ``size * 2**exponent`` into [1/2, 1)."""
    if not size > 0:
        return 1.0
    return scale_of(exponent + int(np.frexp(size)[1]))


def scale_of(exponent):
    """Return the scale of numbers that have this exponent."""
    return 2.0 ** -min(max(exponent, -MAX_EXPONENT), MAX_EXPONENT)


def out_of_range(*arrays):
    """Return the exponent of the largest entry if squares are out of range, else 0."""
    largest = max(max(float(x.max()), -float(x.min())) for x in arrays)
    low, high = SAFE_RANGE[np.result_type(*arrays, np.float32)]
    return 0 if largest == 0 or low < largest < high else int(np.frexp(largest)[1])


def root_mean_square(values):
    """Return the root of the mean square, which is in range if the values are."""
    largest = float(np.abs(values).max(initial=0.0))
    if largest == 0:
        return 0.0
    return largest * np.sqrt(np.mean(np.square(values / largest, dtype=np.float64)))
