"""Inner products of long columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn_bandit.linear_model._inner_products import inner_products

# Not a multiple of a block, nor of a vector.
N_ROWS = 70_001


def columns(dtype, n_atoms=9, n_signals=2):
    rng = np.random.default_rng(0)
    shape = n_atoms + n_signals, N_ROWS
    block = rng.standard_normal(shape).astype(dtype) + dtype(1)
    return block, block[:n_atoms], block[n_atoms:]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_columns", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("n_others", [1, 3, 5])
def test_against_numpy(dtype, n_columns, n_others):
    block, atoms, signals = columns(dtype)
    chosen = np.random.default_rng(1).permutation(len(block))
    left, right = chosen[:n_columns], chosen[-n_others:]
    found = inner_products(atoms, signals, left, right, 1)
    exact = block.astype(np.float64)
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    assert_allclose(found, exact[left] @ exact[right].T, rtol=tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pairs_are_those_above_the_diagonal(dtype):
    _, atoms, signals = columns(dtype)
    chosen = np.array([3, 10, 0, 9, 5])
    table = inner_products(atoms, signals, chosen, None, 1)
    full = inner_products(atoms, signals, chosen, chosen, 1)
    assert_array_equal(np.triu(table), np.triu(full))


def test_sums_do_not_depend_on_their_company():
    _, atoms, signals = columns(np.float32)
    chosen = np.arange(11)
    full = inner_products(atoms, signals, chosen, chosen, 2)
    for i in (0, 4, 10):
        alone = inner_products(atoms, signals, np.array([i]), chosen[2:7], 1)
        assert_array_equal(alone[0], full[i, 2:7])
