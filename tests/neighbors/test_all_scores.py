"""The largest of all scores, where all of them are computed."""

import numpy as np
from numpy.testing import assert_array_equal

from sklearn_bandit.neighbors import _all_scores
from sklearn_bandit.neighbors._all_scores import (
    largest_first,
    largest_scores,
    query_parts,
)


def test_equal_values_keep_their_order():
    values = np.array([[1.0, 3.0, 2.0, 3.0, 2.0, 2.0], [0.0] * 6])
    assert_array_equal(largest_first(values, 3), [[1, 3, 2], [0, 1, 2]])
    assert_array_equal(largest_first(values, 6)[0], [1, 3, 2, 4, 5, 0])
    values[0, 0] = np.nan
    assert largest_first(values, 2).shape == (2, 2)


def test_parts_are_all_queries_and_make_no_difference(monkeypatch):
    rng = np.random.default_rng(0)
    queries, atoms = rng.integers(-9, 9, (7, 5)), rng.integers(-9, 9, (20, 5))
    whole = largest_scores(lambda some: some @ atoms.T, queries, 20, 3)
    monkeypatch.setattr(_all_scores, "MAX_SCORES", 50)
    parts = list(query_parts(7, 20))
    assert [(part.start, part.stop) for part in parts] == [
        (0, 2),
        (2, 4),
        (4, 6),
        (6, 7),
    ]
    shapes = []

    def score(some):
        shapes.append(some.shape[0])
        return some @ atoms.T

    for found, expected in zip(
        largest_scores(score, queries, 20, 3), whole, strict=True
    ):
        assert_array_equal(found, expected)
    assert shapes == [2, 2, 2, 1]
