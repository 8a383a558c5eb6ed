"""One fitted index, several threads: the answers are those of one after the other."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.linear_model import RidgeClassifier
from sklearn_bandit.neighbors._answer import Answer
from sklearn_bandit.neighbors._search import Searcher

from sklearn_bandit.linear_model import MIPSPredictor
from sklearn_bandit.neighbors import BanditMIPS

N_THREADS = 4
N_CALLS = 60
NEIGHBORS = (1, 64, 5, 120)


@pytest.fixture(autouse=True)
def switch_often():
    """Have threads take turns at almost every step of the interpreter."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def data(n_atoms, n_features, dtype=np.float32):
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((n_atoms, n_features)).astype(dtype)
    atoms *= np.linspace(0.5, 2, n_atoms, dtype=dtype)[:, None]
    queries = atoms[::11] + rng.standard_normal(atoms[::11].shape).astype(dtype)
    return atoms, queries.astype(dtype)


def in_threads(function, n_calls=N_CALLS):
    """Run ``function(thread, call)`` by all threads at once; return what it returns."""
    barrier = threading.Barrier(N_THREADS)

    def run(thread):
        barrier.wait()
        return [function(thread, call) for call in range(n_calls)]

    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(run, range(N_THREADS)))


ROUTES = {
    "sample": {},
    "exact": {"delta": 0},
    "buckets": {"buckets": 32},
    "weighted": {"sampling": "weighted"},
    "alpha": {"sampling": "alpha"},
    "bernstein": {"radius": "bernstein"},
    "zero-copy": {"layout": "zero-copy"},
}


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("n_queries", [1, 3])
def test_different_numbers_of_neighbours_at_once(route, n_queries):
    """Each thread wants another number of atoms of the same index.

    The number is as large as that of the atoms for some: an answer of another length
    would be written beyond the end of theirs.
    """
    atoms, queries = data(120, 2400)
    search = BanditMIPS(random_state=0, n_jobs=1, **ROUTES[route]).fit(atoms)
    batches = [queries[i : i + n_queries] for i in range(len(queries) - n_queries)]
    expected = {
        k: [search.kneighbors(batch, k) for batch in batches] for k in NEIGHBORS
    }

    def query(thread, call):
        k, batch = NEIGHBORS[thread % len(NEIGHBORS)], call % len(batches)
        return k, batch, search.kneighbors(batches[batch], k)

    for answers in in_threads(query):
        for k, batch, (products, indices) in answers:
            assert_array_equal(indices, expected[k][batch][1])
            assert_array_equal(products, expected[k][batch][0])


def test_sparse_queries_and_blas_at_once():
    atoms, queries = data(120, 400)
    queries[::2, 5:] = 0
    search = BanditMIPS(random_state=0).fit(atoms)
    expected = {k: search.kneighbors(queries, k) for k in NEIGHBORS}

    def query(thread, call):
        k = NEIGHBORS[(thread + call) % len(NEIGHBORS)]
        return k, search.kneighbors(queries, k)

    for answers in in_threads(query):
        for k, (products, indices) in answers:
            assert_array_equal(indices, expected[k][1])
            assert_array_equal(products, expected[k][0])


def test_queries_beside_changes_see_one_state():
    """Atoms come and go while others query: each answer is of one state of the index.

    Atoms are added behind those there, and those before them are removed: a state has
    the ids of one hundred, or of two that follow each other.
    """
    atoms, queries = data(200, 300)
    first, second = atoms[:100], atoms[100:]
    search = BanditMIPS(n_neighbors=100, random_state=0).fit(first)
    answers = []
    is_over = threading.Event()

    def change():
        for i in range(120):
            search.partial_fit(first if i % 2 else second)
            search.remove(np.arange(100 * i, 100 * (i + 1)))
        is_over.set()

    def query():
        while not is_over.is_set():
            answers.append(search.kneighbors(queries[:1]))

    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(query) for _ in range(3)]
        try:
            pool.submit(change).result()
        finally:
            is_over.set()
        for future in futures:
            future.result()
    assert answers
    scores = atoms @ queries[0]  # id i is atom i % 200
    for products, ids in answers:
        blocks = np.unique(ids // 100)
        states = [blocks, np.arange(blocks[0], blocks[0] + 2), blocks[0] - [1, 0]]
        assert np.allclose(products[0], scores[ids[0] % 200], rtol=1e-4, atol=1e-3)
        assert any(
            np.allclose(products[0], best_of(scores, state), rtol=1e-4, atol=1e-3)
            for state in states
            if len(state) <= 2
        )


def best_of(scores, blocks):
    """The 100 largest scores of these hundreds of ids."""
    ids = (100 * blocks[:, None] + np.arange(100)).ravel()
    return np.sort(scores[ids % 200])[::-1][:100]


def test_more_neighbours_than_atoms_are_refused_by_the_kernels():
    atoms, queries = data(20, 30)
    searcher = Searcher(atoms, None, np.arange(20), 1e-6, None)
    stats = np.zeros((1, 4))
    with pytest.raises(ValueError, match="21 atoms are wanted of 20"):
        searcher.search_support(queries[:1], stats, 1, Answer(1, 21))


def test_queries_that_do_not_fit_are_refused_by_the_kernels():
    atoms, queries = data(20, 30)
    searcher = Searcher(atoms, None, np.arange(20), 1e-6, None)
    stats = np.zeros((1, 4))
    query, other = queries[:1], np.float64 if atoms.dtype == np.float32 else np.float32
    for wrong, match in (
        (query.astype(other), "type"),
        (np.ascontiguousarray(query[:, :-1]), "features"),
        (queries[:2], "rows"),
    ):
        with pytest.raises(ValueError, match=match):
            searcher.search_support(wrong, stats, 1, Answer(1, 2))


def test_predictions_at_once():
    rng = np.random.default_rng(0)
    y = np.tile(np.arange(40), 5)
    centres = rng.standard_normal((40, 2500))
    X = centres[y] + rng.standard_normal((len(y), 2500))
    predictor = MIPSPredictor(RidgeClassifier(), random_state=0).fit(X, y)
    expected = predictor.predict(X), predictor.decision_function(X)

    def predict(thread, call):
        i = (7 * thread + call) % len(X)
        x = X[i : i + 1]
        return i, predictor.predict(x), predictor.decision_function(x)

    for answers in in_threads(predict, 20):
        for i, label, scores in answers:
            assert label[0] == expected[0][i]
            found = np.isfinite(scores[0])
            np.testing.assert_allclose(scores[0][found], expected[1][i][found])
