"""All inner products of one query."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn_bandit.neighbors._gemv import scan

from sklearn_bandit.neighbors import BanditMIPS, _index


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_atoms", [1, 2, 3, 4, 5, 11])
@pytest.mark.parametrize("n_features", [1, 7, 512, 1_300])
def test_against_numpy(dtype, n_atoms, n_features):
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((n_atoms, n_features)).astype(dtype)
    query = rng.standard_normal(n_features).astype(dtype)
    found = scan(atoms, query, 1)
    assert found.dtype == dtype
    exact = atoms.astype(np.float64) @ query.astype(np.float64)
    scale = np.linalg.norm(atoms, axis=1) * np.linalg.norm(query)
    assert (np.abs(found - exact) <= 4 * np.finfo(dtype).eps * scale).all()


def test_any_number_of_threads():
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((203, 70))
    query = rng.standard_normal(70)
    assert_array_equal(scan(atoms, query, 1), scan(atoms, query, 3))


def test_read_only_atoms():
    atoms = np.eye(6, dtype=np.float32)
    atoms.flags.writeable = False
    assert_array_equal(scan(atoms, np.arange(6, dtype=np.float32), 1), np.arange(6))


def test_search_by_threads(monkeypatch):
    # Small enough to be scanned, and large enough to be shared out.
    monkeypatch.setattr(_index, "MIN_PARALLEL", 1)
    rng = np.random.default_rng(0)
    atoms, query = rng.standard_normal((301, 40)), rng.standard_normal((1, 40))
    found = [
        BanditMIPS(3, n_jobs=n_jobs).fit(atoms).kneighbors(query) for n_jobs in (1, 2)
    ]
    assert_array_equal(found[0][1], found[1][1])
    assert_array_equal(found[0][0], found[1][0])
    assert_allclose(found[0][0][0], np.sort(atoms @ query[0])[::-1][:3])
