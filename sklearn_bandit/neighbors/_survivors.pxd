"""The atoms that a search has not dropped yet; see ``_survivors.pyx``."""

from sklearn_bandit.bandit._radii cimport Quantiles


cdef enum Outcome:
    DECIDED     # the survivors are the answer
    OPEN        # the survivors are to be computed exactly
    HOPELESS    # sampling does not pay: compute all atoms with BLAS


cdef struct Survivors:
    # Position i of every array is the same atom; all are compacted together. Means are
    # negative inner products per coordinate, as the engine takes smaller to be better,
    # and relative to the pivot as soon as there is one.
    Py_ssize_t n_alive
    Py_ssize_t pivot            # position of the atom that the others are compared with
    Py_ssize_t n_multiplied     # products of coordinates computed so far, of all atoms
    double spread               # variance, over the atoms, of the sampled means
    double noise                # mean variance of one sample
    Py_ssize_t* slots
    Py_ssize_t* kept
    double* mean
    double* radius
    double* scratch
    double* base                # the part of the mean that is known without sampling
    double* variance            # of one coordinate's difference to the pivot
    float* total                # running sums of the products, or of their differences
    float* square               # and of their squares
    float* residual             # what the components leave of the query, in the head
    Py_ssize_t n_filled         # tiles for which it is known
    double* coefs               # of the query on the components, where not elsewhere
    Quantiles quantiles         # kept for the next query: each takes microseconds


cdef Survivors* new_survivors(
    Py_ssize_t n_atoms, Py_ssize_t n_coordinates, Py_ssize_t n_components
) noexcept nogil
cdef void free_survivors(Survivors* alive) noexcept nogil

cdef void share_quantiles(Survivors* alive, double share) noexcept nogil
cdef void choose_pivot(Survivors* alive, Py_ssize_t k) noexcept nogil
cdef void drop(Survivors* alive, Py_ssize_t k) noexcept nogil
cdef bint within(Survivors* alive, Py_ssize_t k, double epsilon) noexcept nogil
cdef inline double needed_work(
    double gap, double variance, double quantile, double n_used, double n_total,
    double n_limit,
) noexcept nogil:
    """Products that it takes to drop an atom with this gap, or to compute it."""
    cdef double needed = n_total

    if gap > 0.0:
        needed = 1.0 / (1.0 / n_total + gap * gap / (quantile * quantile * variance))
    return n_total if needed > n_limit else max(needed - n_used, 0.0)


cdef double real_share(
    const Survivors* alive, double n_used, double n_total
) noexcept nogil
cdef void estimate_spread(
    Survivors* alive, double n_used, double n_total, double n_errors
) noexcept nogil
cdef double predicted_work(
    Survivors* alive,
    Py_ssize_t k,
    double quantile,            # radius of a mean over standard deviation over sqrt(n)
    double n_used,
    double n_total,
    double n_limit,             # what needs more samples is computed exactly
    double epsilon,             # by which a mean may be worse
) noexcept nogil
