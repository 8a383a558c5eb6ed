"""An account of insertions: what samples have saved, and what was lost to them.

A sample that decides nothing is lost. The account is that of one splitter, which
searches node after node, and a subtree starts with its part of the account of what it
grows from: it is the same for any number of threads.
"""

from libc.stdint cimport int64_t

cdef enum:
    # While most features survive, a sample takes at most the insertions of an exact
    # search divided by this, or what others have saved. Without this limit, samples
    # that decide nothing take up to 16% of the insertions of an exact tree. With 32,
    # signals of half a percent of the impurity are lost on 200,000 rows, with
    # predictions of what a sample needs many more (`quality.trees.roots`).
    FIRST_SHARE = 24
    # One insertion in this number may be lost to samples that decide nothing.
    LOST_SHARE = 100


cdef struct Savings:
    bint is_kept            # whether samples have to pay for themselves
    int64_t n_saved         # insertions, less those that were lost


cdef inline bint affords_sample(
    const Savings* savings, int64_t n_insertions
) noexcept nogil:
    """Whether a sample may be lost: others have saved more, or it is very little."""
    return not savings.is_kept or -savings.n_saved <= n_insertions // LOST_SHARE


cdef inline bint affords(
    const Savings* savings, int64_t n_insertions, int64_t n_exact
) noexcept nogil:
    """Whether `n_insertions` may be lost, where an exact search takes `n_exact`."""
    return not savings.is_kept or n_insertions <= max(
        n_exact // FIRST_SHARE, savings.n_saved
    )
