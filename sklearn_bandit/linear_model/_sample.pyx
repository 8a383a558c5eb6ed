"""Atoms and signals at random rows, and the race of the atoms on them.

Rows are drawn in portions, each as large as all before it. What a column holds at the
rows of a portion is read when it is first needed, and kept: all targets and steps see
the same rows.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from cython cimport floating
from libc.math cimport INFINITY, fabs, floor, frexp, ldexp

from sklearn_bandit._simd cimport simd_void
from sklearn_bandit.bandit._arms cimport eliminate
from sklearn_bandit.bandit._radii cimport (
    Quantiles,
    effective_size,
    split_delta,
    start_quantiles,
    tabled_paired_radius,
)

# Rows of the first portion. Half or twice as many, or portions that grow more slowly,
# make no difference (measured: SimpleSong).
cdef enum:
    FIRST = 256
    MAX_PORTIONS = 40

FIRST_ROWS = FIRST


cdef struct Portion:
    Py_ssize_t size
    const Py_ssize_t* rows
    double* values                  # one row of `size` a column, where known
    unsigned char* is_known         # one flag a column
    double* residual                # of the signal, in the present race


cdef class Sample:
    """Columns at random rows, drawn with replacement: their number does not matter.

    A column is known by its number: atoms first, then signals.

    Parameters
    ----------
    atoms : ndarray of shape (n_atoms, n_samples)
        The atoms, in C order.
    signals : ndarray of shape (n_targets, n_samples)
        The signals, in C order and of the atoms' type.
    rng : Generator
        Draws the rows.
    """

    cdef Portion portions[MAX_PORTIONS]
    cdef Py_ssize_t n_portions
    cdef Py_ssize_t n_rows          # of all portions together
    cdef Py_ssize_t n_samples
    cdef Py_ssize_t n_atoms
    cdef Py_ssize_t n_columns
    cdef const void* atoms
    cdef const void* signals
    cdef bint is_double
    cdef Quantiles quantiles        # of the last error probability
    cdef object rng
    cdef list owners                # keeps what the pointers point into

    def __cinit__(self, atoms, signals, rng):
        self.is_double = atoms.dtype == np.float64
        self.atoms = _address(atoms, self.is_double)
        self.signals = _address(signals, self.is_double)
        self.n_atoms, self.n_samples = atoms.shape
        self.n_columns = self.n_atoms + len(signals)
        self.n_portions = 0
        self.n_rows = 0
        self.rng = rng
        start_quantiles(&self.quantiles, 0.0)
        self.owners = [atoms, signals]

    def products(self, Py_ssize_t column, const Py_ssize_t[::1] others, Py_ssize_t n):
        """Inner products of a column with others over the first `n` rows drawn.

        Parameters
        ----------
        column : int
            Number of the column.
        others : ndarray of intp
            Numbers of the others.
        n : int
            Number of rows.

        Returns
        -------
        ndarray of shape (n_others,)
            The inner products.
        """
        cdef Py_ssize_t i, p = 0, size, n_left = n
        cdef Portion* portion
        totals = np.zeros(others.shape[0])
        cdef double[::1] out = totals

        while n_left > 0:
            if p == self.n_portions:
                self._draw()
            portion = &self.portions[p]
            size = min(portion.size, n_left)
            self._read(p, column)
            for i in range(others.shape[0]):
                self._read(p, others[i])
                _add_products(
                    portion.values + others[i] * portion.size,
                    portion.values + column * portion.size, size, &out[i],
                )
            n_left -= size
            p += 1
        return totals

    def mean(self, Py_ssize_t column, Py_ssize_t n):
        """Mean of a column over the first `n` rows drawn."""
        cdef Py_ssize_t j, p = 0, size, n_left = n
        cdef Portion* portion
        cdef double total = 0.0

        while n_left > 0:
            if p == self.n_portions:
                self._draw()
            portion = &self.portions[p]
            size = min(portion.size, n_left)
            self._read(p, column)
            for j in range(size):
                total += portion.values[column * portion.size + j]
            n_left -= size
            p += 1
        return total / n

    def race(
        self,
        const Py_ssize_t[::1] candidates,
        Py_ssize_t signal,
        const Py_ssize_t[::1] support,
        const double[::1] coefs,
        double constant,
        double delta,
        Py_ssize_t limit,
    ):
        """Drop atoms whose inner product with the residual is surely not the largest.

        In absolute value: an atom is two arms, one for each sign, and falls when both
        are surely worse than another arm.

        Parameters
        ----------
        candidates : ndarray of intp
            The atoms that take part.
        signal : int
            Number of the signal's column.
        support : ndarray of intp
            Atoms whose shares are taken from the signal to get the residual.
        coefs : ndarray of shape (n_support,)
            Their coefficients.
        constant : float
            What is taken from the signal beside.
        delta : float
            Error probability.
        limit : int
            Rows that may be sampled at most.

        Returns
        -------
        left : ndarray of intp
            The atoms that did not fall.
        best : int
            That of the largest inner product so far.
        n_products : int
            Products of entries of atoms with entries of the residual.
        """
        cdef Py_ssize_t i, pivot = 0, n_round = 0, n_used = 0, n_products = 0
        cdef Py_ssize_t n = candidates.shape[0], n_alive = n
        left = np.array(candidates)
        cdef Py_ssize_t[::1] alive = left
        cdef Py_ssize_t[::1] kept = np.empty(n, dtype=np.intp)
        cdef double[:, ::1] work = np.zeros((4, n))
        cdef double* total = &work[0, 0]
        cdef double* mean = &work[1, 0]
        cdef double* radius = &work[2, 0]
        cdef Portion* portion

        # An error probability, and so quantiles, that all races have in common.
        delta = split_delta(delta, 2 * self.n_atoms, 1, _n_rounds(limit))
        if delta != self.quantiles.delta:
            start_quantiles(&self.quantiles, delta)
        while n_alive > 1 and n_used + _next_size(n_used) <= limit:
            if n_round == self.n_portions:
                self._draw()
            PyErr_CheckSignals()
            with nogil:
                portion = &self.portions[n_round]
                self._fill_residual(n_round, signal, support, coefs, constant)
                for i in range(n_alive):
                    self._read(n_round, alive[i])
                    _add_products(
                        portion.values + alive[i] * portion.size, portion.residual,
                        portion.size, &total[i],
                    )
                n_products += n_alive * portion.size
                n_used += portion.size
                n_round += 1

                pivot = 0
                for i in range(1, n_alive):
                    if fabs(total[i]) > fabs(total[pivot]):
                        pivot = i
                for i in range(n_alive):
                    mean[i] = radius[i] = 0.0
                    if i != pivot:
                        self._compare(
                            alive[i], alive[pivot], total[i], total[pivot], n_round,
                            n_used, &mean[i], &radius[i],
                        )
                n_alive = eliminate(
                    mean, radius, &alive[0], n_alive, 1, &pivot, &kept[0], &work[3, 0]
                )
                for i in range(n_alive):
                    total[i] = total[kept[i]]
        return left[:n_alive], int(alive[pivot]), n_products

    cdef void _compare(
        self,
        Py_ssize_t column,
        Py_ssize_t pivot,
        double total,
        double pivot_total,
        Py_ssize_t n_portions,
        Py_ssize_t n_used,
        double* mean,
        double* radius,
    ) noexcept nogil:
        """Mean difference to the pivot and its radius, for the nearer of both signs."""
        cdef double own = 1.0 if pivot_total >= 0.0 else -1.0, sums[4]
        cdef double centres[2]
        cdef double width
        cdef Py_ssize_t p, i
        cdef Portion* portion

        centres[0] = own * (pivot_total - total) / n_used
        centres[1] = own * (pivot_total + total) / n_used
        sums[0] = sums[1] = sums[2] = sums[3] = 0.0
        for p in range(n_portions):
            portion = &self.portions[p]
            _add_powers(
                portion.values + pivot * portion.size,
                portion.values + column * portion.size,
                portion.residual, own, centres, portion.size, sums,
            )
        for i in range(2):
            width = tabled_paired_radius(
                &self.quantiles, sums[2 * i] / (n_used - 1), n_used,
                _coarse(effective_size(sums[2 * i], sums[2 * i + 1])), INFINITY,
            )
            if i == 0 or centres[i] - width < mean[0] - radius[0]:
                mean[0] = centres[i]
                radius[0] = width

    cdef void _fill_residual(
        self,
        Py_ssize_t p,
        Py_ssize_t signal,
        const Py_ssize_t[::1] support,
        const double[::1] coefs,
        double constant,
    ) noexcept nogil:
        """What is left of a signal at the rows of a portion."""
        cdef Portion* portion = &self.portions[p]
        cdef Py_ssize_t i, j

        self._read(p, signal)
        for j in range(portion.size):
            portion.residual[j] = portion.values[signal * portion.size + j] - constant
        for i in range(support.shape[0]):
            self._read(p, support[i])
            _subtract(
                portion.values + support[i] * portion.size, coefs[i], portion.size,
                portion.residual,
            )

    cdef int _draw(self) except -1:
        """Draw one more portion of rows."""
        cdef Py_ssize_t size = _next_size(self.n_rows)
        # Sorted, to be read in the order of memory, but only within a portion: at the
        # end of any portion, what was drawn so far is a random sample.
        drawn = self.rng.integers(0, self.n_samples, size=size, dtype=np.intp)
        drawn.sort()
        values = np.empty((self.n_columns + 1, size))
        flags = np.zeros(self.n_columns, dtype=np.uint8)
        cdef const Py_ssize_t[::1] rows = drawn
        cdef double[:, ::1] value_view = values
        cdef unsigned char[::1] is_known = flags
        cdef Portion* portion = &self.portions[self.n_portions]

        portion.size = size
        portion.rows = &rows[0]
        portion.values = &value_view[0, 0]
        portion.is_known = &is_known[0]
        portion.residual = &value_view[self.n_columns, 0]
        self.owners += [drawn, values, flags]
        self.n_portions += 1
        self.n_rows += size
        return 0

    cdef void _read(self, Py_ssize_t p, Py_ssize_t column) noexcept nogil:
        """Read a column at the rows of a portion, unless it is known there."""
        cdef Portion* portion = &self.portions[p]
        cdef const void* block = self.atoms
        cdef Py_ssize_t row = column

        if portion.is_known[column]:
            return
        if column >= self.n_atoms:
            block = self.signals
            row = column - self.n_atoms
        if self.is_double:
            _gather(
                <const double*> block + row * self.n_samples, portion.rows,
                portion.size, portion.values + column * portion.size,
            )
        else:
            _gather(
                <const float*> block + row * self.n_samples, portion.rows,
                portion.size, portion.values + column * portion.size,
            )
        portion.is_known[column] = 1


cdef inline Py_ssize_t _next_size(Py_ssize_t n_rows) noexcept nogil:
    """Rows of the portion that follows so many."""
    return max(n_rows, FIRST)


cdef Py_ssize_t _n_rounds(Py_ssize_t limit) noexcept nogil:
    """Portions that fit into so many rows."""
    cdef Py_ssize_t n_rows = 0, n_rounds = 0

    while n_rows + _next_size(n_rows) <= limit:
        n_rows += _next_size(n_rows)
        n_rounds += 1
    return n_rounds


cdef double _coarse(double size) noexcept nogil:
    """An effective size, rounded down to a quarter of a power of two.

    A quantile takes microseconds to compute. This makes radii wider by a few per cent,
    and one or two quantiles serve all atoms.
    """
    cdef int exponent
    cdef double mantissa = frexp(size, &exponent)

    return ldexp(floor(8.0 * mantissa) / 8.0, exponent)


cdef const void* _address(array, bint is_double) except? NULL:
    """Where a C-ordered array of the right type begins."""
    cdef const float[:, ::1] singles
    cdef const double[:, ::1] doubles

    if is_double:
        doubles = array
        return &doubles[0, 0]
    singles = array
    return &singles[0, 0]


cdef void _gather(
    const floating* entries, const Py_ssize_t* rows, Py_ssize_t n, double* out
) noexcept nogil:
    """Entries at some rows; so many misses keep the memory busy without prefetching."""
    cdef Py_ssize_t j

    for j in range(n):
        out[j] = entries[rows[j]]


cdef simd_void _subtract(
    const double* column, double coef, Py_ssize_t n, double* residual
) noexcept nogil:
    cdef Py_ssize_t j

    for j in range(n):
        residual[j] -= coef * column[j]


cdef simd_void _add_products(
    const double* column, const double* residual, Py_ssize_t n, double* total
) noexcept nogil:
    cdef Py_ssize_t j
    cdef double sum_1 = 0.0

    for j in range(n):
        sum_1 += column[j] * residual[j]
    total[0] += sum_1


cdef simd_void _add_powers(
    const double* pivot,
    const double* column,
    const double* residual,
    double own,
    const double* centres,
    Py_ssize_t n,
    double* sums,
) noexcept nogil:
    """Add the second and fourth powers of centred differences, for both signs.

    `own` is the pivot's sign. The atom's is the same first, and then the other one.
    """
    cdef Py_ssize_t j
    cdef double factor, gap, square, same = centres[0], other = centres[1]
    cdef double same_2 = 0.0, same_4 = 0.0, other_2 = 0.0, other_4 = 0.0

    for j in range(n):
        factor = own * residual[j]
        gap = factor * (pivot[j] - column[j]) - same
        square = gap * gap
        same_2 += square
        same_4 += square * square
        gap = factor * (pivot[j] + column[j]) - other
        square = gap * gap
        other_2 += square
        other_4 += square * square
    sums[0] += same_2
    sums[1] += same_4
    sums[2] += other_2
    sums[3] += other_4
