"""Silhouettes of medoids: exact, within intervals, and the choice they make."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances

from sklearn_bandit.cluster import BanditKMedoids, medoid_silhouette


def by_hand(X, medoids):
    two = np.sort(pairwise_distances(X, X[medoids]), axis=1)[:, :2]
    return 1 - two[:, 0] / two[:, 1]


def blobs(n, centers, seed, std=1.5):
    return make_blobs(n, 4, centers=centers, cluster_std=std, random_state=seed)[0]


def test_exact_is_that_of_the_kmedoids_package():
    kmedoids = pytest.importorskip("kmedoids")
    X, medoids = blobs(400, 4, 0), np.array([3, 77, 150, 333])
    found = medoid_silhouette(X, medoids)
    mean, values = kmedoids.medoid_silhouette(
        pairwise_distances(X), medoids, samples=True
    )
    np.testing.assert_allclose(found.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(found.samples, values, rtol=1e-5, atol=1e-6)
    assert found.exact
    assert found.radius == 0


def test_any_metric_has_the_same_silhouettes():
    X, medoids = blobs(300, 3, 1), [5, 100, 200]
    expected = by_hand(X, medoids).mean()
    D = pairwise_distances(X)

    def one(a, b):
        return np.sqrt(((a - b) ** 2).sum())

    for found in (
        medoid_silhouette(X, medoids),
        medoid_silhouette(D, medoids, metric="precomputed"),
        medoid_silhouette(X, medoids, metric=one),
        medoid_silhouette(X, medoids, metric=pairwise_distances, metric_batched=True),
    ):
        np.testing.assert_allclose(found.mean, expected, rtol=1e-6)


def test_weights_are_repetitions():
    X, medoids = blobs(200, 3, 2), [5, 100, 150]
    counts = np.random.default_rng(0).integers(0, 4, 200)
    weighted = medoid_silhouette(X, medoids, sample_weight=counts)
    expected = np.average(by_hand(X, medoids), weights=counts)
    np.testing.assert_allclose(weighted.mean, expected)


def test_intervals_cover():
    X = blobs(20_000, 6, 3, std=4.0)
    medoids = BanditKMedoids(6, random_state=0).fit(X).medoid_indices_
    exact = by_hand(X, medoids).mean()
    n_missed, n_used = 0, []
    for seed in range(100):
        found = medoid_silhouette(X, medoids, tol=0.03, delta=0.1, random_state=seed)
        low, high = found.interval
        assert found.radius <= 0.03
        n_missed += not low <= exact <= high
        n_used.append(len(found.samples))
    assert n_missed <= 10
    assert np.mean(n_used) < 10_000


@pytest.mark.parametrize("n_samples", [1000, 6000])
def test_auto_is_the_choice_of_the_exact_silhouettes(n_samples):
    n_same, n_runs = 0, 20
    for seed in range(n_runs):
        X = blobs(n_samples, 3 + seed % 4, seed)
        model = BanditKMedoids("auto", k_range=(2, 8), random_state=seed, n_jobs=1)
        model.fit(X)
        exact = [
            BanditKMedoids(k, random_state=seed, n_jobs=1).fit(X).medoid_indices_
            for k in range(2, 9)
        ]
        best = 2 + int(np.argmax([by_hand(X, m).mean() for m in exact]))
        n_same += model.n_clusters_ == best == model.silhouettes_.best
        assert len(model.medoid_indices_) == model.n_clusters_
        assert model.silhouettes_.n_clusters.tolist() == list(range(2, 9))
    # delta = 0.01
    assert n_same >= n_runs - 1


def test_auto_with_weights_and_callables():
    words = ["aaa", "aab", "aba", "zzzzzz", "zzzzzy", "zzzyzz", "mmmmmmmmmmm"]

    def distance(a, b):
        return sum(x != y for x, y in zip(a, b, strict=False)) + abs(len(a) - len(b))

    model = BanditKMedoids("auto", k_range=(2, 4), metric=distance)
    assert model.fit(words).n_clusters_ == 3
    assert model.fit(words, sample_weight=np.arange(1, 8)).silhouettes_.exact
    assert model.transform(words).shape == (7, model.n_clusters_)


@pytest.mark.parametrize(
    ("params", "match"),
    [
        ({"k_range": (1, 4)}, "at least 2"),
        ({"k_range": (5, 3)}, "ascending"),
        ({"k_range": (2, 3, 4)}, "least and the largest"),
        ({"k_range": (2.0, 3.0)}, "least and the largest"),
        ({"init": [0, 1]}, "init must be a name"),
        ({"k_range": (2, 60)}, "n_samples=50"),
    ],
)
def test_auto_refuses(params, match):
    with pytest.raises(ValueError, match=match):
        BanditKMedoids("auto", **params).fit(blobs(50, 2, 0))


@pytest.mark.parametrize(
    ("medoids", "match"),
    [
        ([1], "at least two"),
        ([1.0, 2.0], "at least two"),
        ([1, 1], "twice"),
        ([1, 50], "not in 0..49"),
    ],
)
def test_bad_medoids(medoids, match):
    with pytest.raises(ValueError, match=match):
        medoid_silhouette(blobs(50, 2, 0), medoids)


def test_negative_by_rounding_is_zero():
    """Equal rows have a correlation distance of -2e-16."""
    rows = np.random.default_rng(0).standard_normal((20, 7))
    X = np.concatenate([rows, rows, rows])
    D = pairwise_distances(X, X[[0, 1]], metric="correlation")
    D[20, 0] = -2e-16
    found = medoid_silhouette(
        [*range(60)], [0, 1], metric=lambda i, j: D[i, j], random_state=0
    )
    assert found.samples[20] == 1.0
    assert ((found.samples >= 0) & (found.samples <= 1)).all()


@pytest.mark.parametrize(
    ("value", "match"), [(-1.0, "not negative"), (np.nan, "finite"), (np.inf, "finite")]
)
def test_distances_without_silhouettes(value, match):
    def distance(i, j):
        return value if i == 7 else abs(i - j)

    with pytest.raises(ValueError, match=match):
        medoid_silhouette([*range(20)], [1, 15], metric=distance)


@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (np.zeros(20), "zero"),
        (-np.ones(20), "egative"),
        (np.full(20, 1e307), "add up to"),
    ],
)
def test_bad_weights_are_refused_before_any_distance(weights, match):
    def distance(i, j):
        raise AssertionError

    with pytest.raises(ValueError, match=match):
        medoid_silhouette([*range(20)], [1, 15], metric=distance, sample_weight=weights)


def test_intervals_cover_a_rare_part():
    """A clustering that is perfect but for 1% of the samples."""
    rng = np.random.default_rng(0)
    X = np.repeat([0.0, 10.0], 10_000)
    X[rng.choice(len(X), 200, replace=False)] = 5.0
    X, medoids = X[:, None], [int(np.flatnonzero(v == X)[0]) for v in (0.0, 10.0)]
    exact = by_hand(X, medoids).mean()
    n_missed = 0
    for seed in range(100):
        found = medoid_silhouette(X, medoids, tol=0.03, delta=0.1, random_state=seed)
        n_missed += abs(found.mean - exact) > found.radius
    assert n_missed <= 10


def test_radii_of_all_candidates_cover():
    """Also of those that were dropped early, when chance decided it."""
    X = blobs(12_000, 4, 0, std=3.0)
    n_missed = 0
    for seed in range(8):
        model = BanditKMedoids("auto", k_range=(2, 5), delta=0.1, random_state=seed)
        found = model.fit(X).silhouettes_
        for k, mean, radius in zip(
            found.n_clusters, found.means, found.radii, strict=True
        ):
            medoids = BanditKMedoids(int(k), random_state=seed).fit(X).medoid_indices_
            n_missed += abs(by_hand(X, medoids).mean() - mean) > radius + 1e-9
    assert n_missed <= 1


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e6 + 0.1])
@pytest.mark.parametrize("n_features", [1, 4, 57])
def test_equal_samples_are_in_no_cluster_whatever_the_jobs(value, n_features):
    """scikit-learn's distances of equal rows are 1e-8 or 0, by its chunks."""
    X = np.full((3, n_features), value)
    for n_jobs in (1, 2, 3):
        found = medoid_silhouette(X, [0, 1, 2], n_jobs=n_jobs)
        np.testing.assert_array_equal(found.samples, 0.0)
        model = BanditKMedoids("auto", k_range=(2, 3), n_jobs=n_jobs)
        with pytest.warns(ConvergenceWarning, match="fewer distinct samples"):
            model.fit(X)
        assert model.n_clusters_ == 2


@pytest.mark.parametrize(
    ("metric", "layout"),
    [(metric, np.asarray) for metric in ("euclidean", "cosine", "l1", "nan_euclidean")]
    + [(metric, sparse.csr_array) for metric in ("euclidean", "cosine", "l1")],
)
def test_silhouettes_do_not_depend_on_jobs(metric, layout):
    X = layout(np.repeat(blobs(100, 3, 5) + 100, 3, axis=0))
    one, *others = (
        medoid_silhouette(X, [0, 7, 120, 121], metric=metric, n_jobs=n_jobs)
        for n_jobs in (1, 2, 3)
    )
    for other in others:
        np.testing.assert_array_equal(one.samples, other.samples)
        np.testing.assert_array_equal(one.labels, other.labels)
