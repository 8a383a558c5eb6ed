"""Pursuits where the mass of the products is in few rows."""

import numpy as np
from scipy.stats import binom

from sklearn_bandit.linear_model import BanditMatchingPursuit


def test_failures_where_the_mass_of_the_products_is_rare(rare_products):
    n_fits, delta, n_failed = 80, 0.001, 0
    for seed in range(n_fits):
        rng = np.random.default_rng(seed)
        atoms, y = rare_products(rng, 50_000, share=0.015)
        pursuit = BanditMatchingPursuit(
            n_nonzero_coefs=1,
            delta=delta,
            coef="sampled",
            fit_intercept=False,
            random_state=seed,
        ).fit(atoms.T.copy(), y)
        n_failed += pursuit.support_[0] != 1
    assert binom.sf(n_failed - 1, n_fits, delta) > 0.01
