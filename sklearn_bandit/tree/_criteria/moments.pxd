"""Criteria of real targets: see ``moments.pyx``."""

from sklearn_bandit.tree._common cimport N_LEVELS

from .base cimport Criterion


cdef class MomentCriterion(Criterion):
    cdef const double[:, ::1] moments       # of each sample
    cdef Py_ssize_t n_moments               # of a row: weight and outputs
    cdef double* copied[N_LEVELS]           # moments of copied rows
