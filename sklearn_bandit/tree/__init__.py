"""Decision trees whose splits are found by adaptive sampling (MABSplit, thesis ch. 3).

``_decision_tree`` and ``_extra_tree`` have the estimators. Fitting one
(``_bandit_tree``) goes through four rooms:

- ``_data``: what is read. Samples are put into bins of one byte, by row and by column,
  once for all trees of a fit.
- ``_criteria``: what is optimised. A criterion knows the targets, sums them up in
  histograms and scores the splits in these.
- ``_splitters``: how the best split of a node is searched: exactly, by MABSplit, or by
  the thesis's own rule.
- ``_building``: how a tree comes to be, node by node, and becomes scikit-learn's.

What forests predict goes through a fifth, ``_prediction``: packed trees.

``_parameters`` has the estimators' parameters and the counts that they stand for,
``_policy`` every number that decides when to sample.

``_common.pxd`` declares what their kernels share: a block of rows, a split and its
limits; ``_bin_sets.pxd``: which bins are occupied. The docstring of each room says what
its modules do.
"""

from ._data import PackedDataset
from ._decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from ._extra_tree import ExtraTreeClassifier, ExtraTreeRegressor

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "PackedDataset",
]
