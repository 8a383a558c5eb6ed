"""Search by sampling from the atoms themselves; see ``_direct_sampling.pyx``."""

from cython cimport floating

from ._exact_products cimport Rows
from ._survivors cimport Outcome, Survivors


cdef enum Sampling:
    BLOCKS      # contiguous blocks of coordinates, without replacement
    WEIGHTED    # single coordinates with replacement, by given probabilities
    ORDERED     # single coordinates by decreasing size of the query's entry


cdef enum Radius:
    PAIRED
    BERNSTEIN
    HOEFFDING


cdef struct References:
    # What is sampled from the atoms for a query, and in which order.
    Sampling sampling
    Radius radius
    Py_ssize_t k
    Py_ssize_t n_references     # sampled at most; then survivors are computed
    Py_ssize_t n_first          # in the first round; later rounds double
    Py_ssize_t length           # coordinates of a block; 1 otherwise
    const Py_ssize_t* starts    # first coordinate of each reference, in sampling order
    const double* weights       # of single coordinates (NULL: the query's entries)
    double n_total              # references that exist; infinite with replacement
    double arm_delta            # error probability for one atom in one round
    double epsilon
    double give_up_fraction     # of the work of BLAS; infinite: never give up
    double energy               # of a reference: what the query makes of unit entries
    double reach                # largest sum of the query's absolute entries on one
    const double* largest       # largest absolute entry of each slot's atom, or NULL
    const double* norms         # of each slot's atom, or NULL


cdef Outcome search_references(
    const Rows* rows,
    const floating* query,
    const References* references,
    Survivors* survivors,
) noexcept nogil
