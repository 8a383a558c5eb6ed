"""How the best split of a node is searched.

- ``exact``: full histograms of the features drawn, or random thresholds
- ``rank_search``: between any two values of a feature, where these are ranked
- ``mab``: MABSplit, samples that grow until the best feature is told from the others
- ``mab_thesis``: the thesis's own rule, for comparison
"""
