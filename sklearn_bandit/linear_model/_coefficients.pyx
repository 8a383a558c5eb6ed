"""Coefficients of one signal, atom by atom, from inner products.

Matching pursuit adds to the coefficient of the atom just chosen. Orthogonal matching
pursuit solves for all of them: the Cholesky factor of the Gram matrix gets one more row
for each atom, so that a step takes about one operation for each entry of it.
"""

import numpy as np

from libc.math cimport sqrt
from libc.stdlib cimport free

from sklearn_bandit._core.memory cimport reallocate

# An atom depends on the chosen ones if at most this fraction of its squared norm is
# outside of their span: the rest is rounding.
cdef double DEPENDENT = 1e-12


cdef class Coefficients:
    """Atoms chosen for a signal, and their coefficients.

    Parameters
    ----------
    orthogonal : bool
        Whether all coefficients are fitted anew with each atom.
    """

    def __cinit__(self, bint orthogonal):
        self.orthogonal = orthogonal
        self.n_steps = self.n_chosen = self.room = 0

    def __dealloc__(self):
        free(self.atoms)
        free(self.coefs)
        free(self.products)
        free(self.gram)
        free(self.factor)
        free(self.half)

    @property
    def support(self):
        """The atoms in the order in which they were chosen."""
        support = np.empty(self.n_chosen, dtype=np.intp)
        cdef Py_ssize_t[::1] out = support
        cdef Py_ssize_t i

        for i in range(self.n_chosen):
            out[i] = self.atoms[i]
        return support

    @property
    def values(self):
        """The coefficients of the support."""
        coefs = np.empty(self.n_chosen)
        cdef double[::1] out = coefs
        cdef Py_ssize_t i

        for i in range(self.n_chosen):
            out[i] = self.coefs[i]
        return coefs

    @property
    def energy(self):
        """The part of the signal's squared norm that is explained."""
        return self.explained()

    def add(self, Py_ssize_t atom, const double[::1] products):
        """Add an atom to the support.

        Parameters
        ----------
        atom : int
            The atom.
        products : ndarray of shape (2 + n_chosen,)
            Its inner products with itself, the signal and the support.

        Returns
        -------
        bool
            False if the atom depends on the support, or is zero.
        """
        if products.shape[0] != 2 + self.n_chosen:
            raise ValueError("An atom comes with its products with all of the support.")
        return self.take(atom, &products[0])

    cdef bint take(self, Py_ssize_t atom, const double* products) except -1:
        """`add`, for kernels."""
        cdef double norm = products[0], left = products[1]
        cdef Py_ssize_t i, place = self.place(atom)

        if norm <= 0.0:
            return False
        for i in range(self.n_chosen):
            left -= products[2 + i] * self.coefs[i]
        if place < 0:
            place = self.n_chosen
            self._make_room()
            if self.orthogonal and not self._factorise(products):
                return False
            self._append(atom, products)
        if self.orthogonal:
            self._solve()
        else:
            self.coefs[place] += left / norm
        self.n_steps += 1
        return True

    cdef double explained(self) noexcept nogil:
        """The part of the signal's squared norm that is explained."""
        cdef Py_ssize_t i, j
        cdef double total = 0.0
        cdef double* row = self.gram

        for i in range(self.n_chosen):
            total += self.coefs[i] * (2.0 * self.products[i] - row[i] * self.coefs[i])
            for j in range(i):
                total -= 2.0 * self.coefs[i] * self.coefs[j] * row[j]
            row += i + 1
        return total

    cdef Py_ssize_t place(self, Py_ssize_t atom) noexcept nogil:
        """Where an atom is in the support, or -1."""
        cdef Py_ssize_t i

        for i in range(self.n_chosen):
            if self.atoms[i] == atom:
                return i
        return -1

    cdef int _make_room(self) except -1:
        """Make room for one more atom."""
        cdef Py_ssize_t n = self.room

        if self.n_chosen < n:
            return 0
        n = max(2 * n, 16)
        self.atoms = <Py_ssize_t*> _resized(self.atoms, n, sizeof(Py_ssize_t))
        self.coefs = <double*> _resized(self.coefs, n, sizeof(double))
        self.products = <double*> _resized(self.products, n, sizeof(double))
        self.half = <double*> _resized(self.half, n, sizeof(double))
        n = n * (n + 1) // 2
        self.gram = <double*> _resized(self.gram, n, sizeof(double))
        if self.orthogonal:
            self.factor = <double*> _resized(self.factor, n, sizeof(double))
        self.room = max(2 * self.room, 16)
        return 0

    cdef bint _factorise(self, const double* products) noexcept nogil:
        """Find the factor's next row; False if the atom depends on the others."""
        cdef Py_ssize_t i, j, n = self.n_chosen
        cdef double* new = self.factor + n * (n + 1) // 2
        cdef double* row = self.factor
        cdef double left = products[0], entry

        for i in range(n):
            entry = products[2 + i]
            for j in range(i):
                entry -= row[j] * new[j]
            new[i] = entry / row[i]
            left -= new[i] * new[i]
            row += i + 1
        if left <= DEPENDENT * products[0]:
            return False
        new[n] = sqrt(left)
        return True

    cdef void _append(self, Py_ssize_t atom, const double* products) noexcept nogil:
        """Append an atom to the support."""
        cdef Py_ssize_t i, n = self.n_chosen
        cdef double* row = self.gram + n * (n + 1) // 2
        cdef double* new
        cdef double entry = products[1]

        for i in range(n):
            row[i] = products[2 + i]
        row[n] = products[0]
        self.atoms[n] = atom
        self.coefs[n] = 0.0
        self.products[n] = products[1]
        if self.orthogonal:
            new = self.factor + n * (n + 1) // 2
            for i in range(n):
                entry -= new[i] * self.half[i]
            self.half[n] = entry / new[n]
        self.n_chosen += 1

    cdef void _solve(self) noexcept nogil:
        """Find all coefficients anew, by backward substitution."""
        cdef Py_ssize_t i, j, n = self.n_chosen
        cdef double* row = self.factor + n * (n + 1) // 2

        for i in range(n):
            self.coefs[i] = self.half[i]
        for i in range(n - 1, -1, -1):
            row -= i + 1
            self.coefs[i] /= row[i]
            for j in range(i):
                self.coefs[j] -= row[j] * self.coefs[i]


cdef void* _resized(void* block, size_t n_items, size_t item_size) except NULL:
    cdef void* resized = reallocate(block, n_items, item_size)

    if resized == NULL:
        raise MemoryError("No memory for the coefficients.")
    return resized
