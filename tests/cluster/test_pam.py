"""The exact algorithm equals PAM, medoid by medoid."""

import kmedoids
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import pairwise_distances

from sklearn_bandit.cluster import BanditKMedoids, _kmedoids, _starts
from sklearn_bandit.cluster._medoid_state import SMALL

METRICS = ["euclidean", "sqeuclidean", "cosine", "manhattan", "chebyshev"]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_equals_brute_force(metric, k, seed, brute_force_pam):
    X = np.random.default_rng(seed).standard_normal((40, 3)) + 1
    model = BanditKMedoids(k, metric=metric, algorithm="pam").fit(X)
    path = brute_force_pam(pairwise_distances(X, metric=metric), k)
    assert model.medoid_indices_.tolist() == path[-1]
    assert model.n_swaps_ == len(path) - k
    assert model.n_iter_ == model.n_swaps_ + 1


@pytest.mark.parametrize("n", [600, SMALL + 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(6))
def test_equals_fastpam1(n, dtype, seed, hard_points):
    X = hard_points(n, 8, seed).astype(dtype)
    model = BanditKMedoids(6, algorithm="pam").fit(X)
    D = pairwise_distances(X.astype(np.float64))
    reference = kmedoids.fastpam1(D, 6, init="build")
    assert set(model.medoid_indices_) == set(reference.medoids.astype(int))
    np.testing.assert_allclose(model.inertia_, reference.loss, rtol=1e-6)


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    X=arrays(np.float64, (12, 2), elements=st.integers(-3, 3)),
    k=st.integers(1, 12),
)
@pytest.mark.filterwarnings("ignore:Only")
def test_ties_go_to_the_first_sample(X, k, brute_force_pam):
    """On a small grid, where most candidates tie."""
    path = brute_force_pam(pairwise_distances(X, metric="manhattan"), k)
    for algorithm in ("pam", "bandit"):
        model = BanditKMedoids(
            k, metric="manhattan", algorithm=algorithm, random_state=0
        ).fit(X)
        assert model.medoid_indices_.tolist() == path[-1]


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_call_a_step_is_the_same_as_many(k, dtype, hard_points, monkeypatch):
    X = hard_points(300, 4, 1).astype(dtype)
    weights = np.random.default_rng(0).integers(1, 4, 300)
    one = BanditKMedoids(k, algorithm="pam").fit(X, sample_weight=weights)
    for module in (_kmedoids, _starts):
        monkeypatch.setattr(module, "SMALL", 0)
    many = BanditKMedoids(k, algorithm="pam").fit(X, sample_weight=weights)
    np.testing.assert_array_equal(one.medoid_indices_, many.medoid_indices_)
    np.testing.assert_array_equal(one.labels_, many.labels_)
    np.testing.assert_allclose(one.inertia_, many.inertia_, rtol=1e-12)
    assert one.n_swaps_ == many.n_swaps_


@pytest.mark.parametrize("cache_size", [0, 2000, 2**30])
def test_memory_does_not_matter(cache_size, hard_points):
    X = hard_points(300, 4, 0)
    model = BanditKMedoids(5, algorithm="pam", cache_size=cache_size).fit(X)
    reference = BanditKMedoids(5, algorithm="pam").fit(X)
    np.testing.assert_array_equal(model.medoid_indices_, reference.medoid_indices_)
    assert model.inertia_ == reference.inertia_
    if cache_size == 2**30:
        # One triangle, in blocks of rows.
        assert 300**2 / 2 < model.n_distance_evaluations_ < 0.8 * 300**2


def test_asymmetric_matrix_runs_from_sample_to_medoid(brute_force_pam):
    D = np.random.default_rng(0).random((35, 35))
    model = BanditKMedoids(4, metric="precomputed", algorithm="pam").fit(D)
    path = brute_force_pam(D, 4)
    assert model.medoid_indices_.tolist() == path[-1]
    np.testing.assert_array_equal(model.predict(D), D[:, path[-1]].argmin(axis=1))


def test_weights_equal_repeated_points(brute_force_pam):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 3))
    weights = rng.integers(0, 4, 60)
    weighted = BanditKMedoids(4).fit(X, sample_weight=weights)
    repeated = BanditKMedoids(4).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_array_equal(weighted.cluster_centers_, repeated.cluster_centers_)
    np.testing.assert_allclose(weighted.inertia_, repeated.inertia_)
    np.testing.assert_array_equal(
        np.repeat(weighted.labels_, weights), repeated.labels_
    )


def test_tol_stops_earlier(hard_points):
    X = hard_points(400, 2, 1)
    start = BanditKMedoids(7, init="random", n_init=1, random_state=0, algorithm="pam")
    full = start.fit(X).n_swaps_
    assert start.set_params(tol=0.02).fit(X).n_swaps_ < full
