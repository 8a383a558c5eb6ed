"""Packed data: the same bins for every layout and type, and thresholds that agree."""

import pickle

import numpy as np
import pytest
from scipy import sparse

from sklearn_bandit import tree
from sklearn_bandit.ensemble import RandomForestRegressor
from sklearn_bandit.tree._data import packed_rows, packing
from sklearn_bandit.tree._data.packed_rows import MISSING_BIN, pack
from sklearn_bandit.tree._policy import SamplingPolicy


def make_data(n_samples=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_samples, 7)).astype(np.float32)
    X[:, 1] = rng.integers(-5, 5, n_samples)
    X[:, 2] = 3.0
    X[:, 3] = np.where(rng.random(n_samples) < 0.9, 0.0, X[:, 3])
    X[rng.random(n_samples) < 0.1, 4] = np.nan
    return X


def assert_same(packed, expected):
    for name in ("rows", "columns", "n_bins", "has_missing", "bin_low", "bin_high"):
        np.testing.assert_array_equal(
            getattr(packed, name), getattr(expected, name), err_msg=name
        )


def layouts(X, tmp_path):
    yield "float64", X.astype(np.float64)
    yield "Fortran order", np.asfortranarray(X)
    yield "strided", np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    yield "byte-swapped", X.astype(X.dtype.newbyteorder())
    read_only = X.copy()
    read_only.flags.writeable = False
    yield "read-only", read_only
    mapped = np.memmap(tmp_path / "X", dtype=X.dtype, mode="w+", shape=X.shape)
    mapped[:] = X
    mapped.flush()
    yield (
        "memory-mapped",
        np.memmap(tmp_path / "X", dtype=X.dtype, mode="r", shape=X.shape),
    )
    yield "csr", sparse.csr_matrix(X)
    yield "csc", sparse.csc_matrix(X)
    yield "csr_array", sparse.csr_array(X)


@pytest.mark.parametrize("n_samples", [3000, 25_000])
def test_all_layouts_pack_alike(n_samples, tmp_path, monkeypatch):
    monkeypatch.setattr(packed_rows, "CHUNK_VALUES", 10_000)
    X = make_data(n_samples)
    expected = pack(X, random_state=0)
    for name, layout in layouts(X, tmp_path):
        try:
            assert_same(pack(layout, random_state=0), expected)
        except AssertionError as error:
            raise AssertionError(name) from error


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "float16"],
)
def test_all_types_pack_alike(dtype):
    X = np.random.default_rng(0).integers(0, 100, size=(2000, 5)).astype(dtype)
    assert_same(pack(X), pack(X.astype(np.float64)))


@pytest.mark.parametrize("n_threads", [2, 5])
def test_threads_and_groups_of_features_do_not_matter(n_threads, monkeypatch):
    X = make_data(30_000)
    expected = pack(X, random_state=3)
    monkeypatch.setattr(packed_rows, "FEATURE_GROUP", 3)
    assert_same(pack(X, n_threads=n_threads, random_state=3), expected)


def test_rows_and_columns_hold_the_same():
    packed = pack(make_data())
    assert packed.n_samples == 3000
    assert packed.n_features == 7
    assert packed.rows.shape == (3000, 16)
    assert packed.rows.ctypes.data % 64 == 0
    assert packed.rows.flags.c_contiguous
    assert packed.columns.flags.c_contiguous
    np.testing.assert_array_equal(packed.rows[:, :7], packed.columns.T)
    assert not packed.rows[:, 7:].any()


@pytest.mark.parametrize(
    ("n_features", "stride"),
    [
        (1, 16),
        (16, 16),
        (17, 32),
        (33, 64),
        (54, 64),
        (65, 128),
        (257, 272),
        (784, 784),
    ],
)
def test_rows_are_padded(n_features, stride):
    assert pack(np.zeros((3, n_features))).rows.shape == (3, stride)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_samples", [1, 3, 130, 4099])
@pytest.mark.parametrize("n_features", [1, 3, 22, 33, 54, 100, 131])
def test_any_shape_is_packed_in_tiles(n_features, n_samples, dtype):
    # Integers have a bin each; what does not fill a tile must not spill over.
    rng = np.random.default_rng(n_features)
    X = rng.integers(0, 60, (n_samples, n_features)).astype(dtype)
    packed = pack(X)
    for j, column in enumerate(X.T):
        _, bins = np.unique(column, return_inverse=True)
        np.testing.assert_array_equal(packed.columns[j], bins)
    np.testing.assert_array_equal(packed.rows[:, :n_features], packed.columns.T)
    assert not packed.rows[:, n_features:].any()


def test_thresholds_agree_with_bins():
    X = make_data()
    X[:, 5] = 1 + np.random.default_rng(1).integers(0, 2000, len(X)) * np.float32(
        2**-23
    )
    packed = pack(X, max_bins=40)
    for feature in range(7):
        x, bins = X[:, feature].astype(np.float64), packed.columns[feature]
        present = bins != MISSING_BIN
        n_bins = packed.n_bins[feature]
        for left in range(n_bins - 1):
            threshold = packed.threshold(feature, left, left + 1)
            np.testing.assert_array_equal(
                x[present] <= threshold, bins[present] <= left
            )
        # Bins between that are empty in a node
        if n_bins > 5:
            threshold = packed.threshold(feature, 0, 5)
            occupied = (bins == 0) | ((bins >= 5) & present)
            np.testing.assert_array_equal(x[occupied] <= threshold, bins[occupied] == 0)


def test_float64_is_binned_as_float32():
    x = np.array([1.0, 1.0 + 1e-12, 1.0 + 1e-3, 16_777_216.0, 16_777_217.0])
    packed = pack(x[:, np.newaxis])
    assert packed.columns.tolist() == [[0, 0, 1, 2, 2]]
    integers = np.array([[2**24], [2**24 + 1], [2**40]], dtype=np.int64)
    assert pack(integers).columns.tolist() == [[0, 0, 1]]


def test_raw_is_the_matrix_itself():
    X = make_data()
    assert pack(X).raw.array is X
    assert pack(sparse.csr_matrix(X)).raw is None
    assert pack(X.astype(np.float16)).raw is None


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.inf, -np.inf, 1e300])
def test_infinity_is_refused(bad, dtype):
    X = np.random.default_rng(0).normal(size=(30_000, 2)).astype(dtype)
    with np.errstate(over="ignore"):
        X[29_999, 1] = bad
    with pytest.raises(ValueError, match="infinity or a value too large"):
        pack(X)


def test_wide_sparse_data():
    X = sparse.random(200, 2500, density=0.02, format="csr", random_state=0)
    packed = pack(X, n_threads=2)
    assert_same(packed, pack(X.toarray()))


def test_few_samples():
    assert pack(np.array([[1.0, np.nan]])).rows[0, :2].tolist() == [0, MISSING_BIN]


def test_coarse_features_are_those_with_many_values_in_a_bin():
    rng = np.random.default_rng(0)
    n = 30_000
    X = np.column_stack(
        [
            rng.normal(size=n),  # continuous
            rng.integers(0, 200, n),  # one value a bin
            rng.integers(0, 600, n),  # two or three
            rng.integers(0, 8_000, n),  # thirty
        ]
    ).astype(np.float32)
    assert pack(X).is_coarse.tolist() == [1, 0, 0, 1]
    # Of few samples most values are different: as good as continuous.
    assert pack(X[:700]).is_coarse.tolist() == [1, 0, 1, 1]
    assert not pack(X[:, 1:3].astype(np.uint8)).is_coarse.any()


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [1, 7, 300, 25_000])
def test_some_rows_are_packed_as_if_they_were_all(n_rows, dtype, order):
    rng = np.random.default_rng(0)
    X = np.asarray(rng.integers(0, 200, (30_000, 37)), dtype=dtype, order=order)
    if X.dtype.kind == "f":
        X[:, :20] += rng.random((len(X), 20)).astype(dtype)
        X[rng.random(X.shape) < 0.01] = np.nan
    ids = rng.permutation(len(X))[:n_rows].astype(np.uint32)
    some = pack(X, n_threads=2, random_state=0, ids=ids)
    # Bytes that are all counted have the same bins, but not by the same rule.
    alone = X[ids] if dtype != np.uint8 else X[ids].astype(np.float32)
    expected = pack(np.asarray(alone, order=order), random_state=0)
    assert_same(some, expected)
    assert some.raw is None


@pytest.mark.parametrize("n_rows", [1, 300, 5000])
def test_memory_is_used_again(n_rows):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((8000, 37)).astype(np.float32)
    ids = rng.permutation(len(X)).astype(np.uint32)
    used = pack(X, random_state=0, ids=ids[:5000])
    memory = used.rows, used.columns
    again = pack(X, random_state=0, ids=ids[-n_rows:], memory=memory)
    assert np.shares_memory(again.rows, used.rows)
    assert np.shares_memory(again.columns, used.columns)
    assert again.columns.flags.c_contiguous
    assert_same(again, pack(X, random_state=0, ids=ids[-n_rows:]))


def test_ranks_of_values_that_share_a_bin():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3_000, 3)).astype(np.float32)
    X[:, 1] = rng.integers(0, 200, len(X))
    X[::7, 2] = np.nan
    packed = pack(X, ranking=SamplingPolicy())
    assert packed.ranks.is_ranked().tolist() == [1, 0, 1]
    copy = pickle.loads(pickle.dumps(packed)).ranks
    assert copy.__reduce__()[1][0].shape == (2, len(X))
    for ranks in (
        packed.ranks,
        copy,
        pack(X, ranking=SamplingPolicy(), n_threads=2).ranks,
    ):
        places, columns, low, high, _ = ranks.__reduce__()[1]
        assert columns.tolist() == [0, -1, 1]
        for column, feature in enumerate((0, 2)):
            x = X[:, feature]
            is_missing = np.isnan(x)
            assert (places[column, is_missing] == 65_535).all()
            present, x = places[column, ~is_missing], x[~is_missing]
            assert (low[column, present] <= x).all()
            assert (x <= high[column, present]).all()
            assert (high[column, present] - low[column, present] < 1e-5).all()
            # A larger rank is a larger value.
            order = np.lexsort((x, present))
            assert (np.diff(x[order]) >= 0).all()
    assert pack(X).ranks is None
    assert pack(X, max_bins=100, ranking=SamplingPolicy()).ranks is None
    assert pack(X[:, [1]], ranking=SamplingPolicy()).ranks is None


def test_ranks_only_of_small_data():
    X = np.random.default_rng(0).normal(size=(1_000, 2))
    for limits, is_ranked in [
        ({"ranked_rows": 999}, False),
        ({"ranked_rows": 1_000}, True),
        ({"ranked_values": X.size - 1}, False),
        ({"ranked_values": X.size}, True),
    ]:
        packed = pack(X, ranking=SamplingPolicy(**limits))
        assert (packed.ranks is not None) == is_ranked


@pytest.mark.parametrize("solver", ["exact", "mab"])
def test_forests_that_may_sample_keep_to_bins_earlier(solver):
    X = np.random.default_rng(0).standard_normal((1_000, 1))
    for estimator, is_ranked in [
        (tree.DecisionTreeRegressor(solver=solver), True),
        (RandomForestRegressor(solver=solver), solver == "exact"),
    ]:
        estimator._sampling_policy = SamplingPolicy(ranked_forest_rows=999)
        packed = packing.pack_samples(estimator, X, 1, 0)
        assert (packed.ranks is not None) == is_ranked
