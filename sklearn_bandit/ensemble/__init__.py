"""Forests whose trees are grown by adaptive sampling."""

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
