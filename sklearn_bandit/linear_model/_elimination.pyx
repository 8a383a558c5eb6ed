"""The race of the atoms on a sample of the rows, and pursuits by races alone."""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, NAN, fabs, floor, frexp, isnan, ldexp

from sklearn_bandit._core.simd cimport simd_void
from sklearn_bandit.bandit._arms cimport eliminate
from sklearn_bandit.bandit._radii cimport (
    Quantiles,
    effective_size,
    split_delta,
    start_quantiles,
    tabled_paired_radius,
)

from ._coefficients cimport Fit
from ._row_sample cimport (
    Portion,
    Sample,
    add_products,
    first_rows,
    portions_for,
    portions_within,
)


cdef class Race:
    """Comparison of atoms on a sample.

    Parameters
    ----------
    sample : Sample
        The sample.
    centred : bool
        Whether columns are taken relative to their means.
    """

    cdef Sample sample
    cdef bint centred
    cdef readonly Py_ssize_t n_multiplied   # products of entries, in all races
    cdef Quantiles quantiles                # of the last error probability
    cdef Py_ssize_t[::1] alive              # the atoms that have not fallen
    cdef Py_ssize_t[::1] kept
    cdef double[:, ::1] work
    cdef double[::1] means                  # of columns, NaN where not known yet,
    cdef Py_ssize_t mean_portions           # over so many portions

    def __cinit__(self, Sample sample, bint centred):
        cdef Py_ssize_t n = sample.n_atoms

        self.sample = sample
        self.centred = centred
        self.n_multiplied = 0
        start_quantiles(&self.quantiles, 0.0)
        self.alive = np.empty(n, dtype=np.intp)
        self.kept = np.empty(n, dtype=np.intp)
        self.work = np.empty((4, n + 2))
        self.means = np.empty(sample.n_columns)
        self.mean_portions = 0

    @property
    def n_atoms(self):
        """Number of atoms."""
        return self.sample.n_atoms

    @property
    def n_rows(self):
        """Number of rows that the sample is drawn from."""
        return self.sample.n_samples

    def pursue(
        self,
        Fit fit,
        Py_ssize_t signal,
        Py_ssize_t n_steps,
        double tol,
        double delta,
        Py_ssize_t limit,
        Py_ssize_t n_rows,
    ):
        """Choose atoms for one signal and fit their coefficients, all on the sample.

        Parameters
        ----------
        fit : Fit
            Takes in what is chosen.
        signal : int
            Number of the signal's column.
        n_steps : int
            Steps at most.
        tol : float
            Ends when the residual's squared norm is estimated to be at most this;
            negative for never.
        delta : float
            Error probability of one step.
        limit : int
            Rows that a step may be decided on at most.
        n_rows : int
            Rows that coefficients are fitted to at least.

        Returns
        -------
        bool
            Whether there were atoms enough.
        """
        cdef Sample sample = self.sample
        cdef Py_ssize_t n_portions = portions_for(n_rows), n_alive, atom, _step, i
        cdef double scale, energy = INFINITY
        cdef double* products = &self.work[0, 0]

        sample.draw(n_portions)
        scale = <double> sample.n_samples / first_rows(n_portions)
        if tol >= 0.0:
            energy = self._centred_product(signal, signal, n_portions)
        for _step in range(n_steps):
            if scale * (energy - fit.explained()) <= tol:
                break
            n_alive = self._line_up(fit)
            if n_alive == 0:
                break
            self._run(
                n_alive, signal, fit, self._intercept(fit, signal, n_portions), delta,
                limit,
            )
            # The first atom of those left leads.
            atom = self.alive[0]
            products[0] = self._centred_product(atom, atom, n_portions)
            products[1] = self._centred_product(atom, signal, n_portions)
            for i in range(fit.n_chosen):
                products[2 + i] = self._centred_product(atom, fit.atoms[i], n_portions)
            if not fit.take(atom, products):
                return False
        return True

    def intercept(self, Fit fit, Py_ssize_t signal, Py_ssize_t n_rows):
        """Return the constant that goes with coefficients fitted to so many rows."""
        return self._intercept(fit, signal, portions_for(n_rows))

    def choose(
        self,
        Fit fit,
        Py_ssize_t signal,
        double intercept,
        double delta,
        Py_ssize_t limit,
    ):
        """Drop atoms whose inner product with the residual is surely not the largest.

        In absolute value: an atom is two arms, one for each sign, and falls when both
        are surely worse than another arm.

        Parameters
        ----------
        fit : Fit
            What is taken from the signal to get the residual. Its atoms do not take
            part if it is orthogonal.
        signal : int
            Number of the signal's column.
        intercept : float
            What is taken from the signal beside.
        delta : float
            Error probability.
        limit : int
            Rows that may be sampled at most.

        Returns
        -------
        ndarray of intp
            The atoms that did not fall, first the one of the largest inner product.
        """
        n_alive = self._line_up(fit)
        if n_alive > 1:
            n_alive = self._run(n_alive, signal, fit, intercept, delta, limit)
        return np.array(self.alive[:n_alive])

    cdef Py_ssize_t _line_up(self, Fit fit) noexcept nogil:
        """Have all atoms take part that may be chosen; return how many they are."""
        cdef Py_ssize_t i, n = 0

        for i in range(self.sample.n_atoms):
            if not fit.orthogonal or fit.place(i) < 0:
                self.alive[n] = i
                n += 1
        return n

    cdef double _centred_product(
        self, Py_ssize_t column, Py_ssize_t other, Py_ssize_t n_portions
    ) noexcept nogil:
        """Inner product of two columns over the first portions."""
        cdef double total = self.sample.product(column, other, n_portions)
        cdef double means
        cdef Py_ssize_t n_rows = first_rows(n_portions)

        self.n_multiplied += n_rows
        if self.centred:
            means = self._mean(column, n_portions) * self._mean(other, n_portions)
            total -= n_rows * means
        return total

    cdef double _mean(self, Py_ssize_t column, Py_ssize_t n_portions) noexcept nogil:
        """Mean of a column over the first portions."""
        if n_portions != self.mean_portions:
            self.means[:] = NAN
            self.mean_portions = n_portions
        if isnan(self.means[column]):
            self.means[column] = self.sample.mean(column, n_portions)
        return self.means[column]

    cdef double _intercept(
        self, Fit fit, Py_ssize_t signal, Py_ssize_t n_portions
    ) noexcept nogil:
        """The constant that goes with the coefficients; zero unless centred."""
        cdef double constant
        cdef Py_ssize_t i

        if not self.centred:
            return 0.0
        constant = self._mean(signal, n_portions)
        for i in range(fit.n_chosen):
            constant -= fit.coefs[i] * self._mean(fit.atoms[i], n_portions)
        return constant

    cdef Py_ssize_t _run(
        self,
        Py_ssize_t n_alive,
        Py_ssize_t signal,
        Fit fit,
        double intercept,
        double delta,
        Py_ssize_t limit,
    ) except -1:
        """Let the atoms in line race; return how many are left, the leader first."""
        cdef Py_ssize_t i, pivot = 0, n_used = 0, round_ = 0
        cdef Py_ssize_t n_rounds = portions_within(limit)
        cdef Py_ssize_t* alive = &self.alive[0]
        cdef double* total = &self.work[0, 0]
        cdef double* mean = &self.work[1, 0]
        cdef double* radius = &self.work[2, 0]
        cdef Portion* portion

        # An error probability, and so quantiles, that all races have in common.
        delta = split_delta(delta, 2 * self.sample.n_atoms, 1, n_rounds)
        if delta != self.quantiles.delta:
            start_quantiles(&self.quantiles, delta)
        for i in range(n_alive):
            total[i] = 0.0
        while n_alive > 1 and round_ < n_rounds:
            self.sample.draw(round_ + 1)
            PyErr_CheckSignals()
            with nogil:
                portion = &self.sample.portions[round_]
                self._fill_residual(round_, signal, fit, intercept)
                for i in range(n_alive):
                    self.sample.read(round_, alive[i])
                    add_products(
                        portion.values + alive[i] * portion.size, portion.residual,
                        portion.size, &total[i],
                    )
                self.n_multiplied += n_alive * portion.size
                n_used += portion.size
                round_ += 1

                pivot = 0
                for i in range(1, n_alive):
                    if fabs(total[i]) > fabs(total[pivot]):
                        pivot = i
                for i in range(n_alive):
                    mean[i] = radius[i] = 0.0
                    if i != pivot:
                        self._compare(
                            alive[i], alive[pivot], total[i], total[pivot], round_,
                            n_used, &mean[i], &radius[i],
                        )
                n_alive = eliminate(
                    mean, radius, alive, n_alive, 1, &pivot, &self.kept[0],
                    &self.work[3, 0],
                )
                for i in range(n_alive):
                    total[i] = total[self.kept[i]]
        alive[0], alive[pivot] = alive[pivot], alive[0]
        return n_alive

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
        cdef double own = 1.0 if pivot_total >= 0.0 else -1.0
        cdef double sums[4]
        cdef double centres[2]
        cdef double width
        cdef Py_ssize_t p, i
        cdef Portion* portion

        centres[0] = own * (pivot_total - total) / n_used
        centres[1] = own * (pivot_total + total) / n_used
        sums[0] = sums[1] = sums[2] = sums[3] = 0.0
        for p in range(n_portions):
            portion = &self.sample.portions[p]
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
        self, Py_ssize_t p, Py_ssize_t signal, Fit fit, double intercept
    ) noexcept nogil:
        """What is left of a signal at the rows of a portion."""
        cdef Portion* portion = &self.sample.portions[p]
        cdef Py_ssize_t i, j

        self.sample.read(p, signal)
        for j in range(portion.size):
            portion.residual[j] = portion.values[signal * portion.size + j] - intercept
        for i in range(fit.n_chosen):
            self.sample.read(p, fit.atoms[i])
            _subtract(
                portion.values + fit.atoms[i] * portion.size, fit.coefs[i],
                portion.size, portion.residual,
            )


cdef double _coarse(double size) noexcept nogil:
    """An effective size, rounded down to a quarter of a power of two.

    A quantile takes microseconds to compute. This makes radii wider by a few per cent,
    and one or two quantiles serve all atoms.
    """
    cdef int exponent
    cdef double mantissa = frexp(size, &exponent)

    return ldexp(floor(8.0 * mantissa) / 8.0, exponent)


cdef simd_void _subtract(
    const double* column, double coef, Py_ssize_t n, double* residual
) noexcept nogil:
    cdef Py_ssize_t j

    for j in range(n):
        residual[j] -= coef * column[j]


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
