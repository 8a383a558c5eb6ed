"""Fast distances against scikit-learn's, and their guards."""

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances
from sklearn_bandit.cluster._distances import ARM_TILE
from sklearn_bandit.cluster._distances.row_sums import add_rows

from sklearn_bandit.cluster._distances.dense import DenseDistances

FAST = ["euclidean", "sqeuclidean", "cosine", "manhattan"]


def tiles_to_matrix(tiles, n_arms, scale):
    """(references, arms), unscaled."""
    flat = tiles.transpose(1, 0, 2).reshape(tiles.shape[1], -1)
    assert (flat[:, n_arms:] == 0).all()
    return flat[:, :n_arms] / scale


@pytest.mark.parametrize("metric", FAST)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 64, 101])
def test_agrees_with_sklearn(metric, dtype, d):
    rng = np.random.default_rng(d)
    X = rng.standard_normal((700, d)).astype(dtype) * 7
    order = rng.permutation(700)
    distances = DenseDistances(X, metric, order, n_threads=2)
    expected = pairwise_distances(X[order].astype(np.float64), metric=metric)
    arms = rng.permutation(700)[:530]

    tiles = distances.tiles(arms, 100, 333)
    found = tiles_to_matrix(tiles, len(arms), distances.scale)
    assert tiles.shape == (2, 233, ARM_TILE)
    np.testing.assert_allclose(found, expected[100:333][:, arms], rtol=3e-4, atol=2e-6)

    rows = distances.rows(arms[:9])
    assert rows.dtype == dtype
    tight = 1e-6 if dtype is np.float64 else 1e-5
    np.testing.assert_allclose(rows, expected[arms[:9]], rtol=tight, atol=1e-6)
    assert (rows[np.arange(9), arms[:9]] == 0).all()
    assert distances.n_evaluations == 530 * 233 + 9 * 700


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan"])
def test_large_offset_in_float32_is_harmless(metric):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((300, 20)) + 1000).astype(np.float32)
    distances = DenseDistances(X, metric, np.arange(300), n_threads=1)
    expected = pairwise_distances(X.astype(np.float64), metric=metric)
    np.testing.assert_allclose(distances.rows(np.arange(300)), expected, rtol=1e-4)
    found = tiles_to_matrix(
        distances.tiles(np.arange(300), 0, 300), 300, distances.scale
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("metric", FAST)
def test_near_duplicates_keep_their_digits(metric):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 30)).astype(np.float32)
    X[100:] = X[:100] + 1e-3 * rng.standard_normal((100, 30)).astype(np.float32)
    X[50] = X[150] = X[0]
    distances = DenseDistances(X, metric, np.arange(200), n_threads=1)
    expected = pairwise_distances(X.astype(np.float64), metric=metric)
    rows = distances.rows(np.arange(200))
    near = np.arange(100), np.arange(100, 200)
    np.testing.assert_allclose(rows[near], expected[near], rtol=2e-3, atol=1e-9)
    assert rows[0, 50] == rows[50, 150] == 0


def test_zero_vectors_under_cosine_are_as_in_sklearn():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
    distances = DenseDistances(X, "cosine", np.arange(4), n_threads=1)
    np.testing.assert_allclose(
        distances.rows(np.arange(4)), pairwise_distances(X, metric="cosine"), atol=1e-12
    )


@pytest.mark.parametrize("magnitude", [1e-120, 1e-30, 1e30, 1e120])
def test_any_magnitude(magnitude):
    X = np.random.default_rng(0).standard_normal((50, 4)) * magnitude
    distances = DenseDistances(X, "euclidean", np.arange(50), n_threads=1)
    tiles = distances.tiles(np.arange(50), 0, 50)[0, :, :50]
    expected = pairwise_distances(X / magnitude)
    np.testing.assert_allclose(
        tiles / (distances.scale * magnitude), expected, rtol=3e-4, atol=1e-6
    )


@pytest.mark.parametrize("metric", FAST)
@pytest.mark.parametrize("d", [5, 100, 784])
def test_a_distance_is_the_same_in_any_company(metric, d):
    """What makes the result independent of memory and threads: rows are looked up."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((1100, d)).astype(np.float32)
    distances = DenseDistances(X, metric, np.arange(1100), n_threads=2)
    with distances.threads():
        all_rows = distances.rows(np.arange(40))
        for arms in [[3], [39, 5, 7], np.arange(17, 31)]:
            np.testing.assert_array_equal(distances.rows(arms), all_rows[arms])
        again = distances.tiles(np.arange(1100), 0, 512)
        np.testing.assert_array_equal(again, distances.tiles(np.arange(1100), 0, 512))


def test_sums_of_rows_by_group():
    """Several blocks, one of them not full; the same for any number of threads."""
    rng = np.random.default_rng(3)
    X = rng.standard_normal((1300, 7)).astype(np.float32)
    weights = rng.random(1300).astype(np.float32)
    labels = rng.integers(0, 4, 1300).astype(np.intc)
    sums = add_rows(X, weights, labels, 5, 1)
    expected = [weights[labels == l] @ X[labels == l] for l in range(5)]
    np.testing.assert_allclose(sums, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(sums, add_rows(X, weights, labels, 5, 2))
