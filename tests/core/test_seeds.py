"""Generators of many seeds."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sklearn_bandit._core.seeds import seeded


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_is_the_generator_of_the_seed(seed):
    seeded(7).normal(size=3)  # a second normal number is kept for later
    for draw in ("random_sample", "normal"):
        expected = getattr(np.random.RandomState(seed), draw)(size=5)
        np.testing.assert_array_equal(getattr(seeded(seed), draw)(size=5), expected)


def test_threads_have_generators_of_their_own():
    def draw(seed):
        generator = seeded(seed)
        return [generator.randint(1 << 30) for _ in range(2_000)]

    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(draw, range(8)))
    for seed, numbers in enumerate(drawn):
        expected = np.random.RandomState(seed).randint(1 << 30, size=2_000)
        np.testing.assert_array_equal(numbers, expected)
