"""Thresholds of bins are scikit-learn's, to the last digit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn_bandit.ensemble._boosting._data.sorted_columns import sort_columns

from sklearn_bandit._compat import BINS_BY_WEIGHT, find_binning_thresholds
from sklearn_bandit.ensemble._boosting._data.bin_mapper import fit_bin_mapper


def _thresholds(column, max_bins, weights=None):
    mapper = fit_bin_mapper(
        column[:, None],
        weights,
        max_bins=max_bins,
        is_categorical=None,
        known_categories=None,
        n_threads=1,
    )
    return mapper.bin_thresholds_[0]


@pytest.fixture(params=range(6))
def column(request):
    """Distinct, rounded, missing, few, in single precision."""
    rng = np.random.default_rng(request.param)
    values = rng.standard_normal(rng.integers(300, 2000))
    if request.param % 2:
        values = values.round(1)
    if request.param % 3 == 0:
        values[rng.random(len(values)) < 0.2] = np.nan
    return values.astype(np.float32) if request.param == 4 else values


@pytest.mark.parametrize("max_bins", [2, 31, 255])
def test_without_weights(column, max_bins):
    values = column[~np.isnan(column)].astype(np.float64)
    expected = find_binning_thresholds(values, max_bins)
    assert_array_equal(_thresholds(column, max_bins), expected)


@pytest.mark.skipif(not BINS_BY_WEIGHT, reason="bins do not depend on weights")
@pytest.mark.parametrize("max_bins", [2, 31, 255])
@pytest.mark.parametrize("kind", ["real", "counts", "equal", "tiny"])
def test_with_weights(column, max_bins, kind):
    rng = np.random.default_rng(0)
    weights = {
        "real": rng.random(len(column)),
        "counts": rng.integers(0, 3, len(column)).astype(np.float64),
        "equal": np.ones(len(column)),
        "tiny": 1e-300 * rng.random(len(column)),
    }[kind]
    expected = find_binning_thresholds(
        column.astype(np.float64), max_bins, sample_weight=weights
    )
    assert_array_equal(_thresholds(column, max_bins, weights), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["normal", "rounded", "wide", "one bit", "equal"])
def test_columns_are_sorted_as_by_numpy(dtype, kind):
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((3, 5_000))
    columns = {
        "normal": columns,
        "rounded": columns.round(1),
        "wide": np.sign(columns) * np.exp(-40.0 * columns**2),  # some are denormal
        "one bit": 1.0 + (columns > 0) * np.finfo(dtype).eps,
        "equal": np.full_like(columns, -1.5),
    }[kind].astype(dtype)
    columns[1, ::7] = [np.nan, np.inf, -np.inf, 0.0, -0.0] * 143
    columns[2, 0] = -np.nan
    expected = np.sort(columns, axis=1)
    sort_columns(columns)
    assert_array_equal(columns, expected)
    assert not np.signbit(columns[columns == 0]).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zeros_lose_their_signs(dtype):
    columns = np.array([[0.0, -0.0, 1.0, -0.0, 0.0, -1.0]], dtype=dtype)
    sort_columns(columns)
    assert_array_equal(columns[0], [-1, 0, 0, 0, 0, 1])
    assert_array_equal(np.signbit(columns[0]), [1, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("n", [0, 1])
def test_nothing_to_sort(n):
    columns = np.full((2, n), 3.0)
    sort_columns(columns)
    assert_array_equal(columns, np.full((2, n), 3.0))
