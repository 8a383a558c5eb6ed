"""Forests and boosted trees that are grown by adaptive sampling.

The data are packed once and shared by all trees, which grow in threads (``_forest``).
The estimators are subclasses of scikit-learn's (``_random_forest``, ``_extra_trees``),
or of its random forests (``_patches``); apart from fitting and averaging they behave as
those do.

Histogram gradient boosting (``_hist_gradient_boosting``) has kernels of its own, in
``_boosting``, whose package docstring explains them.
"""

from ._extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from ._hist_gradient_boosting import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from ._patches import RandomPatchesClassifier, RandomPatchesRegressor
from ._random_forest import RandomForestClassifier, RandomForestRegressor

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
