"""What is kept of distances, and that it is the same as computing them again."""

import numpy as np
import pytest
from sklearn_bandit.cluster._distances import ARM_TILE, RowCache, TileCache

from sklearn_bandit.cluster._distances.dense import DenseDistances

N = 2000
TILE_BYTES = 4 * ARM_TILE * 128


@pytest.fixture
def distances():
    X = np.random.default_rng(0).standard_normal((N, 5)).astype(np.float32)
    return DenseDistances(X, "euclidean", np.arange(N), 1)


def random_arms(rng):
    return np.flatnonzero(rng.random(N) < rng.choice([0.02, 0.3, 0.9]))


@pytest.mark.parametrize("n_bytes", [0, 5 * TILE_BYTES, 2**30])
def test_gathered_tiles_are_those_computed_anew(distances, n_bytes):
    rng = np.random.default_rng(1)
    cache = TileCache(distances, n_bytes, 2)
    requests = [np.arange(N), *(random_arms(rng) for _ in range(8)), np.arange(N)]
    for arms in requests[1:]:
        for start in (0, 128):
            found = cache(arms, start, start + 128)
            expected = distances.tiles(arms, start, start + 128)
            np.testing.assert_array_equal(found, expected)
            assert cache.nbytes <= n_bytes


def test_a_distance_is_computed_once_if_there_is_room(distances):
    rng = np.random.default_rng(2)
    cache = TileCache(distances, 2**30, 1)
    seen = np.zeros(N, dtype=bool)
    for _ in range(6):
        arms = random_arms(rng)
        cache(arms, 256, 384)
        seen[arms] = True
        assert distances.n_evaluations == 128 * seen.sum()


def test_a_piece_that_is_asked_for_again_is_not_copied(distances):
    cache = TileCache(distances, 2**30, 1)
    arms = np.arange(300, 1700)
    assert cache(arms, 0, 128) is cache(arms, 0, 128)
    kept = cache.nbytes
    cache(np.arange(1650, 1800), 0, 128)
    everything = cache(np.arange(N), 0, 128)
    assert cache(np.arange(N), 0, 128) is everything
    assert cache.nbytes == everything.nbytes > kept


def test_rows_stay_within_the_cache(distances):
    rows = RowCache(distances, 3 * N * 4)
    first = rows([0, 1, 2, 3])
    assert distances.n_evaluations == 4 * N
    np.testing.assert_array_equal(rows([3, 1, 0]), first[[3, 1, 0]])
    assert distances.n_evaluations == 5 * N
    assert len(rows._rows) == 3
