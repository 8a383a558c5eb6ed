"""The search of one segment: see ``_scan.pyx``."""

from libc.stdint cimport int32_t

from ._found cimport Found
from ._prepare cimport Query
from ._segment cimport Rows

cdef enum:
    # Fewer queries are searched one by one: a group is filled up otherwise.
    LEAST_TOGETHER = 4

# A row that may be an answer.
cdef struct Candidate:
    float bound
    int32_t place

# Memory of one thread.
cdef struct Scratch:
    float* bounds
    float* sample               # bounds of SEED_BLOCKS blocks
    int32_t* places
    Candidate* candidates


cdef int new_scratch(
    Scratch* scratch,
    Py_ssize_t most_rows,           # of a segment
    bint is_batch,                  # whether queries are searched together
) noexcept nogil

cdef void free_scratch(Scratch* scratch) noexcept nogil

cdef void search_one(
    const Rows* rows, const Query* query, Scratch* scratch, Found* found
) noexcept nogil

cdef void search_together(
    const Rows* rows,
    Query* queries,
    Py_ssize_t n_queries,
    Scratch* scratch,
    Found* found,
    bint has_two_bytes,
) noexcept nogil
