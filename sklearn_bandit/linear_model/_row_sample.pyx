"""Atoms and signals at random rows.

Rows are drawn in portions: the rows that one round of an elimination adds. Each portion
is as large as all before it together. The entries of a column at the rows of a portion
are read when they are first needed, and kept: all targets and steps see the same rows.
"""

import numpy as np

from cython cimport floating
from libc.stdlib cimport free
from libc.string cimport memset

from sklearn_bandit._core.memory cimport allocate, times
from sklearn_bandit._core.random cimport random_unit
from sklearn_bandit._core.simd cimport prefetch_l2, simd_void

# Rows of the first portion. Measured on SimpleSong of one minute, sampled coefficients:
# 1.2 ms with 256, where each row is in a page of its own, 1.0 with 512 or 1,024.
cdef enum:
    FIRST = 512

FIRST_ROWS = FIRST

# Distance of the prefetch, in entries: each is in a cache line of its own. Measured on
# 48 columns of 2.6 million rows, nanoseconds an entry, at 1,024 / 4,096 rows: 11 / 8
# without a prefetch, 9 / 8.5 with one to the first-level cache at any distance, 6 / 3
# to the second level at this distance (5.5 at 32 and 4 at 64, for 1,024 rows).
cdef Py_ssize_t AHEAD = 128


cdef class RowSample:
    """Columns at random rows: the cost does not depend on the number of rows.

    Columns have numbers: atoms first, then signals.

    Parameters
    ----------
    atoms : ndarray of shape (n_atoms, n_samples)
        The atoms, in C order.
    signals : ndarray of shape (n_targets, n_samples)
        The signals, in C order and of the atoms' type.
    seed : int
        Seed of the draws.
    """

    def __cinit__(self, atoms, signals, uint64_t seed):
        self.is_double = atoms.dtype == np.float64
        if self.is_double:
            self.atoms = _address[double](atoms)
            self.signals = _address[double](signals)
        else:
            self.atoms = _address[float](atoms)
            self.signals = _address[float](signals)
        self.n_atoms, self.n_samples = atoms.shape
        self.n_columns = self.n_atoms + len(signals)
        self.n_portions = 0
        self.n_rows = 0
        self.state = seed
        self.is_finite = True
        self.owners = atoms, signals

    def __dealloc__(self):
        cdef Py_ssize_t p

        for p in range(self.n_portions):
            free(self.portions[p].rows)

    cdef int draw(self, Py_ssize_t n_portions) except -1:
        """Draw rows until there are `n_portions` portions."""
        cdef Py_ssize_t size
        cdef Portion* portion

        while self.n_portions < n_portions:
            portion = &self.portions[self.n_portions]
            size = first_rows(self.n_portions + 1) - self.n_rows
            # Rows, values, residual and flags are in one block. The operating system
            # maps only the pages that are written to. The flags fit into one row.
            portion.rows = <Py_ssize_t*> allocate(
                size + 1, times(self.n_columns + 2, sizeof(double))
            )
            if portion.rows == NULL:
                raise MemoryError("No memory for a sample of the rows.")
            portion.size = size
            portion.residual = <double*> (portion.rows + size)
            portion.values = portion.residual + size
            portion.is_known = <unsigned char*> (
                portion.values + self.n_columns * size
            )
            memset(portion.is_known, 0, self.n_columns)
            self._draw_rows(portion)
            self.n_portions += 1
            self.n_rows += size
        return 0

    cdef void _draw_rows(self, Portion* portion) noexcept nogil:
        """Draw one row from each of `size` equal parts of all rows.

        They come in the order of memory. Differences between the parts make such means
        vary less than those of independent rows, which the radii assume.
        """
        cdef Py_ssize_t j, row
        cdef double width = <double> self.n_samples / portion.size

        for j in range(portion.size):
            row = <Py_ssize_t> (width * (j + random_unit(&self.state)))
            portion.rows[j] = min(row, self.n_samples - 1)

    cdef void read(self, Py_ssize_t p, Py_ssize_t column) noexcept nogil:
        """Read a column at the rows of a portion, unless it is known there."""
        cdef Portion* portion = &self.portions[p]
        cdef const void* block = self.atoms
        cdef Py_ssize_t row = column
        cdef bint is_finite

        if portion.is_known[column]:
            return
        if column >= self.n_atoms:
            block = self.signals
            row = column - self.n_atoms
        if self.is_double:
            is_finite = _gather(
                <const double*> block + row * self.n_samples, portion.rows,
                portion.size, portion.values + column * portion.size,
            )
        else:
            is_finite = _gather(
                <const float*> block + row * self.n_samples, portion.rows,
                portion.size, portion.values + column * portion.size,
            )
        portion.is_known[column] = 1
        if not is_finite:
            self.is_finite = False

    cdef double product(
        self, Py_ssize_t column, Py_ssize_t other, Py_ssize_t n_portions
    ) noexcept nogil:
        """Inner product of two columns over the rows of the first portions."""
        cdef double total = 0.0
        cdef Py_ssize_t p, size

        for p in range(n_portions):
            size = self.portions[p].size
            self.read(p, column)
            self.read(p, other)
            add_products(
                self.portions[p].values + column * size,
                self.portions[p].values + other * size, size, &total,
            )
        return total

    cdef double mean(self, Py_ssize_t column, Py_ssize_t n_portions) noexcept nogil:
        """Mean of a column over the rows of the first portions."""
        cdef double total = 0.0
        cdef Py_ssize_t p, size

        for p in range(n_portions):
            size = self.portions[p].size
            self.read(p, column)
            _add(self.portions[p].values + column * size, size, &total)
        return total / first_rows(n_portions)


cdef Py_ssize_t first_rows(Py_ssize_t n_portions) noexcept nogil:
    """Rows of the first portions."""
    cdef Py_ssize_t n_rows = 0, _p

    for _p in range(n_portions):
        n_rows += max(n_rows, FIRST)
    return n_rows


cdef Py_ssize_t portions_within(Py_ssize_t n_rows) noexcept nogil:
    """Largest number of portions with at most `n_rows` rows."""
    cdef Py_ssize_t n_portions = 0

    while n_portions < MAX_PORTIONS and first_rows(n_portions + 1) <= n_rows:
        n_portions += 1
    return n_portions


cdef Py_ssize_t portions_for(Py_ssize_t n_rows) noexcept nogil:
    """Smallest number of portions with at least `n_rows` rows."""
    cdef Py_ssize_t n_portions = portions_within(n_rows)

    return n_portions + (first_rows(n_portions) < n_rows)


cdef const void* _address(const floating[:, ::1] array) noexcept:
    return &array[0, 0]


cdef bint _gather(
    const floating* entries, const Py_ssize_t* rows, Py_ssize_t n, double* out
) noexcept nogil:
    """Take entries at some rows; return whether all are finite."""
    cdef Py_ssize_t j, n_ahead = min(AHEAD, n)
    cdef double check = 0.0

    for j in range(n_ahead):
        prefetch_l2(entries + rows[j])
    for j in range(n - n_ahead):
        prefetch_l2(entries + rows[j + n_ahead])
        out[j] = entries[rows[j]]
        check += 0.0 * out[j]
    for j in range(n - n_ahead, n):
        out[j] = entries[rows[j]]
        check += 0.0 * out[j]
    return check == 0.0


cdef simd_void add_products(
    const double* column, const double* other, Py_ssize_t n, double* total
) noexcept nogil:
    """Add an inner product."""
    cdef Py_ssize_t j
    cdef double sum_1 = 0.0

    for j in range(n):
        sum_1 += column[j] * other[j]
    total[0] += sum_1


cdef simd_void _add(const double* column, Py_ssize_t n, double* total) noexcept nogil:
    cdef Py_ssize_t j
    cdef double sum_1 = 0.0

    for j in range(n):
        sum_1 += column[j]
    total[0] += sum_1
