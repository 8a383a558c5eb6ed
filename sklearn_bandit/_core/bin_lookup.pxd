"""The bins of values by a table: see ``bin_lookup.pyx``."""

from libc.stdint cimport uint8_t

cdef enum:
    N_CELLS = 1024              # of a table
    EDGE_ROOM = 512             # edges, with the infinite ones behind the last
    MAX_LOOKED_UP = 256         # values at a time
    TABLE_ROWS = 4096           # rows of one task: tables are fetched once for these
    MISSING_BIN = 255           # of a missing value, behind all others

ctypedef fused edge_t:
    float
    double


cdef struct BinLookup:
    # The table of one feature.
    double origin               # where the first cell starts
    double scale                # cells per unit
    int n_halvings              # that settle the fullest cell
    uint8_t table[N_CELLS]      # number of edges before each cell


cdef struct Seen:
    # What was seen among some values.
    bint missing                # whether one is NaN
    bint infinite               # whether one is infinite
    bint missed                 # whether one has no bin of its own, where each should


cdef void set_lookup(
    BinLookup* lookup,
    const edge_t* edges,        # increasing, with room for EDGE_ROOM
    Py_ssize_t n_edges,         # at least one, at most 255
    bint unit_cells,            # a cell for each integer from 0 on
) noexcept nogil

cdef void look_up(
    const BinLookup* lookup,
    const edge_t* edges,
    const edge_t* values,
    Py_ssize_t n,               # at most MAX_LOOKED_UP
    uint8_t* bins,
    Seen* seen,
) noexcept nogil

cdef void compare_values(
    const float* values,
    Py_ssize_t n,
    float edge,                 # the only one, or infinity
    float low,                  # two known values: others are missed
    float high,
    uint8_t* bins,
    Seen* seen,
) noexcept nogil
