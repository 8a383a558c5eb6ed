"""Minimal variance sampling: probabilities, draws, and what models make of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import average_precision_score, log_loss
from sklearn_bandit.ensemble._boosting._sampling.importance import RowDraw, solve_mu
from threadpoolctl import threadpool_limits

from sklearn_bandit.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn_bandit.ensemble._boosting._sampling.row_weight import rarest_class
from sklearn_bandit.ensemble._boosting.policy import BoostingPolicy


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1, user_api="openmp"):
        yield


def make_pairs(n_trees=1, n=20_000, seed=0):
    """Gradients with a heavy tail, and hessians."""
    rng = np.random.default_rng(seed)
    pairs = rng.standard_normal((n_trees, n, 2)).astype(np.float32)
    pairs[..., 0] **= 3
    pairs[..., 1] = np.abs(pairs[..., 1])
    return pairs


def make_regression(n=40_000, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, 5)).astype(np.float32)
    return X, X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(n)


def make_draw(pairs, curvature, size, n_threads=1):
    draw = RowDraw(pairs.shape[1], n_threads)
    draw.score(pairs, curvature, size)
    return draw


SAMPLED = {"solver": "mab", "early_stopping": False, "random_state": 0}


def test_mu_by_hand():
    # 8 is certain; the others share the second row: 4 / 8 + 2 / 8 + 2 / 8 = 1.
    assert solve_mu(np.array([2.0, 8.0, 4.0, 2.0]), 2) == 8.0
    # None is certain.
    assert solve_mu(np.array([1.0, 1.0, 1.0, 1.0]), 2) == 2.0
    # Two are certain, 1 / 3 each of the others.
    assert_allclose(solve_mu(np.array([9.0, 1.0, 9.0, 1.0, 1.0]), 3), 3.0)
    assert solve_mu(np.array([1.0, 2.0, 0.0]), 2) == 0.0
    assert solve_mu(np.zeros(3), 2) == 0.0


@pytest.mark.parametrize("n", [5, 1000, 16_387])
@pytest.mark.parametrize("power", [0.0, 1.0, 4.0])
@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
def test_probabilities_add_up_to_the_size(n, power, share):
    scores = np.random.default_rng(n).exponential(size=n) ** power
    size = max(1.0, share * n)
    mu = solve_mu(scores, size)
    assert_allclose(np.minimum(1.0, scores / mu).sum(), size, rtol=1e-9)
    # What has no score, or none that is a number, changes nothing.
    odd = np.concatenate([scores, [0.0, np.nan, -1.0]])
    assert_allclose(solve_mu(odd, size), mu, rtol=1e-12)


@pytest.mark.parametrize("n_trees", [1, 3])
def test_probabilities_by_hand(n_trees):
    pairs, curvature = make_pairs(n_trees, 10_000), 0.7
    p = make_draw(pairs, curvature, 1000).probabilities
    g, h = np.moveaxis(pairs.astype(float), -1, 0)
    scores = np.sqrt((g**2 + curvature * h**2).sum(axis=0))
    assert_allclose(p, np.minimum(1.0, scores / solve_mu(scores, 1000)), rtol=1e-5)
    assert_allclose(p.sum(), 1000, rtol=1e-4)
    assert p.max() == 1.0


@pytest.mark.parametrize("point", [0.0, 0.3, 1.0])
def test_draws_by_hand(point):
    # A row is drawn where the sum of the probabilities passes a whole number; the last
    # task has seven rows.
    draw = make_draw(make_pairs(n=3 * 4096 + 7), 0.5, 3000)
    p = draw.probabilities
    sums = np.cumsum((p * np.float32(2**30)).astype(np.int64))
    sums += int(point * (2**30 - 1))
    rows, weights = draw.draw(point, 2.0)
    assert_array_equal(rows, np.flatnonzero(np.diff(sums >> 30, prepend=0)))
    assert_allclose(weights, 2.0 / p[rows], rtol=1e-6)


def test_every_row_is_drawn_with_its_probability():
    draw = make_draw(make_pairs(), 0.5, 3000)
    n_draws, counts = 1000, np.zeros(20_000)
    for i in range(n_draws):
        rows, _ = draw.draw((i + 0.5) / n_draws)
        assert np.all(np.diff(rows.astype(int)) > 0)
        assert abs(len(rows) - draw.probabilities.sum(dtype=float)) <= 1.0
        counts[rows] += 1
    # Equally spaced points hit an interval as often as its length says, up to one.
    assert np.abs(counts - n_draws * draw.probabilities).max() <= 1.0 + 1e-3


def test_weighted_sums_are_unbiased_and_vary_less_than_uniform_ones():
    pairs = make_pairs()
    draw = make_draw(pairs, 0.5, 1000)
    side = np.arange(20_000) % 3 == 0  # one side of a split
    exact = pairs[0, side].sum(axis=0, dtype=float)
    rng = np.random.default_rng(0)
    weighted, uniform = [], []
    for _ in range(2000):
        rows, weights = draw.draw(rng.uniform())
        kept = side[rows] * weights
        weighted.append(kept @ pairs[0, rows].astype(float))
        rows = rng.choice(20_000, 1000)
        uniform.append(20.0 * side[rows] @ pairs[0, rows].astype(float))
    error = np.std(weighted, axis=0) / np.sqrt(2000)
    assert np.all(np.abs(np.mean(weighted, axis=0) - exact) < 4.5 * error)
    assert np.std(weighted, axis=0)[0] < 0.5 * np.std(uniform, axis=0)[0]


def test_draws_are_the_same_for_any_number_of_threads():
    pairs = make_pairs(2, 50_001)
    one, three = (make_draw(pairs, 0.5, 7000, n) for n in (1, 3))
    assert_array_equal(one.probabilities, three.probabilities)
    for point in (0.0, 0.3, 0.999, 1.0):
        for first, second in zip(one.draw(point), three.draw(point), strict=True):
            assert_array_equal(first, second)


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_scores_that_give_no_order(value):
    pairs = np.full((1, 5000, 2), value, dtype=np.float32)
    rows, weights = make_draw(pairs, 0.5, 100).draw(0.5, scale=3.0)
    assert_array_equal(rows, np.arange(5000))
    assert_array_equal(weights, 3.0)


def test_probabilities_are_set_anew_for_each_tree():
    """Nothing of the tree before is left in the room that both use."""
    draw = make_draw(make_pairs(seed=1), 0.5, 3000)
    draw.score(make_pairs(), 0.2, 500)
    expected = make_draw(make_pairs(), 0.2, 500)
    assert_array_equal(draw.probabilities, expected.probabilities)
    rows, weights = draw.draw(0.3, scale=2.0)
    assert_array_equal(rows, expected.draw(0.3)[0])
    assert_allclose(weights, 2.0 / expected.probabilities[rows], rtol=1e-6)


def test_l2_means_what_it_means_in_exact():
    """The first tree's values are as large, though the sample is a tenth."""
    X, y = make_regression()

    def spread(solver, l2):
        model = HistGradientBoostingRegressor(
            max_iter=1,
            learning_rate=1.0,
            l2_regularization=l2,
            batch_size=4000,
            **SAMPLED | {"solver": solver},
        ).fit(X, y)
        return np.std(model.predict(X))

    # Sums that are not scaled to all rows would act like ten times the term.
    assert spread("exact", 20_000.0) < 0.55 * spread("exact", 2000.0)
    # Over six seeds the two differ by 0.8% (standard deviation), at most by 1.8%.
    assert_allclose(spread("mab", 2000.0), spread("exact", 2000.0), rtol=0.04)


def test_large_leaves_are_as_large_as_in_exact():
    """`min_samples_leaf` counts all rows, not those of the sample."""
    X, y = make_regression()
    model = HistGradientBoostingRegressor(
        max_iter=1, min_samples_leaf=4000, batch_size=4000, **SAMPLED
    ).fit(X, y)
    nodes = model._predictors[0][0].nodes
    leaves = nodes[nodes["is_leaf"] == 1]
    assert len(leaves) >= 4
    # A sample knows the number of rows up to its noise, and weighs heavy rows more.
    assert leaves["count"].min() > 2000


def test_counts_of_nodes_are_those_of_all_rows():
    X, y = make_regression()
    model = HistGradientBoostingRegressor(
        max_iter=1, max_leaf_nodes=8, batch_size=2000, learning_rate=1.0, **SAMPLED
    ).fit(X, np.exp(y))
    nodes = model._predictors[0][0].nodes
    assert_allclose(nodes["count"][0], len(X), rtol=0.001)
    values, counts = np.unique(model.predict(X), return_counts=True)
    leaves = nodes[nodes["is_leaf"] == 1]
    expected = leaves["count"][np.argsort(leaves["value"])].astype(float)
    assert len(values) == len(leaves)
    assert_allclose(counts, expected, rtol=0.2, atol=60)


def test_rare_class_is_as_good_as_exact():
    """With a sample of a tenth of the rows; uniform samples lose a multiple of it."""
    ratios = []
    for seed in range(3):
        rng = np.random.RandomState(seed)
        X = rng.standard_normal((120_000, 6)).astype(np.float32)
        score = 1.8 * X[:, 0] + X[:, 1] * X[:, 2] - 6.5
        y = rng.rand(len(X)) < 1 / (1 + np.exp(-score))
        train, test = slice(0, 80_000), slice(80_000, None)
        scores = {}
        for solver in ("exact", "mab"):
            model = HistGradientBoostingClassifier(
                max_iter=30,
                l2_regularization=1.0,
                batch_size=8000,
                sample_tol=np.inf,
                **SAMPLED | {"solver": solver},
            ).fit(X[train], y[train])
            p = model.predict_proba(X[test])[:, 1]
            scores[solver] = log_loss(y[test], p), average_precision_score(y[test], p)
        assert 0.003 < y.mean() < 0.02
        assert model.n_sampled_iterations_ == 30
        ratios.append(np.divide(scores["mab"], scores["exact"]))
    loss, precision = np.mean(ratios, axis=0)
    assert loss < 1.03
    assert precision > 0.93


def test_auto_wants_rows_of_the_rarest_class():
    policy = BoostingPolicy()
    assert policy.samples_rows(500_000, 1000)
    assert not policy.samples_rows(500_000, 999)
    assert not policy.samples_rows(499_999, 100_000)
    assert rarest_class(np.array([0.0, 2.0, 2.0, 0.0, 1.0])) == 1
    assert rarest_class(np.array([0, 0, 0, 3, 3])) == 2


def best_steps(loss, y, base, weights, leaf):
    """Best steps of leaves from all rows: Newton's, or the best constants."""
    if loss.differentiable:
        g, h = loss.gradient_hessian(
            y_true=y, raw_prediction=np.full(len(y), base), sample_weight=weights
        )
        return -np.bincount(leaf, g) / np.bincount(leaf, np.broadcast_to(h, g.shape))
    return np.array(
        [
            loss.fit_intercept_only(
                y_true=y[leaf == i] - base,
                sample_weight=None if weights is None else weights[leaf == i],
            )
            for i in range(leaf.max() + 1)
        ]
    )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "loss", ["squared_error", "absolute_error", "gamma", "poisson", "quantile"]
)
def test_steps_of_all_losses_are_those_of_all_rows(loss, weighted):
    """Up to noise: heavy rows are drawn more often and count less.

    The slope of the sample's steps over the best ones was 0.97 to 1.03 over six seeds.
    With equal weights of all sampled rows it was 1.11 to 1.24 for the squared error.
    """
    X, y = make_regression(30_000)
    y = np.exp(y / 4)
    rng = np.random.RandomState(0)
    weights = rng.exponential(size=len(y)) if weighted else None
    model = HistGradientBoostingRegressor(
        loss=loss,
        quantile=0.9 if loss == "quantile" else None,
        max_iter=1,
        max_leaf_nodes=8,
        learning_rate=1.0,
        batch_size=6000,
        **SAMPLED,
    ).fit(X, y, weights)
    assert model.n_sampled_iterations_ == 1
    base = model._baseline_prediction[0, 0]
    steps, leaf = np.unique(model._raw_predict(X)[:, 0] - base, return_inverse=True)
    assert len(steps) == 8
    best = best_steps(model._loss, y, base, weights, leaf)
    counts = np.bincount(leaf)
    slope = (counts * best) @ steps / ((counts * best) @ best)
    assert_allclose(slope, 1.0, atol=0.05)


def test_models_tell_whether_they_sampled():
    X, y = make_regression()
    model = HistGradientBoostingRegressor(max_iter=8, batch_size=4000, **SAMPLED)
    model.fit(X, y)
    assert model.sample_sizes_.shape == (8,)
    assert_allclose(model.sample_sizes_[0], 4000, rtol=0.05)
    assert model.n_sampled_iterations_ == 8
    model.set_params(warm_start=True, max_iter=10).fit(X, y)
    assert model.sample_sizes_.shape == (10,)
    model.set_params(warm_start=False, solver="exact").fit(X, y)
    assert_array_equal(model.sample_sizes_, np.full(10, len(X)))
    assert model.n_sampled_iterations_ == 0


def test_no_tolerance_is_exact():
    X, y = make_regression(20_000)
    exact, mab = (
        HistGradientBoostingRegressor(
            max_iter=3, batch_size=1000, sample_tol=0.0, **SAMPLED | {"solver": solver}
        ).fit(X, y)
        for solver in ("exact", "mab")
    )
    assert_array_equal(exact.predict(X), mab.predict(X))
    assert mab.n_sampled_iterations_ == 0


def test_heavy_tails_take_more_rows_from_the_start():
    """A small working set has next to none of the rows that matter."""
    X, y = make_regression(60_000)
    sizes = {}
    for name, target in (("normal", y), ("heavy", np.exp(3.0 * y))):
        model = HistGradientBoostingRegressor(
            max_iter=1, batch_size=1000, **SAMPLED | {"early_stopping": True}
        )
        model.set_params(validation_fraction=None).fit(X, target)
        sizes[name] = model._sampling_state.n_rows
    assert sizes["normal"] < 30_000
    assert sizes["heavy"] == 60_000


def test_only_the_tree_of_a_rare_class_has_values_from_all_rows_alone():
    """The values of other classes are no worse for one that is rare."""
    X, score = make_regression()
    y = np.digitize(score, np.quantile(score, [0.5, 0.97]))
    model = HistGradientBoostingClassifier(
        max_iter=1, max_leaf_nodes=8, learning_rate=1.0, batch_size=5000, **SAMPLED
    ).fit(X, y)
    assert model.n_sampled_iterations_ == 1
    assert model._sampling_state.n_rows == len(y)
    base = model._baseline_prediction
    errors = []
    for k, p in enumerate(np.bincount(y) / len(y)):
        raw = model._raw_predict(X)[:, k] - base[0, k]
        steps, leaf = np.unique(raw, return_inverse=True)
        best = np.bincount(leaf, (y == k) - p) / (np.bincount(leaf) * p * (1 - p))
        errors.append(np.abs(steps - best).max())
    assert errors[2] < 1e-4
    assert min(errors[:2]) > 1e-3


@pytest.mark.parametrize("value", [-0.1, np.nan, "all", None])
def test_bad_tolerances(value):
    X, y = make_regression(100)
    with pytest.raises(ValueError, match="sample_tol"):
        HistGradientBoostingRegressor(sample_tol=value).fit(X, y)
