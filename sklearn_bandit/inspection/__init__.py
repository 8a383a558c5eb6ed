"""Which features matter to an estimator, and how far the answer can be trusted.

- ``_bandit_permutation``: :func:`bandit_permutation_importance`, what any estimator
  loses on held-out samples when a feature is shuffled, from as few predictions as it
  takes; ``_permutation_losses``: the losses that it asks for; ``_sample_scores``: what
  every sample contributes to a score; ``_out_of_bag``: forests that judge their
  training samples
- ``_permutation``: :func:`oob_permutation_importance`, Breiman's measure: what a tree
  loses on the samples it was not grown on when a feature is shuffled among them
- ``_stability``: :func:`feature_selection_stability`, how alike the selections of
  repeated runs are, with a confidence interval; :func:`select_largest` makes selections
  of importances
- ``_displays``: pictures of what searches did, in the manner of scikit-learn's
  displays; ``_silhouette_display``: one of a clustering
"""

from ._bandit_permutation import bandit_permutation_importance
from ._displays import (
    InsertionsDisplay,
    RacingDisplay,
    SpeedQualityDisplay,
    SurvivorsDisplay,
)
from ._permutation import oob_permutation_importance
from ._silhouette_display import SilhouetteDisplay
from ._stability import StabilityResult, feature_selection_stability, select_largest

__all__ = [
    "InsertionsDisplay",
    "RacingDisplay",
    "SilhouetteDisplay",
    "SpeedQualityDisplay",
    "StabilityResult",
    "SurvivorsDisplay",
    "bandit_permutation_importance",
    "feature_selection_stability",
    "oob_permutation_importance",
    "select_largest",
]
