"""Prediction by forests, with the results of scikit-learn's trees, only faster.

- ``packing``: the trees of a forest as nodes of eight bytes, or (``grouping``) as
  groups of nodes for AVX-512; ``walk`` (``walk.h``, ``node_groups.h``): how rows pass
  through them
- ``source_tree``: a tree of scikit-learn as its arrays; ``leaf_values``: its leaves as
  one word each
- ``row_blocks``: samples, dense or sparse, a block of rows at a time
- ``averages``: what all trees predict on average
- ``voting``: the class that most trees would vote for, by as many of them as it takes
- ``packed_forms``: when trees are packed, and when packed trees are dropped

The trees themselves stay scikit-learn's. Ensembles use what is exported here.
"""

from .averages import average
from .packed_forms import PackedForms
from .packing import CannotPackError, PackedTrees
from .voting import vote

__all__ = ["CannotPackError", "PackedForms", "PackedTrees", "average", "vote"]
