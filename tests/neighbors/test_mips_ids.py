"""Ids of BanditMIPS's atoms stay, whatever is added and removed."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import make_pipeline

from sklearn_bandit.neighbors import BanditMIPS

N_FEATURES = 40


def rows(n, seed):
    return np.random.default_rng(seed).standard_normal((n, N_FEATURES))


def require_same(search, atoms, queries, k):
    """Answers are those of a search through all atoms, which are given by id."""
    ids = np.array(sorted(atoms))
    left = np.array([atoms[i] for i in ids])
    products = queries @ left.T
    order = np.argsort(-products, axis=1, kind="stable")[:, :k]
    found, found_ids = search.kneighbors(queries, k)
    assert_array_equal(found_ids, ids[order])
    assert_allclose(found, np.take_along_axis(products, order, axis=1), atol=1e-9)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("layout", ["auto", "zero-copy"])
def test_ids_stay(layout, is_sparse):
    convert = sparse.csr_matrix if is_sparse else np.asarray
    rng = np.random.default_rng(0)
    queries = rows(6, 1)
    keep = rng.random((4_000, N_FEATURES)) < (0.1 if is_sparse else 1)
    new = rows(4_000, 2) * keep
    search = BanditMIPS(layout=layout, random_state=0).fit(convert(new[:30]))
    atoms = {i: new[i] for i in range(30)}
    n_ids = 30
    for _ in range(60):
        n = int(rng.integers(1, 20))
        search.partial_fit(convert(new[n_ids : n_ids + n]))
        atoms.update({i: new[i] for i in range(n_ids, n_ids + n)})
        n_ids += n
        gone = rng.permutation(sorted(atoms))[: int(rng.integers(0, len(atoms) - 5))]
        search.remove(gone)
        for i in gone:
            del atoms[int(i)]
        require_same(search, atoms, queries, 3)
        require_same(pickle.loads(pickle.dumps(search)), atoms, queries, 5)
    graph = search.kneighbors_graph(queries)
    assert graph.shape == (6, n_ids)
    assert search.n_samples_fit_ == len(atoms)


def test_a_window_that_moves_takes_no_more_memory():
    search = BanditMIPS(random_state=0).fit(rows(100, 0))
    for i in range(50):
        search.partial_fit(rows(100, i + 1))
        search.remove(np.arange(100 * i, 100 * (i + 1)))
    assert search._index.n_slots <= 300
    assert_array_equal(search._index.present_ids(), np.arange(5_000, 5_100))


def test_a_removed_atom_is_gone():
    search = BanditMIPS(1, random_state=0).fit(rows(50, 0)).remove([3, 49])
    with pytest.raises(ValueError, match=r"no rows with ids \[3\]"):
        search.remove([3, 4])
    assert search.n_samples_fit_ == 48


@pytest.mark.parametrize("is_sparse", [False, True])
def test_neighbours_of_the_atoms_that_are_left(is_sparse):
    X = rows(60, 0) * (rows(60, 1) > 0.5)
    search = BanditMIPS(3, random_state=0).fit(sparse.csr_matrix(X) if is_sparse else X)
    left = np.delete(np.arange(60), [0, 10, 59])
    search.remove([0, 10, 59])
    products = X[left] @ X[left].T
    np.fill_diagonal(products, -np.inf)
    expected = left[np.argsort(-products, axis=1, kind="stable")[:, :3]]
    assert_array_equal(search.kneighbors()[1], expected)
    graph = search.kneighbors_graph(mode="distance")
    assert graph.shape == (57, 60)
    assert graph[:, [0, 10, 59]].nnz == 0


def test_transform_is_the_graph():
    X, queries = rows(30, 0), rows(4, 1)
    search = BanditMIPS(3, random_state=0).fit(X)
    graph = search.kneighbors_graph(queries, mode="distance")
    assert_array_equal(search.transform(queries).toarray(), graph.toarray())
    assert graph.nnz == 12
    assert len(search.get_feature_names_out()) == 30
    single = BanditMIPS(3).fit(X.astype(np.float32)).transform(queries)
    assert single.dtype == np.float32


def test_in_a_pipeline():
    texts = ["red apple", "red cherry", "green apple", "blue sea", "blue sky"] * 4
    y = [text.startswith("blue") for text in texts]
    model = make_pipeline(TfidfVectorizer(), BanditMIPS(3), RidgeClassifier())
    assert model.fit(texts, y).score(texts, y) == 1
