"""Tiles of a matrix of bytes: read column by column, and counted."""

from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from sklearn_bandit._core.transpose cimport transpose
from sklearn_bandit.tree._common cimport N_SLOTS


cdef void load_bytes(const Matrix* X, const Tile* tile, uint8_t* out) noexcept nogil:
    """Read some rows of neighbouring columns, column by column."""
    cdef const uint8_t* first = (
        <const uint8_t*>X.data
        + tile.start * X.row_stride
        + tile.column * X.column_stride
    )
    cdef Py_ssize_t i, j

    if X.column_stride == 1:
        transpose(first, X.row_stride, tile.n, tile.n_columns, out, TILE_ROWS)
        return
    for j in range(tile.n_columns):
        for i in range(tile.n):
            out[j * TILE_ROWS + i] = first[i * X.row_stride + j * X.column_stride]


cdef inline void _count_line(
    const uint8_t* values, Py_ssize_t n, uint32_t* counts
) noexcept nogil:
    """Count values, those that are repeated eight at a time.

    One by one, each of the same value would have to wait for the one before.
    """
    cdef uint64_t word
    cdef Py_ssize_t i, k = 0

    while k + 8 <= n:
        memcpy(&word, values + k, 8)
        if word == (word & 255) * 0x0101010101010101ULL:
            counts[values[k]] += 8
        else:
            for i in range(k, k + 8):
                counts[values[i]] += 1
        k += 8
    for i in range(k, n):
        counts[values[i]] += 1


cdef void count_bytes(
    const Matrix* X, Py_ssize_t start, Py_ssize_t end, uint32_t* counts
) noexcept nogil:
    """Count the values of each column of some rows, in tiles as for the assignment."""
    cdef uint8_t[TILE_COLUMNS * TILE_ROWS] bytes_
    cdef Tile tile
    cdef Py_ssize_t j

    tile.ids = NULL
    tile.n_fetched = 0
    tile.column = 0
    while tile.column < X.n_columns:
        tile.n_columns = min(<Py_ssize_t>TILE_COLUMNS, X.n_columns - tile.column)
        tile.start = start
        while tile.start < end:
            tile.n = min(<Py_ssize_t>TILE_ROWS, end - tile.start)
            load_bytes(X, &tile, bytes_)
            for j in range(tile.n_columns):
                _count_line(
                    bytes_ + j * TILE_ROWS, tile.n,
                    counts + (tile.column + j) * N_SLOTS,
                )
            tile.start += tile.n
        tile.column += tile.n_columns
