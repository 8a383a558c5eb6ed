"""Histograms of a node: see ``histogram.pyx``."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from .._data.row_lists cimport GroupRows, RowLists
from .sampled_pairs cimport SampledPairs

cdef class HistogramBuilder:
    """Sums of the rows of a node by cell."""

    cdef readonly RowLists rows         # all rows, or those of a sample
    cdef const uint64_t* packed         # their gradients and hessians; NULL: not packed
    cdef bint adds_packed               # whether chunks are still to be added up
    cdef double step_g                  # units of packed sums
    cdef double step_h
    cdef readonly int width             # doubles a cell: 4, 2 if hessians are constant
    cdef readonly Py_ssize_t total_cells
    cdef int n_threads
    cdef const int32_t[::1] n_cells     # of each feature
    cdef const int64_t[::1] first_cell
    cdef const int32_t[::1] frequent_cell
    cdef const uint8_t[::1] is_sparse
    cdef const int32_t[::1] group_of    # group of each feature
    cdef const int64_t[::1] first_slot  # of its unit, in the group
    cdef const int32_t[::1] n_slots     # of its unit
    cdef const int64_t[::1] cell_place  # of its cells in `bundle_cells`; -1: no bundle
    cdef const int32_t[::1] bundle_cells    # its cell in each combination
    cdef const int64_t[::1] group_cell  # first cell of each group
    cdef const uint8_t[::1] has_bundles     # whether slots of the group are not cells
    cdef double[::1] scratch            # chunks but those that are summed in place
    cdef const int64_t[::1] scratch_start   # of each group
    cdef uint64_t[::1] packed_scratch   # packed slots of all chunks
    cdef const int64_t[::1] packed_start    # of each group
    cdef int32_t[::1] n_chunks          # of each group, in the current node
    cdef int64_t[::1] inserted          # by each task

    cdef void use_rows(self, RowLists rows, SampledPairs pairs)

    cdef int64_t insert(
        self,
        const uint32_t* rows,           # of the node, ascending
        const float* gradients,         # of all rows; with hessians unless constant
        Py_ssize_t n,
        const uint8_t* is_live,         # features whose histogram is wanted
        double* out,                    # all cells
    ) noexcept nogil

    cdef void finish(
        self, Py_ssize_t feature, double n, double sum_g, double sum_h, double* out
    ) noexcept nogil

    cdef void subtract(
        self, Py_ssize_t feature, const double* part, double* whole
    ) noexcept nogil

    cdef double* _chunk_slots(
        self, Py_ssize_t g, Py_ssize_t chunk, double* out
    ) noexcept nogil

    cdef void _insert_chunk(
        self,
        Py_ssize_t g,
        Py_ssize_t chunk,
        const uint32_t* rows,
        const float* gradients,
        Py_ssize_t n,
        const uint8_t* is_live,
        double* out,
    ) noexcept nogil

    cdef void _insert_packed(
        self,
        Py_ssize_t g,
        Py_ssize_t chunk,
        const uint32_t* rows,
        Py_ssize_t start,
        Py_ssize_t stop,
        const uint8_t* is_live,
        double* slots,
    ) noexcept nogil

    cdef void _unpack_slots(
        self, const uint64_t* packed, Py_ssize_t first, Py_ssize_t n, bint is_first,
        double* slots
    ) noexcept nogil

    cdef void _add_chunks(
        self, Py_ssize_t g, Py_ssize_t part, double* out
    ) noexcept nogil

    cdef void _add_packed(
        self, Py_ssize_t g, Py_ssize_t first, Py_ssize_t last, double* slots
    ) noexcept nogil

    cdef int32_t _count_chunks(
        self, const GroupRows* group, Py_ssize_t n, int n_threads
    ) noexcept nogil

    cdef void _sum_cells(self, Py_ssize_t feature, double* cells) noexcept nogil
