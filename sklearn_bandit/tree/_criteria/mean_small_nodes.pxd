"""All thresholds of up to eight features in a node of a few rows, at once.

Eight features are sorted side by side: a vector holds one row's keys, its bin and its
number, for each feature, and a sorting network exchanges vectors by minimum and
maximum. There is no branch to guess, and it is a handful of instructions a comparison.
Then the moments are summed in this order, feature by feature, and the thresholds
scored, again for all features at once.

The scores are fractions, compared without dividing. Vectors of the compiler are broken
up for the instruction set that a function is compiled for before it is cloned, so
``simd_void`` cannot widen them: the kernel is a macro that is expanded for each
instruction set, and for each number of rows, which is a constant in it.
"""

from libc.stdint cimport int32_t, uint8_t, uint32_t

cdef enum:
    MAX_SORTED = 32             # rows: their number has five bits in a key
    N_LANES = 8                 # features


cdef extern from "mean_small_nodes.h":
    # The rows of a small node. As many as the next power of two (from 4 on) are read.
    ctypedef struct FewRows "skb_few_rows":
        const uint8_t* rows[32]
        double moments[64]      # weight, weight times y
        int n
        double weight           # of all rows
        double total
        double least_weight     # a side must have this weight: more than 0,
        int least_rows          # and this number of rows

    ctypedef struct LaneSplits "skb_lane_splits":
        int32_t varies[8]       # whether the feature does
        int32_t missing[8]      # whether some rows have the missing bin, if it is last
        int32_t last[8]         # the best split: its bin, and the next that has rows,
        int32_t next[8]         # both plus `offset`; -1: there is none
        double scores[8]

    ctypedef void (*Sorted "skb_sorted")(
        const FewRows* few,
        const int32_t* features,    # eight, of which the first `n_features` count
        int n_features,
        int offset,             # 1: the missing bin becomes 0, the first of all
        double tie,             # relative difference of scores that are the same
        LaneSplits* out,
    ) noexcept nogil

    # The kernel for n rows, of 16 bytes or more, on the processor at hand.
    Sorted sorted_for "skb_sorted_for"(int n, bint narrow) noexcept nogil
