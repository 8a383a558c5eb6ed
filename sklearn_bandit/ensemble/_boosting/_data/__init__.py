"""What trees are grown on: values in bins of one byte, laid out to be read fast.

- ``bin_mapper``: scikit-learn's bin thresholds, from ``sorted_columns``
- ``bin_values``: the bin of each value, column by column
- ``layout``: how rows are read. Features are in groups whose histograms fit the cache,
  features of which few combinations occur are one (``bundles``), and features with one
  frequent bin are lists of their other bins only
- ``row_lists``: the rows in that form
"""
