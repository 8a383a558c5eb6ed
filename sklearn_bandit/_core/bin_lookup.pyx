"""The bins of values by a table.

The bin of x is the number of edges below x. The search among up to 255 sorted edges is
made short by a table: the range of the edges is cut into `N_CELLS` cells of equal
width, and the table gives the number of edges before each cell. What is left are the
edges inside the cell of x, at most one if the values are spread evenly. A fixed number
of halvings that suffices for the fullest cell settles it without a branch. Cells are
computed by the same (monotone) arithmetic for edges and for values, so rounding cannot
put a value on the wrong side of an edge.

Behind the last edge there are infinite ones: the halvings may look 255 places beyond.
"""

from libc.float cimport DBL_MAX, FLT_MAX
from libc.math cimport fabs, fabsf
from libc.stdint cimport int32_t

from sklearn_bandit._core.simd cimport simd_void

# Differences of doubles may overflow; so may the cells per unit.
cdef double LARGEST_SCALE = 1e300


cdef simd_void _find_cells(
    const edge_t* values, Py_ssize_t n, edge_t origin, edge_t scale, int32_t* cells,
    Seen* seen,
) noexcept nogil:
    """Cell of each value; that of a missing value is any."""
    cdef Py_ssize_t i
    cdef edge_t cell
    cdef int missing = 0, infinite = 0

    for i in range(n):
        cell = (values[i] - origin) * scale
        cell = cell if cell > 0.0 else 0.0
        cell = cell if cell < N_CELLS - 1 else N_CELLS - 1
        cells[i] = <int32_t> cell
        missing |= values[i] != values[i]
        if edge_t is float:
            infinite |= fabsf(values[i]) > FLT_MAX
        else:
            infinite |= fabs(values[i]) > DBL_MAX
    seen.missing = missing
    seen.infinite = infinite


cdef void set_lookup(
    BinLookup* lookup, const edge_t* edges, Py_ssize_t n_edges, bint unit_cells
) noexcept nogil:
    """Make the table of a feature."""
    cdef edge_t width = edges[n_edges - 1] - edges[0]
    cdef int32_t[EDGE_ROOM] cells
    cdef Py_ssize_t i = 0, before, fullest = 0, cell
    cdef Seen unused

    lookup.origin = edges[0]
    lookup.scale = 0.0
    if unit_cells:
        lookup.origin = 0.0
        lookup.scale = 1.0
    elif width > 0.0:
        if edge_t is float:
            lookup.scale = min(<float> (N_CELLS - 1) / width, FLT_MAX)
        else:
            lookup.scale = min((N_CELLS - 1) / width, LARGEST_SCALE)
    _find_cells(
        edges, n_edges, <edge_t> lookup.origin, <edge_t> lookup.scale, cells, &unused
    )
    for cell in range(N_CELLS):
        lookup.table[cell] = <uint8_t> i
        before = i
        while i < n_edges and cells[i] == cell:
            i += 1
        fullest = max(fullest, i - before)
    lookup.n_halvings = 0
    while (1 << lookup.n_halvings) <= fullest:
        lookup.n_halvings += 1


cdef void look_up(
    const BinLookup* lookup, const edge_t* edges, const edge_t* values, Py_ssize_t n,
    uint8_t* bins, Seen* seen,
) noexcept nogil:
    """Number of edges below each value; that of a missing value is any.

    Notes whether values are missing or infinite.
    """
    cdef int32_t[MAX_LOOKED_UP] cells
    cdef const uint8_t* table = lookup.table
    cdef int n_halvings = lookup.n_halvings
    cdef Py_ssize_t i, bin_, half

    _find_cells(
        values, n, <edge_t> lookup.origin, <edge_t> lookup.scale, cells, seen
    )
    # One and two halvings, the rule for evenly spread values, without the inner loop.
    if n_halvings == 0:
        for i in range(n):
            bins[i] = table[cells[i]]
    elif n_halvings == 1:
        for i in range(n):
            bin_ = table[cells[i]]
            bins[i] = <uint8_t> (bin_ + (values[i] > edges[bin_]))
    elif n_halvings == 2:
        for i in range(n):
            bin_ = table[cells[i]]
            bin_ += 2 * (values[i] > edges[bin_ + 1])
            bins[i] = <uint8_t> (bin_ + (values[i] > edges[bin_]))
    else:
        for i in range(n):
            bin_ = table[cells[i]]
            half = 1 << (n_halvings - 1)
            while half:
                bin_ += half * (values[i] > edges[bin_ + half - 1])
                half >>= 1
            bins[i] = <uint8_t> bin_


cdef simd_void _compare(
    const float* values, Py_ssize_t n, float edge, float low, float high, uint8_t* bins,
    Seen* seen,
) noexcept nogil:
    """Bins of a feature with one edge (or none) between two values: no table needed."""
    cdef Py_ssize_t i
    cdef float value
    cdef int missing = 0, infinite = 0, missed = 0

    for i in range(n):
        value = values[i]
        bins[i] = value > edge
        missing |= value != value
        infinite |= fabsf(value) > FLT_MAX
        missed |= (value != low) & (value != high)
    seen.missing = missing
    seen.infinite = infinite
    seen.missed = missed


cdef void compare_values(
    const float* values, Py_ssize_t n, float edge, float low, float high, uint8_t* bins,
    Seen* seen,
) noexcept nogil:
    """Bins of a feature with one edge at most; notes all that can be seen."""
    _compare(values, n, edge, low, high, bins, seen)
