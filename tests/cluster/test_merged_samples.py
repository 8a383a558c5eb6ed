"""Equal samples are merged into weights; callables are called once a pair; init."""

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

from sklearn_bandit.cluster import BanditKMedoids
from sklearn_bandit.cluster._weighted_samples import draw_order, merge_samples


def copies(n, n_different, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n_different, 5)).astype(dtype)[
        rng.integers(0, n_different, n)
    ]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_labels_inertia_and_medoids_are_those_of_all_samples(metric, dtype):
    X = copies(8000, 3500, dtype=dtype)
    weights = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    for sample_weight in (None, weights):
        model = BanditKMedoids(4, metric=metric, random_state=0)
        model.fit(X, sample_weight=sample_weight)
        D = pairwise_distances(X, X[model.medoid_indices_], metric=metric)
        used = np.ones(len(X)) if sample_weight is None else sample_weight
        np.testing.assert_allclose(model.inertia_, used @ D.min(axis=1), rtol=1e-4)
        np.testing.assert_array_equal(model.labels_, D.argmin(axis=1))
        for medoid in model.medoid_indices_:
            equal = np.flatnonzero((X[medoid] == X).all(axis=1) & (used > 0))
            assert medoid == equal[0]


def test_merged_and_weighted_fits_are_the_same():
    X = copies(9000, 3300)
    rows, first, counts = np.unique(X, axis=0, return_index=True, return_counts=True)
    order = np.argsort(first)
    merged = BanditKMedoids(5, random_state=3).fit(X)
    weighted = BanditKMedoids(5, random_state=3).fit(
        rows[order], sample_weight=counts[order]
    )
    np.testing.assert_array_equal(merged.cluster_centers_, weighted.cluster_centers_)
    np.testing.assert_allclose(merged.inertia_, weighted.inertia_)


def test_what_is_not_merged():
    X = copies(5000, 1000)
    ones = np.ones(len(X))
    assert len(merge_samples(X, "euclidean", ones, 5, 1).samples) < 1001
    assert len(merge_samples(X, "chebyshev", ones, 5, 1).samples) == 5000
    assert len(merge_samples(X, "euclidean", ones, 1001, 1).samples) == 5000
    assert len(merge_samples(X[:3000], "euclidean", ones[:3000], 5, 1).samples) == 3000
    twins = np.flatnonzero((X[0] == X).all(axis=1))[:2]
    assert len(merge_samples(X, "euclidean", ones, twins, 1).samples) == 5000
    # Rows of zeros are at cosine distance 1 from each other.
    X[::2] = 0.0
    assert len(merge_samples(X, "cosine", ones, 5, 1).samples) == 5000
    # Zeros of either sign are equal.
    X[:] = 0.0
    X[::2] = -0.0
    assert len(merge_samples(X, "euclidean", ones, 1, 1).samples) == 1


def test_more_clusters_than_different_samples():
    X = np.repeat(np.arange(3.0), 2000)[:, None]
    with pytest.warns(match="Only 3 of 4 clusters"):
        model = BanditKMedoids(4, random_state=0).fit(X)
    assert model.inertia_ == 0


def test_heavy_samples_come_first():
    weights = np.ones(5000)
    weights[100:150] = 1000.0
    order, n_heavy = draw_order(weights, 64, np.random.RandomState(0))
    assert n_heavy == 64
    assert set(range(100, 150)) <= set(order[:64].tolist())
    assert sorted(order) == list(range(5000))
    assert draw_order(np.ones(5000), 64, np.random.RandomState(0))[1] == 0


@pytest.mark.parametrize("algorithm", ["eager", "bandit"])
def test_heavy_samples_end_in_a_good_loss(algorithm):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 3))
    weights = rng.pareto(0.8, 4000) + 0.01
    exact = BanditKMedoids(5, algorithm="pam").fit(X, sample_weight=weights)
    found = BanditKMedoids(5, algorithm=algorithm, batch_size=128, random_state=0)
    found.fit(X, sample_weight=weights)
    assert found.inertia_ <= 1.02 * exact.inertia_


def counted(metric):
    def distance(a, b):
        distance.n_calls += 1
        return metric(a, b)

    distance.n_calls = 0
    return distance


@pytest.mark.parametrize("algorithm", ["pam", "eager", "bandit"])
def test_symmetric_callables_are_called_once_a_pair(algorithm):
    X = list(np.random.default_rng(0).standard_normal(60))
    n_calls = {}
    for symmetric in (True, "auto", False):
        distance = counted(lambda a, b: abs(a - b))
        model = BanditKMedoids(
            3,
            metric=distance,
            metric_symmetric=symmetric,
            algorithm=algorithm,
            random_state=0,
        ).fit(X)
        n_calls[symmetric] = distance.n_calls
        assert model.n_distance_evaluations_ == distance.n_calls
    assert n_calls[True] <= 1770
    assert n_calls["auto"] <= 1770 + 16
    assert n_calls[True] < n_calls[False] <= 3600


def test_asymmetric_callables_are_seen():
    X = list(range(50))

    def distance(a, b):
        return a - b if a > b else 2 * (b - a)

    found = [
        BanditKMedoids(3, metric=distance, metric_symmetric=symmetric).fit(X)
        for symmetric in ("auto", False)
    ]
    np.testing.assert_array_equal(found[0].labels_, found[1].labels_)
    assert found[0].inertia_ == found[1].inertia_


@pytest.mark.parametrize("symmetric", [True, False, "auto"])
@pytest.mark.parametrize("algorithm", ["pam", "eager"])
@pytest.mark.parametrize("cache_size", [2**31, 0])
def test_batched_callables(algorithm, symmetric, cache_size):
    X = np.random.default_rng(0).standard_normal((300, 3))
    parameters = {"algorithm": algorithm, "random_state": 0, "batch_size": 32}
    expected = BanditKMedoids(3, **parameters).fit(X)
    model = BanditKMedoids(
        3,
        metric=pairwise_distances,
        metric_batched=True,
        metric_symmetric=symmetric,
        cache_size=cache_size,
        **parameters,
    ).fit(X)
    np.testing.assert_array_equal(model.medoid_indices_, expected.medoid_indices_)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


def test_a_batched_callable_must_return_a_matrix():
    model = BanditKMedoids(2, metric=lambda a, b: 0.0, metric_batched=True)
    with pytest.raises(ValueError, match="must return a matrix"):
        model.fit(np.eye(5))


def test_init_of_coordinates_is_the_nearest_samples():
    X = np.random.default_rng(0).standard_normal((200, 2))
    near = X[[3, 50, 120]] + 1e-6
    by_place = BanditKMedoids(3, init=near, max_iter=0, algorithm="pam").fit(X)
    assert by_place.medoid_indices_.tolist() == [3, 50, 120]
    twice = BanditKMedoids(2, init=X[[3, 3]], max_iter=0, algorithm="pam").fit(X)
    assert twice.medoid_indices_[0] == 3
    assert len(set(twice.medoid_indices_.tolist())) == 2


def test_init_of_coordinates_refuses():
    X = np.random.default_rng(0).standard_normal((200, 2))
    with pytest.raises(ValueError, match="n_clusters=3"):
        BanditKMedoids(3, init=X[:2]).fit(X)
    with pytest.raises(ValueError, match=r"init is not a table like X.*5 features"):
        BanditKMedoids(3, init=np.zeros((3, 5))).fit(X)
