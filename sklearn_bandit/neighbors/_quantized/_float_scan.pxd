"""The search in the rows themselves for one query: see ``_float_scan.pyx``."""

from ._found cimport Found
from ._prepare cimport Query
from ._segment cimport Rows

cdef bint scan_floats(
    const Rows* rows,
    const Query* query,
    const float* bounds,            # -inf: not to be computed; or NULL
    Py_ssize_t start,
    Py_ssize_t n,
    Found* found,
) noexcept nogil
