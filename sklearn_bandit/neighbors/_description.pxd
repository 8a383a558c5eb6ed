"""What one pass over a vector tells; see ``_description.pyx``."""

from cython cimport floating

cdef enum:
    N_STATS = 4     # bad or not, non-zero entries, largest absolute entry, norm


cdef void describe_vector(
    const floating* vector,
    Py_ssize_t d,
    const floating* components,     # one a row, the constant one first
    Py_ssize_t n_components,
    double few,                     # non-zero entries are not counted beyond
    double* stats,                  # written: see N_STATS
    double* coefs,                  # written: inner products with the components
) noexcept nogil
