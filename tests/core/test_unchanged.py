"""A fit that is refused leaves an earlier one in place."""

import numpy as np
import pytest
from sklearn.base import clone

from sklearn_bandit.cluster import BanditKMedoids
from sklearn_bandit.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn_bandit.linear_model import BanditMatchingPursuit
from sklearn_bandit.neighbors import BanditMIPS
from sklearn_bandit.tree import DecisionTreeRegressor

# Parameters or data of the second fit that are refused after the input was looked at.
REFUSED = {
    BanditKMedoids(3): {"n_clusters": 1000},
    BanditMIPS(2): {"buckets": 4, "layout": "zero-copy"},
    BanditMatchingPursuit(n_nonzero_coefs=2): {"n_nonzero_coefs": 1000},
    DecisionTreeRegressor(): {"monotonic_cst": [1]},
    RandomForestRegressor(2): {"bootstrap": False, "oob_score": True},
    HistGradientBoostingRegressor(max_iter=2): {"monotonic_cst": [1]},
}


@pytest.mark.parametrize("model", REFUSED, ids=lambda model: type(model).__name__)
def test_a_refused_fit_changes_nothing(model):
    parameters = REFUSED[model]
    model = clone(model)
    X = np.random.default_rng(0).standard_normal((60, 5))
    model.fit(X, X[:, 0])
    model.set_params(**parameters)
    before = vars(model).copy()
    with pytest.raises(ValueError, match=r"n_clusters|buckets|n_nonzero|onoton|Out of"):
        model.fit(X[:, :3], X[:, 0])
    assert vars(model).keys() == before.keys()
    assert all(value is before[name] for name, value in vars(model).items())
