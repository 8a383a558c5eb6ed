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


cdef struct Units:
    Sampling sampling
    Radius radius
    Py_ssize_t n_units          # how many may be sampled before all is computed exactly
    Py_ssize_t n_first          # in the first round; later rounds double
    Py_ssize_t length           # coordinates of a block; 1 otherwise
    const Py_ssize_t* starts    # first coordinate of each unit, in sampling order
    const double* weights       # of single coordinates (NULL: the query's entries)
    double n_total              # units that exist; infinite with replacement
    double share                # error probability for one atom in one round
    double epsilon
    double give_up_share
    double energy               # mean square of the query on a unit, over all units
    double reach                # largest sum of the query's absolute entries on a unit
    const double* largest       # largest absolute entry of each slot's atom, or NULL
    const double* norms         # of each slot's atom, for ordered units, or NULL
    Py_ssize_t k


cdef Outcome search_units(
    const Rows* rows, const floating* query, const Units* units, Survivors* alive
) noexcept nogil
