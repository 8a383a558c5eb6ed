"""Insertion of rows into the slots of a group, and of slots into cells.

Rows are inserted one after the other, so that neighbouring additions go to different
features and do not wait for each other, as they would column by column wherever many
rows share a bin. ``histogram`` says what slots and cells are, and divides the work.

Rows of a sample come packed (see ``sampled_pairs``): their sums are integers of 64
bits, a quarter of a cell.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from sklearn_bandit._core.memory cimport CACHE_LINE
from sklearn_bandit._core.simd cimport inline_void, prefetch, simd_256_void

from .._common cimport LISTS_AHEAD
from .._data.row_lists cimport GroupRows
from .sampled_pairs cimport COUNT_BITS, HESSIAN_BITS, MAX_PACKED_ROWS

cdef enum:
    # Rows whose addends are made in advance: they stay in the first-level cache.
    BLOCK_ROWS = 64
    # Numbers of a cell whose sums are packed into one integer.
    PACKED = 1


cdef inline_void _add(
    const int width, const int n, const uint16_t* first, const void* entries,
    Py_ssize_t j, const double* addend, double* out
) noexcept nogil:
    """Insert into the slots of some entries, a number that is known to the compiler.

    Each addition is then an instruction of its own, so that the processor learns which
    of them tend to hit the slot of the row before, and does not hold up the others.
    Entries are slots, or cells if there are first slots.
    """
    cdef Py_ssize_t k, slot

    for k in range(j, j + n):
        if first == NULL:
            slot = (<const uint16_t*> entries)[k]
        else:
            slot = first[k] + <Py_ssize_t> (<const uint8_t*> entries)[k]
        _add_cell(width, addend, out + width * slot)


cdef inline_void _add_cell(
    const int width, const double* addend, double* cell
) noexcept nogil:
    """Add to a cell: all is read before anything is written, so that compilers make
    one load, one addition and one store of it.

    A cell of one number is packed: an integer.
    """
    cdef double g, n, h = 0.0, zero = 0.0

    if width == PACKED:
        (<uint64_t*> cell)[0] += (<const uint64_t*> addend)[0]
        return
    g = cell[0] + addend[0]
    n = cell[1] + addend[1]
    if width == 4:
        h = cell[2] + addend[2]
        zero = cell[3] + addend[3]
    cell[0] = g
    cell[1] = n
    if width == 4:
        cell[2] = h
        cell[3] = zero


cdef inline_void _fetch(const void* entries, Py_ssize_t size) noexcept nogil:
    """Fetch a list of some bytes from memory: every cache line of it."""
    cdef Py_ssize_t j = 0

    while j < size:
        prefetch(<const uint8_t*> entries + j)
        j += CACHE_LINE


cdef inline_void _add_dense(
    const int width, const uint16_t* first, const void* entries, Py_ssize_t n,
    const double* addend, double* out
) noexcept nogil:
    """Insert into the slots of a list whose length is that of all others."""
    cdef Py_ssize_t j = 0

    while j + 8 <= n:
        _add(width, 8, first, entries, j, addend, out)
        j += 8
    if n & 4:
        _add(width, 4, first, entries, j, addend, out)
        j += 4
    if n & 2:
        _add(width, 2, first, entries, j, addend, out)
        j += 2
    if n & 1:
        _add(width, 1, first, entries, j, addend, out)


cdef inline_void _insert_row(
    const int width,
    const GroupRows* group,
    Py_ssize_t row,
    Py_ssize_t ahead,
    const double* addend,
    double* out,
    int64_t* n_inserted,
) noexcept nogil:
    """Insert a row into its slots, and fetch the list of one that comes later."""
    cdef Py_ssize_t j = 0, n = group.width
    cdef const uint16_t* slots

    if group.cells != NULL:
        _fetch(group.cells + ahead * n, n)
        _add_dense(width, group.first_slot, group.cells + row * n, n, addend, out)
    elif group.starts == NULL:
        _fetch(group.slots + ahead * n, n * sizeof(uint16_t))
        _add_dense(width, NULL, group.slots + row * n, n, addend, out)
    else:
        slots = group.slots + group.starts[row]
        n = group.starts[row + 1] - group.starts[row]
        _fetch(
            group.slots + group.starts[ahead],
            (group.starts[ahead + 1] - group.starts[ahead]) * sizeof(uint16_t),
        )
        while j + 8 <= n:
            _add(width, 8, NULL, slots, j, addend, out)
            j += 8
        while j < n:  # any length: one branch to mispredict, not three
            _add(width, 1, NULL, slots, j, addend, out)
            j += 1
    n_inserted[0] += n


cdef inline_void _insert_block(
    const int width,
    const GroupRows* group,
    const uint32_t* rows,
    const float* gradients,
    Py_ssize_t n_rows,
    Py_ssize_t n_ahead,
    double* out,
    int64_t* n_inserted,
) noexcept nogil:
    """Insert at most BLOCK_ROWS rows; `n_ahead` of them and more may be fetched."""
    cdef double[4 * BLOCK_ROWS] addends
    cdef Py_ssize_t i, row, ahead
    cdef int64_t inserted = 0

    # Made in advance: memory takes a while to load together what is stored apart.
    for i in range(n_rows):
        row = rows[i]
        ahead = rows[min(i + BLOCK_ROWS, n_ahead - 1)]
        prefetch(gradients + (width // 2) * ahead)
        addends[i * width] = gradients[(width // 2) * row]
        addends[i * width + 1] = 1.0
        if width == 4:
            addends[i * width + 2] = gradients[2 * row + 1]
            addends[i * width + 3] = 0.0
    for i in range(n_rows):
        ahead = rows[min(i + LISTS_AHEAD, n_ahead - 1)]
        _insert_row(width, group, rows[i], ahead, addends + i * width, out, &inserted)
    n_inserted[0] += inserted


cdef inline_void _insert(
    const int width,
    const GroupRows* group,
    const uint32_t* rows,
    const float* gradients,
    Py_ssize_t start,
    Py_ssize_t stop,
    double* out,
    int64_t* n_inserted,
) noexcept nogil:
    """Insert some rows of a node into the slots of one group."""
    cdef int64_t inserted = 0

    while start < stop:
        _insert_block(
            width, group, rows + start, gradients, min(BLOCK_ROWS, stop - start),
            stop - start, out, &inserted,
        )
        start += BLOCK_ROWS
    # Once: the counters of other threads are in the same cache line.
    n_inserted[0] = inserted


cdef simd_256_void insert_pairs(
    const GroupRows* group, const uint32_t* rows, const float* gradients,
    Py_ssize_t start, Py_ssize_t stop, double* out, int64_t* n_inserted
) noexcept nogil:
    """`_insert` where hessians are constant."""
    _insert(2, group, rows, gradients, start, stop, out, n_inserted)


cdef simd_256_void insert_quads(
    const GroupRows* group, const uint32_t* rows, const float* gradients,
    Py_ssize_t start, Py_ssize_t stop, double* out, int64_t* n_inserted
) noexcept nogil:
    """`_insert` where they are not."""
    _insert(4, group, rows, gradients, start, stop, out, n_inserted)


cdef void insert_packed_rows(
    const GroupRows* group, const uint32_t* rows, const uint64_t* packed,
    Py_ssize_t start, Py_ssize_t stop, uint64_t* out, int64_t* n_inserted
) noexcept nogil:
    """Insert some rows of a node into the packed slots of one group."""
    cdef Py_ssize_t i, ahead
    cdef int64_t inserted = 0
    cdef uint64_t addend

    for i in range(start, stop):
        ahead = rows[min(i + LISTS_AHEAD, stop - 1)]
        prefetch(packed + ahead)
        addend = packed[rows[i]]  # a copy, which no addition can change: in a register
        _insert_row(
            PACKED, group, rows[i], ahead, <const double*> &addend, <double*> out,
            &inserted,
        )
    n_inserted[0] += inserted


cdef inline_void _unpack(
    const bint is_first, const uint64_t* packed, Py_ssize_t n, double step_g,
    double step_h, double* cells
) noexcept nogil:
    """Write or add packed slots to cells of four numbers."""
    cdef Py_ssize_t i
    cdef double g, n_rows, h

    for i in range(n):
        g = step_g * <int32_t> (<int64_t> packed[i] >> (COUNT_BITS + HESSIAN_BITS))
        n_rows = <int32_t> (packed[i] & MAX_PACKED_ROWS)
        h = step_h * <int32_t> ((packed[i] >> COUNT_BITS) & ((1 << HESSIAN_BITS) - 1))
        if is_first:
            cells[4 * i] = g
            cells[4 * i + 1] = n_rows
            cells[4 * i + 2] = h
            cells[4 * i + 3] = 0.0
        else:
            cells[4 * i] += g
            cells[4 * i + 1] += n_rows
            cells[4 * i + 2] += h


cdef simd_256_void write_unpacked(
    const uint64_t* packed, Py_ssize_t n, double step_g, double step_h, double* cells
) noexcept nogil:
    _unpack(True, packed, n, step_g, step_h, cells)


cdef simd_256_void add_unpacked(
    const uint64_t* packed, Py_ssize_t n, double step_g, double step_h, double* cells
) noexcept nogil:
    _unpack(False, packed, n, step_g, step_h, cells)


cdef simd_256_void sum_pairs(
    const double* slots, const int32_t* cell, Py_ssize_t n, double* cells
) noexcept nogil:
    """Add slots to the cells they are in."""
    cdef Py_ssize_t i

    for i in range(n):
        _add_cell(2, slots + 2 * i, cells + 2 * cell[i])


cdef simd_256_void sum_quads(
    const double* slots, const int32_t* cell, Py_ssize_t n, double* cells
) noexcept nogil:
    """The same for cells of four numbers."""
    cdef Py_ssize_t i

    for i in range(n):
        _add_cell(4, slots + 4 * i, cells + 4 * cell[i])
