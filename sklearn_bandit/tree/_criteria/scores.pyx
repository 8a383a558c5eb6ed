"""The score of a split from what is on either side; see ``Criterion.score``.

The functions are in ``scores.pxd``, so that kernels inline them.
"""

# Scores that differ by rounding alone are tied: the first feature drawn keeps the lead.
cdef double TIE = 1e-13

# A child has no valid mean by the Poisson deviance if its y are all zero. A sum that a
# subtraction leaves counts as zero up to this share of the node's.
cdef double POISSON_ROUNDING = 1e-12
