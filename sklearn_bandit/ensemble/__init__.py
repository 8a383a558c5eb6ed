"""Forests whose trees are grown by adaptive sampling.

The data are packed once and shared by all trees, which grow in threads (``_forest``).
The estimators are subclasses of scikit-learn's (``_random_forest``, ``_extra_trees``),
or of its random forests (``_patches``); apart from fitting and averaging they behave as
those do.
"""

from ._extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from ._patches import RandomPatchesClassifier, RandomPatchesRegressor
from ._random_forest import RandomForestClassifier, RandomForestRegressor

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomPatchesClassifier",
    "RandomPatchesRegressor",
]
