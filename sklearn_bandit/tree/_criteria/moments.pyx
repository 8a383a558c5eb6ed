"""What criteria of real targets share: the weight and the outputs of a row.

These are its *moments*, the first of which is the weight.
"""

from libc.stdint cimport uint32_t
from libc.stdlib cimport free

from sklearn_bandit._core.memory cimport allocate, times
from sklearn_bandit.tree._common cimport N_LEVELS, Block

from .base cimport Criterion


cdef class MomentCriterion(Criterion):
    """Base class of criteria of real targets.

    The totals of a node are its weight, a number for each output and a last one.

    Parameters
    ----------
    moments : ndarray of shape (n_samples, 1 + n_outputs), float64
        Weight of each sample, and a number for each output.
    """

    def __init__(self, moments):
        self.moments = moments
        self.n_moments = moments.shape[1]
        self.n_outputs = self.n_moments - 1
        self.n_channels = self.n_moments + 1
        self.n_values = self.n_outputs
        self.keeps_left = False

    def __dealloc__(self):
        for level in range(N_LEVELS):
            free(self.copied[level])

    cdef int reserve_copy(self, Py_ssize_t level, Py_ssize_t n_rows) except -1:
        self.copied[level] = <double*> allocate(
            n_rows, times(self.n_moments, sizeof(double))
        )
        if self.copied[level] == NULL:
            raise MemoryError
        return 0

    cdef void describe(self, Block* block) noexcept nogil:
        block.labels = NULL
        block.counts = NULL
        block.weights = NULL
        block.moments = &self.moments[0, 0]

    cdef void gather(
        self, Py_ssize_t level, const Block* source, const uint32_t* ids, Py_ssize_t n,
        Py_ssize_t first, Block* copy,
    ) noexcept nogil:
        cdef Py_ssize_t i, k, n_moments = self.n_moments
        cdef const double* moment
        cdef double* out = self.copied[level] + first * n_moments

        for i in range(n):
            moment = source.moments + <Py_ssize_t> ids[i] * n_moments
            for k in range(n_moments):
                out[i * n_moments + k] = moment[k]
        copy.moments = self.copied[level]

    cdef double weight(self, const double* totals) noexcept nogil:
        return totals[0]
