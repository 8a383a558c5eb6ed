"""Bootstrap samples as counts are scikit-learn's draws."""

import numpy as np
import pytest
from sklearn_bandit.tree._data.bootstrap import draw_counts, list_drawn

from sklearn_bandit._compat import bootstrap_indices


@pytest.mark.parametrize("seed", [0, 3, 2**31 - 2])
@pytest.mark.parametrize(
    ("n_samples", "n_draws"),
    [
        (1, 1),
        (2, 623),
        (1000, 1000),
        (1024, 1249),
        (1025, 5000),
        (70_000, 90_001),
        (5, 100_000),
        (1 << 20, 200_000),
    ],
)
def test_the_draws_are_those_of_scikit_learn(seed, n_samples, n_draws):
    expected = bootstrap_indices(seed, n_samples, n_draws, None)
    expected = np.bincount(expected, minlength=n_samples)
    np.testing.assert_array_equal(draw_counts(seed, n_samples, n_draws), expected)


@pytest.mark.parametrize("counts", [[], [0], [2], [0, 1, 0, 0, 3, 65535, 0]])
def test_those_drawn_are_listed_in_order(counts):
    counts = np.array(counts, dtype=np.uint16)
    ids = list_drawn(counts)
    assert ids.dtype == np.uint32
    np.testing.assert_array_equal(ids, np.flatnonzero(counts))
