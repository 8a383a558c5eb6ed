"""A sample of coordinates and the search in it; see ``_coordinate_sample.pyx``."""

from cython cimport floating

from ._survivors cimport Outcome, Survivors

cdef enum:
    MAX_TILES = 8
    N_OFFSETS = MAX_TILES + 1


cdef struct CoordinateSample:
    # A random sample of coordinates of every atom, less what the components explain.
    Py_ssize_t n_features
    Py_ssize_t n_components
    Py_ssize_t n_tiles
    Py_ssize_t n_coordinates            # of all tiles together
    Py_ssize_t offsets[N_OFFSETS]       # tile t holds coordinates offsets[t] and on
    const float* tiles[MAX_TILES]       # one row of offsets[t + 1] - offsets[t] a slot
    const float* inflation[MAX_TILES]   # of the radius, one value a slot
    const Py_ssize_t* coordinates       # the sampled ones, tile by tile
    const void* sampled_components      # components at these, one a row; atoms' type
    const void* components              # all of them, one a row, the constant one first
    const double* coefs                 # of the atoms on the components, one row a slot
    const double* norms                 # of the atoms
    const double* residual_norms        # of what the components leave
    double scale                        # of the entries, against under- and overflow
    double rounding                     # relative error of coefficients and products


cdef struct SampleQuery:
    const double* coefs         # of the query on the components
    double norm
    double residual_norm
    double arm_delta            # error probability for one atom in one round
    double epsilon
    double give_up_fraction     # of the work of BLAS; infinite: never give up
    Py_ssize_t k
    Py_ssize_t n_atoms          # at the start: what BLAS would have to compute
    bint samples                # whether to sample, or to drop by bounds alone


cdef void bound_by_norms(
    const CoordinateSample* sample, const SampleQuery* query, Survivors* survivors
) noexcept nogil

cdef Outcome search_sample(
    const CoordinateSample* sample,
    const SampleQuery* query,
    const floating* entries,        # of the query
    Survivors* survivors,
) noexcept nogil
