"""Elimination of atoms on a sample of the rows, and pursuits by elimination alone.

An atom is two arms, one for each sign of its inner product with the residual. Rows are
the references.
"""

import numpy as np

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, NAN, fabs, isnan
from libc.string cimport memset

from sklearn_bandit._core.simd cimport simd_void
from sklearn_bandit.bandit._arms cimport eliminate
from sklearn_bandit.bandit._moments cimport ProductPowers, add_product_powers
from sklearn_bandit.bandit._quantiles cimport Quantiles, coarse_size, start_quantiles
from sklearn_bandit.bandit._radii cimport (
    effective_size,
    split_delta,
    tabled_paired_radius,
)

from ._coefficients cimport Coefficients
from ._row_sample cimport (
    Portion,
    RowSample,
    add_products,
    first_rows,
    portions_for,
    portions_within,
)


cdef class Elimination:
    """Elimination of the atoms whose inner product with a residual is not the largest.

    Parameters
    ----------
    sample : RowSample
        The sample.
    centred : bool
        Whether columns are taken relative to their means.
    """

    cdef RowSample sample
    cdef bint centred
    cdef readonly Py_ssize_t n_multiplied   # products of entries, in all eliminations
    cdef Quantiles quantiles                # of the last error probability
    cdef Py_ssize_t[::1] survivors              # the atoms that are not dropped yet
    cdef Py_ssize_t[::1] kept
    cdef double[:, ::1] work
    cdef double[::1] means                  # of columns, NaN where not known yet
    cdef Py_ssize_t mean_portions           # portions that the means are taken over

    def __cinit__(self, RowSample sample, bint centred):
        cdef Py_ssize_t n = sample.n_atoms

        self.sample = sample
        self.centred = centred
        self.n_multiplied = 0
        start_quantiles(&self.quantiles, 0.0)
        self.survivors = np.empty(n, dtype=np.intp)
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
        Coefficients coefficients,
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
        coefficients : Coefficients
            Extended by the atoms that are chosen.
        signal : int
            Number of the signal's column.
        n_steps : int
            Largest number of steps.
        tol : float
            Ends when the residual's squared norm is estimated to be at most this;
            negative for never.
        delta : float
            Error probability of one step.
        limit : int
            Largest number of rows for the decision of a step.
        n_rows : int
            Smallest number of rows that coefficients are fitted to.

        Returns
        -------
        bool
            Whether there were enough atoms.
        """
        cdef RowSample sample = self.sample
        cdef Py_ssize_t n_portions = portions_for(n_rows), n_left, atom, _step, i
        cdef double intercept, scale, energy = INFINITY
        cdef double* products = &self.work[0, 0]

        sample.draw(n_portions)
        scale = <double> sample.n_samples / first_rows(n_portions)
        if tol >= 0.0:
            energy = self._centred_product(signal, signal, n_portions)
        for _step in range(n_steps):
            if scale * (energy - coefficients.explained()) <= tol:
                break
            n_left = self._start(coefficients)
            if n_left == 0:
                break
            intercept = self._intercept(coefficients, signal, n_portions)
            self._eliminate(n_left, signal, coefficients, intercept, delta, limit)
            atom = self.survivors[0]    # the leader
            products[0] = self._centred_product(atom, atom, n_portions)
            products[1] = self._centred_product(atom, signal, n_portions)
            for i in range(coefficients.n_chosen):
                products[2 + i] = self._centred_product(
                    atom, coefficients.atoms[i], n_portions
                )
            if not coefficients.take(atom, products):
                return False
        return True

    def intercept(
        self, Coefficients coefficients, Py_ssize_t signal, Py_ssize_t n_rows
    ):
        """Return the constant of coefficients that are fitted to `n_rows` rows."""
        return self._intercept(coefficients, signal, portions_for(n_rows))

    def choose(
        self,
        Coefficients coefficients,
        Py_ssize_t signal,
        double intercept,
        double delta,
        Py_ssize_t limit,
    ):
        """Drop atoms whose inner product with the residual is surely not the largest.

        Inner products are compared in absolute value: an atom is two arms, one for each
        sign. It is dropped when both are surely worse than another arm.

        Parameters
        ----------
        coefficients : Coefficients
            What is subtracted from the signal to get the residual. Its atoms do not
            take part in an orthogonal pursuit.
        signal : int
            Number of the signal's column.
        intercept : float
            The constant that is subtracted as well.
        delta : float
            Error probability.
        limit : int
            Largest number of rows to sample.

        Returns
        -------
        ndarray of intp
            The survivors, the leader first.
        """
        n_left = self._start(coefficients)
        if n_left > 1:
            n_left = self._eliminate(
                n_left, signal, coefficients, intercept, delta, limit
            )
        return np.array(self.survivors[:n_left])

    cdef Py_ssize_t _start(self, Coefficients coefficients) noexcept nogil:
        """Make all atoms survivors that may be chosen; return their number."""
        cdef Py_ssize_t i, n = 0

        for i in range(self.sample.n_atoms):
            if not coefficients.orthogonal or coefficients.place(i) < 0:
                self.survivors[n] = i
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
        self, Coefficients coefficients, Py_ssize_t signal, Py_ssize_t n_portions
    ) noexcept nogil:
        """The constant that goes with the coefficients; zero unless centred."""
        cdef double constant
        cdef Py_ssize_t i

        if not self.centred:
            return 0.0
        constant = self._mean(signal, n_portions)
        for i in range(coefficients.n_chosen):
            constant -= coefficients.coefs[i] * self._mean(
                coefficients.atoms[i], n_portions
            )
        return constant

    cdef Py_ssize_t _eliminate(
        self,
        Py_ssize_t n_left,
        Py_ssize_t signal,
        Coefficients coefficients,
        double intercept,
        double delta,
        Py_ssize_t limit,
    ) except -1:
        """Drop atoms round by round; return how many are left, the leader first."""
        cdef Py_ssize_t i, leader = 0, n_used = 0, round_ = 0
        cdef Py_ssize_t n_rounds = portions_within(limit)
        cdef Py_ssize_t* survivors = &self.survivors[0]
        cdef double* total = &self.work[0, 0]
        cdef double* mean = &self.work[1, 0]
        cdef double* radius = &self.work[2, 0]
        cdef Portion* portion

        # All eliminations have the same error probability, and so the same quantiles.
        delta = split_delta(delta, 2 * self.sample.n_atoms, 1, n_rounds)
        if delta != self.quantiles.delta:
            start_quantiles(&self.quantiles, delta)
        for i in range(n_left):
            total[i] = 0.0
        while n_left > 1 and round_ < n_rounds:
            self.sample.draw(round_ + 1)
            PyErr_CheckSignals()
            with nogil:
                portion = &self.sample.portions[round_]
                self._fill_residual(round_, signal, coefficients, intercept)
                for i in range(n_left):
                    self.sample.read(round_, survivors[i])
                    add_products(
                        portion.values + survivors[i] * portion.size, portion.residual,
                        portion.size, &total[i],
                    )
                self.n_multiplied += n_left * portion.size
                n_used += portion.size
                round_ += 1

                leader = 0
                for i in range(1, n_left):
                    if fabs(total[i]) > fabs(total[leader]):
                        leader = i
                for i in range(n_left):
                    mean[i] = radius[i] = 0.0
                    if i != leader:
                        self._compare(
                            survivors[i], survivors[leader], total[i], total[leader],
                            round_, n_used, &mean[i], &radius[i],
                        )
                n_left = eliminate(
                    mean, radius, survivors, n_left, 1, &leader, &self.kept[0],
                    &self.work[3, 0],
                )
                for i in range(n_left):
                    total[i] = total[self.kept[i]]
        survivors[0], survivors[leader] = survivors[leader], survivors[0]
        return n_left

    cdef void _compare(
        self,
        Py_ssize_t column,
        Py_ssize_t leader,
        double total,
        double leader_total,
        Py_ssize_t n_portions,
        Py_ssize_t n_used,
        double* mean,
        double* radius,
    ) noexcept nogil:
        """Mean difference to the leader and its radius, for the nearer sign.

        The mass of the products may be in few rows where neither the residual's nor the
        atoms' is. So their mean square is at least the product of the mean squares,
        which is what it is if large entries meet as often as chance has it.
        """
        cdef double own = 1.0 if leader_total >= 0.0 else -1.0
        cdef ProductPowers sums
        cdef double centres[2]
        cdef double variance, least, width
        cdef Py_ssize_t p, i
        cdef Portion* portion

        centres[0] = own * (leader_total - total) / n_used
        centres[1] = own * (leader_total + total) / n_used
        memset(&sums, 0, sizeof(ProductPowers))
        for p in range(n_portions):
            portion = &self.sample.portions[p]
            add_product_powers(
                portion.values + leader * portion.size,
                portion.values + column * portion.size,
                portion.residual, own, centres, portion.size, &sums,
            )
        for i in range(2):
            least = sums.residual / n_used * sums.energy[i] / n_used
            least -= centres[i] * centres[i]
            variance = max(sums.second[i] / (n_used - 1), least)
            width = tabled_paired_radius(
                &self.quantiles, variance, n_used,
                coarse_size(effective_size(sums.second[i], sums.fourth[i])), INFINITY,
            )
            if i == 0 or centres[i] - width < mean[0] - radius[0]:
                mean[0] = centres[i]
                radius[0] = width

    cdef void _fill_residual(
        self,
        Py_ssize_t p,
        Py_ssize_t signal,
        Coefficients coefficients,
        double intercept,
    ) noexcept nogil:
        """What is left of a signal at the rows of a portion."""
        cdef Portion* portion = &self.sample.portions[p]
        cdef Py_ssize_t i, j

        self.sample.read(p, signal)
        for j in range(portion.size):
            portion.residual[j] = portion.values[signal * portion.size + j] - intercept
        for i in range(coefficients.n_chosen):
            self.sample.read(p, coefficients.atoms[i])
            _subtract(
                portion.values + coefficients.atoms[i] * portion.size,
                coefficients.coefs[i], portion.size, portion.residual,
            )


cdef simd_void _subtract(
    const double* column, double coef, Py_ssize_t n, double* residual
) noexcept nogil:
    cdef Py_ssize_t j

    for j in range(n):
        residual[j] -= coef * column[j]
