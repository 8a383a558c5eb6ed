"""Sparse atoms of BanditMIPS: exact answers, from the entries that are not zero."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from sklearn_bandit.neighbors import BanditMIPS
from sklearn_bandit.neighbors._sparse_index import SparseAtomIndex


def matrix(n, density=0.05, seed=0, dtype=np.float32, n_features=300):
    """A sparse matrix of small integers: inner products are exact in any order."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-4, 5, size=(n, n_features))
    dense = values * (rng.random((n, n_features)) < density)
    return sparse.csr_matrix(dense.astype(dtype))


def require_exact(atoms, queries, products, ids):
    """The definition, ties by id."""
    true = queries.toarray().astype(float) @ atoms.toarray().astype(float).T
    order = np.argsort(-true, axis=1, kind="stable")[:, : ids.shape[1]]
    assert_array_equal(ids, order)
    assert_array_equal(products, np.take_along_axis(true, order, axis=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("convert", [sparse.csr_matrix, sparse.csc_array, np.asarray])
@pytest.mark.parametrize("query_density", [0.02, 1.0])
def test_answers_are_exact(dtype, convert, query_density):
    atoms = matrix(200, dtype=dtype)
    queries = matrix(9, query_density, seed=1, dtype=dtype)
    search = BanditMIPS(7, random_state=0).fit(atoms)
    asked = queries.toarray() if convert is np.asarray else convert(queries)
    products, ids = search.kneighbors(asked)
    require_exact(atoms, queries, products, ids)
    assert products.dtype == dtype
    assert_array_equal(search.kneighbors(asked, return_distance=False), ids)
    single = search.kneighbors(asked[:1] if convert is not sparse.csc_array else asked)
    assert_array_equal(single[1][0], ids[0])


def test_multiplications_are_those_of_entries():
    atoms, queries = matrix(200), matrix(4, 0.02, seed=1)
    search = BanditMIPS(1).fit(atoms)
    search.kneighbors(queries)
    both = (atoms != 0).astype(int) @ (queries != 0).astype(int).T
    assert_array_equal(search.n_multiplications_, both.toarray().sum(axis=0))
    search.kneighbors(np.ones((2, 300), np.float32))
    assert_array_equal(search.n_multiplications_, [atoms.nnz] * 2)


def test_many_queries_go_in_parts(monkeypatch):
    name = "sklearn_bandit.neighbors._all_scores.MAX_SCORES"
    monkeypatch.setattr(name, 450)
    atoms, queries = matrix(200), matrix(7, 0.02, seed=1)
    require_exact(atoms, queries, *BanditMIPS(3).fit(atoms).kneighbors(queries))


def test_a_matrix_with_few_zeros_is_made_dense():
    search = BanditMIPS(2, random_state=0)
    assert isinstance(search.fit(matrix(50, 0.3))._index, SparseAtomIndex)
    full = matrix(50, 0.9)
    search.fit(full)
    assert not isinstance(search._index, SparseAtomIndex)
    queries = matrix(5, 1.0, seed=3)
    require_exact(full, queries, *search.kneighbors(queries))
    search.partial_fit(matrix(20, 0.01, seed=4))
    both = sparse.vstack([full, matrix(20, 0.01, seed=4)])
    require_exact(both, queries, *search.kneighbors(queries))


def test_dense_atoms_are_added_to_sparse_ones():
    atoms, more, queries = matrix(50), matrix(20, 1.0, seed=4), matrix(5, seed=3)
    search = BanditMIPS(2).fit(atoms).partial_fit(more.toarray())
    both = sparse.vstack([atoms, more])
    require_exact(both, queries, *search.kneighbors(queries))


def test_parameters_of_sampling_do_not_matter():
    atoms, queries = matrix(50), matrix(5, seed=3)
    for way in ({"sampling": "alpha"}, {"buckets": 8}, {"layout": "zero-copy"}):
        search = BanditMIPS(2, **way).fit(atoms)
        require_exact(atoms, queries, *search.kneighbors(queries))


def test_bad_input():
    atoms = matrix(50)
    search = BanditMIPS(2).fit(atoms)
    query = np.ones((1, 300), np.float32)
    query[0, 5] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        search.kneighbors(query)
    with pytest.raises(ValueError, match="NaN"):
        search.kneighbors(sparse.csr_matrix(query))
    with pytest.raises(ValueError, match="features"):
        search.kneighbors(np.ones((1, 7)))
    broken = atoms.copy()
    broken.indices[0] = 1_000
    with pytest.raises(ValueError, match=r"indices|column index"):
        BanditMIPS().fit(broken)
    large = sparse.csr_matrix(atoms.astype(float) * 1e200)
    with pytest.raises(ValueError, match="range of double precision"):
        BanditMIPS(1).fit(large).kneighbors(np.full((1, 300), 1e200))


def test_atoms_without_entries():
    search = BanditMIPS(2).fit(sparse.csr_matrix((3, 300)))
    products, ids = search.kneighbors(np.ones((1, 300)))
    assert_array_equal(ids, [[0, 1]])
    assert_array_equal(products, 0)
