"""How the best split of a node is searched.

- ``settings``: what every splitter is told
- ``exact``: full histograms of the features drawn, or random thresholds, which
  ``random_thresholds`` draws; ``row_comparison``: which features vary
- ``slots``: the histograms of all features drawn, held at the same time
- ``rank_search``: between any two values of a feature, where these are ranked
- ``mab``: MABSplit, samples that grow until the best feature is told from the others;
  ``sampling``: its options, ``row_sample``: the rows sampled from a node,
  ``loss_comparison``: two splits on the same rows, ``savings``: whether samples pay
- ``mab_thesis``: the thesis's own rule, for comparison
"""
