"""How a tree comes to be, from an estimator's parameters to scikit-learn's tree.

- ``training_set``: what all trees of a fit share; makes the criterion of each tree
- ``build``: the choice of a splitter, one tree
- ``builder``: nodes, and how one is split; ``partition``: a split carried out;
  ``node_buffer``: memory
- ``depth_first``: one subtree after the other; ``node_stack``: nodes still to be made;
  ``copied_rows``: the rows of a subtree, copied together
- ``best_first``: a number of leaves; ``leaf_queue``: those among which the best is
  split first
- ``subtrees``: a single tree in several threads
- ``subsample`` and ``route``: a shallow tree on very many samples, of which only some
  are packed
- ``parts``: a tree on samples that are never in one place
- ``transfer``: a training set on its way to other processes
- ``export``: a genuine tree of scikit-learn from these nodes

Estimators, those of ensembles too, use what is exported here.
"""

from sklearn_bandit.tree._data.packed_rows import as_read, row_stride
from sklearn_bandit.tree._parameters import (
    PARAMETER_CONSTRAINTS,
    THRESHOLD_CONSTRAINTS,
)
from sklearn_bandit.tree._policy import SamplingPolicy

from .build import grow_tree, root_cost
from .parts import (
    TargetCodes,
    find_leaves,
    grow_leaf,
    grow_top,
    join_parts,
    leaf_places,
    open_leaves,
    pack_part,
    set_totals,
    sum_leaves,
)
from .subsample import grow_on_subsample, pays_to_subsample
from .subtrees import grow_in_subtrees
from .training_set import TrainingSet, as_counts
from .transfer import TrainingSetFile, TrainingSetTransfer, is_mapped

__all__ = [
    "PARAMETER_CONSTRAINTS",
    "THRESHOLD_CONSTRAINTS",
    "SamplingPolicy",
    "TargetCodes",
    "TrainingSet",
    "TrainingSetFile",
    "TrainingSetTransfer",
    "as_counts",
    "as_read",
    "find_leaves",
    "grow_in_subtrees",
    "grow_leaf",
    "grow_on_subsample",
    "grow_top",
    "grow_tree",
    "is_mapped",
    "join_parts",
    "leaf_places",
    "open_leaves",
    "pack_part",
    "pays_to_subsample",
    "root_cost",
    "row_stride",
    "set_totals",
    "sum_leaves",
]
