"""Filling histograms of class weights.

Rows that are one or two cache lines wide are read once for several features. Of wider
rows a node has its own copy by columns (``transpose``): there the bins of a feature are
close together, while those of a row would be in as many lines as features are drawn.

What is constant in a loop is copied to local variables first. Marks are bytes, and the
compiler has to assume that a byte stored may change anything in memory.
"""

from libc.stdint cimport uint16_t

from sklearn_bandit._core.memory cimport CACHE_LINE
from sklearn_bandit._core.simd cimport inline_void, prefetch
from sklearn_bandit.tree._common cimport MARK, N_SLOTS, ROWS_AHEAD

cdef enum:
    # The column-major copy of all samples is read instead of the rows in nodes that
    # hold at least one in 32 of all rows: then each cache line of a column holds two or
    # more rows of the node.
    COLUMN_RATIO = 32
    # Histograms filled in one pass over the rows: more do not stay in the second-level
    # cache.
    FILLED_BYTES = 1 << 17
    # The bins of a wide row are in different lines: from as many rows on, these are
    # fetched one by one. On MNIST that saved 7% of the time of a tree.
    SCATTERED_ROWS = 256
    # Columns of a node's copy that are read together.
    COLUMNS_WIDTH = 4


cdef inline_void fill_rows(
    const int width,
    const bint sparse,
    const bint single,
    Py_ssize_t first,
    cell_t* cells,
    const Filling* filling,
) noexcept nogil:
    """Add rows to the histograms of `width` features, from `first` on.

    `single` says that there is one output.
    """
    cdef const Block* block = filling.block
    cdef const uint8_t* rows = block.rows
    cdef const uint16_t* labels = block.labels
    cdef const uint16_t* counts = block.counts
    cdef const double* weights = block.weights
    cdef const uint32_t* ids = filling.ids
    cdef uint8_t* marks = filling.marks + first * N_SLOTS if sparse else NULL
    cdef Py_ssize_t n = filling.n, n_cells = filling.n_cells, stride = block.stride
    cdef Py_ssize_t n_outputs = 1 if single else filling.n_outputs
    cdef Py_ssize_t i, k, id, n_fetched = 0, n_scattered = 0
    cdef Py_ssize_t offsets[8]
    cdef int j
    cdef const uint8_t* row
    cdef cell_t* own
    cdef cell_t weight
    cdef Py_ssize_t bin

    cells += first * N_SLOTS * n_cells
    for j in range(width):
        offsets[j] = filling.features[first + j]
    if not sparse and stride <= CACHE_LINE:
        n_fetched = n - ROWS_AHEAD
    if stride > 2 * CACHE_LINE and n > SCATTERED_ROWS:
        n_scattered = n - ROWS_AHEAD
    for i in range(n):
        if not sparse and i < n_fetched:
            prefetch(rows + <Py_ssize_t> ids[i + ROWS_AHEAD] * stride)
        if i < n_scattered:
            row = rows + <Py_ssize_t> ids[i + ROWS_AHEAD] * stride
            for j in range(width):
                prefetch(row + offsets[j])
        id = ids[i]
        row = rows + id * stride
        if cell_t is double:
            weight = weights[id]
        else:
            weight = counts[id]
        for k in range(n_outputs):
            own = cells + labels[id * n_outputs + k]
            for j in range(width):
                bin = row[offsets[j]]
                own[j * N_SLOTS * n_cells + bin * n_cells] += weight
                if sparse:
                    marks[j * N_SLOTS + bin] = MARK


cdef inline_void fill_transposed(
    const int width,
    const bint sparse,
    const int known_cells,
    Py_ssize_t first,
    cell_t* cells,
    const Filling* filling,
) noexcept nogil:
    """Add rows of one output to the histograms of `width` features, along columns.

    `known_cells` is the number of cells if the compiler is to know it, else 0.
    """
    cdef const Block* block = filling.block
    cdef const uint16_t* labels = block.labels
    cdef const uint16_t* counts = block.counts
    cdef const double* weights = block.weights
    cdef const uint32_t* ids = filling.ids
    cdef uint8_t* marks = filling.marks + first * N_SLOTS if sparse else NULL
    cdef const uint8_t* columns[COLUMNS_WIDTH]
    cdef Py_ssize_t i, id, bin, n = filling.n
    cdef Py_ssize_t size = known_cells if known_cells else filling.n_cells
    cdef cell_t* own
    cdef cell_t weight
    cdef int j

    cells += first * N_SLOTS * size
    for j in range(width):
        columns[j] = (
            block.transposed + filling.features[first + j] * block.transposed_stride
        )
    for i in range(n):
        id = ids[i]
        own = cells + labels[id]
        if cell_t is double:
            weight = weights[id]
        else:
            weight = counts[id]
        for j in range(width):
            bin = columns[j][id]
            own[j * N_SLOTS * size + bin * size] += weight
            if sparse:
                marks[j * N_SLOTS + bin] = MARK


cdef inline_void fill_transposed_cells(
    const bint sparse, const int known_cells, cell_t* cells, const Filling* filling
) noexcept nogil:
    """Add rows of one output with the number of cells known to the compiler."""
    cdef Py_ssize_t j = 0

    while j + COLUMNS_WIDTH <= filling.n_features:
        fill_transposed(COLUMNS_WIDTH, sparse, known_cells, j, cells, filling)
        j += COLUMNS_WIDTH
    while j < filling.n_features:
        fill_transposed(1, sparse, known_cells, j, cells, filling)
        j += 1


cdef inline_void fill_transposed_group(
    const int known_cells, cell_t* cells, const Filling* filling
) noexcept nogil:
    """Add rows of one output, noting the bins that they are in or not."""
    if filling.marks != NULL:
        fill_transposed_cells(True, known_cells, cells, filling)
    else:
        fill_transposed_cells(False, known_cells, cells, filling)


cdef void fill_column(
    Py_ssize_t number, cell_t* cells, const Filling* filling
) noexcept nogil:
    """Add rows of one output to the histogram of one feature, along its column."""
    cdef const Block* block = filling.block
    cdef const uint8_t* column = (
        block.columns + filling.features[number] * block.n_rows
    )
    cdef const uint16_t* labels = block.labels
    cdef const uint16_t* counts = block.counts
    cdef const double* weights = block.weights
    cdef const uint32_t* ids = filling.ids
    cdef Py_ssize_t i, n_cells = filling.n_cells
    cdef uint32_t id

    cells += number * N_SLOTS * n_cells
    for i in range(filling.n):
        id = ids[i]
        if cell_t is double:
            cells[column[id] * n_cells + labels[id]] += weights[id]
        else:
            cells[column[id] * n_cells + labels[id]] += counts[id]


cdef inline_void fill_width(
    const bint sparse, int width, Py_ssize_t first, cell_t* cells,
    const Filling* filling,
) noexcept nogil:
    """Add rows of one output with the number of features known to the compiler."""
    if width == 8:
        fill_rows(8, sparse, True, first, cells, filling)
    elif width == 7:
        fill_rows(7, sparse, True, first, cells, filling)
    elif width == 6:
        fill_rows(6, sparse, True, first, cells, filling)
    elif width == 5:
        fill_rows(5, sparse, True, first, cells, filling)
    elif width == 4:
        fill_rows(4, sparse, True, first, cells, filling)
    elif width == 3:
        fill_rows(3, sparse, True, first, cells, filling)
    elif width == 2:
        fill_rows(2, sparse, True, first, cells, filling)
    else:
        fill_rows(1, sparse, True, first, cells, filling)


cdef void fill_group(cell_t* cells, const Filling* filling) noexcept nogil:
    """Add rows to the histograms of up to MAX_GROUP features."""
    cdef const Block* block = filling.block
    cdef Py_ssize_t n_cells = filling.n_cells, j = 0, width
    cdef Py_ssize_t slot_bytes = N_SLOTS * n_cells * <Py_ssize_t> sizeof(cell_t)
    cdef Py_ssize_t widest = max(FILLED_BYTES // slot_bytes, <Py_ssize_t> 1)
    cdef bint single = filling.n_outputs == 1, sparse = filling.marks != NULL
    cdef bint along_columns = (
        block.columns != NULL and filling.n * COLUMN_RATIO >= block.n_rows and single
    )

    if block.transposed != NULL and single:
        if n_cells == 16:
            fill_transposed_group(16, cells, filling)
        elif n_cells == 8:
            fill_transposed_group(8, cells, filling)
        elif n_cells == 2:
            fill_transposed_group(2, cells, filling)
        else:
            fill_transposed_group(0, cells, filling)
        return
    while j < filling.n_features:
        width = min(widest, filling.n_features - j) if single else 1
        if sparse and single:
            fill_width(True, <int> width, j, cells, filling)
        elif sparse:
            fill_rows(1, True, False, j, cells, filling)
        elif along_columns:
            width = 1
            fill_column(j, cells, filling)
        elif single:
            fill_width(False, <int> width, j, cells, filling)
        else:
            fill_rows(1, False, False, j, cells, filling)
        j += width
