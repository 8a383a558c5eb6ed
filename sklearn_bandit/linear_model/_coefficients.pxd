"""Coefficients of one signal: see ``_coefficients.pyx``."""


cdef class Coefficients:
    cdef readonly Py_ssize_t n_steps    # atoms added, again or for the first time
    cdef readonly Py_ssize_t n_chosen   # different atoms
    cdef readonly bint orthogonal
    cdef Py_ssize_t room                # atoms that the arrays below have room for
    cdef Py_ssize_t* atoms              # in the order in which they were chosen
    cdef double* coefs
    cdef double* products               # of the atoms with the signal
    cdef double* gram                   # with each other: lower triangle, row by row
    cdef double* factor                 # of the Gram matrix (Cholesky), likewise
    cdef double* half                   # of the solution: after forward substitution

    cdef bint take(self, Py_ssize_t atom, const double* products) except -1
    cdef double explained(self) noexcept nogil
    cdef Py_ssize_t place(self, Py_ssize_t atom) noexcept nogil
    cdef int _make_room(self) except -1
    cdef bint _factorise(self, const double* products) noexcept nogil
    cdef void _append(self, Py_ssize_t atom, const double* products) noexcept nogil
    cdef void _solve(self) noexcept nogil
