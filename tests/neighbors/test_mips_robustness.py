"""Values, parameters and memory out of the ordinary; failed fits."""

import pickle

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_bandit.neighbors import BanditMIPS

LAYOUTS = ["auto", "zero-copy"]


def data(n_atoms=60, n_features=40, dtype=np.float64):
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((n_atoms, n_features)).astype(dtype)
    return atoms, rng.standard_normal((5, n_features)).astype(dtype)


def expected_indices(atoms, queries, k):
    products = queries.astype(np.longdouble) @ atoms.astype(np.longdouble).T
    return np.argsort(-products, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n_queries", [1, 5])
@pytest.mark.parametrize("n_features", [40, 2400])
@pytest.mark.parametrize("sampling", ["uniform", "weighted"])
def test_products_beyond_single_precision(layout, n_queries, n_features, sampling):
    """They are right, finite, and in double precision."""
    atoms, queries = data(60, n_features, np.float32)
    queries = queries[:n_queries] / np.abs(queries).max() * np.float32(3e38)
    search = BanditMIPS(4, delta=0.001, layout=layout, sampling=sampling)
    search.set_params(random_state=0).fit(atoms)
    products, indices = search.kneighbors(queries)
    assert products.dtype == np.float64
    assert_array_equal(indices, expected_indices(atoms, queries, 4))
    exact = queries.astype(np.float64) @ atoms.astype(np.float64).T
    assert_allclose(products, np.take_along_axis(exact, indices, 1), rtol=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", [1e38, 1e-40])
@pytest.mark.parametrize("n_queries", [1, 5])
def test_atoms_at_the_ends_of_single_precision(layout, size, n_queries):
    """Scores of BLAS over- and underflow: they say nothing, and nothing is lost."""
    atoms, queries = data()
    atoms = (np.clip(atoms, -3, 3) * size).astype(np.float32)
    queries = queries[:n_queries].astype(np.float32)
    search = BanditMIPS(20, layout=layout, random_state=0).fit(atoms)
    _, indices = search.kneighbors(queries)
    assert_array_equal(indices, expected_indices(atoms, queries, 20))


def test_scores_that_overflow_to_nan():
    """Plus and minus infinity cancel in single precision; the truth does not."""
    atoms = np.zeros((40, 64), dtype=np.float32)
    atoms[:, 0] = np.arange(40)
    atoms[::2, 1:33] = 3e38
    atoms[::2, 33:] = -3e38
    queries = np.ones((1, 64), dtype=np.float32)
    for layout in LAYOUTS:
        search = BanditMIPS(20, layout=layout, random_state=0).fit(atoms)
        for k in (3, 20):
            _, indices = search.kneighbors(queries, k)
            assert_array_equal(indices, expected_indices(atoms, queries, k))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_beyond_double_precision(layout):
    atoms, queries = data()
    search = BanditMIPS(4, layout=layout, random_state=0).fit(atoms * 1e200)
    with pytest.raises(ValueError, match="scale the atoms or the queries down"):
        search.kneighbors(queries * 1e200)
    # Their order is known all the same.
    indices = search.kneighbors(queries * 1e200, return_distance=False)
    assert_array_equal(indices, expected_indices(atoms, queries, 4))
    graph = search.kneighbors_graph(queries * 1e200)
    assert graph.shape == (5, 60)
    # Sums that overflow on their way have none.
    search.fit(np.sign(atoms) * 1.5e308)
    with pytest.raises(ValueError, match="scale the atoms or the queries down"):
        search.kneighbors(queries, return_distance=False)


@pytest.mark.parametrize("radius", ["paired", "bernstein", "hoeffding"])
def test_alpha_is_exact_with_any_radius(radius):
    """Its means are sums so far, of which radii for random samples say nothing."""
    atoms, queries = data(300, 2000)
    queries[0] = 0.6
    search = BanditMIPS(3, sampling="alpha", radius=radius, batch_size=16).fit(atoms)
    _, indices = search.kneighbors(queries)
    assert_array_equal(indices, expected_indices(atoms, queries, 3))


@pytest.mark.parametrize("n_features", [40, 2400])
@pytest.mark.parametrize(
    "parameters",
    [
        {"buckets": 2**62},
        {"buckets": 2**61 + 7},
        {"batch_size": 2**62},
        {"batch_size": 2**62, "sampling": "weighted"},
        {"batch_size": 2**62, "sampling": "alpha"},
        {"batch_size": 2**62, "layout": "zero-copy"},
        {"delta": 1e-320},
        {"epsilon": 1e308},
        {"sampling": "weighted", "beta": 1e308},
    ],
    ids=str,
)
def test_parameters_at_their_limits(parameters, n_features):
    atoms, queries = data(60, n_features)
    search = BanditMIPS(60, random_state=0, **parameters).fit(atoms)
    for k in (1, 60):
        for n_queries in (1, 5):
            products, indices = search.kneighbors(queries[:n_queries], k)
            assert np.isfinite(products).all()
            assert all(len(set(row)) == k for row in indices.tolist())


def test_atoms_added_out_of_proportion():
    """Entries in the sample are relative to those of the atoms fitted."""
    atoms, queries = data(60, 2400, np.float32)
    search = BanditMIPS(3, random_state=0).fit(atoms * np.float32(1e-10))
    for size in (1e13, 1e36):
        search.partial_fit(atoms[:5] * np.float32(size))
        everything = search._index.all_atoms()
        for n_queries in (1, 5):
            _, indices = search.kneighbors(queries[:n_queries])
            wanted = expected_indices(everything, queries[:n_queries], 3)
            assert_array_equal(indices, wanted)


def test_failed_fits_change_nothing(monkeypatch):
    atoms, queries = data()
    search = BanditMIPS(3, random_state=0).fit(atoms)
    wanted = search.kneighbors(queries)

    def fail(*_):
        raise MemoryError

    before = dict(vars(search))
    bad = atoms[:, :7].copy()
    bad[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        search.fit(bad)
    with pytest.raises(ValueError, match="buckets need"):
        search.set_params(buckets=4, layout="zero-copy").fit(atoms[:, :7])
    search.set_params(buckets=None, layout="auto")
    with monkeypatch.context() as patch:
        patch.setattr("sklearn_bandit.neighbors._index.AtomIndex._refresh", fail)
        for change in (
            lambda: search.fit(atoms[:, :7]),
            lambda: search.partial_fit(atoms),
            lambda: search.remove([1, 2]),
        ):
            with pytest.raises(MemoryError):
                change()
    assert vars(search) == before
    for found, array in zip(search.kneighbors(queries), wanted, strict=True):
        assert_array_equal(found, array)
    search.partial_fit(atoms[::-1])
    assert_array_equal(search._index.all_atoms(), np.vstack([atoms, atoms[::-1]]))


def test_copies_do_not_share_what_is_added():
    atoms, queries = data()
    first = BanditMIPS(3, random_state=0).fit(atoms[:20])
    first.partial_fit(atoms[20:30])  # has room for more
    second = BanditMIPS(3, random_state=0)
    second.__dict__.update(vars(first))
    first.partial_fit(atoms[30:35])
    second.partial_fit(atoms[40:45])
    for search, last in ((first, atoms[30:35]), (second, atoms[40:45])):
        expected = np.vstack([atoms[:30], last])
        assert_array_equal(search._index.all_atoms(), expected)
        _, indices = search.kneighbors(queries)
        assert_array_equal(indices, expected_indices(expected, queries, 3))


def test_models_hold_no_memory_of_any_content(tmp_path):
    """Room for atoms to come is no part of a model, and may be read-only in one."""
    atoms, queries = data(60, 2400)
    search = BanditMIPS(3, random_state=0).fit(atoms[:30]).partial_fit(atoms[30:32])
    exact = BanditMIPS(3, random_state=0).fit(atoms[:30])
    added = len(pickle.dumps(search)) - len(pickle.dumps(exact))
    assert added < 4 * atoms[30:32].nbytes
    joblib.dump(search, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    mapped.partial_fit(atoms[32:])
    _, indices = mapped.kneighbors(queries)
    assert_array_equal(indices, expected_indices(atoms, queries, 3))
