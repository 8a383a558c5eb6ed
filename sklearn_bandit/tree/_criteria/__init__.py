"""What is optimised: criteria, their histograms, and the search of these.

- ``base``: what splitters and builders ask of a criterion
- ``classification``: Gini impurity and entropy; ``class_fill`` and ``class_scan`` fill
  histograms of class weights and scan them; ``gini_scan``: the common case;
  ``gini_small_nodes``: nodes of a few rows
- ``regression``: squared error and Poisson deviance; ``mean_scan``: the common case;
  ``mean_small_nodes``: nodes of a few rows
- ``absolute_error``: medians, without histograms
"""
