"""Sums over the tiles of a coordinate sample: see ``_tile_sums.pyx``."""

from cython cimport floating

from sklearn_bandit._core.simd cimport simd_void


cdef struct ProductSums:
    # One value for each of the atoms.
    float* total                    # of the products
    float* square                   # of their squares
    float* energy                   # of squares of what the query is multiplied with


cdef simd_void subtract_components(
    const floating* entries,        # of a query
    const Py_ssize_t* coordinates,
    const double* coefs,            # of the query on the components
    Py_ssize_t n_components,
    const floating* components,     # at the coordinates, one a row
    Py_ssize_t stride,              # of these rows
    Py_ssize_t n,                   # number of coordinates
    float* residual,                # set: what is left
) noexcept nogil

cdef simd_void add_products(
    const float* tile,              # one row a slot
    const float* query,
    Py_ssize_t width,               # of the tile, even
    const Py_ssize_t* slots,        # of the atoms
    Py_ssize_t n,                   # number of atoms
    ProductSums* sums,              # added to, but for the energy
) noexcept nogil

cdef simd_void add_differences(
    const float* tile,
    const float* query,
    Py_ssize_t width,
    Py_ssize_t leader_slot,         # of the atom that the others are compared with
    const Py_ssize_t* slots,
    Py_ssize_t n,
    ProductSums* sums,              # added to
) noexcept nogil
