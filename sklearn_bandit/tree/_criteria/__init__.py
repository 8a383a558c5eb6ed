"""What is optimised: criteria, their histograms, and the search of these.

- ``base``: what splitters and builders ask of a criterion
- ``histograms``: what splitters ask of its histograms
- ``classification``: Gini impurity and entropy. ``class_histograms``, filled by
  ``class_fill`` and scanned by ``class_scan``; ``gini_scan``: the common case;
  ``gini_small_nodes``: nodes of a few rows
- ``regression``: squared error and Poisson deviance. ``mean_histograms``, scanned by
  ``mean_scan``; ``squared_error_scan``: the common case; ``mean_small_nodes``: nodes of
  a few rows
- ``moments``: what ``regression`` and ``absolute_error`` share
- ``scores``: the score of a split from what is on either side, by every impurity
- ``absolute_error``: medians; ``median_search``: their splits, without histograms
"""
