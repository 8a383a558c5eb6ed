"""Inner products of atoms and signals, each computed when it is first needed.

Signals and atoms are centred without a copy: ``<v - mean(v), y - mean(y)>`` is
``<v, y> - n mean(v) mean(y)``, and only for atoms that take part.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

# Rows that are read at a time: a piece of an atom stays in the cache while it is
# multiplied with all that it is wanted for.
BLOCK_ROWS = 1 << 15

# Rows in the first portion of a sample; each later one doubles it.
FIRST_ROWS = 512


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
    n_threads : int
        Number of threads; the sums do not depend on it.
    """

    def __init__(self, atoms, signals, centred, n_threads):
        self.atoms = atoms
        self.signals = signals
        self.centred = centred
        self.n_threads = n_threads
        self.n_samples, self.n_atoms = atoms.shape
        self.n_multiplied = 0
        self._means = {}
        self._products = {}

    def mean(self, i):
        """Mean of atom i, or of signal t as ``("y", t)``; zero unless centred."""
        if not self.centred:
            return 0.0
        if i not in self._means:
            self._means[i] = float(np.mean(self.column(i), dtype=np.float64))
        return self._means[i]

    def products(self, i, others):
        """Inner products of one column with others, by atom number or ``("y", t)``."""
        missing = [j for j in others if _pair(i, j) not in self._products]
        if missing:
            totals = self._sums(self.column(i), [self.column(j) for j in missing])
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
        residual = self.column(signal) - dtype.type(self.mean(signal))
        if len(support):
            residual = residual - self.atoms[:, support] @ coefs.astype(dtype)
            shift = sum(c * self.mean(j) for j, c in zip(support, coefs, strict=True))
            residual += dtype.type(shift)
        self.n_multiplied += self.n_samples * (self.n_atoms + len(support))
        return (self.atoms.T @ residual).astype(np.float64)

    def _sums(self, column, others):
        """Inner products of one column with others, block by block."""
        starts = range(0, self.n_samples, BLOCK_ROWS)

        def block_sums(first):
            piece = column[first : first + BLOCK_ROWS]
            return [piece @ other[first : first + BLOCK_ROWS] for other in others]

        if self.n_threads == 1 or len(starts) < 2 * self.n_threads:
            parts = map(block_sums, starts)
        else:
            with ThreadPoolExecutor(self.n_threads) as pool:
                parts = list(pool.map(block_sums, starts))
        return np.sum(np.array(list(parts), dtype=np.float64), axis=0)

    def column(self, i):
        """Return atom i, or signal t as ``("y", t)``."""
        return self.signals[:, i[1]] if isinstance(i, tuple) else self.atoms[:, i]


class Sample:
    """Atoms and signals at random rows, each read as far as it is needed.

    Rows are drawn with replacement from all rows: nothing depends on how many there
    are. All targets and steps see the same ones.
    """

    def __init__(self, dictionary, rng):
        self.dictionary = dictionary
        self.rng = rng
        self._rows = np.empty(0, dtype=np.intp)
        self._columns = {}

    def column(self, i, n):
        """Return atom i, or signal t as ``("y", t)``, at the first n rows drawn."""
        while len(self._rows) < n:
            # Sorted, to be read in the order of memory, but only within a portion: at
            # the end of any portion, what was drawn so far is a random sample.
            size = len(self._rows) or FIRST_ROWS
            new = np.sort(self.rng.randint(0, self.dictionary.n_samples, size=size))
            self._rows = np.append(self._rows, new)
        known = self._columns.get(i)
        n_known = 0 if known is None else len(known)
        if n_known < n:
            new = np.take(self.dictionary.column(i), self._rows[n_known:n])
            self._columns[i] = new if known is None else np.append(known, new)
        return self._columns[i][:n]

    def columns(self, atoms, n):
        """Return some atoms at the first n rows, one a row."""
        found = np.empty((len(atoms), n), dtype=self.dictionary.atoms.dtype)
        for t, i in enumerate(atoms):
            found[t] = self.column(int(i), n)
        return found


def _pair(i, j):
    return frozenset((i, j))
