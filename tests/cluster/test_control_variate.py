"""What is known of all candidates without their distances."""

import numpy as np
import pytest

from sklearn_bandit.cluster._distances import RowCache
from sklearn_bandit.cluster._control_variate import ControlVariate
from sklearn_bandit.cluster._medoid_state import MedoidState
from sklearn_bandit.cluster._distances.dense import DenseDistances

N, K, N_KNOWN = 300, 3, 50


def make(metric, *, build, points=None):
    """Distances, clusters with three medoids, and the proxy of a base arm."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 4)) + 5 if points is None else points
    distances = DenseDistances(X, metric, rng.permutation(N), 2)
    weights = rng.integers(1, 4, N)
    clusters = MedoidState(RowCache(distances, 2**24), distances.order, weights, K, 1)
    clusters.set([1, 2] if build else [1, 2, 3])
    base = clusters.rewards(9) if build else clusters.present()
    return (
        distances,
        clusters,
        ControlVariate(distances, clusters, base, N_KNOWN, build=build),
    )


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine"])
@pytest.mark.parametrize("build", [True, False])
def test_totals_are_sums_over_all_references(metric, build):
    distances, clusters, proxy = make(metric, build=build)
    arms = np.array([0, 4, 5, 6, 200])
    tiles = distances.tiles(arms, N_KNOWN, N)[0, :, : len(arms)].astype(float)
    slopes, origins = proxy.slopes[N_KNOWN:], proxy.origins[N_KNOWN:]
    values = slopes[:, None] * (tiles**proxy.power - origins[:, None])
    labels = np.zeros(N, int) if build else clusters.labels
    expected = [
        values[labels[N_KNOWN:] == l].sum(axis=0) for l in range(1 if build else K)
    ]
    np.testing.assert_allclose(proxy.totals(arms), np.transpose(expected), rtol=2e-4)
    everywhere = proxy.totals(np.arange(N))
    np.testing.assert_allclose(everywhere[arms], proxy.totals(arms), rtol=1e-5)
    counts = proxy.counts(N)
    assert counts.sum() == np.count_nonzero(slopes)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine"])
def test_explains_most_of_the_rewards(metric):
    """Of candidates near a medoid, which are those that searches take long over."""
    distances, clusters, proxy = make(metric, build=False)
    row = clusters.rows([clusters.medoids[0]])[0]
    arms = np.argsort(row)[1:9]
    own = clusters.labels == 0
    d = distances.tiles(np.sort(arms), 0, N)[0, own, : len(arms)].astype(float)
    _, nearest, second, _ = clusters.references(0, N)
    rewards = np.minimum(d, second[own, None]) - nearest[own, None]
    weights = clusters.weights[own, None] / clusters.weights.mean()
    power = d**proxy.power - proxy.origins[own, None]
    values = proxy.slopes[own, None] * power
    for y, f in zip((weights * rewards).T, values.T, strict=True):
        assert np.corrcoef(y, f)[0, 1] ** 2 > 0.5


def test_there_is_none_for_other_metrics_and_for_zero_rewards():
    _, _, proxy = make("manhattan", build=False)
    assert not proxy.exists
    assert proxy.totals(np.arange(N)).shape == (N, 0)
    assert len(proxy.counts(N)) == 0
    _, _, proxy = make("euclidean", build=False, points=np.ones((N, 4)))
    assert not proxy.exists
