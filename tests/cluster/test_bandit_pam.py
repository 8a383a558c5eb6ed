"""The bandit follows PAM's path; what it may depend on, and what not."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sklearn_bandit.cluster import BanditKMedoids, _bandit_pam
from sklearn_bandit.cluster._bandit_pam import BanditSearch
from sklearn_bandit.cluster._distances import RowCache
from sklearn_bandit.cluster._distances.dense import DenseDistances
from sklearn_bandit.cluster._medoid_state import MedoidState
from sklearn_bandit.cluster._pam import ExactSearch, FullMatrix
from sklearn_bandit.cluster._reference_sample import Sample


def searches(X, k, seed, block=64):
    """An exact and a bandit search on the same points."""
    rng = np.random.default_rng(seed)
    weights = np.ones(len(X))
    ordered = DenseDistances(X, "euclidean", np.arange(len(X)), 1)
    exact = MedoidState(FullMatrix(ordered), ordered.order, weights, k, 1)
    mixed = DenseDistances(X, "euclidean", rng.permutation(len(X)), 1)
    sampled = MedoidState(RowCache(mixed, 2**24), mixed.order, weights, k, 1)
    sample = Sample(mixed, block, 2**26, 1)
    return ExactSearch(exact, 0.0), BanditSearch(sampled, sample, 0.0, 0.01, 64)


@pytest.mark.parametrize("seed", range(8))
def test_follows_pam_step_by_step(seed, hard_points):
    exact, bandit = searches(hard_points(1500, 5, seed), 6, seed)
    order = bandit.clusters.order
    exact.start()
    bandit.start()
    for _ in range(6):
        exact.build_step()
        bandit.build_step()
        assert order[bandit.clusters.medoids].tolist() == exact.clusters.medoids
    swapped = True
    while swapped:
        swapped = exact.swap_step()
        assert bandit.swap_step() == swapped
        assert order[bandit.clusters.medoids].tolist() == exact.clusters.medoids
    np.testing.assert_allclose(bandit.clusters.loss, exact.clusters.loss)


def test_pams_medoids_with_fewer_distances(hard_points):
    """Counted over fresh data; the target of delta = 0.01 allows next to no failure."""
    failures, evaluations = 0, 0
    for seed in range(20, 32):
        X = hard_points(3000, 4, seed).astype(np.float32)
        exact = BanditKMedoids(4, algorithm="pam", n_jobs=1).fit(X)
        bandit = BanditKMedoids(
            4, algorithm="bandit", batch_size=128, random_state=seed, n_jobs=1
        ).fit(X)
        failures += set(exact.medoid_indices_) != set(bandit.medoid_indices_)
        assert bandit.inertia_ <= 1.005 * exact.inertia_
        evaluations += bandit.n_distance_evaluations_ / 3000**2
    assert failures <= 1
    assert evaluations / 12 < 0.75


@pytest.mark.parametrize("algorithm", ["bandit", "eager"])
def test_memory_and_threads_do_not_matter(algorithm, hard_points):
    X = hard_points(2000, 6, 1)
    fits = [
        BanditKMedoids(
            5,
            algorithm=algorithm,
            batch_size=128,
            cache_size=cache_size,
            n_jobs=n_jobs,
            random_state=0,
        ).fit(X)
        for cache_size, n_jobs in [(2**30, 1), (2**30, 2), (10**6, 1), (0, 2)]
    ]
    for fit in fits[1:]:
        np.testing.assert_array_equal(fit.medoid_indices_, fits[0].medoid_indices_)
        np.testing.assert_array_equal(fit.labels_, fits[0].labels_)
        assert fit.inertia_ == fits[0].inertia_
        assert fit.n_swaps_ == fits[0].n_swaps_
    assert fits[1].n_distance_evaluations_ == fits[0].n_distance_evaluations_
    assert fits[3].n_distance_evaluations_ > fits[0].n_distance_evaluations_


@pytest.mark.parametrize("build", [True, False])
def test_a_new_leader_keeps_what_is_known(build, hard_points):
    """With all references seen, the means are exact, relative to the new leader."""
    _, bandit = searches(hard_points(1500, 5, 0), 6, 0)
    clusters, sample = bandit.clusters, bandit.sample
    clusters.set([3, 99, 700] if build else [3, 99, 700, 800, 900, 1400])
    removed = None if build else 2
    leaders = [clusters.costs(arm, removed) for arm in (11, 12)]
    _, _, known = sample.means(clusters, sample.block, range(sample.n), build=build)
    survivors = sample.survivors(clusters, leaders[0], sample.block, known, build=build)
    survivors.eliminate(np.full(2, 3.0), np.inf, 0.0)
    survivors.keep(np.arange(10, 900, 7))
    arms = survivors.arms
    sample.change_leader(survivors, leaders[1])
    assert survivors.n_known == survivors.n_used == 2 * sample.block
    sample.extend(survivors, sample.n)
    survivors.eliminate(np.full(2, 3.0), np.inf, 0.0)
    if build:
        costs = [clusters.costs(arm).mean() for arm in arms]
    else:
        costs = [min(clusters.costs(arm, l).mean() for l in range(6)) for arm in arms]
    expected = np.array(costs) - leaders[1].mean()
    np.testing.assert_allclose(survivors.means, expected, atol=1e-5)
    np.testing.assert_allclose(survivors.lower, survivors.means, atol=1e-5)


def test_a_poor_leader_is_replaced(hard_points, monkeypatch):
    """A leader that is drawn blindly is poor; the medoid is PAM's all the same."""
    exact, bandit = searches(hard_points(1500, 5, 2), 6, 2)
    n_new = []
    change = bandit.sample.change_leader
    monkeypatch.setattr(_bandit_pam, "POOR_LEADER", 2)
    monkeypatch.setattr(bandit, "max_exact", 20)
    monkeypatch.setattr(_bandit_pam, "N_LEADING", 1)
    monkeypatch.setattr(
        bandit.sample, "change_leader", lambda *a: (n_new.append(1), change(*a))
    )
    exact.start()
    bandit.start()
    for _ in range(6):
        exact.build_step()
        bandit.build_step()
        order = bandit.clusters.order
        assert order[bandit.clusters.medoids].tolist() == exact.clusters.medoids
    assert n_new


def test_the_shares_of_delta_sum_to_one_at_most(hard_points):
    _, bandit = searches(hard_points(100, 2, 0), 6, 0)
    bandit.start()
    shares = [bandit._swap_delta(1.0) for _ in range(10_000)]
    assert 0.99 < sum(shares) <= 1.0


def test_the_budget_ends_a_search_of_equals(monkeypatch):
    """Points on a circle: every one is as good a first medoid as any other."""
    monkeypatch.setattr(_bandit_pam, "LEAST_BUDGET", 0)
    angle = np.linspace(0, 2 * np.pi, 4_000, endpoint=False)
    X = np.column_stack([np.cos(angle), np.sin(angle)]).astype(np.float32)
    model = BanditKMedoids(
        1, algorithm="bandit", max_exact=2, batch_size=128, random_state=0, max_iter=3
    )
    with pytest.warns(ConvergenceWarning, match="max_exact=2"):
        model.fit(X)
    np.testing.assert_allclose(model.inertia_ / len(X), 4 / np.pi, rtol=1e-3)


def test_equal_points_cost_no_exact_search():
    model = BanditKMedoids(2, algorithm="bandit", random_state=0)
    with pytest.warns(ConvergenceWarning, match="Only 1 of 2"):
        model.fit(np.ones((4000, 3)))
    assert model.inertia_ == 0
    assert len(set(model.medoid_indices_)) == 2


def test_weights_of_a_large_sample(hard_points):
    X = hard_points(2000, 3, 3)
    weights = np.random.default_rng(0).integers(1, 4, 2000)
    exact = BanditKMedoids(4, algorithm="pam").fit(X, sample_weight=weights)
    bandit = BanditKMedoids(4, algorithm="bandit", batch_size=128, random_state=0)
    bandit.fit(X, sample_weight=weights)
    np.testing.assert_array_equal(bandit.medoid_indices_, exact.medoid_indices_)
    np.testing.assert_allclose(bandit.inertia_, exact.inertia_)
