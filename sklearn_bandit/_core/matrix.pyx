"""Read a dense matrix of any common type, in place, as float32.

scikit-learn's trees are grown and predict on ``float32(X)``. Kernels here see the same
numbers whatever the type and the order of the user's matrix, converted a few hundred
values at a time, so that the matrix itself (it may be memory-mapped) is never copied
whole.
"""

import numpy as np

from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t

from sklearn_bandit._core.memory cimport CACHE_LINE
from sklearn_bandit._core.simd cimport prefetch

# Four neighbouring values of each of four rows, written column by column.
cdef extern from "matrix.h":
    void transpose_floats "skb_transpose_float"(
        const float** rows, Py_ssize_t column, float* out, Py_ssize_t stride
    ) noexcept nogil
    void transpose_doubles "skb_transpose_double"(
        const double** rows, Py_ssize_t column, float* out, Py_ssize_t stride
    ) noexcept nogil

cdef enum:
    LOADED_ROWS = 4     # rows that are transposed together
    ROWS_AHEAD = 32     # rows that are fetched ahead of their use

ctypedef fused real_t:
    float
    double

ctypedef fused value_t:
    uint8_t
    int16_t
    int32_t
    int64_t
    float
    double

_TYPES = {
    "bool": UINT8,
    "uint8": UINT8,
    "int16": INT16,
    "int32": INT32,
    "int64": INT64,
    "float32": FLOAT32,
    "float64": FLOAT64,
}


def is_readable(X):
    """Whether an array can be read in place: its type is one of the common ones.

    Parameters
    ----------
    X : ndarray
        Any array.

    Returns
    -------
    bool
    """
    return X.dtype.name in _TYPES and X.dtype.isnative and X.flags.aligned


cdef class MatrixView:
    """A dense matrix that kernels read in place as float32.

    Parameters
    ----------
    array : ndarray of shape (n_rows, n_columns)
        Boolean, uint8, int16, int32, int64, float32 or float64; any strides; may be
        read-only or memory-mapped.
    """

    def __cinit__(self, array):
        if array.ndim != 2 or not is_readable(array):
            raise ValueError(f"Cannot read a matrix of {array.dtype} in place.")
        cdef size_t address = array.__array_interface__["data"][0]
        self.array = array
        self.matrix.data = <const char*>address
        self.matrix.n_rows, self.matrix.n_columns = array.shape
        self.matrix.row_stride, self.matrix.column_stride = array.strides
        self.matrix.type = _TYPES[array.dtype.name]

    def __reduce__(self):
        # For forests that grow in other processes.
        return MatrixView, (self.array,)

    def column(self, Py_ssize_t column, rows=None):
        """Return one column, or some of its rows, as float32.

        Parameters
        ----------
        column : int
            Which column.
        rows : ndarray of uint32, default=None
            Which rows; None for all.

        Returns
        -------
        ndarray of float32
        """
        cdef const uint32_t[::1] ids
        cdef float[::1] out
        if not 0 <= column < self.matrix.n_columns:
            raise IndexError(f"No column {column}.")
        if rows is None:
            out = np.empty(self.matrix.n_rows, dtype=np.float32)
            if out.shape[0]:
                load_column(&self.matrix, column, 0, out.shape[0], &out[0])
        else:
            ids = rows
            out = np.empty(ids.shape[0], dtype=np.float32)
            if out.shape[0]:
                if np.max(rows) >= self.matrix.n_rows:
                    raise IndexError("No such row.")
                gather_column(&self.matrix, column, &ids[0], out.shape[0], &out[0])
        return np.asarray(out)


cdef void _load(
    const value_t* first, Py_ssize_t stride, Py_ssize_t n, float* out
) noexcept nogil:
    cdef const char* at = <const char*>first
    cdef Py_ssize_t i

    if stride == sizeof(value_t):
        for i in range(n):
            out[i] = <float>first[i]
        return
    for i in range(n):
        out[i] = <float>(<const value_t*>(at + i * stride))[0]


cdef void _gather(
    const value_t* first, Py_ssize_t stride, const uint32_t* rows, Py_ssize_t n,
    float* out
) noexcept nogil:
    cdef const char* at = <const char*>first
    cdef Py_ssize_t i

    for i in range(n):
        out[i] = <float>(<const value_t*>(at + rows[i] * stride))[0]


cdef void load_column(
    const Matrix* matrix, Py_ssize_t column, Py_ssize_t start, Py_ssize_t n, float* out
) noexcept nogil:
    """Read consecutive rows of a column."""
    cdef Py_ssize_t stride = matrix.row_stride
    cdef const char* first = (
        matrix.data + start * stride + column * matrix.column_stride
    )
    if matrix.type == UINT8:
        _load(<const uint8_t*>first, stride, n, out)
    elif matrix.type == INT16:
        _load(<const int16_t*>first, stride, n, out)
    elif matrix.type == INT32:
        _load(<const int32_t*>first, stride, n, out)
    elif matrix.type == INT64:
        _load(<const int64_t*>first, stride, n, out)
    elif matrix.type == FLOAT32:
        _load(<const float*>first, stride, n, out)
    else:
        _load(<const double*>first, stride, n, out)


cdef void _load_rows(
    const real_t* first, Py_ssize_t row_stride, const uint32_t* ids,
    Py_ssize_t n_columns, Py_ssize_t n, Py_ssize_t n_fetched, float* out,
    Py_ssize_t out_stride,
) noexcept nogil:
    """Transpose rows, in squares that fit the registers."""
    cdef const real_t* rows[LOADED_ROWS]
    cdef const char* ahead
    cdef Py_ssize_t start = 0, n_rows, id, i, j
    cdef Py_ssize_t n_bytes = n_fetched * <Py_ssize_t>sizeof(real_t)

    while start < n:
        n_rows = min(<Py_ssize_t>LOADED_ROWS, n - start)
        for i in range(n_rows):
            id = start + i
            rows[i] = <const real_t*>(
                <const char*>first + (id if ids == NULL else ids[id]) * row_stride
            )
            if n_bytes == 0:
                continue
            id += ROWS_AHEAD
            if ids != NULL:
                id = ids[min(id, n - 1)]
            ahead = <const char*>first + id * row_stride
            j = 0
            while j < n_bytes:
                prefetch(ahead + j)
                j += CACHE_LINE
            prefetch(ahead + n_bytes - 1)
        j = 0
        while n_rows == LOADED_ROWS and j + 4 <= n_columns:
            if real_t is float:
                transpose_floats(rows, j, out + j * out_stride + start, out_stride)
            else:
                transpose_doubles(rows, j, out + j * out_stride + start, out_stride)
            j += 4
        while j < n_columns:
            for i in range(n_rows):
                out[j * out_stride + start + i] = <float>rows[i][j]
            j += 1
        start += n_rows


cdef void load_tile(
    const Matrix* matrix, const Tile* tile, float* out, Py_ssize_t out_stride
) noexcept nogil:
    """Read rows of neighbouring columns, in the order of memory."""
    cdef Py_ssize_t j, stride = matrix.row_stride
    cdef const char* first = matrix.data + tile.column * matrix.column_stride
    cdef const uint32_t* ids = tile.ids

    if ids == NULL:
        first += tile.start * stride
    else:
        ids += tile.start
    if matrix.type == FLOAT32 and matrix.column_stride == sizeof(float):
        _load_rows(
            <const float*>first, stride, ids, tile.n_columns, tile.n, tile.n_fetched,
            out, out_stride,
        )
    elif matrix.type == FLOAT64 and matrix.column_stride == sizeof(double):
        _load_rows(
            <const double*>first, stride, ids, tile.n_columns, tile.n, tile.n_fetched,
            out, out_stride,
        )
    elif ids == NULL:
        for j in range(tile.n_columns):
            load_column(
                matrix, tile.column + j, tile.start, tile.n, out + j * out_stride
            )
    else:
        for j in range(tile.n_columns):
            gather_column(matrix, tile.column + j, ids, tile.n, out + j * out_stride)


cdef void gather_column(
    const Matrix* matrix,
    Py_ssize_t column,
    const uint32_t* rows,
    Py_ssize_t n,
    float* out,
) noexcept nogil:
    """Read any rows of a column."""
    cdef Py_ssize_t stride = matrix.row_stride
    cdef const char* first = matrix.data + column * matrix.column_stride
    if matrix.type == UINT8:
        _gather(<const uint8_t*>first, stride, rows, n, out)
    elif matrix.type == INT16:
        _gather(<const int16_t*>first, stride, rows, n, out)
    elif matrix.type == INT32:
        _gather(<const int32_t*>first, stride, rows, n, out)
    elif matrix.type == INT64:
        _gather(<const int64_t*>first, stride, rows, n, out)
    elif matrix.type == FLOAT32:
        _gather(<const float*>first, stride, rows, n, out)
    else:
        _gather(<const double*>first, stride, rows, n, out)
