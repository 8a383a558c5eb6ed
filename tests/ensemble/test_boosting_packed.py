"""Trees on compact and packed rows: the same as on the rows themselves."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn_bandit.ensemble._boosting._data.row_lists import RowLists
from sklearn_bandit.ensemble._boosting._growing.grower import TreeGrower
from sklearn_bandit.ensemble._boosting._growing.histogram import HistogramBuilder
from sklearn_bandit.ensemble._boosting._growing.sampled_pairs import SampledPairs

from sklearn_bandit.ensemble._boosting._data.layout import Layout
from sklearn_bandit.ensemble._boosting._growing import sampled_pairs
from sklearn_bandit.ensemble._boosting._growing.growth_options import GrowthOptions
from sklearn_bandit.ensemble._boosting._growing.tree_sample import TreeSample

MISSING = 255


def make_columns(kind, n=70_000, seed=0):
    """Bins: dense, with combinations that repeat, or mostly one of them."""
    rng = np.random.default_rng(seed)
    columns = rng.integers(200, size=(9, n)).astype(np.uint8)
    if kind == "bundles":
        columns[:6] = rng.integers(3, size=(6, n))
        columns[3] = columns[2]
    elif kind == "sparse":
        columns = rng.integers(200, size=(24, n)).astype(np.uint8)
        columns[:20, :][rng.uniform(size=(20, n)) < 0.9] = 0
    columns[-1, rng.uniform(size=n) < 0.1] = MISSING
    return columns


def grower_of(layout, columns, n_threads=1):
    rows = RowLists(layout, columns, n_threads)
    options = GrowthOptions(
        max_leaf_nodes=31,
        max_depth=None,
        min_samples_leaf=20,
        l2_regularization=0.1,
        max_features=1.0,
        monotonic_cst=np.zeros(len(columns), dtype=np.int8),
        interaction_cst=None,
        first_of_equal=True,
    )
    builder = HistogramBuilder(layout, rows, False, n_threads)
    return TreeGrower(layout, builder, columns, options, n_threads), rows


def make_grower(columns, n_threads=1):
    n_bins = [column[column != MISSING].max() + 1 for column in columns.astype(int)]
    layout = Layout(
        columns,
        n_bins,
        (columns == MISSING).any(axis=1),
        np.zeros(len(columns)),
        MISSING,
        n_grown=columns.shape[1],
        n_threads=n_threads,
    )
    grower, rows = grower_of(layout, columns, n_threads)
    return grower, layout, rows


def make_pairs(columns, seed=0):
    """Gradients that depend on a few features, and hessians."""
    rng = np.random.default_rng(seed)
    n = columns.shape[1]
    pairs = np.empty((n, 2), dtype=np.float32)
    pairs[:, 0] = rng.standard_normal(n) + (columns[0] > columns[1])
    pairs[:, 0] += 0.5 * (columns[-1] > 100) * (columns[4] > 1)
    pairs[:, 1] = rng.uniform(0.1, 0.3, n)
    return pairs


def make_sample(layout, lists, rows, weights, seed=0, n_threads=1):
    taken = RowLists(layout, None, n_threads)
    taken.take(lists, np.arange(len(rows), dtype=np.uint32))  # room to be used again
    taken.take(lists, rows)
    return TreeSample(rows, weights, taken, seed)


def weighed(pairs, rows, weights, seed=0, n_threads=1):
    sampled = SampledPairs()
    sampled.weigh(pairs, rows, weights, seed, n_threads)
    return sampled


class ScarceMemory:
    """numpy without memory for one of the arrays that it is asked for."""

    def __init__(self, n_calls):
        self._n_left = n_calls

    def __getattr__(self, name):
        return getattr(np, name)

    def empty(self, *args, **kwargs):
        self._n_left -= 1
        if self._n_left == 0:
            raise MemoryError
        return np.empty(*args, **kwargs)


@pytest.mark.parametrize("n_calls", [1, 2, 3])
def test_memory_runs_out_for_larger_samples(monkeypatch, n_calls):
    """What there was room for is not written beyond."""
    pairs = make_pairs(make_columns("dense", 40_000))
    rows, weights = np.arange(40_000, dtype=np.uint32), np.ones(40_000, np.float32)
    sampled = weighed(pairs, rows[:100], weights[:100])
    with monkeypatch.context() as patch:
        patch.setattr(sampled_pairs, "np", ScarceMemory(n_calls))
        with pytest.raises(MemoryError):
            sampled.weigh(pairs, rows, weights, 0, 2)
    sampled.weigh(pairs, rows, weights, 0, 2)
    assert_array_equal(sampled.packed, weighed(pairs, rows, weights).packed)


def assert_same_tree(first, second):
    for name, found in first.table().items():
        assert_array_equal(found, second.table()[name])
    for found, expected in zip(first.leaves(), second.leaves(), strict=True):
        assert_array_equal(found, expected)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("kind", ["dense", "bundles", "sparse"])
def test_packed_sums_are_exact(kind, n_threads):
    """A tree on packed rows is that on the rounded pairs, to the last digit.

    There are more rows than fit the bits of a packed cell.
    """
    columns = make_columns(kind)
    pairs, n = make_pairs(columns), columns.shape[1]
    rows, weights = np.arange(n, dtype=np.uint32), np.ones(n, dtype=np.float32)
    grower, layout, lists = make_grower(columns, n_threads)
    assert any(group.has_bundles for group in layout.groups) == (kind == "bundles")
    assert any(group.is_sparse for group in layout.groups) == (kind == "sparse")
    sample = make_sample(layout, lists, rows, weights, 5, n_threads)
    n_insertions = grower.grow(pairs, None, sample)
    rounded = weighed(pairs, rows, weights, 5)
    assert rounded.is_packed
    expected, _, _ = make_grower(columns)
    assert expected.grow(np.ascontiguousarray(rounded.pairs), None) == n_insertions
    assert_same_tree(grower, expected)
    assert len(grower.leaves()[0]) == 31


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("is_packed", [False, True])
def test_rows_of_a_sample(kind, is_packed):
    """A tree on a sample is that on a training set of these rows."""
    columns = make_columns(kind, 40_000)
    rng = np.random.default_rng(0)
    rows = np.flatnonzero(rng.uniform(size=40_000) < 0.3).astype(np.uint32)
    weights = rng.uniform(1.0, 4.0, len(rows)).astype(np.float32)
    pairs = make_pairs(columns)
    if not is_packed:
        pairs[rows[7]] *= 1e6
    grower, layout, lists = make_grower(columns)
    grower.grow(pairs, None, make_sample(layout, lists, rows, weights, 3))
    sampled = weighed(pairs, rows, weights, 3)
    assert sampled.is_packed == is_packed
    if not is_packed:
        assert_array_equal(sampled.pairs, pairs[rows] * weights[:, None])
    some = np.ascontiguousarray(columns[:, rows])
    expected, _ = grower_of(layout, some)
    expected.grow(np.ascontiguousarray(sampled.pairs), None)
    assert_same_tree(grower, expected)
    # All rows again afterwards.
    grower.grow(pairs, None)
    expected, _, _ = make_grower(columns)
    expected.grow(pairs, None)
    assert_same_tree(grower, expected)


def test_rounding_is_unbiased_and_small():
    rng = np.random.default_rng(0)
    pairs = np.stack([rng.standard_normal(300), rng.exponential(size=300)], axis=1)
    pairs = pairs.astype(np.float32)
    rows = np.arange(0, 300, 2, dtype=np.uint32)
    weights = rng.uniform(1.0, 2.0, len(rows)).astype(np.float32)
    exact = (pairs[rows] * weights[:, None]).astype(float)
    found, n_seeds = np.zeros_like(exact), 4000
    for seed in range(n_seeds):
        sampled = weighed(pairs, rows, weights, seed)
        steps = np.array([sampled.step_g, sampled.step_h])
        errors = sampled.pairs - exact
        assert np.all(np.abs(errors) < steps)
        assert_array_equal(sampled.pairs / steps, np.rint(sampled.pairs / steps))
        found += errors / n_seeds
    # At most half a step of standard deviation each, over 300 numbers.
    assert np.abs(found / steps).max() < 4.5 * 0.5 / np.sqrt(n_seeds)
    # Twelve and nine bits, less one for a power of two.
    largest = np.abs(exact).max(axis=0)
    assert np.all(largest / steps <= [4095, 511])
    assert np.all(largest / steps > [2047, 255])


def test_packed_numbers_are_those_of_the_pairs():
    columns = make_columns("dense", 9000)
    pairs = make_pairs(columns)
    rows = np.arange(9000, dtype=np.uint32)
    one = weighed(pairs, rows, np.ones(9000, dtype=np.float32), 1)
    packed = one.packed.astype(np.int64)
    assert_array_equal((packed >> 37) * one.step_g, one.pairs[:, 0])
    assert_array_equal((packed >> 14) % 2**23 * one.step_h, one.pairs[:, 1])
    assert_array_equal(packed % 2**14, 1)
    three = weighed(pairs, rows, np.ones(9000, dtype=np.float32), 1, 3)
    assert_array_equal(one.packed, three.packed)


@pytest.mark.parametrize(
    ("which", "value"),
    [(0, 1e5), (0, np.nan), (0, np.inf), (1, 1e4), (1, -1.0), (1, np.nan)],
)
def test_pairs_that_cannot_be_packed(which, value):
    """Steps would be too coarse for the others, or there are none."""
    pairs = make_pairs(make_columns("dense", 9000))
    rows, weights = np.arange(9000, dtype=np.uint32), np.ones(9000, dtype=np.float32)
    assert weighed(pairs, rows, weights).is_packed
    pairs[17, which] = value
    sampled = weighed(pairs, rows, weights)
    assert not sampled.is_packed
    assert sampled.packed is None
    assert_array_equal(sampled.pairs, pairs)


@pytest.mark.parametrize("factor", [0.0, 1e-36])
def test_pairs_too_small_to_be_packed(factor):
    pairs = make_pairs(make_columns("dense", 9000)) * np.float32(factor)
    rows, weights = np.arange(9000, dtype=np.uint32), np.ones(9000, dtype=np.float32)
    sampled = weighed(pairs, rows, weights)
    assert not sampled.is_packed
    assert_array_equal(sampled.pairs, pairs)


def test_rounding_adds_little_variance():
    """Of a sum over any rows: below 2% of what a sample has anyway."""
    rng = np.random.default_rng(0)
    pairs = np.stack([rng.standard_t(3, size=20_000), np.ones(20_000)], axis=1)
    pairs = pairs.astype(np.float32)
    rows, weights = np.arange(20_000, dtype=np.uint32), np.ones(20_000, np.float32)
    errors = [
        (weighed(pairs, rows, weights, seed).pairs - pairs)[:, 0].astype(float)
        for seed in range(20)
    ]
    assert np.mean(np.square(errors)) < 0.02 * np.mean(np.square(pairs[:, 0]))
    assert_allclose(np.corrcoef(errors)[0, 1:], 0.0, atol=4.5 / np.sqrt(20_000))
