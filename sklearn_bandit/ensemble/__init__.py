"""Forests and boosted trees that are grown by adaptive sampling.

The data are packed once and shared by all trees (``_forest``). Each tree draws its
sample and grows in a thread or a process (``_forest_trees``). If the number of trees is
left open, they are added until the prediction is settled (``_n_trees``). Forests
predict by packed trees (``_forest_prediction``).

The estimators are subclasses of scikit-learn's (``_random_forest``, ``_extra_trees``),
or of its random forests (``_random_patches``; ``_patch_forest`` chooses the patch);
apart from fitting and averaging they behave as those do.

Histogram gradient boosting (``_hist_gradient_boosting``) has kernels of its own, in
``_boosting``, whose package docstring explains them.
"""

# For `dask`; not part of the public interface.
from ._boosting._data.bin_mapper import MAX_BIN_ROWS as MAX_BIN_ROWS
from ._boosting._data.bin_mapper import choose_rows as choose_rows
from ._boosting._data.bin_mapper import fit_bin_mapper as fit_bin_mapper
from ._boosting._data.bin_values import READABLE as READABLE
from ._boosting._data.bin_values import BinAssigner as BinAssigner
from ._boosting._sampling.joining import Joining as Joining
from ._boosting._sampling.leaf_router import MAX_LEAVES as MAX_LEAVES
from ._boosting._sampling.row_sampling import draw_share as draw_share
from ._boosting._sampling.row_weight import N_ROWS as N_ROWS
from ._boosting._sampling.training_rows import add_trees as add_trees
from ._boosting.early_stopping import EarlyStopping as EarlyStopping
from ._extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from ._hist_gradient_boosting import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from ._random_forest import RandomForestClassifier, RandomForestRegressor
from ._random_patches import RandomPatchesClassifier, RandomPatchesRegressor

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomPatchesClassifier",
    "RandomPatchesRegressor",
]
