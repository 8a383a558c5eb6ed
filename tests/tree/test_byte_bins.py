"""Bytes that are their own bins: the same trees as those of the same numbers."""

import numpy as np
import pytest
from sklearn_bandit._core.matrix import MatrixView
from sklearn_bandit.tree._data.byte_bins import are_spread, keep_bytes

from sklearn_bandit.tree import DecisionTreeClassifier
from sklearn_bandit.tree._data import packed_rows
from sklearn_bandit.tree._data.packed_rows import pack

MISSING_BIN = 255


def make_images(n_samples=700, n_features=37, high=256, seed=0):
    """Bytes that are often zero, with a margin that always is."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, high, (n_samples, n_features), dtype=np.uint8)
    X[rng.random(X.shape) < 0.4] = 0
    X[:, :3] = 0
    return X


@pytest.mark.parametrize("n_samples", [1, 63, 64, 700, 2500])
@pytest.mark.parametrize("n_features", [1, 16, 37])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_a_byte_is_its_bin(n_samples, n_features, n_threads):
    X = make_images(n_samples, n_features)
    rows = np.full((n_samples, 48), 77, dtype=np.uint8)
    columns = np.empty((n_features, n_samples), dtype=np.uint8)
    n_bins, has_missing, low, high, _, has_infinite = keep_bytes(
        MatrixView(X), rows[:, :n_features], columns, n_threads
    )
    expected = np.minimum(X, MISSING_BIN - 1)
    np.testing.assert_array_equal(rows[:, :n_features], expected)
    np.testing.assert_array_equal(columns, expected.T)
    assert (rows[:, n_features:] == 77).all()
    np.testing.assert_array_equal(n_bins, expected.max(axis=0).astype(int) + 1)
    assert not has_missing.any()
    assert not has_infinite.any()
    assert (low <= high).all()


def test_images_are_kept():
    X = make_images()
    packed = pack(X)
    np.testing.assert_array_equal(packed.rows[:, :37], np.minimum(X, MISSING_BIN - 1))
    assert not packed.rows[:, 37:].any()
    assert not packed.is_coarse.any()


def test_thresholds_are_between_values():
    X = np.array([[0], [7], [254], [255], [3]], dtype=np.uint8).repeat(60, axis=0)
    rng = np.random.default_rng(0)
    X = np.column_stack([X, rng.integers(0, 256, (len(X), 5), dtype=np.uint8)])
    packed = pack(X)
    assert packed.n_bins[0] == MISSING_BIN
    assert packed.threshold(0, 0, 3) == 1.5
    assert packed.threshold(0, 7, 254) == 130.5
    # The two largest values share a bin, and are on the same side of any threshold.
    assert packed.bin_low[0, 254] == 254
    assert packed.bin_high[0, 254] == 255


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.arange(256), True),
        ([0, 1], True),
        ([0, 1, 2, 3], True),
        ([0, 255], False),
        ([0, 10, 200], False),
    ],
)
def test_values_far_apart_are_numbered_through(values, expected):
    rng = np.random.default_rng(0)
    X = rng.choice(np.asarray(values, dtype=np.uint8), (3000, 5))
    rows = np.arange(0, 3000, 3, dtype=np.uint32)
    assert are_spread(MatrixView(X), rows) == expected
    assert pack(X).n_bins.max() <= 4 * len(values)


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
def test_other_types_are_not_bytes(dtype):
    X = make_images().astype(dtype)
    assert not are_spread(MatrixView(X), np.arange(10, dtype=np.uint32))


def test_columns_that_lie_together_are_not_read_as_rows():
    X = np.asfortranarray(make_images())
    assert not are_spread(MatrixView(X), np.arange(10, dtype=np.uint32))


@pytest.mark.parametrize("high", [50, 255])
def test_same_tree_as_on_numbers(high):
    X = make_images(high=high)
    y = (X[:, 5].astype(int) + X[:, 9] > high // 2) + 0
    as_bytes = DecisionTreeClassifier(solver="exact", random_state=0).fit(X, y).tree_
    X = X.astype(np.float32)
    as_numbers = DecisionTreeClassifier(solver="exact", random_state=0).fit(X, y).tree_
    for name in ("feature", "threshold", "children_left", "n_node_samples"):
        np.testing.assert_array_equal(
            getattr(as_bytes, name), getattr(as_numbers, name), err_msg=name
        )


@pytest.mark.parametrize("max_bins", [2, 254])
def test_fewer_bins_than_bytes(max_bins):
    packed = pack(make_images(), max_bins=max_bins)
    assert packed.n_bins.max() <= max_bins


def test_groups_of_features_do_not_matter(monkeypatch):
    X = make_images()
    expected = pack(X)
    monkeypatch.setattr(packed_rows, "FEATURE_GROUP", 16)
    packed = pack(X)
    np.testing.assert_array_equal(packed.rows, expected.rows)
    np.testing.assert_array_equal(packed.n_bins, expected.n_bins)
