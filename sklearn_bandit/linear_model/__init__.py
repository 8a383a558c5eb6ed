"""Linear models that search for the largest inner product instead of computing all.

- ``_matching_pursuit``: :class:`BanditMatchingPursuit`, sparse approximation of a
  signal by few of many atoms; each step is a maximum inner product search by sampling
- ``_sample``: atoms and signals at random rows, and the race of the atoms on them
- ``_dictionary``: exact and sampled inner products of the atoms, computed when needed
- ``_columns``: the kernel of the exact ones
- ``_predictor``: :class:`MIPSPredictor`, predictions of a fitted linear classifier with
  many classes and wide input, by ``sklearn_bandit.neighbors.BanditMIPS``
"""

from ._matching_pursuit import BanditMatchingPursuit
from ._predictor import MIPSPredictor

__all__ = ["BanditMatchingPursuit", "MIPSPredictor"]
