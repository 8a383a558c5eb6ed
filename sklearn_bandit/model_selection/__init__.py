"""Hyper-parameters by racing: candidates that cannot win are not fitted any further.

A search over hyper-parameters asks for the best of many candidates (arms) by the mean
over held-out samples (references), fold by fold. The searches of this package are
scikit-learn's own; what they add is the decision, after every fold, which candidates go
on.

- ``_grid``, ``_randomized``: the estimators
- ``_search``: the course of a race, inside scikit-learn's ``fit``
- ``_race``: who is dropped, by radii of means over folds
- ``_scorers``: scores with what every sample contributed to them
- ``_folds``: folds one at a time
- ``_results``: ``cv_results_`` of candidates with different numbers of folds
"""

from ._grid import BanditGridSearchCV
from ._randomized import BanditRandomizedSearchCV

__all__ = ["BanditGridSearchCV", "BanditRandomizedSearchCV"]
