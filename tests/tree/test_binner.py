"""Bins against brute force."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn_bandit._core.matrix import MatrixView, is_readable
from sklearn_bandit.tree._data.binner import MISSING_BIN, Binner

TINY = np.float32(1e-45)  # the smallest number above 0
HUGE = np.finfo(np.float32).max


def bin_matrix(X, max_bins=255, n_threads=1, sample=None):
    """Bins (n_features, n_samples), number of bins, missing, low and high."""
    if sample is None:
        sample = np.arange(len(X), dtype=np.uint32)
    view = MatrixView(X)
    binner = Binner(X.shape[1], max_bins, n_threads)
    binner.find_edges(view, sample)
    rows = np.zeros(X.shape, dtype=np.uint8)
    columns = np.zeros(X.shape[::-1], dtype=np.uint8)
    features = np.arange(X.shape[1])
    while len(features):
        binner.assign(view, features, rows, columns)
        features = binner.add_missed()
    np.testing.assert_array_equal(rows, columns.T)
    return columns, *binner.bins()[:4]


def assert_are_bins(x, bins, n_bins, missing, low, high, max_bins=255, sample=None):
    """The bins are intervals of float32(x), and what is said of them is true."""
    seen = np.zeros(len(x), dtype=bool)
    seen[slice(None) if sample is None else sample] = True
    with np.errstate(over="ignore"):
        x = x.astype(np.float32)
    is_nan = np.isnan(x)
    assert missing == is_nan.any()
    assert (bins[is_nan] == MISSING_BIN).all()
    present, bins, seen = x[~is_nan], bins[~is_nan], seen[~is_nan]
    distinct = np.unique(present)
    assert 1 <= n_bins <= max_bins
    if len(distinct) == 0:
        assert n_bins == 1
        return
    assert bins.max() < n_bins
    sampled = np.unique(present[seen])
    if len(sampled) > 1 and (sampled[1:] <= sampled[:-1] + np.float32(1e-7)).all():
        # As in scikit-learn, these are one value.
        assert n_bins == 1
        assert (low[0], high[0]) == (sampled[0], sampled[-1])
        return
    if len(distinct) <= max_bins:
        np.testing.assert_array_equal(low[:n_bins], distinct)
        np.testing.assert_array_equal(high[:n_bins], distinct)
    else:
        for b in range(n_bins):
            inside = present[(bins == b) & seen]
            assert inside.min() == low[b]
            assert inside.max() == high[b]
    # The middle between any two bins divides all values that are in either.
    smallest = np.array([present[bins == b].min() for b in range(n_bins)], float)
    largest = np.array([present[bins == b].max() for b in range(n_bins)], float)
    for b in range(n_bins - 1):
        middles = high[b] / 2 + low[b + 1 : n_bins] / 2
        assert (largest[b] <= middles).all()
        assert (smallest[b + 1 :] > middles).all()


values = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, np.nan, TINY, -TINY, HUGE, -HUGE, 0.125, -3.0]),
    st.floats(width=32, allow_infinity=False),
    st.integers(-3, 3).map(float),
)


@settings(max_examples=200, deadline=None)
@given(
    x=hnp.arrays(np.float32, st.integers(1, 80), elements=values),
    max_bins=st.sampled_from([2, 3, 7, 254, 255]),
)
@example(np.array([-HUGE, HUGE], dtype=np.float32), 2)
@example(np.array([0.0, TINY, 2 * TINY, 3 * TINY], dtype=np.float32), 3)
@example(np.array([np.nan, np.nan], dtype=np.float32), 2)
def test_any_values(x, max_bins):
    bins, n_bins, missing, low, high = bin_matrix(x[:, np.newaxis], max_bins)
    assert_are_bins(x, bins[0], n_bins[0], missing[0], low[0], high[0], max_bins)


@pytest.mark.parametrize("max_bins", [2, 16, 255])
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.normal(size=n),
        lambda rng, n: rng.standard_cauchy(size=n),
        lambda rng, n: np.exp(20 * rng.normal(size=n)),
        lambda rng, n: rng.poisson(3, size=n),
        lambda rng, n: np.where(rng.random(n) < 0.9, 0.0, rng.normal(size=n)),
        lambda rng, n: np.where(rng.random(n) < 0.2, np.nan, rng.random(n)),
        lambda rng, n: 1e6 + 1e-1 * rng.random(n),
        lambda rng, n: np.r_[np.full(n - 1, 7.0), 1e30],
    ],
    ids=[
        "normal",
        "cauchy",
        "lognormal",
        "poisson",
        "zeros",
        "missing",
        "offset",
        "outlier",
    ],
)
def test_distributions(draw, max_bins):
    x = draw(np.random.default_rng(0), 5000)
    bins, n_bins, missing, low, high = bin_matrix(x[:, np.newaxis], max_bins)
    assert_are_bins(x, bins[0], n_bins[0], missing[0], low[0], high[0], max_bins)


def test_counts_are_about_equal():
    x = np.random.default_rng(0).normal(size=(25_500, 1))
    bins, n_bins, *_ = bin_matrix(x)
    counts = np.bincount(bins[0])
    assert n_bins[0] == 255
    assert counts.min() >= 99
    assert counts.max() <= 101


def test_heavy_values_leave_bins_to_the_others():
    rng = np.random.default_rng(0)
    x = np.where(rng.random(20_000) < 0.9, 0.0, rng.normal(size=20_000))
    bins, n_bins, _, low, high = bin_matrix(x[:, np.newaxis])
    zero = bins[0][x == 0][0]
    assert low[0, zero] == high[0, zero] == 0.0
    assert n_bins[0] == 255


@pytest.mark.parametrize("n_threads", [1, 3])
def test_values_that_the_sample_missed(n_threads):
    rng = np.random.default_rng(0)
    n = 20_000
    X = np.zeros((n, 4))
    X[:, 0] = rng.integers(0, 50, n)  # all of its values get bins
    X[:, 1] = rng.normal(size=n) * (rng.random(n) < 0.1)  # too many values
    X[:, 2] = rng.normal(size=n)
    X[12_345, 3] = 1.0
    X[17, 2] = np.nan
    X[100:, 3][rng.random(n - 100) < 0.01] = np.nan
    sample = np.arange(20, 120, dtype=np.uint32)
    found = bin_matrix(X, n_threads=n_threads, sample=sample)
    for f in range(4):
        assert_are_bins(X[:, f], *(part[f] for part in found), sample=sample)
    assert found[1].tolist()[0] == 50
    assert found[1].tolist()[3] == 2


def test_a_sample_of_missing_values_only():
    X = np.full((1000, 1), np.nan)
    X[500:, 0] = np.arange(500) % 7
    sample = np.arange(100, dtype=np.uint32)
    found = bin_matrix(X, sample=sample)
    assert_are_bins(X[:, 0], *(part[0] for part in found), sample=sample)


@pytest.mark.parametrize("max_bins", [2, 100, 255])
@pytest.mark.parametrize("n_values", [1, 2, 3, 255, 256])
def test_bytes_are_binned_as_floats(n_values, max_bins):
    rng = np.random.default_rng(n_values)
    levels = np.sort(rng.choice(256, n_values, replace=False))
    X = rng.choice(levels, size=(20_000, 3)).astype(np.uint8)
    binner = Binner(3, max_bins, 2)
    binner.find_byte_edges(MatrixView(X))
    rows, columns = np.zeros_like(X), np.zeros_like(X.T, order="C")
    binner.assign(MatrixView(X), np.arange(3), rows, columns)
    np.testing.assert_array_equal(rows, columns.T)
    expected = bin_matrix(X.astype(np.float32), max_bins)
    for found, wanted in zip((columns, *binner.bins()[:4]), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)


def test_the_number_of_threads_does_not_matter():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 40))
    X[:, ::3] = np.round(X[:, ::3] * 20)
    X[rng.random(X.shape) < 0.01] = np.nan
    sample = np.arange(0, 20_000, 7, dtype=np.uint32)
    one = bin_matrix(X, sample=sample)
    for part, same in zip(one, bin_matrix(X, n_threads=4, sample=sample), strict=True):
        np.testing.assert_array_equal(part, same)


@pytest.mark.parametrize("max_bins", [-1, 0, 1, 256])
def test_impossible_number_of_bins(max_bins):
    with pytest.raises(ValueError, match="max_bins must be from 2 to 255"):
        Binner(3, max_bins, 1)


@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "int16", "int32", "int64", "float32", "float64"]
)
def test_matrix_view_reads_in_place(dtype):
    X = np.random.default_rng(0).integers(0, 200, size=(60, 11)).astype(dtype)
    X.flags.writeable = False
    rows = np.array([59, 0, 3, 3], dtype=np.uint32)
    for layout in (X, np.asfortranarray(X), X[::-2, ::3], X.T):
        view = MatrixView(layout)
        assert view.array is layout
        for column in range(layout.shape[1]):
            expected = layout[:, column].astype(np.float32)
            np.testing.assert_array_equal(view.column(column), expected)
    for column in range(11):
        np.testing.assert_array_equal(
            MatrixView(X).column(column, rows), X[rows, column].astype(np.float32)
        )


def test_matrix_view_refuses_what_it_cannot_read():
    swapped = np.zeros((2, 2), dtype=np.dtype("f8").newbyteorder())
    for X in (swapped, np.zeros((2, 2), np.float16), np.zeros((2, 2), np.uint16)):
        assert not is_readable(X)
        with pytest.raises(ValueError, match="Cannot read"):
            MatrixView(X)
    view = MatrixView(np.zeros((2, 2)))
    with pytest.raises(IndexError):
        view.column(2)
    with pytest.raises(IndexError):
        view.column(0, np.array([2], dtype=np.uint32))
