"""The passes against sums written out in numpy."""

import numpy as np
import pytest
from sklearn_bandit.cluster._arm_bounds import reduce_bounds, reduce_means
from sklearn_bandit.cluster._exact_passes import exact_build, exact_swap, nearest_two
from sklearn_bandit.cluster._sampled_passes import accumulate, pack_references

from sklearn_bandit.cluster._distances import ARM_TILE
from sklearn_bandit.cluster._medoid_state import References
from sklearn_bandit.cluster._survivors import SampleSizes

M, N, K = 37, 600, 3
NO_VARIATE = np.empty(0), np.empty((N, 0))


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    d = rng.random((M, N)).astype(np.float32)
    medoids = np.sort(rng.random((K, M)).astype(np.float32), axis=0)
    tiles = np.zeros((2, M, ARM_TILE), np.float32)
    tiles[0], tiles[1, :, : N - ARM_TILE] = d[:, :ARM_TILE], d[:, ARM_TILE:]
    return {
        "d": d,
        "tiles": tiles,
        "weights": rng.integers(1, 4, M).astype(np.float32),
        "nearest": medoids[0],
        "second": medoids[1],
        "labels": rng.integers(0, K, M).astype(np.intc),
        "leader": rng.random(M).astype(np.float32),
        "slopes": rng.random(M).astype(np.float32),
        "origins": rng.random(M).astype(np.float32),
    }


def costs(p, removed):
    """Weighted costs of all arms less the leader's, of shape (M, N)."""
    others = p["nearest"]
    if removed is not None:
        others = np.where(p["labels"] == removed, p["second"], p["nearest"])
    after = np.minimum(p["d"], others[:, None])
    return (p["weights"] * (after.T - p["leader"])).T.astype(np.float64)


def variates(p, power, removed):
    """Control variates of all arms, zero beside the cluster, of shape (M, N)."""
    own = p["slopes"] if removed is None else p["slopes"] * (p["labels"] == removed)
    return (own * (p["d"].T ** power - p["origins"])).T.astype(np.float64)


def run(p, k, group, power=0, n_threads=2):
    sums = np.zeros((2, (1 + k) * group, ARM_TILE))
    references = References(*(p[name] for name in References._fields))
    variate = p["slopes"], p["origins"], power
    packed = pack_references(references, p["leader"], *variate, build=k == 0)
    accumulate(p["tiles"], packed, k, N, sums, n_threads)
    return sums


def bounds_of(known, sums, sizes, quantiles, variate=NO_VARIATE, n_threads=2):
    """Means and lower bounds, and the medoids that the least means remove."""
    bounds = np.empty((3, N))
    sizes = SampleSizes(*sizes)
    reduce_bounds(known, sums, sizes, quantiles, *variate, bounds, n_threads)
    return bounds


@pytest.mark.parametrize("k", [0, K])
def test_means(problem, k):
    means, removed = np.empty(N), np.empty(N, np.intc)
    reduce_means(run(problem, k, 1), 1 / M, means, removed)
    arms = [costs(problem, l).mean(axis=0) for l in (range(k) if k else [None])]
    np.testing.assert_allclose(means, np.min(arms, axis=0), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(removed, np.argmin(arms, axis=0))


@pytest.mark.parametrize("k", [0, K])
@pytest.mark.parametrize("group", [1, 3, 6])
def test_threads_do_not_matter(problem, k, group):
    one, two = (run(problem, k, group, 2, n_threads) for n_threads in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("k", [0, K])
def test_bounds_condition_on_the_known_references(problem, k):
    """The mean mixes both parts; only the sampled one has a radius."""
    n_known, n_total, z = 10.0, 500.0, 2.5
    known, sums = np.zeros((2, 1 + k, ARM_TILE)), run(problem, k, 3)
    known[:, 0] = 3.0
    found = bounds_of(known, sums, (n_known, M, n_total), np.full(2, z))
    expected_means, expected_lower = [], []
    for l in range(k) if k else [None]:
        D = costs(problem, l)
        rest = 1 - n_known / n_total
        mean = 3.0 / n_total + rest * D.mean(axis=0)
        error = D.std(axis=0, ddof=1) * np.sqrt((1 - M / (n_total - n_known)) / M)
        expected_means.append(mean)
        expected_lower.append(mean - z * rest * error)
    means, lower, removed = found
    np.testing.assert_allclose(means, np.min(expected_means, axis=0), atol=1e-6)
    np.testing.assert_allclose(lower, np.min(expected_lower, axis=0), atol=1e-5)
    np.testing.assert_array_equal(removed, np.argmin(expected_means, axis=0))


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("k", [0, 2])
def test_bounds_regress_on_the_variate(problem, k, power):
    """The mean moves with the variate's mean, and the residues make the radius."""
    problem["labels"] = np.repeat([0, 1], [17, M - 17]).astype(np.intc)
    n_total, z = 500.0, 2.5
    totals = np.random.default_rng(3).random((N, max(k, 1))) * n_total
    counts = np.array([17.0, M - 17.0]) if k else np.array([float(M)])
    known, sums = np.zeros((2, 1 + k, ARM_TILE)), run(problem, k, 6, power)
    table = np.full(2, z)
    means, lower, _ = bounds_of(known, sums, (0, M, n_total), table, (counts, totals))
    expected_means, expected_lower = [], []
    for l in range(max(k, 1)):
        D = costs(problem, l if k else None)
        F = variates(problem, power, l if k else None)
        centred = F - F.mean(axis=0)
        spread = (centred**2).mean(axis=0)
        slope = (centred * D).mean(axis=0) / spread
        gap = totals[:, l] / n_total - F.mean(axis=0)
        variance = np.maximum(D.var(axis=0) - slope**2 * spread, 0.1 * D.var(axis=0))
        variance *= (1 + gap**2 / spread) * counts[l] / (counts[l] - 2)
        mean = D.mean(axis=0) + slope * gap
        error = np.sqrt(variance / (M - 1) * (1 - M / n_total))
        expected_means.append(mean)
        expected_lower.append(mean - z * error)
    np.testing.assert_allclose(means, np.min(expected_means, axis=0), rtol=1e-3)
    np.testing.assert_allclose(lower, np.min(expected_lower, axis=0), rtol=2e-3)


def test_bounds_use_the_effective_size(problem):
    """A quantile is looked up by (sum of squares)^2 / sum of fourth powers."""
    sums = run(problem, 0, 3)
    known = np.zeros((2, 1, ARM_TILE))
    table = np.full(M + 1, np.inf)
    D = costs(problem, None)
    size = (D**2).sum(axis=0) ** 2 / (D**4).sum(axis=0)
    middle = int(np.median(size))
    table[middle:] = 1.0
    _, lower, _ = bounds_of(known, sums, (0, M, 1e6), table)
    np.testing.assert_array_equal(np.isneginf(lower), size.astype(int) < middle)
    assert 0 < np.isneginf(lower).sum() < N


def test_a_complete_sample_has_no_radius(problem):
    sums = run(problem, 0, 3)
    known = np.zeros((2, 1, ARM_TILE))
    means, lower, _ = bounds_of(known, sums, (0, M, M), np.full(2, np.inf))
    np.testing.assert_array_equal(means, lower)


def test_a_part_of_a_block_and_more_than_a_block(problem):
    """References may be fewer than the tiles have, never more."""
    part = {**problem, "d": problem["d"][:20]}
    for name in (*References._fields, "leader", "slopes", "origins"):
        part[name] = problem[name][:20]
    sums = run(part, 0, 1)
    np.testing.assert_allclose(
        sums[:, 0].ravel()[:N], costs(part, None).sum(axis=0), rtol=1e-4, atol=1e-4
    )
    with pytest.raises(ValueError, match="more references than distances"):
        run({**problem, "tiles": problem["tiles"][:, :20].copy()}, 0, 1)


@pytest.mark.parametrize("n_clusters", [40, 300])
def test_many_clusters_work_in_strips(problem, n_clusters):
    rng = np.random.default_rng(1)
    problem["labels"] = rng.integers(0, n_clusters, M).astype(np.intc)
    sums = run(problem, n_clusters, 3)
    for l in (0, 7, n_clusters - 1):
        total = (sums[:, 0] + sums[:, 3 + 3 * l]).ravel()[:N]
        np.testing.assert_allclose(
            total, costs(problem, l).sum(axis=0), rtol=1e-4, atol=1e-4
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("contiguous", [True, False])
@pytest.mark.parametrize("n", [400, 5000])
def test_exact_sums(dtype, contiguous, n):
    rng = np.random.default_rng(2)
    rows = rng.random((5, n)).astype(dtype)
    medoids = rng.random((K, n)).astype(dtype)
    weights = rng.random(n)
    nearest, second = np.empty(n, dtype), np.empty(n, dtype)
    labels = np.empty(n, np.intc)
    nearest_two(medoids, nearest, second, labels, 2)
    ordered = np.sort(medoids, axis=0)
    np.testing.assert_array_equal(nearest, ordered[0])
    np.testing.assert_array_equal(second, ordered[1])
    np.testing.assert_array_equal(labels, medoids.argmin(axis=0))

    losses, changes = np.empty(5), np.empty((5, K))
    columns = np.ascontiguousarray(rows.T) if contiguous else rows.T
    exact_build(columns, weights, nearest, losses, 2)
    np.testing.assert_allclose(losses, np.minimum(rows, nearest) @ weights)
    exact_swap(columns, weights, nearest, second, labels, changes, 2)
    for x in range(5):
        for l in range(K):
            others = np.delete(medoids, l, axis=0).min(axis=0)
            change = (np.minimum(rows[x], others) - nearest).astype(float) @ weights
            np.testing.assert_allclose(changes[x, l], change, rtol=1e-6, atol=1e-6)
