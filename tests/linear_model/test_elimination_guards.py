"""Pursuits where the mass of the products is in few rows."""

import numpy as np
from scipy.stats import binom

from sklearn_bandit.linear_model import BanditMatchingPursuit


def rare_products(rng, n_rows=50_000, share=0.015):
    """The best atom's product is made in few rows; the other atom is flat and weaker.

    Neither the signal nor the atoms are sparse: where the signal is small the best atom
    has noise.
    """
    signs = rng.choice([-1.0, 1.0], n_rows)
    order = rng.permutation(n_rows)
    large, small = order[: n_rows // 3], order[n_rows // 3 :]
    signal, best = np.full(n_rows, 0.03), np.zeros(n_rows)
    signal[large] = 1.0
    best[large[: int(share * len(large))]] = 1.0
    n_noise = int(0.4 * len(small))
    best[small[:n_noise]] = rng.standard_normal(n_noise)
    flat = rng.uniform(0.5, 1.5, n_rows)
    flat *= 0.8 * (best @ signal) / (flat @ signal)
    return (np.stack([flat, best]) * signs).T.copy(), signal * signs


def test_failures_where_the_mass_of_the_products_is_rare():
    n_fits, delta, n_failed = 80, 0.001, 0
    for seed in range(n_fits):
        X, y = rare_products(np.random.default_rng(seed))
        pursuit = BanditMatchingPursuit(
            n_nonzero_coefs=1,
            delta=delta,
            coef="sampled",
            fit_intercept=False,
            random_state=seed,
        ).fit(X, y)
        n_failed += pursuit.support_[0] != 1
    assert binom.sf(n_failed - 1, n_fits, delta) > 0.01
