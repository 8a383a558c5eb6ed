"""best_arm: what can be asked for beside the best arm by elimination."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from sklearn_bandit.bandit import best_arm


def matrix_problem(costs):
    return lambda arms, references: costs[np.ix_(arms, references)]


def graded(seed=0, n_arms=20, n_references=5000, gap=0.2):
    rng = np.random.default_rng(seed)
    costs = rng.uniform(0, 1, (n_arms, n_references))
    return costs + gap * rng.permutation(n_arms)[:, None]


@pytest.mark.parametrize("exact", [None, True, False])
def test_maximize_is_the_search_of_negative_costs(exact):
    costs = graded()
    kwargs = {"k": 3, "random_state": 0, "cost_range": 5.0, "exact": exact}
    low = best_arm(matrix_problem(-costs), *costs.shape, **kwargs)
    high = best_arm(matrix_problem(costs), *costs.shape, maximize=True, **kwargs)
    assert_array_equal(high.best, np.argsort(-costs.mean(axis=1))[:3])
    assert_array_equal(high.best, low.best)
    assert_allclose(high.means, -low.means)
    assert_allclose(high.radii, low.radii)
    assert high.n_pulls == low.n_pulls


def test_maximize_applies_to_exact_means():
    costs = graded(gap=0.0)
    result = best_arm(
        matrix_problem(costs),
        *costs.shape,
        maximize=True,
        exact=lambda ids: costs[ids].mean(axis=1),
        random_state=0,
    )
    assert result.exact
    assert result.best[0] == costs.mean(axis=1).argmax()
    assert_allclose(result.means[result.best], costs.mean(axis=1).max())


def test_scales_of_single_arms():
    """Arms of small scale are told apart earlier; one scale for all must be large."""
    rng = np.random.default_rng(0)
    scales = np.r_[np.full(10, 0.1), 1.0]
    costs = np.linspace(0, 1, 11)[:, None] + scales[:, None] * rng.choice(
        [-1.0, 1.0], (11, 4000)
    )
    kwargs = {"radius": "hoeffding", "random_state": 0, "batch_size": 32}
    each = best_arm(matrix_problem(costs), *costs.shape, sigma=scales, **kwargs)
    same = best_arm(matrix_problem(costs), *costs.shape, sigma=1.0, **kwargs)
    assert each.best[0] == same.best[0] == 0
    assert each.n_pulls < same.n_pulls / 4
    assert each.radii[10] > each.radii[9]


def rare(rng, n_arms, share, height, n_references=20_000):
    """The first arm is the best but for a few references, on which it is the worst."""
    costs = 0.1 * rng.standard_normal((n_arms, n_references)).clip(-3, 3) + 1.0
    costs[0] -= 0.9 * share * height
    costs[0, rng.random(n_references) < share] += height
    return costs


@pytest.mark.parametrize(("n_arms", "share", "height"), [(2, 0.01, 30), (10, 0.03, 10)])
def test_differences_within_a_range_hold_for_rare_costs(n_arms, share, height):
    """The Student radius believes a batch without the rare part; a range does not."""
    n_runs, delta = 60, 0.01
    n_failed = {None: 0, height + 2.0: 0}
    for seed in range(n_runs):
        costs = rare(np.random.default_rng(seed), n_arms, share, height)
        for cost_range in n_failed:
            result = best_arm(
                matrix_problem(costs),
                *costs.shape,
                delta=delta,
                cost_range=cost_range,
                random_state=seed,
            )
            n_failed[cost_range] += result.best[0] != costs.mean(axis=1).argmin()
    assert n_failed[height + 2.0] <= stats.binom.isf(0.01, n_runs, delta)
    assert n_failed[None] > 0


@pytest.mark.parametrize("k", [1, 4])
def test_a_range_saves_pulls_where_differences_vary_little(k):
    rng = np.random.default_rng(0)
    costs = rng.uniform(0, 1, 50_000) + 0.01 * rng.uniform(-1, 1, (30, 50_000))
    costs += 0.01 * rng.permutation(30)[:, None]
    pulls = {}
    for radius in ("paired", "bernstein"):
        result = best_arm(
            matrix_problem(costs),
            *costs.shape,
            k=k,
            radius=radius,
            cost_range=1.4,
            random_state=0,
        )
        assert_array_equal(result.best, np.argsort(costs.mean(axis=1))[:k])
        pulls[radius] = result.n_pulls
    assert pulls["paired"] < pulls["bernstein"] / 4


def test_costs_beyond_the_range_are_an_error():
    costs = graded()
    with pytest.raises(ValueError, match="more than cost_range=1"):
        best_arm(matrix_problem(costs), *costs.shape, cost_range=1.0)


def test_an_unstable_effective_size_waits():
    """Large differences that only the second half of a batch has are not believed."""
    rng = np.random.default_rng(0)
    costs = 0.1 * rng.standard_normal((2, 128))
    costs[1] += 1.0
    kwargs = {"exact": False, "batch_size": 128, "max_pulls": 256}

    def pull(arms, numbers):
        return costs[np.ix_(arms, numbers)]

    assert best_arm(pull, 2, None, **kwargs).n_survivors == 1
    costs[1, 100:120] += 3.0
    assert best_arm(pull, 2, None, **kwargs).n_survivors == 2


@pytest.mark.parametrize("n_references", [None, 100_000])
def test_sequential_halving_spends_its_budget(n_references):
    n_arms, n_right, budget = 64, 0, 64 * 6 * 40
    for seed in range(60):
        rng = np.random.default_rng(seed)
        means = rng.permutation(np.r_[0.0, np.full(n_arms - 1, 0.5)])
        result = best_arm(
            lambda arms, refs, rng=rng, means=means: (
                means[arms, None] + rng.standard_normal((len(arms), len(refs)))
            ),
            n_arms,
            n_references,
            method="sequential-halving",
            max_pulls=budget,
            history=True,
            random_state=seed,
        )
        assert 0.9 * budget < result.n_pulls <= budget
        sizes = [len(step.survivors) for step in result.history]
        assert sizes == [32, 16, 8, 4, 2, 1]
        n_right += result.best[0] == means.argmin()
    assert n_right >= 54
    assert not result.exact


def test_sequential_halving_with_a_large_budget_is_exact():
    costs = graded(gap=0.0, n_references=500)
    result = best_arm(
        matrix_problem(costs),
        *costs.shape,
        k=2,
        method="sequential-halving",
        max_pulls=10**6,
    )
    assert result.exact
    assert_array_equal(result.best, np.argsort(costs.mean(axis=1))[:2])


def test_median_elimination_is_within_its_tolerance():
    n_runs, delta, tol = 100, 0.1, 0.3
    n_failed = 0
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        means = rng.uniform(0, 1, 16)

        def pull(arms, references, rng=rng, means=means):
            draws = rng.random((len(arms), len(references)))
            return (draws < means[arms, None]).astype(float)

        result = best_arm(
            pull,
            16,
            None,
            method="median-elimination",
            delta=delta,
            tol=tol,
            cost_range=1.0,
        )
        n_failed += means[result.best[0]] > means.min() + tol
        assert result.n_survivors == 1
    assert n_failed <= stats.binom.isf(0.01, n_runs, delta)


def test_median_elimination_of_few_references_is_exact():
    costs = graded(gap=0.0, n_references=100)
    result = best_arm(
        matrix_problem(costs),
        *costs.shape,
        method="median-elimination",
        tol=0.1,
        cost_range=1.0,
    )
    assert result.exact
    assert result.best[0] == costs.mean(axis=1).argmin()
    assert result.n_pulls == costs.size


def test_history_ends_with_the_survivors():
    costs = graded(gap=0.02)
    result = best_arm(matrix_problem(costs), *costs.shape, history=True, random_state=0)
    assert best_arm(matrix_problem(costs), *costs.shape).history is None
    assert len(result.history) >= result.n_rounds
    assert_array_equal(result.history[-1].survivors, result.survivors)
    assert result.history[-1].n_pulls == result.n_pulls
    for before, after in zip(result.history, result.history[1:], strict=False):
        assert set(after.survivors) <= set(before.survivors)
        assert after.n_references > before.n_references


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"method": "halving"}, "'method' parameter"),
        ({"method": "sequential-halving"}, "max_pulls"),
        ({"method": "sequential-halving", "max_pulls": 99, "delta": 0}, "delta=0"),
        ({"method": "median-elimination", "tol": 0.1}, "sigma or cost_range"),
        ({"method": "median-elimination", "cost_range": 1.0}, "tol > 0"),
        ({"method": "median-elimination", "tol": 1, "sigma": 1, "k": 2}, "one arm"),
        ({"method": "sequential-halving", "max_pulls": 4}, "at least 5 are needed"),
        ({"sigma": [1.0, 2.0]}, "one for each of the 5 arms"),
        ({"sigma": [1.0, 2.0, 0.0, 1.0, 1.0]}, "positive and finite"),
        ({"sigma": [1.0, 2.0, np.nan, 1.0, 1.0]}, "positive and finite"),
        ({"cost_range": 0.0}, "'cost_range' parameter"),
        ({"maximize": "yes"}, "'maximize' parameter"),
        ({"history": 3}, "'history' parameter"),
    ],
)
def test_bad_options(kwargs, message):
    costs = np.random.default_rng(0).random((5, 100))
    with pytest.raises(ValueError, match=message):
        best_arm(matrix_problem(costs), 5, 100, **kwargs)
