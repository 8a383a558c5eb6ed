"""best_arm: identification counted over seeds, cost, fall-back, budget, bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from sklearn_bandit.bandit import best_arm

N_ARMS = 20
DELTA = 0.1


def matrix_problem(costs):
    """Rewards given as a matrix of arms by references."""
    return lambda arms, references: costs[np.ix_(arms, references)]


class Stream:
    """Arms with fresh costs for every pull: k good ones among equal others."""

    def __init__(self, kind, k, seed, gap=0.25):
        self.rng = np.random.default_rng(seed)
        self.kind = kind
        means = np.full(N_ARMS, gap)
        means[:k] = 0
        if kind == "sparse":
            means = 0.02 + 0.2 * means
        self.means = self.rng.permutation(means)
        self.best = set(np.flatnonzero(self.means < self.means.max()))

    def __call__(self, arms, references):
        shape = len(arms), len(references)
        means = self.means[arms][:, None]
        if self.kind == "gaussian":
            return means + self.rng.standard_normal(shape)
        if self.kind == "common noise":
            shared = 3 * self.rng.standard_normal(len(references))
            return means + shared + 0.5 * self.rng.standard_normal(shape)
        if self.kind == "bernoulli":
            return (self.rng.random(shape) < 0.4 + means).astype(float)
        if self.kind == "sparse":
            return (self.rng.random(shape) < means).astype(float)
        if self.kind == "heavy-tailed":
            return means + self.rng.standard_t(3, shape)
        return means + 1 - self.rng.exponential(1, shape)  # "skewed"


KINDS = ["gaussian", "common noise", "bernoulli", "sparse", "heavy-tailed", "skewed"]


@pytest.mark.parametrize("k", [1, 5, 10])
@pytest.mark.parametrize("kind", KINDS)
def test_failure_rate_is_at_most_delta(kind, k):
    """With the fall-back disabled: the elimination itself is right."""
    n_runs = 200
    n_failures = 0
    for seed in range(n_runs):
        stream = Stream(kind, k, seed)
        result = best_arm(
            stream,
            N_ARMS,
            None,
            k=k,
            delta=DELTA,
            exact=False,
            batch_size=64,
            max_pulls=N_ARMS * 200_000,
        )
        assert not result.exact
        n_failures += set(result.best) != stream.best
    assert n_failures <= stats.binom.isf(0.01, n_runs, DELTA)


@pytest.mark.parametrize("k", [1, 5, 10])
@pytest.mark.parametrize("radius", ["paired", "normal", "bernstein", "hoeffding"])
def test_failure_rate_on_finite_populations(radius, k):
    n_runs, n_references = 100, 2000
    n_failures = n_sampled = 0
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        costs = rng.uniform(0, 1, (N_ARMS, n_references))
        costs += rng.permutation(np.arange(N_ARMS) >= k)[:, None] * 0.3
        result = best_arm(
            matrix_problem(costs),
            N_ARMS,
            n_references,
            k=k,
            delta=DELTA,
            radius=radius,
            cost_range=1.3,
            exact=False,
            batch_size=64,
            random_state=seed,
        )
        truth = np.argsort(costs.mean(axis=1))[:k]
        n_failures += set(result.best) != set(truth)
        n_sampled += result.n_pulls
    assert n_failures <= stats.binom.isf(0.01, n_runs, DELTA)
    if radius in ("paired", "normal"):
        assert n_sampled < 0.6 * n_runs * costs.size


def mean_pulls(gap, n_references, n_runs=40):
    pulls = []
    for seed in range(n_runs):
        rng = np.random.default_rng(seed)
        means = np.full(N_ARMS, gap)
        means[0] = 0
        result = best_arm(
            lambda arms, refs, rng=rng, means=means: (
                means[arms][:, None] + rng.standard_normal((len(arms), len(refs)))
            ),
            N_ARMS,
            n_references,
            batch_size=8,
            exact=False,
            max_pulls=N_ARMS * 20_000,
        )
        pulls.append(result.n_pulls)
    return np.mean(pulls)


def test_cost_grows_as_the_inverse_square_of_the_gap():
    ratio = mean_pulls(0.1, None) / mean_pulls(0.4, None)
    assert 16 / 2 < ratio < 16 * 2


def test_cost_does_not_grow_with_the_number_of_references():
    small, large = mean_pulls(0.4, 10_000), mean_pulls(0.4, 1_000_000)
    assert large < 1.25 * small


def test_pairing_saves_pulls_on_common_noise():
    rng = np.random.default_rng(0)
    costs = rng.standard_normal(20_000) * 5 + rng.standard_normal((50, 20_000))
    costs += np.arange(50)[:, None] * 0.3
    pulls = {
        radius: best_arm(
            matrix_problem(costs), 50, 20_000, radius=radius, random_state=0
        ).n_pulls
        for radius in ("paired", "normal")
    }
    assert pulls["paired"] < pulls["normal"] / 5


def test_equal_arms_fall_back_to_exact():
    costs = np.tile(np.random.default_rng(0).random(3000), (6, 1))
    result = best_arm(matrix_problem(costs), 6, 3000, k=2, random_state=0)
    assert result.exact
    assert result.n_survivors == 6
    assert_array_equal(result.best, [0, 1])
    assert_allclose(result.means, costs.mean(axis=1))
    assert result.n_pulls == 6 * 3000
    assert_array_equal(result.radii, 0)


def test_near_ties_are_given_up_early():
    """The prediction sends hopeless cases to the exact method after a few rounds."""
    rng = np.random.default_rng(0)
    costs = rng.standard_normal((30, 100_000)).astype(np.float32)
    calls = []

    def exact(arms):
        calls.append(arms)
        return costs[arms].mean(axis=1, dtype=np.float64)

    result = best_arm(matrix_problem(costs), 30, 100_000, exact=exact, random_state=0)
    assert result.exact
    assert len(calls) == 1
    assert result.best[0] == costs.mean(axis=1, dtype=np.float64).argmin()
    assert result.n_pulls < 1.2 * costs.size
    assert_allclose(result.means[calls[0]], exact(calls[0]))


def test_delta_zero_is_exact():
    costs = np.random.default_rng(0).standard_normal((40, 500))
    result = best_arm(matrix_problem(costs), 40, 500, k=3, delta=0)
    assert result.exact
    assert_array_equal(result.best, np.argsort(costs.mean(axis=1))[:3])
    assert result.n_pulls == costs.size
    assert_allclose(result.means, costs.mean(axis=1))


def test_one_arm_and_all_arms_need_no_pull():
    costs = np.random.default_rng(0).standard_normal((4, 100))
    one = best_arm(matrix_problem(costs[:1]), 1, 100)
    assert_array_equal(one.best, [0])
    everything = best_arm(matrix_problem(costs), 4, 100, k=4)
    assert_array_equal(everything.best, np.arange(4))
    assert one.n_pulls == everything.n_pulls == 0
    ranked = best_arm(matrix_problem(costs), 4, 100, k=4, delta=0)
    assert_array_equal(ranked.best, np.argsort(costs.mean(axis=1)))


def test_one_reference():
    result = best_arm(lambda a, r: np.array([[3.0], [1.0], [2.0]])[a], 3, 1)
    assert_array_equal(result.best, [1])
    assert result.exact


@pytest.mark.parametrize("max_pulls", [20, 500, 5000])
def test_budget_is_kept(max_pulls):
    stream = Stream("gaussian", 1, seed=0, gap=0.05)
    n_seen = 0

    def pull(arms, references):
        nonlocal n_seen
        n_seen += len(arms) * len(references)
        return stream(arms, references)

    result = best_arm(pull, N_ARMS, 10_000, max_pulls=max_pulls, random_state=0)
    assert result.n_pulls == n_seen <= max_pulls
    assert len(result.best) == 1
    assert not result.exact


@pytest.mark.parametrize("max_pulls", [1, 19])
@pytest.mark.parametrize("delta", [0, 0.01])
def test_budgets_too_small_to_begin_with_are_refused(max_pulls, delta):
    """Nothing would be known of any arm, and the first would be taken for the best."""
    stream = Stream("gaussian", 1, seed=0, gap=0.05)
    with pytest.raises(ValueError, match="at least 20 are needed"):
        best_arm(stream, N_ARMS, 10_000, max_pulls=max_pulls, delta=delta)
    with pytest.raises(ValueError, match="at least 20000 are needed"):
        best_arm(
            stream, N_ARMS, 1000, max_pulls=19_999, delta=0, exact=lambda ids: 1.0 * ids
        )
    # Nothing has to be known where all are wanted.
    result = best_arm(stream, N_ARMS, 1000, k=N_ARMS, max_pulls=max_pulls)
    assert len(result.best) == N_ARMS


def test_budget_finds_clear_winners():
    n_right = 0
    for seed in range(50):
        stream = Stream("gaussian", 1, seed, gap=1.0)
        result = best_arm(stream, N_ARMS, None, max_pulls=N_ARMS * 40)
        n_right += set(result.best) == stream.best
    assert n_right >= 45


def test_tolerance_stops_among_near_ties():
    rng = np.random.default_rng(0)
    means = np.r_[0.0, 0.001, np.full(18, 0.5)]
    costs = means[:, None] + rng.standard_normal((20, 50_000))
    result = best_arm(matrix_problem(costs), 20, 50_000, tol=0.1, random_state=0)
    assert not result.exact
    assert result.best[0] in (0, 1)
    assert result.n_pulls < costs.size / 4


def test_same_seed_same_answer():
    costs = np.random.default_rng(0).standard_normal((30, 5000))
    first, second = (
        best_arm(matrix_problem(costs), 30, 5000, random_state=7) for _ in range(2)
    )
    assert_array_equal(first.best, second.best)
    assert_array_equal(first.means, second.means)
    assert first.n_pulls == second.n_pulls


problems = st.tuples(st.integers(2, 12), st.integers(1, 300), st.integers(0, 2**32 - 1))


@settings(max_examples=60, deadline=None)
@given(problems, st.integers(0, 1000))
def test_permuting_the_arms_permutes_the_answer(problem, seed):
    n_arms, n_references, data_seed = problem
    rng = np.random.default_rng(data_seed)
    costs = rng.standard_normal((n_arms, n_references))
    order = rng.permutation(n_arms)
    k = min(2, n_arms - 1)
    kwargs = {"k": k, "batch_size": 20, "random_state": seed}
    result = best_arm(matrix_problem(costs), n_arms, n_references, **kwargs)
    permuted = best_arm(matrix_problem(costs[order]), n_arms, n_references, **kwargs)
    assert_array_equal(order[permuted.best], result.best)
    assert permuted.n_pulls == result.n_pulls


@settings(max_examples=60, deadline=None)
@given(problems, st.floats(-1e6, 1e6))
def test_adding_a_constant_changes_nothing(problem, constant):
    n_arms, n_references, data_seed = problem
    # Multiples of 1/64 keep the sums exact whatever the constant is rounded to.
    rng = np.random.default_rng(data_seed)
    costs = rng.integers(-500, 500, (n_arms, n_references)) / 64
    constant = np.round(constant)
    kwargs = {"batch_size": 20, "random_state": 0}
    result = best_arm(matrix_problem(costs), n_arms, n_references, **kwargs)
    moved = best_arm(matrix_problem(costs + constant), n_arms, n_references, **kwargs)
    assert_array_equal(moved.best, result.best)
    assert moved.n_pulls == result.n_pulls


@settings(max_examples=60, deadline=None)
@given(problems, st.integers(1, 4), st.sampled_from(["paired", "normal"]))
def test_answer_is_sorted_and_distinct(problem, k, radius):
    n_arms, n_references, data_seed = problem
    costs = np.random.default_rng(data_seed).integers(0, 3, (n_arms, n_references))
    k = min(k, n_arms)
    result = best_arm(
        matrix_problem(costs.astype(float)), n_arms, n_references, k=k, radius=radius
    )
    assert len(set(result.best)) == k
    if result.n_pulls:
        assert (np.diff(result.means[result.best]) >= 0).all()


def test_repr_says_how_the_answer_was_found():
    costs = np.random.default_rng(0).standard_normal((10, 1000)) / 10
    costs += np.arange(10)[:, None]
    result = best_arm(matrix_problem(costs), 10, 1000, k=7)
    assert "[0, 1, 2, 3, 4, ...] of 10 arms, by elimination" in repr(result)
    assert "exactly" in repr(best_arm(matrix_problem(costs), 10, 1000, delta=0))
    short = best_arm(matrix_problem(costs * 0), 10, 1000, exact=False, max_pulls=50)
    assert "10 not told apart" in repr(short)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"k": 6}, "only 5"),
        ({"k": 0}, "'k' parameter"),
        ({"delta": 1.0}, "'delta' parameter"),
        ({"radius": "student"}, "'radius' parameter"),
        ({"radius": "hoeffding"}, "needs sigma or cost_range"),
        ({"radius": "bernstein"}, "needs cost_range"),
        ({"delta": 0, "exact": False}, "delta=0"),
        ({"delta": 0, "n_references": None}, "delta=0"),
        ({"batch_size": 0}, "'batch_size' parameter"),
        ({"pull": None}, "'pull' parameter"),
    ],
)
def test_bad_arguments(kwargs, message):
    costs = np.random.default_rng(0).standard_normal((5, 100))
    kwargs = {
        "pull": matrix_problem(costs),
        "n_arms": 5,
        "n_references": 100,
        **kwargs,
    }
    with pytest.raises(ValueError, match=message):
        best_arm(**kwargs)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_costs_that_are_not_finite(bad):
    costs = np.zeros((5, 100))
    costs[2, 3] = bad
    with pytest.raises(ValueError, match="NaN or infinity"):
        best_arm(matrix_problem(costs), 5, 100)


def test_costs_of_wrong_shape():
    with pytest.raises(ValueError, match=r"pull must return an array of shape"):
        best_arm(lambda a, r: np.zeros(len(a)), 5, 100)
    with pytest.raises(ValueError, match="exact must return"):
        best_arm(
            lambda a, r: np.zeros((len(a), len(r))),
            5,
            1000,
            exact=lambda a: np.zeros(2),
        )


def test_errors_of_the_callable_come_through():
    def pull(arms, references):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        best_arm(pull, 5, 100)
