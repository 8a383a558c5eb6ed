"""Sums that do not depend on where the data are cut."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

# Bits of the mantissa of a double, and of the halves that it is summed in: so short
# that sums of 2^26 of them are exact in double precision.
MANTISSA_BITS = 53
HALF_BITS = 27
MAX_VALUES = 1 << 26


def exact_sum(values: np.ndarray) -> Fraction | float:
    """Sum numbers without rounding.

    Parameters
    ----------
    values : ndarray of float64
        The numbers.

    Returns
    -------
    Fraction or float
        The sum; a float if it is not finite.
    """
    values = np.ravel(values)
    if len(values) > MAX_VALUES:
        parts = range(0, len(values), MAX_VALUES)
        return add_sums([exact_sum(values[i : i + MAX_VALUES]) for i in parts])
    if len(values) == 0:
        return Fraction(0)
    total = float(values.sum())
    if not np.isfinite(total):
        return total
    mantissas, exponents = np.frexp(values)
    mantissas = np.ldexp(mantissas, MANTISSA_BITS).astype(np.int64)
    lowest = int(exponents.min())
    places = exponents - lowest
    high = np.bincount(places, weights=mantissas >> HALF_BITS)
    low = np.bincount(places, weights=mantissas & ((1 << HALF_BITS) - 1))
    whole = 0
    for place in range(len(high)):
        whole += ((int(high[place]) << HALF_BITS) + int(low[place])) << place
    return whole * Fraction(2) ** (lowest - MANTISSA_BITS)


def add_sums(sums: list[Fraction | float]) -> Fraction | float:
    """Add sums that `exact_sum` returned."""
    floats = [value for value in sums if isinstance(value, float)]
    return sum(floats) if floats else sum(sums, Fraction(0))
