"""The best features by a score of each, from as many rows as telling them takes.

- ``_select_k_best``: :class:`BanditSelectKBest`, the estimator
- ``_scores``: mutual information, F and scores of the user's own on a growing sample:
  estimates, and what each row adds to them
- ``_search``: which features cannot be among the best any more
"""

from ._select_k_best import BanditSelectKBest

__all__ = ["BanditSelectKBest"]
