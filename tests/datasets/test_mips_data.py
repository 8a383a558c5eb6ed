"""The generators draw what the thesis describes, and the same for the same seed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_bandit.datasets import (
    make_correlated_normal_custom,
    make_normal_custom,
    make_symmetric_normal,
)

GENERATORS = [make_normal_custom, make_correlated_normal_custom, make_symmetric_normal]


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shape_dtype_and_seed(make, dtype):
    first = make(7, 30, 3, dtype=dtype, random_state=1)
    second = make(7, 30, 3, dtype=dtype, random_state=1)
    other = make(7, 30, 3, dtype=dtype, random_state=2)
    for a, b, c, shape in zip(first, second, other, [(7, 30), (3, 30)], strict=True):
        assert a.shape == shape
        assert a.dtype == dtype
        assert_array_equal(a, b)
        assert not np.array_equal(a, c)


@pytest.mark.parametrize("make", GENERATORS)
def test_random_state_instance(make):
    first = make(3, 5, random_state=np.random.RandomState(4))
    second = make(3, 5, random_state=np.random.RandomState(4))
    assert_array_equal(first[0], second[0])


@pytest.mark.parametrize("make", GENERATORS)
def test_bad_shape(make):
    with pytest.raises(ValueError, match="n_atoms"):
        make(0, 5)


def test_normal_custom_levels():
    atoms, queries = make_normal_custom(2000, 400, 500, random_state=0)
    for vectors in (atoms, queries):
        levels = vectors.mean(axis=1)
        assert_allclose(levels.std(), 1, atol=0.1)
        assert_allclose((vectors - levels[:, None]).std(), 1, atol=0.01)


def test_correlated_atoms_are_multiples_of_the_first_query():
    atoms, queries = make_correlated_normal_custom(500, 5000, 2, random_state=0)
    weights = atoms @ queries[0] / (queries[0] @ queries[0])
    residual = atoms - weights[:, None] * queries[0]
    assert_allclose(weights.std(), 1, atol=0.1)
    assert_allclose(residual.std(), 1, atol=0.01)
    assert_allclose((queries[1] - queries[0]).std(), 0.3, atol=0.02)


def test_correlated_without_noise():
    atoms, queries = make_correlated_normal_custom(
        4, 50, 2, noise=0, query_noise=0, dtype=np.float64, random_state=0
    )
    assert np.linalg.matrix_rank(np.vstack([atoms, queries]), tol=1e-8) == 1


def test_symmetric_normal():
    atoms, queries = make_symmetric_normal(300, 1000, 5, random_state=0)
    assert_allclose(atoms.mean(axis=1), 0, atol=0.2)
    assert_allclose([atoms.std(), queries.std()], 1, atol=0.03)
