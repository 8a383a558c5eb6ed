"""BanditMIPS: answers, bookkeeping of atoms, and bad input."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_bandit.datasets import (
    make_correlated_normal_custom,
    make_normal_custom,
    make_symmetric_normal,
)
from sklearn_bandit.neighbors import BanditMIPS

N_FEATURES = 6_000

WAYS = [
    {},
    {"delta": 0},
    {"sampling": "weighted"},
    {"sampling": "weighted", "beta": 0.5},
    {"sampling": "alpha"},
    {"layout": "zero-copy"},
    {"radius": "bernstein"},
    {"radius": "hoeffding"},
    {"radius": "hoeffding", "layout": "zero-copy"},
    {"batch_size": 100},
    {"buckets": 30},
    {"buckets": 16, "delta": 0},
]


def brute_force(atoms, queries, k):
    """The definition: exact products in double, ties by index."""
    products = np.asarray(queries, np.float64) @ np.asarray(atoms, np.float64).T
    indices = np.argsort(-products, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(products, indices, axis=1), indices


@pytest.fixture(scope="module")
def data():
    return make_normal_custom(200, N_FEATURES, 12, random_state=0)


@parametrize_with_checks([BanditMIPS(n_neighbors=1)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("k", [1, 7])
def test_all_ways_find_the_best(data, way, dtype, k):
    atoms, queries = (x.astype(dtype) for x in data)
    search = BanditMIPS(k, random_state=0, **way).fit(atoms)
    products, indices = search.kneighbors(queries)
    true_products, true_indices = brute_force(atoms, queries, k)
    assert_array_equal(indices, true_indices)
    assert_allclose(products, true_products, rtol=1e-6)
    assert products.dtype == dtype


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_batches_threads_and_single_queries_agree(data, way):
    atoms, queries = data
    search = BanditMIPS(3, random_state=0, n_jobs=1, **way).fit(atoms)
    products, indices = search.kneighbors(queries)
    again = BanditMIPS(3, random_state=0, n_jobs=2, **way).fit(atoms)
    assert_array_equal(again.kneighbors(queries)[0], products)
    for i in range(len(queries)):
        one_product, one_index = search.kneighbors(queries[i : i + 1])
        assert_array_equal(one_index[0], indices[i])
        assert_array_equal(one_product[0], products[i])


def test_saves_multiplications_and_counts_them(data):
    atoms, queries = data
    search = BanditMIPS(1, random_state=0).fit(atoms)
    search.kneighbors(queries)
    counts = search.n_multiplications_
    assert counts.shape == (len(queries),)
    assert np.median(counts) < atoms.size / 10


def test_exact_counts():
    # Below the dimensions where sampling pays, everything but the bounds is BLAS: the
    # components' part, all products, and those of the neighbours once more.
    atoms, queries = make_symmetric_normal(100, 500, 4, random_state=0)
    search = BanditMIPS(2, random_state=0).fit(atoms)
    search.kneighbors(queries[:1])
    n_components = len(search._index.components)
    expected = n_components * (500 + 100) + 100 * 500 + 2 * 500
    assert_array_equal(search.n_multiplications_, [expected])
    sparse_query = np.zeros((1, 500), np.float32)
    sparse_query[0, [3, 77]] = 1, -2
    search.kneighbors(sparse_query)
    assert_array_equal(search.n_multiplications_, [2 * 100])


def test_zero_delta_is_exact_on_near_ties():
    rng = np.random.default_rng(0)
    atom = rng.standard_normal(3000)
    atoms = atom + 1e-9 * rng.standard_normal((400, 3000))
    queries = rng.standard_normal((5, 3000))
    search = BanditMIPS(4, delta=0, random_state=0).fit(atoms)
    assert_array_equal(search.kneighbors(queries)[1], brute_force(atoms, queries, 4)[1])


def test_near_ties_in_double(data):
    # The sample is in single precision; differences below it must not decide.
    rng = np.random.default_rng(1)
    atoms = np.repeat(data[0][:1].astype(np.float64), 200, axis=0)
    atoms += 1e-10 * rng.standard_normal(atoms.shape)
    queries = data[1].astype(np.float64)
    search = BanditMIPS(2, random_state=0).fit(atoms)
    search._may_give_up = False
    for query in queries:
        found = search.kneighbors(query[None])[1]
        assert_array_equal(found, brute_force(atoms, query[None], 2)[1])


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_duplicates_and_ties(way):
    rng = np.random.default_rng(0)
    atoms = np.repeat(rng.standard_normal((20, 3000)).astype(np.float32), 10, axis=0)
    queries = rng.standard_normal((3, 3000)).astype(np.float32)
    search = BanditMIPS(15, random_state=0, **way).fit(atoms)
    expected = brute_force(atoms, queries, 15)[1]
    assert_array_equal(search.kneighbors(queries)[1], expected)
    assert_array_equal(search.kneighbors(queries[:1])[1], expected[:1])


@pytest.mark.parametrize("layout", ["auto", "zero-copy"])
@pytest.mark.parametrize("n_features", [1, 3, 2500])
def test_all_atoms_equal(layout, n_features):
    atoms = np.full((50, n_features), 0.1, dtype=np.float32)
    query = np.random.default_rng(0).standard_normal((1, n_features))
    search = BanditMIPS(50, layout=layout).fit(atoms)
    assert_array_equal(search.kneighbors(query)[1][0], np.arange(50))
    assert_array_equal(search.kneighbors(query, 3)[1][0], np.arange(3))


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("n_features", [5, 2500])
def test_zero_query(way, n_features):
    atoms = np.random.default_rng(0).standard_normal((30, n_features))
    search = BanditMIPS(4, **way).fit(atoms)
    products, indices = search.kneighbors(np.zeros((1, n_features)))
    assert_array_equal(products[0], 0)
    assert_array_equal(indices[0], [0, 1, 2, 3])


def test_one_atom():
    search = BanditMIPS(1).fit(np.ones((1, 3000)))
    assert_array_equal(search.kneighbors(np.ones((2, 3000)))[1], [[0], [0]])


def test_many_neighbors(data):
    atoms, queries = data
    search = BanditMIPS(len(atoms), random_state=0).fit(atoms)
    assert_array_equal(
        search.kneighbors(queries)[1], brute_force(atoms, queries, len(atoms))[1]
    )
    assert_array_equal(
        search.kneighbors(queries[:1], 150)[1], brute_force(atoms, queries[:1], 150)[1]
    )


@pytest.mark.parametrize("layout", ["auto", "zero-copy"])
@pytest.mark.parametrize("atom_scale", [1e-30, 1.0, 1e30])
@pytest.mark.parametrize("query_scale", [1e-30, 1.0, 1e30])
def test_huge_and_tiny_norms(data, layout, atom_scale, query_scale):
    atoms, queries = data
    expected = brute_force(atoms, queries, 3)[1]
    search = BanditMIPS(3, layout=layout, random_state=0)
    search.fit(atoms * np.float32(atom_scale))
    indices = search.kneighbors(queries * np.float32(query_scale))[1]
    # The products may be beyond float32, the atoms are not.
    assert_array_equal(indices, expected)


def test_norms_of_all_sizes():
    rng = np.random.default_rng(0)
    scales = 10.0 ** rng.uniform(-18, 10, size=(200, 1))
    atoms = (scales * rng.standard_normal((200, 3000))).astype(np.float32)
    queries = rng.standard_normal((10, 3000)).astype(np.float32)
    search = BanditMIPS(2, random_state=0).fit(atoms)
    search._may_give_up = False
    for query in queries:
        assert_array_equal(
            search.kneighbors(query[None])[1], brute_force(atoms, query[None], 2)[1]
        )


def test_constant_coordinates(data):
    atoms, queries = data[0].copy(), data[1].copy()
    atoms[:, ::2] = 1e4
    search = BanditMIPS(3, random_state=0).fit(atoms)
    assert_array_equal(search.kneighbors(queries)[1], brute_force(atoms, queries, 3)[1])


def test_integers_do_not_overflow():
    atoms = np.random.default_rng(0).integers(100, 128, size=(40, 2500)).astype(np.int8)
    queries = np.full((2, 2500), 120, dtype=np.int8)
    search = BanditMIPS(2).fit(atoms)
    products, indices = search.kneighbors(queries)
    true_products, true_indices = brute_force(atoms, queries, 2)
    assert_array_equal(indices, true_indices)
    assert_array_equal(products, true_products)


def test_sparse_queries(data):
    atoms, queries = data
    thin = np.where(np.random.default_rng(0).random(queries.shape) < 0.01, queries, 0)
    mixed = np.vstack([thin[:3], queries[3:]])
    search = BanditMIPS(3, random_state=0).fit(atoms)
    for dense in (thin, mixed):
        expected = brute_force(atoms, dense, 3)[1]
        assert_array_equal(search.kneighbors(dense)[1], expected)
        assert_array_equal(search.kneighbors(sparse.csr_matrix(dense))[1], expected)
    assert search.n_multiplications_[0] < atoms.size / 50


def test_memory_mapped_atoms_are_not_copied(data, tmp_path):
    atoms, queries = data
    np.save(tmp_path / "atoms.npy", atoms)
    mapped = np.load(tmp_path / "atoms.npy", mmap_mode="r")
    search = BanditMIPS(2, layout="zero-copy").fit(mapped)
    assert np.shares_memory(search._index.atoms, mapped)
    assert_array_equal(search.kneighbors(queries)[1], brute_force(atoms, queries, 2)[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_zero_copy_samples_in_high_dimensions(dtype):
    atoms, queries = make_normal_custom(60, 30_000, 4, dtype=dtype, random_state=0)
    search = BanditMIPS(2, layout="zero-copy", random_state=0).fit(atoms[:40])
    search.partial_fit(atoms[40:]).remove([3, 50])
    left = np.delete(np.arange(60), [3, 50])
    products, indices = search.kneighbors(queries)
    true_products, true_indices = brute_force(atoms[left], queries, 2)
    assert_array_equal(indices, left[true_indices])
    assert_allclose(products, true_products, rtol=1e-6)
    assert search.n_multiplications_.min() < atoms[left].size / 4


def test_epsilon_stops_early():
    # Two groups: any atom of the better one will do.
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((200, 8000)).astype(np.float32)
    atoms[:100] += 1
    query = 1 + rng.standard_normal((1, 8000)).astype(np.float32)
    exact = BanditMIPS(1, random_state=0).fit(atoms)
    exact.kneighbors(query)
    loose = BanditMIPS(1, epsilon=4000, random_state=0).fit(atoms)
    products = loose.kneighbors(query)[0]
    assert products[0, 0] > (atoms @ query[0]).max() - 4000
    assert loose.n_multiplications_[0] < exact.n_multiplications_[0]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_adding_and_removing_equals_a_fresh_fit(data, way):
    atoms, queries = data
    search = BanditMIPS(4, random_state=0, **way).fit(atoms[:100])
    for first in range(100, 200, 50):
        search.partial_fit(atoms[first : first + 50])
    gone = np.array([0, 5, 100, 199, 101])
    search.remove(gone)
    search.remove(7)
    left = np.delete(np.arange(200), [*gone, 7])
    assert search.n_samples_fit_ == len(left)
    expected = brute_force(atoms[left], queries, 4)
    expected = expected[0], left[expected[1]]
    for found in (search, pickle.loads(pickle.dumps(search))):
        products, indices = found.kneighbors(queries)
        assert_array_equal(indices, expected[1])
        assert_allclose(products, expected[0], rtol=1e-6)
        single = found.kneighbors(queries[:1])[1]
        assert_array_equal(single, expected[1][:1])


def test_partial_fit_first(data):
    atoms, queries = data
    search = BanditMIPS(2, random_state=0).partial_fit(atoms)
    assert_array_equal(search.kneighbors(queries)[1], brute_force(atoms, queries, 2)[1])


def test_neighbors_of_the_atoms(data):
    atoms = data[0][:60]
    search = BanditMIPS(3, random_state=0).fit(atoms)
    products = atoms.astype(np.float64) @ atoms.T.astype(np.float64)
    np.fill_diagonal(products, -np.inf)
    expected = np.argsort(-products, axis=1, kind="stable")[:, :3]
    assert_array_equal(search.kneighbors()[1], expected)
    assert_array_equal(search.kneighbors(return_distance=False), expected)
    with pytest.raises(ValueError, match="n_samples_fit = 59"):
        search.kneighbors(n_neighbors=60)


def test_graph(data):
    atoms, queries = data
    search = BanditMIPS(3, random_state=0).fit(atoms)
    products, indices = search.kneighbors(queries)
    graph = search.kneighbors_graph(queries)
    assert graph.shape == (len(queries), len(atoms))
    assert_array_equal(graph.indices.reshape(-1, 3), indices)
    assert_array_equal(graph.data, 1)
    weighted = search.kneighbors_graph(queries, mode="distance")
    assert_array_equal(weighted.data.reshape(-1, 3), products)
    with pytest.raises(ValueError, match="mode"):
        search.kneighbors_graph(queries, mode="weights")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("layout", ["auto", "zero-copy"])
def test_bad_entries(data, bad, layout):
    atoms, queries = data[0].copy(), data[1].copy()
    search = BanditMIPS(2, layout=layout).fit(atoms)
    queries[3, 17] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        search.kneighbors(queries)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        search.kneighbors(queries[3:4])
    atoms[5, 5] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        search.partial_fit(atoms)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        BanditMIPS().fit(atoms)


def test_wrong_number_of_neighbors(data):
    atoms, queries = data
    search = BanditMIPS(2).fit(atoms)
    with pytest.raises(ValueError, match="n_neighbors > 0"):
        search.kneighbors(queries, 0)
    with pytest.raises(ValueError, match="n_samples_fit = 200"):
        search.kneighbors(queries, 201)
    with pytest.raises(TypeError, match="integer"):
        search.kneighbors(queries, 1.5)


def test_wrong_width(data):
    atoms, queries = data
    search = BanditMIPS(2).fit(atoms)
    with pytest.raises(ValueError, match="features"):
        search.kneighbors(queries[:, 1:])
    with pytest.raises(ValueError, match="features"):
        search.partial_fit(atoms[:, 1:])


def test_wrong_removals(data):
    search = BanditMIPS(2).fit(data[0])
    for indices, message in [
        ([3, 3], "only once"),
        ([200], "no rows with ids"),
        ([-1], "no rows with ids"),
        ([0.5], "integer"),
        (np.arange(200), "must remain"),
    ]:
        with pytest.raises(ValueError, match=message):
            search.remove(indices)
    assert search.remove([]).n_samples_fit_ == 200


@pytest.mark.parametrize(
    "bad",
    [
        {"delta": 1.0},
        {"delta": -0.1},
        {"epsilon": -1},
        {"sampling": "greedy"},
        {"radius": "normal"},
        {"buckets": 1},
        {"batch_size": 8},
        {"layout": "copy"},
        {"n_neighbors": 0},
    ],
    ids=str,
)
def test_bad_parameters(data, bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        BanditMIPS(**bad).fit(data[0])


@pytest.mark.parametrize(
    "other",
    [{"layout": "zero-copy"}, {"sampling": "alpha"}, {"radius": "bernstein"}],
    ids=str,
)
def test_buckets_need_the_sample(data, other):
    with pytest.raises(ValueError, match="buckets"):
        BanditMIPS(buckets=30, **other).fit(data[0])


def test_buckets_are_sublinear():
    counts = []
    for n_atoms in (500, 4000):
        atoms, queries = make_correlated_normal_custom(n_atoms, 3000, random_state=0)
        search = BanditMIPS(1, buckets=30, random_state=0).fit(atoms)
        assert_array_equal(
            search.kneighbors(queries)[1], brute_force(atoms, queries, 1)[1]
        )
        counts.append(search.n_multiplications_[0])
    assert counts[1] < 4 * counts[0]


def test_goes_on_in_the_atoms_after_the_sample():
    # Two atoms too much alike for 1,024 coordinates, and too long to be computed.
    rng = np.random.default_rng(0)
    query = 1 + rng.standard_normal((1, 200_000)).astype(np.float32)
    atoms = rng.standard_normal((12, 200_000)).astype(np.float32)
    atoms[3] += 1.0
    atoms[7] += 0.9
    search = BanditMIPS(1, random_state=0).fit(atoms)
    assert search.kneighbors(query)[1][0, 0] == 3
    # The pass over the query, and the answer's own product.
    assert search.n_multiplications_[0] < 2.9 * atoms.shape[1]


def test_batch_is_given_up_if_all_pilots_are():
    atoms, queries = make_symmetric_normal(1_000, 6_000, 80, random_state=0)
    search = BanditMIPS(3, random_state=0).fit(atoms)
    indices = search.kneighbors(queries, return_distance=False)
    exact = queries.astype(np.float64) @ atoms.T.astype(np.float64)
    assert_array_equal(indices, np.argsort(-exact, axis=1)[:, :3])
    counts = search.n_multiplications_
    # All products, the constant component, and the answers; eight sampled before.
    assert np.count_nonzero(counts == (1_000 + 1 + 3) * 6_000) == 80 - 8
    assert np.count_nonzero(counts > (1_000 + 1 + 3) * 6_000) == 8


def test_batch_is_searched_if_a_pilot_is_found():
    atoms, queries = make_correlated_normal_custom(500, 6_000, 80, random_state=0)
    noise = np.random.default_rng(0).standard_normal((4, 6_000), dtype=np.float32)
    queries[::20] = noise  # every other pilot
    search = BanditMIPS(1, random_state=0).fit(atoms)
    indices = search.kneighbors(queries, return_distance=False)
    assert_array_equal(indices[:, 0], (queries @ atoms.T).argmax(axis=1))
    assert (search.n_multiplications_[1::2] < atoms.size / 4).all()
