"""Distances of samples to medoids: their accuracy, and that prediction is `fit`'s."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from sklearn_bandit.cluster import BanditKMedoids
from sklearn_bandit.cluster._distances import distances_between
from sklearn_bandit.cluster._distances.sparse_rows import GUARD

FAST = ["euclidean", "sqeuclidean", "cosine", "manhattan"]
NAMES = {"manhattan": "cityblock"}
DTYPES = [np.float32, np.float64]


def by_scipy(X, Y, metric):
    """Return distances from the differences, in double precision."""
    if sparse.issparse(X):
        X, Y = X.toarray(), Y.toarray()
    return cdist(X.astype(float), Y.astype(float), NAMES.get(metric, metric))


def rows_one_ulp_apart(n, d, dtype=np.float32, seed=0):
    steps = np.random.default_rng(seed).integers(0, 4, (n, d))
    return (1 + steps * np.finfo(np.float32).eps).astype(dtype)


@pytest.mark.parametrize("metric", FAST)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("d", [1, 30, 300])
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_are_those_of_scipy(metric, dtype, d, layout):
    rng = np.random.default_rng(d)
    X = (rng.standard_normal((200, d)) + 2).astype(dtype)
    X[3:5] = X[0]
    X, Y = layout(X), layout(X[:9])
    found = distances_between(X, Y, metric, {})
    assert found.dtype == dtype
    assert found.flags.c_contiguous
    assert found[3, 0] == found[4, 0] == found[0, 3] == found[0, 0]
    eps = np.finfo(dtype).eps
    error = (d + 2) * eps + 2 * (d + 2) * np.finfo(float).eps / GUARD
    # Normalised rows are rounded; scipy's 1 - x.y is off by the rounding of one.
    least = 8 * eps if metric == "cosine" else 0.0
    np.testing.assert_allclose(found, by_scipy(X, Y, metric), rtol=error, atol=least)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_rows_that_differ_in_their_last_digits(metric, dtype, layout):
    """Norms are 256, squared distances 1e-12: products have no digit of these."""
    X = layout(rows_one_ulp_apart(256, 256, dtype))
    Y = X[:7]
    found = distances_between(X, Y, metric, {})
    error = 258 * np.finfo(dtype).eps
    np.testing.assert_allclose(found, by_scipy(X, Y, metric), rtol=error)
    assert (found[np.arange(7), np.arange(7)] == 0).all()


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize(
    ("dtype", "exponent"),
    [
        (np.float32, -100),
        (np.float32, -33),
        (np.float32, 100),
        (np.float64, -900),
        (np.float64, 900),
    ],
)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_any_magnitude(metric, dtype, exponent, layout):
    """Squares would overflow, or underflow; -33 is where those of one ulp do."""
    X = layout(rows_one_ulp_apart(50, 3, dtype))
    scaled = X * dtype(2.0**exponent)
    found = distances_between(scaled, scaled[:5], metric, {})
    expected = distances_between(X, X[:5], metric, {})
    np.testing.assert_array_equal(found, np.ldexp(expected, exponent))


@pytest.mark.parametrize("metric", FAST)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("offset", [0, 1000])
@pytest.mark.parametrize("algorithm", ["pam", "eager"])
def test_prediction_is_that_of_fit_to_the_last_bit(metric, dtype, offset, algorithm):
    X = np.random.default_rng(offset).standard_normal((800, 13)) + offset
    X = X.astype(dtype)
    weights = np.random.default_rng(1).integers(0, 3, 800)
    model = BanditKMedoids(9, metric=metric, algorithm=algorithm, random_state=0)
    model.fit(X, sample_weight=weights)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.transform(X).argmin(axis=1), model.labels_)
    score = model.score(X, sample_weight=weights)
    np.testing.assert_allclose(-score, model.inertia_, rtol=1e-14)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("metric", FAST)
def test_a_row_is_the_same_in_any_company(layout, metric):
    X = np.random.default_rng(4).standard_normal((5000, 20)) + 1
    X = layout(X.astype(np.float32))
    found = distances_between(X, X[:30], metric, {}, n_jobs=1)
    for n_jobs in (2, 3):
        again = distances_between(X, X[:30], metric, {}, n_jobs=n_jobs)
        np.testing.assert_array_equal(again, found)
    some = distances_between(X[4000:4003], X[17:18], metric, {})
    np.testing.assert_array_equal(some, found[4000:4003, 17:18])


def test_labels_of_rows_without_weight_are_the_nearest_medoids():
    """Of rows one ulp apart: scikit-learn's distances tell them apart by chance."""
    X = rows_one_ulp_apart(256, 256, seed=2886)
    weights = np.random.default_rng(2886).integers(0, 4, 256)
    model = BanditKMedoids(7, random_state=0).fit(X, sample_weight=weights)
    D = by_scipy(X, X[model.medoid_indices_], "euclidean")
    chosen = D[np.arange(256), model.labels_]
    assert (chosen <= D.min(axis=1) * (1 + 1e-6)).all()
    np.testing.assert_allclose(model.inertia_, weights @ D.min(axis=1), rtol=1e-6)


def test_small_clusters_far_from_the_centre_keep_their_digits():
    """In float32 the rows are not rounded to the digits of their distance to a mean."""
    rng = np.random.default_rng(0)
    X = np.concatenate([1e-5 * rng.random((60, 3)), 1e4 + rng.random((60, 3))])
    X = X.astype(np.float32)
    model = BanditKMedoids(6, init=[0, 1, 2, 3, 4, 60]).fit(X)
    D = by_scipy(X, X[model.medoid_indices_], "euclidean")
    np.testing.assert_array_equal(model.labels_, D.argmin(axis=1))
    np.testing.assert_allclose(model.inertia_, D.min(axis=1).sum(), rtol=1e-6)


def test_sparse_samples_of_a_dense_fit_and_the_reverse():
    X = np.random.default_rng(0).standard_normal((100, 5))
    dense = BanditKMedoids(3).fit(X)
    thin = BanditKMedoids(3).fit(sparse.csr_array(X))
    np.testing.assert_allclose(dense.transform(sparse.csr_array(X)), dense.transform(X))
    np.testing.assert_allclose(thin.transform(X), thin.transform(sparse.csr_array(X)))
