"""Features that are inserted together have the histograms that each has on its own."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import ensemble
from threadpoolctl import threadpool_limits

from sklearn_bandit._compat import find_binning_thresholds
from sklearn_bandit.ensemble import HistGradientBoostingClassifier
from sklearn_bandit.ensemble._boosting._data import bin_mapper, bundles
from sklearn_bandit.ensemble._boosting._data.layout import Layout

N_SAMPLES = 6000


@pytest.fixture
def small(monkeypatch):
    """Look for bundles in small data as well, whatever they cost."""
    monkeypatch.setattr(bundles, "MIN_SAMPLES", 1)
    monkeypatch.setattr(bundles, "SAMPLES_PER_SUM", 1)


@pytest.fixture(scope="module")
def calendar():
    """Days with their month and weekday, one-hot colours, and two real numbers."""
    rng = np.random.default_rng(0)
    day = rng.integers(0, 180, N_SAMPLES)
    colour = rng.integers(0, 9, N_SAMPLES)
    hour = rng.integers(0, 24, N_SAMPLES).astype(float)
    hour[rng.random(N_SAMPLES) < 0.1] = np.nan
    X = np.column_stack(
        [
            rng.standard_normal(N_SAMPLES),
            day // 30,
            day % 30,
            day % 7,
            np.eye(9)[colour],
            hour,
            rng.standard_normal(N_SAMPLES),
        ]
    )
    signal = X[:, 0] + (day % 7 > 4) * (day // 30 - 2) + colour % 3 + (hour > 12)
    return X, signal + rng.logistic(size=N_SAMPLES) > 2


def bins_of(X):
    """Bins, and what a layout has to know of them."""
    columns, n_bins = [], []
    for column in X.T:
        values = column[~np.isnan(column)]
        thresholds = find_binning_thresholds(values, 255)
        bins = np.searchsorted(thresholds, column).astype(np.uint8)
        bins[np.isnan(column)] = 255
        columns.append(bins)
        n_bins.append(len(thresholds) + 1)
    return np.array(columns), np.array(n_bins), np.isnan(X).any(axis=0)


def layout_of(X, **options):
    columns, n_bins, has_missing = bins_of(X)
    options = {"n_grown": len(X), "n_threads": 1} | options
    is_categorical = np.zeros(len(n_bins), dtype=np.uint8)
    return columns, Layout(columns, n_bins, has_missing, is_categorical, 255, **options)


@pytest.mark.parametrize("n_threads", [1, 3])
def test_combinations(small, calendar, n_threads):
    columns, layout = layout_of(calendar[0], n_threads=n_threads)
    bundles = [u.bundle for g in layout.groups for u in g.units if u.bundle is not None]
    together = [set(bundle.features) for bundle in bundles]
    assert any({1, 2, 3} <= features for features in together)
    assert any(set(range(4, 13)) <= features for features in together)
    for bundle in bundles:
        for feature, cells in zip(bundle.features, bundle.cells, strict=True):
            expected = layout.cell_of[feature][columns[feature]]
            assert_array_equal(cells[bundle.which], expected)
        assert_array_equal(np.unique(bundle.which), np.arange(bundle.cells.shape[1]))


def test_every_feature_is_in_one_unit(small, calendar):
    _, layout = layout_of(calendar[0])
    units = [unit for group in layout.groups for unit in group.units]
    features = [feature for unit in units for feature in unit.features]
    assert sorted(features) == list(range(calendar[0].shape[1]))


def test_not_worth_it(monkeypatch, calendar):
    """Without enough rows, or where combinations are many, there are no bundles."""
    for name, value in (("MIN_SAMPLES", N_SAMPLES + 1), ("MAX_COMBINATIONS", 3)):
        with monkeypatch.context() as patch:
            patch.setattr(bundles, "MIN_SAMPLES", 1)
            patch.setattr(bundles, "SAMPLES_PER_SUM", 1)
            patch.setattr(bundles, name, value)
            _, layout = layout_of(calendar[0])
        assert not any(group.has_bundles for group in layout.groups)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_same_trees_as_scikit_learn(small, calendar, n_threads):
    X, y = calendar
    parameters = {"max_iter": 10, "early_stopping": False, "random_state": 0}
    with threadpool_limits(n_threads, user_api="openmp"):
        ours = HistGradientBoostingClassifier(**parameters).fit(X, y)
        theirs = ensemble.HistGradientBoostingClassifier(**parameters).fit(X, y)
    for mine, reference in zip(ours._predictors, theirs._predictors, strict=True):
        for name in ("count", "gain", "value"):
            assert_allclose(
                mine[0].nodes[name], reference[0].nodes[name], rtol=1e-5, atol=1e-6
            )
    # Bundles spare insertions: there are 15 features.
    assert ours.n_insertions_ < 10 * 10 * 3 * N_SAMPLES


@pytest.mark.parametrize("max_bins", [2, 31, 255])
@pytest.mark.parametrize("n", [256, 510, 1000, 7905])
def test_quantile_positions(n, max_bins):
    """They are those of scikit-learn's thresholds between 0, 1, 2, ..."""
    below, above = bin_mapper._quantile_positions(n, max_bins)
    expected = find_binning_thresholds(np.arange(n, dtype=np.float64), max_bins)
    assert_array_equal(np.unique((below + above) / 2), np.unique(expected))
