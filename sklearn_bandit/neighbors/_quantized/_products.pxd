"""Queries whose bounds rule nothing out: see ``_products.pyx``."""

from ._found cimport Found
from ._prepare cimport Query
from ._segment cimport Rows

cdef void search_by_products(
    const Rows* rows, Query* queries, Py_ssize_t n_queries, Found* found
) noexcept nogil
