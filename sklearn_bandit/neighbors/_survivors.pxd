"""The atoms that a search has not dropped yet; see ``_survivors.pyx``."""

cimport cython

from libc.math cimport sqrt

from sklearn_bandit.bandit._quantiles cimport Quantiles
from sklearn_bandit.bandit._radii cimport needed_samples

cdef enum:
    # Memory that a pool keeps: for this number of threads that search at once.
    MAX_SPARE = 8


cdef enum Outcome:
    DECIDED     # the survivors are the answer
    OPEN        # the survivors have to be computed exactly
    GIVEN_UP    # sampling does not pay: compute all atoms with BLAS


cdef struct Survivors:
    # Position i of every array is the same atom; all are compacted together. Means are
    # negative inner products per coordinate, since a smaller mean is better for
    # `eliminate`. They are relative to the leader as soon as there is one.
    Py_ssize_t n_left           # number of survivors
    Py_ssize_t leader           # position of the atom that the others are compared with
    Py_ssize_t n_multiplied     # products of coordinates computed so far, of all atoms
    double spread               # variance, over the atoms, of the sampled means
    double noise                # mean variance of one sample
    double chance_lead          # of the best of equal atoms, in standard errors
    Py_ssize_t* slots
    Py_ssize_t* kept
    double* mean
    double* radius
    double* scratch
    double* known               # the part of the mean that is known without sampling
    double* variance            # of one coordinate's difference to the leader
    float* total                # running sums of the products, or of their differences
    float* square               # and of their squares
    float* energy               # sums of the squares of differences of the atoms
    double query_square         # mean square of the query's residual so far
    float* residual             # what the components leave of the query, in the sample
    Py_ssize_t n_filled         # tiles for which the residual is known
    double* coefs               # of the query on the components, where not elsewhere
    Quantiles quantiles         # kept for the next query: each takes microseconds


cdef struct Shrinkage:
    double fraction             # of a sampled difference that is real, at least
    double error                # what else of it may be chance; infinite for all of it


cdef class SurvivorsPool:
    cdef Survivors* spare[MAX_SPARE]
    cdef int n_spare
    cdef cython.pymutex lock    # on these two

    cdef Survivors* take(
        self, Py_ssize_t n_atoms, Py_ssize_t n_coordinates, Py_ssize_t n_components
    ) except NULL
    cdef void give_back(self, Survivors* survivors) noexcept


cdef Survivors* new_survivors(
    Py_ssize_t n_atoms, Py_ssize_t n_coordinates, Py_ssize_t n_components
) noexcept nogil
cdef void free_survivors(Survivors* survivors) noexcept nogil

cdef void set_quantiles(Survivors* survivors, double arm_delta) noexcept nogil
cdef void choose_leader(Survivors* survivors, Py_ssize_t k) noexcept nogil
cdef void drop(Survivors* survivors, Py_ssize_t k) noexcept nogil
cdef bint within(Survivors* survivors, Py_ssize_t k, double epsilon) noexcept nogil
cdef inline double needed_work(
    double gap, double variance, double quantile, double n_used, double n_total,
    double n_limit,
) noexcept nogil:
    """How many products it takes to drop an atom with this gap, or to compute it."""
    cdef double needed = needed_samples(gap, quantile * sqrt(variance), n_total)

    return n_total if needed > n_limit else max(needed - n_used, 0.0)


cdef inline double real_part(Shrinkage shrink, double difference) noexcept nogil:
    """What is expected to remain of a sampled difference to the leader."""
    return max(shrink.fraction * difference, difference - shrink.error)


cdef Shrinkage shrinkage(
    const Survivors* survivors, double n_used, double n_total
) noexcept nogil
cdef void estimate_spread(
    Survivors* survivors, double n_used, double n_total, double n_errors
) noexcept nogil
cdef double predicted_work(
    Survivors* survivors,
    Py_ssize_t k,
    double quantile,            # radius of a mean over standard deviation over sqrt(n)
    double n_used,
    double n_total,
    double n_limit,             # what needs more samples is computed exactly
    double epsilon,             # by which a mean may be worse
) noexcept nogil
