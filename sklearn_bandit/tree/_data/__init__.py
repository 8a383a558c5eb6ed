"""What is read: samples in bins of one byte, and what is finer than bins.

- ``packed_rows``: a matrix in bins, by row and by column
- ``binner``: edges of quantile bins, and the bin of each value; ``byte_bins``: bytes
  that are their own bins
- ``value_ranks``: ranks of the values that share a bin, in all samples of a small data
  set; ``local_ranks``: ranks for bins in a small node
- ``bootstrap``: bootstrap samples as counts
"""
