"""Sums of powers for kernels: see ``_moments.pyx``."""

from cython cimport floating

from sklearn_bandit._core.simd cimport simd_void


cdef struct ProductPowers:
    # Sums over differences of two products, for both signs of the second atom.
    double second[2]            # second powers of the centred differences
    double fourth[2]            # fourth powers
    double energy[2]            # squares of the differences of the atoms themselves
    double residual             # squares of what both are multiplied with


cdef void add_moments(
    const double* costs,        # of one arm on a batch of references
    const double* leader,       # those of the leader (NULL: marginal moments)
    Py_ssize_t n_batch,
    double shift,               # subtracted first, against cancellation
    double* sums,               # sums of the first, second and fourth powers: added to
) noexcept nogil

cdef simd_void centred_powers(
    const float* values,
    double centre,              # subtracted from each
    Py_ssize_t n,
    double* sums,               # sums of the second and fourth powers: set
) noexcept nogil

cdef simd_void paired_powers(
    const floating* first,      # values of two arms on the same references
    const floating* second,
    double centre,              # mean of the differences, first less second
    Py_ssize_t n,
    double* sums,               # sums of the second and fourth powers: set
) noexcept nogil

cdef simd_void weighted_powers(
    const double* first,        # values of two arms on the same references
    const double* second,
    const double* weight,       # of the references
    double centre,              # weighted mean of the differences, first less second
    Py_ssize_t n,
    double* sums,               # sums of the second and fourth powers: set
) noexcept nogil

cdef simd_void add_product_powers(
    const double* leader,       # entries of two atoms
    const double* column,
    const double* residual,     # that both are multiplied with
    double own,                 # sign of the leader's product
    const double* centres,      # means of the differences, for the atom's two signs
    Py_ssize_t n,
    ProductPowers* sums,        # added to
) noexcept nogil
