"""Stability of feature selection against its definition and by simulation."""

from itertools import combinations

import numpy as np
import pytest

from sklearn_bandit.inspection import feature_selection_stability, select_largest


def random_selections(rng, n_runs, n_features, k):
    Z = np.zeros((n_runs, n_features), dtype=bool)
    for row in Z:
        row[rng.choice(n_features, k, replace=False)] = True
    return Z


def test_equal_selections_are_perfectly_stable():
    result = feature_selection_stability([[1, 0, 1, 0]] * 5)
    assert result.stability == pytest.approx(1.0)
    assert result.variance == pytest.approx(0.0)
    assert result.interval == pytest.approx((1.0, 1.0))


def test_chance_is_zero():
    rng = np.random.default_rng(0)
    found = [
        feature_selection_stability(random_selections(rng, 10, 20, 6)).stability
        for _ in range(300)
    ]
    standard_error = np.std(found) / np.sqrt(len(found))
    assert abs(np.mean(found)) < 4 * standard_error


def test_equal_sizes_give_kunchevas_index():
    """With k features in every run the measure is Kuncheva's index."""
    Z = random_selections(np.random.default_rng(1), 7, 12, 4)
    d, k = 12, 4
    pairs = [
        ((a & b).sum() - k * k / d) / (k - k * k / d) for a, b in combinations(Z, 2)
    ]
    assert feature_selection_stability(Z).stability == pytest.approx(np.mean(pairs))


def test_variance_against_the_published_formula():
    """The variance of theorem 7, term by term."""
    rng = np.random.default_rng(2)
    Z = (rng.random((9, 15)) < np.linspace(0.1, 0.9, 15)).astype(float)
    M, d = Z.shape
    k, p = Z.sum(axis=1), Z.mean(axis=0)
    k_bar = k.mean()
    result = feature_selection_stability(Z)
    phi = np.zeros(M)
    for i in range(M):
        total = sum(Z[i, f] * p[f] for f in range(d)) / d
        total -= k[i] * k_bar / d**2
        total += (
            result.stability / 2 * (2 * k_bar * k[i] / d**2 - k[i] / d - k_bar / d + 1)
        )
        phi[i] = total / (k_bar / d * (1 - k_bar / d))
    expected = 4 / M**2 * ((phi - phi.mean()) ** 2).sum()
    assert result.variance == pytest.approx(expected)


def test_interval_covers():
    rng = np.random.default_rng(3)
    p = np.r_[np.full(5, 0.9), np.full(15, 0.15)]
    # Population value: population variances and mean number selected.
    density = p.mean()
    truth = 1 - (p * (1 - p)).mean() / (density * (1 - density))
    covered = 0
    for _ in range(400):
        low, high = feature_selection_stability(rng.random((100, 20)) < p).interval
        covered += low <= truth <= high
    assert covered / 400 > 0.92


def test_a_higher_level_widens_the_interval():
    Z = random_selections(np.random.default_rng(0), 10, 20, 6)
    narrow = feature_selection_stability(Z, confidence_level=0.5).interval
    wide = feature_selection_stability(Z, confidence_level=0.99).interval
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


@pytest.mark.parametrize(
    ("selections", "message"),
    [
        ([[1, 0, 1]], "minimum of 2"),
        ([[1, 2, 0], [0, 1, 0]], "true or false"),
        ([[1, 1], [1, 1]], "not defined"),
        ([[0, 0], [0, 0]], "not defined"),
    ],
)
def test_bad_selections(selections, message):
    with pytest.raises(ValueError, match=message):
        feature_selection_stability(selections)


def test_bad_level():
    with pytest.raises(ValueError, match="confidence_level"):
        feature_selection_stability([[1, 0], [0, 1]], confidence_level=1.5)


def test_select_largest():
    importances = [[0.3, -0.1, 0.3, 0.5], [0.0, 0.0, 0.0, 0.0]]
    selected = select_largest(importances, 2)
    assert selected.tolist() == [[True, False, False, True], [True, True, False, False]]
    for bad in (0, 5):
        with pytest.raises(ValueError, match="n_features_to_select"):
            select_largest(importances, bad)


def test_one_vector_of_importances_is_one_run():
    selected = select_largest([0.1, 0.7, 0.2], 2)
    assert selected.tolist() == [False, True, True]
