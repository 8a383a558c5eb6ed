"""Read a dense matrix of any common type, in place, as float32: see ``matrix.pyx``."""

from libc.stdint cimport uint32_t

cdef enum ValueType:
    UINT8       # also bool
    INT16
    INT32
    INT64
    FLOAT32
    FLOAT64

# As in scikit-learn: a value must exceed the one before by more to be another.
cdef extern from "matrix.h":
    const float FEATURE_THRESHOLD "SKB_FEATURE_THRESHOLD"

cdef struct Matrix:
    const char* data            # first element
    Py_ssize_t n_rows
    Py_ssize_t n_columns
    Py_ssize_t row_stride       # bytes from a row to the next
    Py_ssize_t column_stride    # bytes from a column to the next
    ValueType type


cdef struct Tile:
    # Some rows of neighbouring columns.
    Py_ssize_t column           # the first column
    Py_ssize_t n_columns
    Py_ssize_t start            # the first row
    Py_ssize_t n                # number of rows
    const uint32_t* ids         # rows `ids[start]` and so on; NULL: `start` and so on
    Py_ssize_t n_fetched        # columns, from `column` on, to fetch of rows to come


cdef class MatrixView:
    """A `Matrix` that keeps the array it points into alive."""

    cdef readonly object array  # the array, uncopied
    cdef Matrix matrix


cdef void load_column(
    const Matrix* matrix,
    Py_ssize_t column,
    Py_ssize_t start,           # first row
    Py_ssize_t n,               # number of rows
    float* out,
) noexcept nogil

cdef void load_tile(
    const Matrix* matrix,
    const Tile* tile,
    float* out,                 # column by column
    Py_ssize_t out_stride,      # from a column to the next
) noexcept nogil

cdef void gather_column(
    const Matrix* matrix,
    Py_ssize_t column,
    const uint32_t* rows,       # any rows, in any order
    Py_ssize_t n,
    float* out,
) noexcept nogil
