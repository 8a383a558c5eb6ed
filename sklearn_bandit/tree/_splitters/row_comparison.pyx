"""Which features vary among rows, and between which bins."""

from libc.string cimport memcmp, memcpy, memset

from sklearn_bandit._core.simd cimport (
    line_16,
    line_64,
    note_difference_16,
    note_difference_64,
    simd_void,
)
from sklearn_bandit.tree._common cimport MISSING_BIN, bins_of

cdef enum:
    # Rows of a node that are looked at together, where the first have not told that a
    # feature varies: not one by one if all of the column from the first to the last has
    # one bin, which is so for most stretches of rare categories and is known at once.
    STRETCH_ROWS = 256
    # Bytes of the column that are read for each of the rows at most.
    SPARSEST = 16


cdef void find_varying(
    const Block* block, const uint32_t* ids, Py_ssize_t n, uint8_t* out
) noexcept nogil:
    """Note which features vary in a block of copied rows, many at a time."""
    compare_rows(block.rows, block.stride, ids, n, out)


cdef void find_all_ranges(
    const Block* block, const uint32_t* ids, Py_ssize_t n, uint8_t* smallest,
    uint8_t* largest,
) noexcept nogil:
    """Smallest and largest bin of every feature, in a block of copied rows."""
    find_ranges(block.rows, block.stride, ids, n, smallest, largest)


cdef void find_range(
    const Block* block, const uint32_t* ids, Py_ssize_t n, int32_t feature,
    uint8_t* smallest, uint8_t* largest,
) noexcept nogil:
    """Smallest and largest bin of one feature in a node."""
    cdef Py_ssize_t i, stride = 0
    cdef const uint8_t* bins = bins_of(block, feature, &stride)
    cdef uint8_t bin, low = MISSING_BIN, high = 0

    for i in range(n):
        bin = bins[<Py_ssize_t> ids[i] * stride]
        low = min(low, bin)
        high = max(high, bin)
    smallest[0] = low
    largest[0] = high


cdef bint is_constant(
    const uint8_t* column, const uint32_t* ids, Py_ssize_t n
) noexcept nogil:
    """Whether a feature, of which this is the column, has one bin in all of a node."""
    cdef uint8_t first = column[ids[0]]
    cdef Py_ssize_t start = 0, n_stretch

    while start < n:
        n_stretch = min(<Py_ssize_t> STRETCH_ROWS, n - start)
        # The first rows tell most features that vary.
        if start == 0 or not is_filled(column, ids + start, n_stretch, first):
            if differs(column, ids + start, n_stretch, first):
                return False
        start += n_stretch
    return True


cdef bint is_filled(
    const uint8_t* column, const uint32_t* ids, Py_ssize_t n, uint8_t bin
) noexcept nogil:
    """Whether rows are close together and all of the column between them has a bin."""
    cdef uint32_t low = 0, high = 0

    find_extent(ids, n, &low, &high)
    return (
        high - low < SPARSEST * n
        and column[low] == bin
        and memcmp(column + low, column + low + 1, high - low) == 0
    )


cdef bint differs(
    const uint8_t* column, const uint32_t* ids, Py_ssize_t n, uint8_t bin
) noexcept nogil:
    """Whether a feature has another bin in any of some rows."""
    cdef uint8_t noted = 0
    cdef Py_ssize_t i = 0, k

    # Sixteen at a time: fewer branches.
    while i + 16 <= n:
        for k in range(16):
            noted |= column[ids[i + k]] ^ bin
        if noted:
            return True
        i += 16
    while i < n:
        noted |= column[ids[i]] ^ bin
        i += 1
    return noted != 0


cdef simd_void find_extent(
    const uint32_t* ids, Py_ssize_t n, uint32_t* lowest, uint32_t* highest
) noexcept nogil:
    """Smallest and largest of some ids."""
    cdef uint32_t low = ids[0], high = ids[0]
    cdef Py_ssize_t i

    for i in range(n):
        low = min(low, ids[i])
        high = max(high, ids[i])
    lowest[0] = low
    highest[0] = high


cdef simd_void find_ranges(
    const uint8_t* rows, Py_ssize_t stride, const uint32_t* ids, Py_ssize_t n,
    uint8_t* smallest, uint8_t* largest,
) noexcept nogil:
    """Smallest and largest bin of every feature, in a block of copied rows."""
    cdef const uint8_t* row = rows + ids[0] * stride
    cdef const uint8_t* row_1
    cdef const uint8_t* row_2
    cdef const uint8_t* row_3
    cdef Py_ssize_t i = 1, j

    for j in range(stride):
        smallest[j] = row[j]
        largest[j] = row[j]
    # Four rows at a time: what is noted goes to memory and back only once for these.
    while i < n:
        row = rows + ids[i] * stride
        row_1 = rows + ids[min(i + 1, n - 1)] * stride
        row_2 = rows + ids[min(i + 2, n - 1)] * stride
        row_3 = rows + ids[min(i + 3, n - 1)] * stride
        for j in range(stride):
            smallest[j] = min(
                smallest[j], min(min(row[j], row_1[j]), min(row_2[j], row_3[j]))
            )
            largest[j] = max(
                largest[j], max(max(row[j], row_1[j]), max(row_2[j], row_3[j]))
            )
        i += 4


cdef simd_void compare_rows(
    const uint8_t* rows, Py_ssize_t stride, const uint32_t* ids, Py_ssize_t n,
    uint8_t* out,
) noexcept nogil:
    """Set the bytes of `out` in which not all rows are equal, others to 0.

    A piece of the rows at a time, so that what is noted stays in a register.
    """
    cdef const uint8_t* first = rows + ids[0] * stride
    cdef Py_ssize_t start = 0, i
    cdef line_64 noted
    cdef line_16 rest

    while start + 64 <= stride:
        memset(&noted, 0, 64)
        for i in range(1, n):
            note_difference_64(&noted, rows + ids[i] * stride + start, first + start)
        memcpy(out + start, &noted, 64)
        start += 64
    while start < stride:
        memset(&rest, 0, 16)
        for i in range(1, n):
            note_difference_16(&rest, rows + ids[i] * stride + start, first + start)
        memcpy(out + start, &rest, 16)
        start += 16
