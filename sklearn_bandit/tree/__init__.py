"""Decision trees whose splits are found by adaptive sampling (MABSplit, thesis ch. 3).

The data go one way:

- ``_validation``: checks that trees and forests share
- ``_packing``, ``_binning``, ``_matrix``: samples in bins of one byte, by row and by
  column
- ``_problem``: what all trees of a fit share; makes the *target* of each tree;
  ``_bootstrap``: its bootstrap sample
- ``_target`` and its kinds ``_class_target``, ``_real_target``, ``_median_target``:
  criteria, histograms, losses; ``_class_fill``, ``_class_scan``: histograms of class
  weights and their scan; ``_gini_scan``, ``_mean_scan``: its common cases;
  ``_gini_pairs``, ``_sorted_rows``: nodes of a few rows
- ``_splitter`` (exact) and ``_bandit_splitter`` (MABSplit): the best split of a node
- ``_grower``: nodes, depth first or best first; ``_node_buffer``: their memory;
  ``_leaf_queue``: the leaves among which the best is split first;
  ``_turning``: copies of wide rows by columns; ``_ranking``: fine thresholds in small
  nodes
- ``_handover``: a genuine tree of scikit-learn from these nodes
- ``_growth``: from an estimator's parameters to such a tree; ``_limbs``: a single one,
  in several threads; ``_scouting`` and ``_routing``: a shallow one on very many
  samples, of which only some are packed
- ``_classes``: the estimators
"""

from ._classes import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
]
