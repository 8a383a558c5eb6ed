"""Inner products of atoms and signals, each computed when it is first needed.

Signals and atoms are centred without a copy: ``<v - mean(v), y - mean(y)>`` is
``<v, y> - n mean(v) mean(y)``, and only for atoms that take part. Both are called
columns and have numbers: atoms first, then signals.
"""

from functools import cached_property

import numpy as np

from .._core.thread_start import keep_threads
from ._inner_products import inner_products

# Squared norms outside of this range may have over- or underflowed.
SAFE_NORMS = {
    np.dtype(np.float32): (1e-25, 1e35),
    np.dtype(np.float64): (1e-250, 1e300),
}

# A centred squared norm is a difference. Below this number of units in the last place
# of its parts it is rounding, and the column constant. Measured on columns that repeat
# one value, where all sums round the same way, up to a million rows: 23 by our kernel;
# by BLAS 43 at 16,000 rows, 99 at 200,000 and 450 at a million. Products by BLAS have
# one unit more for each `UNIT_ROWS`.
KERNEL_UNITS = 32
BLAS_UNITS = 64
UNIT_ROWS = 2000


class OutOfRange(Exception):
    """Inner products are too large or too small for the type of the columns."""


class Gram:
    """Exact inner products and means of columns, each computed only once.

    Parameters
    ----------
    atoms : ndarray of shape (n_samples, n_atoms)
        One atom a column, in Fortran order.
    signals : ndarray of shape (n_samples, n_targets)
        One signal a column, in Fortran order.
    centred : bool
        Whether all are taken relative to their means.
    n_jobs : int or None
        Number of threads, as of the estimator; the sums do not depend on it.
    checked : bool, default=True
        Whether to raise `OutOfRange` for inner products that cannot be relied on.
    """

    def __init__(self, atoms, signals, centred, n_jobs, checked=True):
        self.atoms = atoms.T
        self.signals = signals.T
        self.n_atoms, self.n_rows = self.atoms.shape
        self.centred = centred
        self.n_jobs = n_jobs
        self.checked = checked
        self.n_multiplied = 0
        self._means = {}
        self._products = {}
        self._table = None

    @cached_property
    def n_threads(self):
        """Number of threads; it takes long to find, which is done when first needed."""
        return keep_threads(self.n_jobs)

    def mean(self, i):
        """Mean of a column; zero unless centred."""
        if not self.centred:
            return 0.0
        if i not in self._means:
            column = self.atoms[i] if i < self.n_atoms else self._signal(i)
            self._means[i] = float(np.mean(column, dtype=np.float64))
        return self._means[i]

    @property
    def is_complete(self):
        """Whether all inner products are known."""
        return self._table is not None

    def compute_all(self):
        """Compute the inner products of all atoms with all columns, by BLAS."""
        columns = np.vstack([self.atoms, self.signals])
        totals = (columns @ columns.T).astype(np.float64)
        self.n_multiplied += columns.shape[0] * columns.size
        if self.checked:
            for i, row in enumerate(totals):
                self._check_range(i, [i], row[i : i + 1])
        means = np.array([self.mean(i) for i in range(len(columns))])
        self._table = totals - self.n_rows * np.outer(means, means)
        n_units = BLAS_UNITS + self.n_rows / UNIT_ROWS
        norms = self._centred_norms(np.diag(self._table), np.diag(totals), n_units)
        np.fill_diagonal(self._table, norms)

    def products(self, i, others):
        """Inner products of one column with others."""
        if self._table is not None:
            return self._table[i, others]
        missing = [j for j in others if _pair(i, j) not in self._products]
        if missing:
            totals = inner_products(
                self.atoms,
                self.signals,
                np.array([i]),
                np.array(missing),
                self.n_threads,
            )
            self._keep(i, missing, totals[0])
        return np.array([self._products[_pair(i, j)] for j in others])

    def prepare(self, columns):
        """Compute the inner products of all pairs of some columns, in one pass."""
        table = inner_products(
            self.atoms, self.signals, np.array(columns), None, self.n_threads
        )
        for position, i in enumerate(columns):
            self._keep(i, columns[position:], table[position, position:])

    def residual(self, coefficients, signal):
        """Squared norm of what the coefficients leave of a signal."""
        return max(self.products(signal, [signal])[0] - coefficients.energy, 0.0)

    def intercept(self, coefficients, signal):
        """Return the constant that goes with the coefficients; zero unless centred."""
        if not self.centred:
            return 0.0
        means = [self.mean(j) for j in coefficients.support.tolist()]
        return self.mean(signal) - float(np.dot(coefficients.values, means))

    def best_atom(self, candidates, signal, coefficients):
        """Return the atom most correlated with the residual; None if none is.

        The first of equal ones wins, in the order of `candidates`.
        """
        if self._is_constant(signal):
            return None
        correlations = np.abs(self.correlations(candidates, signal, coefficients))
        while True:
            best = int(np.argmax(correlations))
            atom = int(candidates[best])
            # What is left of a signal in the span of the support is rounding.
            if correlations[best] <= self._rounding(atom, signal):
                return None
            if not self._is_constant(atom):
                return atom
            correlations[best] = 0.0

    def _rounding(self, atom, signal):
        """Return the size below which an inner product is only rounding."""
        norm = self.products(atom, [atom])[0] * self.products(signal, [signal])[0]
        return 8 * np.finfo(self.atoms.dtype).eps * np.sqrt(max(norm, 0.0))

    def _is_constant(self, i):
        """Whether centring leaves only rounding of a column; or it is zero."""
        return self.products(i, [i])[0] <= 0.0

    def correlations(self, atoms, signal, coefficients):
        """Exact inner products of some atoms with the residual of a signal."""
        support, coefs = coefficients.support.tolist(), coefficients.values
        if self._table is not None:
            explained = self._table[np.ix_(atoms, support)] @ coefs
            return self._table[atoms, signal] - explained
        if len(atoms) > 2 * (1 + len(support)):
            return self._all_correlations(signal, support, coefs)[atoms]
        found = np.empty(len(atoms))
        for t, i in enumerate(atoms.tolist()):
            products = self.products(i, [signal, *support])
            found[t] = products[0] - products[1:] @ coefs
        return found

    def _all_correlations(self, signal, support, coefs):
        """All correlations by BLAS, from the residual itself."""
        dtype = self.atoms.dtype
        residual = self._signal(signal) - dtype.type(self.mean(signal))
        if len(support):
            residual -= coefs.astype(dtype) @ self.atoms[support]
            shift = sum(c * self.mean(j) for j, c in zip(support, coefs, strict=True))
            residual += dtype.type(shift)
        self.n_multiplied += self.n_rows * (self.n_atoms + len(support))
        return (self.atoms @ residual).astype(np.float64)

    def _keep(self, i, others, totals):
        """Store products, centred by the means."""
        if self.checked:
            self._check_range(i, others, totals)
        self.n_multiplied += len(others) * self.n_rows
        for j, total in zip(others, totals.tolist(), strict=True):
            product = total - self.n_rows * self.mean(i) * self.mean(j)
            if i == j:
                product = float(self._centred_norms(product, total, KERNEL_UNITS))
            self._products[_pair(i, j)] = product

    def _centred_norms(self, norms, totals, n_units):
        """Squared norms after centring; zero if that left only rounding of `totals`."""
        if not self.centred:
            return norms
        rounding = n_units * np.finfo(self.atoms.dtype).eps * totals
        return np.where(norms <= rounding, 0.0, norms)

    def _check_range(self, i, others, totals):
        """Raise `OutOfRange` unless the products can be relied on."""
        low, high = SAFE_NORMS[self.atoms.dtype]
        if not np.abs(totals).max() < high:
            raise OutOfRange
        if i in others and totals[others.index(i)] < low:
            column = self.atoms[i] if i < self.n_atoms else self._signal(i)
            if column.any():
                raise OutOfRange

    def _signal(self, column):
        return self.signals[column - self.n_atoms]


def _pair(i, j):
    return (i, j) if i < j else (j, i)
