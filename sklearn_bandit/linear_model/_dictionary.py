"""Inner products of atoms and signals, each computed when it is first needed.

Signals and atoms are centred without a copy: ``<v - mean(v), y - mean(y)>`` is
``<v, y> - n mean(v) mean(y)``, and only for atoms that take part.
"""

import numpy as np

# Rows that are read at a time: a piece of an atom stays in the cache while it is
# multiplied with all that it is wanted for.
BLOCK_ROWS = 1 << 14

# Rows in the first round of a step; later rounds double.
FIRST_SAMPLES = 512


class Dictionary:
    """Exact inner products, kept in a table.

    Parameters
    ----------
    atoms : ndarray of shape (n_samples, n_atoms)
        One atom a column, in Fortran order.
    signals : ndarray of shape (n_samples, n_targets)
        One signal a column, in Fortran order.
    centred : bool
        Whether all are taken relative to their means.
    """

    def __init__(self, atoms, signals, centred):
        self.atoms = atoms
        self.signals = signals
        self.centred = centred
        self.n_samples, self.n_atoms = atoms.shape
        self.n_multiplied = 0
        self._means = {}
        self._products = {}

    def mean(self, i):
        """Mean of atom i, or of signal t as ``("y", t)``; zero unless centred."""
        if not self.centred:
            return 0.0
        if i not in self._means:
            self._means[i] = float(np.mean(self._column(i), dtype=np.float64))
        return self._means[i]

    def products(self, i, others):
        """Inner products of one column with others, by atom number or ``("y", t)``."""
        missing = [j for j in others if _pair(i, j) not in self._products]
        if missing:
            column = self._column(i)
            columns = [self._column(j) for j in missing]
            totals = np.zeros(len(missing))
            for first in range(0, self.n_samples, BLOCK_ROWS):
                piece = column[first : first + BLOCK_ROWS]
                for t, other in enumerate(columns):
                    totals[t] += piece @ other[first : first + BLOCK_ROWS]
            self.n_multiplied += len(missing) * self.n_samples
            for j, total in zip(missing, totals, strict=True):
                total -= self.n_samples * self.mean(i) * self.mean(j)
                self._products[_pair(i, j)] = total
        return np.array([self._products[_pair(i, j)] for j in others])

    def correlations(self, atoms, target, support, coefs):
        """Exact inner products of some atoms with what `support` leaves of a signal."""
        signal = ("y", target)
        if len(atoms) > 2 * (1 + len(support)):
            return self._all_correlations(signal, support, coefs)[atoms]
        found = np.empty(len(atoms))
        for t, i in enumerate(atoms):
            products = self.products(int(i), [signal, *support])
            found[t] = products[0] - products[1:] @ coefs
        return found

    def _all_correlations(self, signal, support, coefs):
        """All correlations by BLAS, from the residual itself."""
        dtype = self.atoms.dtype
        residual = self._column(signal) - dtype.type(self.mean(signal))
        if len(support):
            residual = residual - self.atoms[:, support] @ coefs.astype(dtype)
            shift = sum(c * self.mean(j) for j, c in zip(support, coefs, strict=True))
            residual += dtype.type(shift)
        self.n_multiplied += self.n_samples * (self.n_atoms + len(support))
        return (self.atoms.T @ residual).astype(np.float64)

    def _column(self, i):
        return self.signals[:, i[1]] if isinstance(i, tuple) else self.atoms[:, i]


class Sample:
    """The atoms and signals at random rows, drawn as far as they are needed.

    Rows are drawn with replacement from all rows: nothing depends on how many there
    are. All targets and steps see the same rows.
    """

    def __init__(self, atoms, signals, rng):
        self.atoms = atoms
        self.signals = signals
        self.rng = rng
        self._rows = np.empty((atoms.shape[1], 0), dtype=atoms.dtype)
        self._values = np.empty((signals.shape[1], 0), dtype=signals.dtype)

    def read(self, n):
        """Return the atoms and the signals at the first n rows of the sample."""
        while self._rows.shape[1] < n:
            # Sorted, to be read in the order of memory, but only within what a round of
            # doubling adds: any first rows of the sample are a random sample.
            n_new = self._rows.shape[1] or FIRST_SAMPLES
            rows = np.sort(self.rng.randint(0, self.atoms.shape[0], size=n_new))
            self._rows = np.hstack([self._rows, np.take(self.atoms.T, rows, axis=1)])
            self._values = np.hstack(
                [self._values, np.take(self.signals.T, rows, axis=1)]
            )
        return self._rows[:, :n], self._values[:, :n]


def _pair(i, j):
    return frozenset((i, j))
