"""Dask collections become partitions with known row numbers, or a clear error."""

import dask.array as da
import numpy as np
import pytest
from dask.delayed import delayed

from sklearn_bandit.dask._client import Tasks
from sklearn_bandit.dask._collections import make_partitions

dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(100, 3))
Y = RNG.integers(3, size=100)
WEIGHTS = RNG.uniform(size=100)


def the_same(block):
    return block


def gather(client, *collections, **options):
    """The blocks of collections, and their partitions."""
    with Tasks(client) as tasks:
        partitions = make_partitions(tasks, *collections, **options)
        blocks = list(tasks.gather(tasks.compute(partitions.map(the_same))))
    return partitions, blocks


def assert_whole(partitions, blocks, X=X, y=Y, weights=None):
    assert partitions.n_samples == len(X)
    np.testing.assert_array_equal(np.concatenate([b.X for b in blocks]), X)
    np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), y)
    np.testing.assert_array_equal([len(b.X) for b in blocks], partitions.n_rows)
    if weights is not None:
        found = np.concatenate([b.sample_weight for b in blocks])
        np.testing.assert_array_equal(found, weights)


def test_arrays_that_are_cut_elsewhere(client):
    X_ = da.from_array(X, chunks=(30, 2))
    y_ = da.from_array(Y, chunks=17)
    weights = da.from_array(WEIGHTS, chunks=100)
    partitions, blocks = gather(client, X_, y_, weights)
    assert_whole(partitions, blocks, weights=WEIGHTS)
    np.testing.assert_array_equal(partitions.n_rows, [30, 30, 30, 10])
    np.testing.assert_array_equal(partitions.starts, [0, 30, 60, 90])
    assert (partitions.n_features, partitions.dtype) == (3, np.float64)


def test_rows_are_located(client):
    partitions, _ = gather(client, da.from_array(X, chunks=(30, 3)))
    located = partitions.locate(np.array([0, 5, 29, 30, 95]))
    assert [(i, list(rows)) for i, rows in located] == [
        (0, [0, 5, 29]),
        (1, [0]),
        (3, [5]),
    ]


def test_unknown_lengths_and_empty_partitions(client):
    keep = X[:, 0] > 0.3
    keep[30:60] = False
    X_ = da.from_array(X, chunks=(30, 3))
    y_ = da.from_array(Y, chunks=30)
    mask = da.from_array(keep, chunks=30)
    partitions, blocks = gather(client, X_[mask], y_[mask])
    assert_whole(partitions, blocks, X[keep], Y[keep])
    assert len(partitions) == 3


def test_frames(client):
    frame = pd.DataFrame(
        {
            "a": X[:, 0].astype(np.float32),
            "b": Y,
            "c": X[:, 1] > 0,
            "d": pd.Categorical(Y % 2),
        }
    )
    y = pd.Series(np.array(["x", "y", "z"])[Y])
    partitions, blocks = gather(
        client, dd.from_pandas(frame, npartitions=3), dd.from_pandas(y, npartitions=4)
    )
    expected = np.c_[frame["a"], Y, X[:, 1] > 0, Y % 2]
    assert_whole(partitions, blocks, expected, y)
    assert list(partitions.feature_names) == list("abcd")
    assert blocks[0].X.dtype == partitions.dtype == np.float64


def test_frames_stay_frames_with_the_same_categories(client):
    def make(i):
        # The first partition knows "a" and "b" only, in another order than the second.
        letters = pd.Categorical(list("abab" if i == 0 else "cabc"))
        return pd.DataFrame({"letter": letters, "number": np.arange(4.0)})

    known = pd.DataFrame(
        {"letter": pd.Categorical([], list("cab")), "number": [0.0][:0]}
    )
    frame = dd.from_map(make, [0, 1], meta=known)
    unknown = frame.assign(letter=frame["letter"].cat.as_unknown())
    for each, order in ((frame, list("cab")), (unknown, list("abc"))):
        _, blocks = gather(client, each, keep_frames=True)
        assert list(blocks[0].X["letter"]) == list("abab")
        for block in blocks:
            assert list(block.X["letter"].cat.categories) == order
    few = known.assign(letter=pd.Categorical([], list("ab")))
    frame = dd.from_map(make, [0, 1], meta=few)
    with pytest.raises(ValueError, match=r"Partition 1 of X.*does not know: \['c'\]"):
        gather(client, frame, keep_frames=True)


@pytest.mark.parametrize(
    ("collections", "error", "match"),
    [
        ((X,), TypeError, "X must be a dask array or data frame, got ndarray"),
        ((da.from_array(X), Y), TypeError, "y must be a dask array"),
        ((da.from_array(Y),), ValueError, "Expected 2D array, got 1D"),
        ((da.from_array(X), da.from_array(Y[:99])), ValueError, "y has 99"),
        ((da.from_array(X.astype(str)),), ValueError, "X must be numeric"),
        ((da.from_array(X)[:0],), ValueError, "0 sample"),
        ((da.from_array(X)[:, :0],), ValueError, "0 feature"),
        ((da.from_array(X), None, da.from_array(X)), ValueError, "weights must be 1D"),
        (
            (dd.from_pandas(pd.DataFrame({"a": ["x", "y"]}), npartitions=1),),
            ValueError,
            "X must be numeric, but its columns have the types",
        ),
    ],
)
def test_what_does_not_fit(client, collections, error, match):
    with pytest.raises(error, match=match):
        gather(client, *collections)


@pytest.mark.parametrize(
    ("second", "match"),
    [
        (X[:, :2], r"Partition 1 of X has the shape \(100, 2\), but 3 features"),
        (X[:50], "Partition 1 of X has 50 rows, not 100"),
        (X.astype(str), "Partition 1 of X does not fit the type float64"),
    ],
)
def test_partitions_that_are_not_what_they_should_be(client, second, match):
    X_ = da.concatenate(
        [da.from_delayed(delayed(x), X.shape, X.dtype) for x in (X, second)]
    )
    with pytest.raises(ValueError, match=match):
        gather(client, X_)


def test_partitions_of_several_types_have_the_declared_one(client):
    parts = [X, X.astype(np.float32), np.rint(X).astype(np.int64)]
    X_ = da.concatenate([da.from_delayed(delayed(x), X.shape, X.dtype) for x in parts])
    _, blocks = gather(client, X_)
    assert [block.X.dtype for block in blocks] == [np.float64] * 3
    np.testing.assert_array_equal(blocks[2].X, parts[2])
