"""Rows as lists of cells or slots: see ``row_lists.pyx``."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t

cdef struct GroupRows:
    const uint8_t* cells        # lists of all rows, one cell of each feature; or NULL:
    const uint16_t* slots       # lists of slots, counted from the group's first
    const uint16_t* first_slot  # of each feature, if lists are of cells
    const int64_t* starts       # where the list of each row starts; NULL if not sparse
    Py_ssize_t width            # length of a list; if sparse, the mean
    Py_ssize_t n_slots          # of the group


cdef class RowLists:
    """The rows of a matrix of bins, group by group."""

    cdef readonly Py_ssize_t n_samples
    cdef readonly Py_ssize_t n_groups
    cdef GroupRows* groups
    cdef list arrays            # keeps what the groups point to alive
    cdef list first_slots
    cdef object layout
    cdef int n_threads

    cdef int _take_dense(
        self, Py_ssize_t g, const GroupRows* other, const uint32_t[::1] rows
    ) except -1

    cdef int _take_sparse(
        self, Py_ssize_t g, const GroupRows* other, const uint32_t[::1] rows
    ) except -1
