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
from sklearn_bandit.tree._common cimport MARK, N_SLOTS

cdef enum:
    # The column-major copy of all samples is read instead of the rows in nodes that
    # hold at least this share of all rows: then each cache line of a column holds two
    # or more rows of the node.
    COLUMN_SHARE = 32
    # Histograms filled in one pass over the rows: more do not stay in the second-level
    # cache.
    FILLED_BYTES = 1 << 17
    # Rows that are fetched ahead of their use: a node's rows have gaps between them,
    # which the processor cannot foresee.
    ROWS_AHEAD = 16
    # The bins of a wide row are in different lines: from as many rows on, these are
    # fetched one by one. On MNIST that saved 7% of the time of a tree.
    SCATTERED_ROWS = 256
    # Columns of a node's copy that are read together.
    TURNED_WIDTH = 4


cdef inline_void fill_rows(
    const int width,
    const bint sparse,
    cell_t* cells,
    uint8_t* marks,
    Py_ssize_t n_cells,
    const Block* block,
    Py_ssize_t n_outputs,
    const uint32_t* ids,
    Py_ssize_t n,
    const int32_t* features,
) noexcept nogil:
    """Add rows to the histograms of `width` features."""
    cdef const uint8_t* rows = block.rows
    cdef const uint16_t* labels = block.labels
    cdef const uint16_t* counts = block.counts
    cdef const double* weights = block.weights
    cdef Py_ssize_t stride = block.stride
    cdef Py_ssize_t i, k, id, n_fetched = 0, n_scattered = 0
    cdef Py_ssize_t offsets[8]
    cdef int j
    cdef const uint8_t* row
    cdef cell_t* own
    cdef cell_t weight
    cdef Py_ssize_t bin

    for j in range(width):
        offsets[j] = features[j]
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
    cell_t* cells,
    uint8_t* marks,
    Py_ssize_t n_cells,
    const Block* block,
    const uint32_t* ids,
    Py_ssize_t n,
    const int32_t* features,
) noexcept nogil:
    """Add rows of one output to the histograms of `width` features, along columns.

    `known_cells` is the number of cells if the compiler is to know it, else 0.
    """
    cdef const uint16_t* labels = block.labels
    cdef const uint16_t* counts = block.counts
    cdef const double* weights = block.weights
    cdef const uint8_t* columns[TURNED_WIDTH]
    cdef Py_ssize_t i, id, bin, size = known_cells if known_cells else n_cells
    cdef cell_t* own
    cdef cell_t weight
    cdef int j

    for j in range(width):
        columns[j] = block.transposed + features[j] * block.transposed_stride
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
    const bint sparse,
    const int known_cells,
    cell_t* cells,
    uint8_t* marks,
    Py_ssize_t n_cells,
    const Block* block,
    const uint32_t* ids,
    Py_ssize_t n,
    const int32_t* features,
    Py_ssize_t n_features,
) noexcept nogil:
    """Add rows of one output with the number of cells known to the compiler."""
    cdef Py_ssize_t j = 0, slot_size = N_SLOTS * n_cells

    while j + TURNED_WIDTH <= n_features:
        fill_transposed(
            TURNED_WIDTH, sparse, known_cells, cells + j * slot_size,
            marks + j * N_SLOTS if sparse else NULL, n_cells, block, ids, n,
            features + j,
        )
        j += TURNED_WIDTH
    while j < n_features:
        fill_transposed(
            1, sparse, known_cells, cells + j * slot_size,
            marks + j * N_SLOTS if sparse else NULL, n_cells, block, ids, n,
            features + j,
        )
        j += 1


cdef inline_void fill_transposed_group(
    const int known_cells,
    cell_t* cells,
    uint8_t* marks,
    Py_ssize_t n_cells,
    const Block* block,
    const uint32_t* ids,
    Py_ssize_t n,
    const int32_t* features,
    Py_ssize_t n_features,
) noexcept nogil:
    """Add rows of one output, noting the bins that they are in or not."""
    if marks != NULL:
        fill_transposed_cells(
            True, known_cells, cells, marks, n_cells, block, ids, n, features,
            n_features,
        )
    else:
        fill_transposed_cells(
            False, known_cells, cells, NULL, n_cells, block, ids, n, features,
            n_features,
        )


cdef void fill_column(
    cell_t* cells,
    Py_ssize_t n_cells,
    const Block* block,
    const uint8_t* column,
    const uint32_t* ids,
    Py_ssize_t n,
) noexcept nogil:
    """Add rows of one output to the histogram of one feature, along its column."""
    cdef const uint16_t* labels = block.labels
    cdef const uint16_t* counts = block.counts
    cdef const double* weights = block.weights
    cdef Py_ssize_t i
    cdef uint32_t id

    for i in range(n):
        id = ids[i]
        if cell_t is double:
            cells[column[id] * n_cells + labels[id]] += weights[id]
        else:
            cells[column[id] * n_cells + labels[id]] += counts[id]


cdef inline_void fill_width(
    const bint sparse,
    int width,
    cell_t* cells,
    uint8_t* marks,
    Py_ssize_t n_cells,
    const Block* block,
    const uint32_t* ids,
    Py_ssize_t n,
    const int32_t* features,
) noexcept nogil:
    """Add rows of one output with the number of features known to the compiler."""
    if width == 8:
        fill_rows(8, sparse, cells, marks, n_cells, block, 1, ids, n, features)
    elif width == 7:
        fill_rows(7, sparse, cells, marks, n_cells, block, 1, ids, n, features)
    elif width == 6:
        fill_rows(6, sparse, cells, marks, n_cells, block, 1, ids, n, features)
    elif width == 5:
        fill_rows(5, sparse, cells, marks, n_cells, block, 1, ids, n, features)
    elif width == 4:
        fill_rows(4, sparse, cells, marks, n_cells, block, 1, ids, n, features)
    elif width == 3:
        fill_rows(3, sparse, cells, marks, n_cells, block, 1, ids, n, features)
    elif width == 2:
        fill_rows(2, sparse, cells, marks, n_cells, block, 1, ids, n, features)
    else:
        fill_rows(1, sparse, cells, marks, n_cells, block, 1, ids, n, features)


cdef void fill_group(
    cell_t* cells,
    uint8_t* marks,
    Py_ssize_t n_cells,
    const Block* block,
    Py_ssize_t n_outputs,
    const uint32_t* ids,
    Py_ssize_t n,
    const int32_t* features,
    Py_ssize_t n_features,
) noexcept nogil:
    """Add rows to the histograms of up to MAX_GROUP features."""
    cdef Py_ssize_t slot_size = N_SLOTS * n_cells
    cdef Py_ssize_t widest = FILLED_BYTES // (slot_size * <Py_ssize_t> sizeof(cell_t))
    cdef Py_ssize_t j = 0, width
    cdef bint along_columns = (
        block.columns != NULL and n * COLUMN_SHARE >= block.n_rows and n_outputs == 1
    )

    if block.transposed != NULL and n_outputs == 1:
        if n_cells == 16:
            fill_transposed_group(
                16, cells, marks, n_cells, block, ids, n, features, n_features
            )
        elif n_cells == 8:
            fill_transposed_group(
                8, cells, marks, n_cells, block, ids, n, features, n_features
            )
        elif n_cells == 2:
            fill_transposed_group(
                2, cells, marks, n_cells, block, ids, n, features, n_features
            )
        else:
            fill_transposed_group(
                0, cells, marks, n_cells, block, ids, n, features, n_features
            )
        return
    widest = max(widest, <Py_ssize_t> 1) if n_outputs == 1 else 1
    while j < n_features:
        width = min(widest, n_features - j)
        if marks != NULL and n_outputs == 1:
            fill_width(
                True, <int> width, cells + j * slot_size, marks + j * N_SLOTS, n_cells,
                block, ids, n, features + j,
            )
        elif marks != NULL:
            fill_rows(
                1, True, cells + j * slot_size, marks + j * N_SLOTS, n_cells, block,
                n_outputs, ids, n, features + j,
            )
        elif along_columns:
            width = 1
            fill_column(
                cells + j * slot_size, n_cells, block,
                block.columns + features[j] * block.n_rows, ids, n,
            )
        elif n_outputs == 1:
            fill_width(
                False, <int> width, cells + j * slot_size, NULL, n_cells, block, ids, n,
                features + j,
            )
        else:
            fill_rows(
                1, False, cells + j * slot_size, NULL, n_cells, block, n_outputs, ids,
                n, features + j,
            )
        j += width
