"""Tiles of a matrix of bytes: see ``byte_tiles.pyx``."""

from libc.stdint cimport uint8_t, uint32_t

from sklearn_bandit._core.matrix cimport Matrix, Tile

cdef enum:
    # Rows whose values, bins and output lines stay in the first-level cache together.
    TILE_ROWS = 128
    TILE_COLUMNS = 32


cdef void load_bytes(
    const Matrix* X,
    const Tile* tile,           # all rows are read: it has no `ids`
    uint8_t* out,               # column by column, TILE_ROWS from one to the next
) noexcept nogil

cdef void count_bytes(
    const Matrix* X,
    Py_ssize_t start,           # rows
    Py_ssize_t end,
    uint32_t* counts,           # of the 256 values of each column
) noexcept nogil
