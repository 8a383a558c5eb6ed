"""Which rows a tree sees, where it does not see all of them.

- ``training_rows``: the working set, the rows that have been put into bins so far
- ``array_rows``: where the rows come from that join it, and those that are held out;
  ``packed_rows``: the same of a packed data set
- ``row_sampling``: the order in which rows join it; ``joining``: what that costs
- ``leaf_router``: takes rows that join through the trees that there are
- ``importance``: minimal variance samples of the working set
- ``row_weight``: whether a few rows decide everything, so that samples would not do
"""
