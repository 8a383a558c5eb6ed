"""Linear models that search for the largest inner product instead of computing all.

- ``_matching_pursuit``: :class:`BanditMatchingPursuit`, sparse approximation of a
  signal by few of many atoms; each step is a maximum inner product search by sampling
- ``_row_sample``: atoms and signals at random rows
- ``_elimination``: elimination of atoms on these, and pursuits by elimination alone
- ``_coefficients``: coefficients of one signal, from inner products
- ``_gram``: exact inner products of the atoms, computed when needed
- ``_inner_products``: their kernel
- ``_predictor``: :class:`MIPSPredictor`, predictions of a fitted linear classifier with
  many classes and wide input, by the searches of ``sklearn_bandit.neighbors``
- ``_output_layer``: what such a classifier is to it: weights, intercepts, probabilities
- ``_class_sample``: probabilities of the best classes, from the scores of some classes
"""

from ._matching_pursuit import BanditMatchingPursuit
from ._predictor import MIPSPredictor

__all__ = ["BanditMatchingPursuit", "MIPSPredictor"]
