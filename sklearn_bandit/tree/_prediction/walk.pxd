"""Rows on their way through packed trees: see ``walk.h``."""

from libc.stdint cimport int32_t, uint32_t

from .packing cimport Forest
from .row_blocks cimport Rows

cdef enum:
    # Fewer rows than this are better taken through several trees at a time.
    FEW_ROWS = 48

cdef extern from "walk.h":
    enum: WALKERS "SKB_WALKERS"
    void walk_rows "skb_walk_rows"(         # payloads of rows in a tree
        const Forest* forest,
        int tree,
        const Rows* rows,
        const uint32_t* chosen,             # numbers of rows, `rows.n` of them, or NULL
        uint32_t* payloads,
    ) noexcept nogil
    void walk_few "skb_walk_few"(           # those of a few rows, tree by tree
        const Forest* forest,
        const int32_t* trees,
        int n_trees,                        # times `rows.n`: at most `WALKERS`
        const Rows* rows,
        uint32_t* payloads,
    ) noexcept nogil
    void add_payloads "skb_add_payloads"(   # what they stand for, to the sums of rows
        const Forest* forest,
        const uint32_t* payloads,
        const uint32_t* chosen,
        int n,
        double* sums,
    ) noexcept nogil
