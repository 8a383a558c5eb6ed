"""Insertion of rows into slots, and of slots into cells: see ``insertions.pyx``."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from sklearn_bandit._core.simd cimport simd_256_void

from .._data.row_lists cimport GroupRows

cdef simd_256_void insert_pairs(
    const GroupRows* group,
    const uint32_t* rows,           # of a node, ascending
    const float* gradients,         # of all rows
    Py_ssize_t start,               # the rows to insert
    Py_ssize_t stop,
    double* out,                    # slots of two numbers: added to
    int64_t* n_inserted,            # set
) noexcept nogil

cdef simd_256_void insert_quads(
    const GroupRows* group,
    const uint32_t* rows,
    const float* gradients,         # and hessians
    Py_ssize_t start,
    Py_ssize_t stop,
    double* out,                    # slots of four numbers
    int64_t* n_inserted,
) noexcept nogil

cdef void insert_packed_rows(
    const GroupRows* group,
    const uint32_t* rows,
    const uint64_t* packed,         # gradients and hessians of all rows
    Py_ssize_t start,
    Py_ssize_t stop,
    uint64_t* out,                  # packed slots: added to
    int64_t* n_inserted,            # added to
) noexcept nogil

cdef simd_256_void write_unpacked(
    const uint64_t* packed,         # slots
    Py_ssize_t n,
    double step_g,                  # units of packed sums
    double step_h,
    double* cells,                  # of four numbers
) noexcept nogil

cdef simd_256_void add_unpacked(
    const uint64_t* packed,
    Py_ssize_t n,
    double step_g,
    double step_h,
    double* cells,
) noexcept nogil

cdef simd_256_void sum_pairs(
    const double* slots,
    const int32_t* cell,            # of each slot
    Py_ssize_t n,
    double* cells,                  # added to
) noexcept nogil

cdef simd_256_void sum_quads(
    const double* slots, const int32_t* cell, Py_ssize_t n, double* cells
) noexcept nogil
