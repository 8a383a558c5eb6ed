"""Trees on samples: exact where they must be, close to it where they may differ."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss
from sklearn_bandit.ensemble._boosting._sampling.row_sampling import draw_rounds
from threadpoolctl import threadpool_limits

from sklearn_bandit.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn_bandit.ensemble._boosting import fitting
from sklearn_bandit.ensemble._boosting._sampling.joining import SAMPLES_OF_SET
from sklearn_bandit.ensemble._boosting.policy import BoostingPolicy
from sklearn_bandit.ensemble._boosting.sampled_booster import SampledBooster

N_TRAIN, N_TEST = 60_000, 20_000


@pytest.fixture(autouse=True)
def one_thread():
    with threadpool_limits(1, user_api="openmp"):
        yield


def make_data(seed=0, n=N_TRAIN + N_TEST):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, 8)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + np.abs(X[:, 3])
    X[rng.rand(*X.shape) < 0.03] = np.nan
    X[:, 7] = np.round(X[:, 7] * 3)
    return X, signal + rng.standard_normal(n)


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture
def sizes(monkeypatch):
    """Sizes of the samples of all trees, in order."""
    seen = []
    iterate = SampledBooster.iterate

    def watched(self, rng):
        seen.append(self.state.size)
        return iterate(self, rng)

    monkeypatch.setattr(SampledBooster, "iterate", watched)
    return seen


@pytest.fixture
def boosters(monkeypatch):
    """Boosters of all fits, in order."""
    seen = []
    make = fitting.BanditBoosting._make_booster

    def keep(self, *args, **kwargs):
        seen.append(make(self, *args, **kwargs))
        return seen[-1]

    monkeypatch.setattr(fitting.BanditBoosting, "_make_booster", keep)
    return seen


def rows_of(booster):
    """The rows that have joined, in order."""
    data = booster.data
    return draw_rounds(
        data.n_samples, booster.round_size, booster.seed, 0, data.n_rows, 1
    )


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson"])
def test_a_sample_of_all_rows_is_exact(data, loss):
    X, y = data[0][:3000], np.exp(data[1][:3000] / 5)
    shared = {"max_iter": 4, "random_state": 0, "loss": loss}
    exact = HistGradientBoostingRegressor(solver="exact", **shared).fit(X, y)
    sampled = HistGradientBoostingRegressor(
        solver="mab", batch_size=3000, **shared
    ).fit(X, y)
    assert_array_equal(exact.predict(X), sampled.predict(X))
    assert exact.n_insertions_ == sampled.n_insertions_


@pytest.mark.parametrize("max_iter", [1, 6, 40])
def test_what_training_knows_of_the_rows_that_joined(data, max_iter, boosters):
    """It is what the data say and the trees predict, whenever they joined."""
    X, y = data[0], np.digitize(data[1], [0.0, 1.5])
    weights = np.random.RandomState(0).rand(len(y))
    model = HistGradientBoostingClassifier(
        max_iter=max_iter,
        solver="mab",
        batch_size=1000,
        early_stopping=False,
        random_state=0,
    ).fit(X, y, sample_weight=weights)
    (booster,) = boosters
    rows = rows_of(booster)
    if max_iter == 1:
        assert len(rows) == SAMPLES_OF_SET * 1000
    else:
        assert len(rows) >= SAMPLES_OF_SET * 2000
    data = booster.data
    assert len(np.unique(rows)) == len(rows)
    assert_array_equal(data.y, y[rows])
    assert_array_equal(data.sample_weight, weights[rows])
    assert_allclose(data.raw, model.decision_function(X[rows]), rtol=1e-9, atol=1e-9)


def test_loss_is_close_to_that_of_exact():
    """Within 1% at the same number of trees, over seeds, with far fewer insertions."""
    for seed in range(3):
        X, y = make_data(seed)
        y = y > 0.8
        shared = {"max_iter": 30, "early_stopping": False, "random_state": seed}
        losses = {}
        for solver in ("exact", "mab"):
            model = HistGradientBoostingClassifier(
                solver=solver, batch_size=8000, **shared
            ).fit(X[:N_TRAIN], y[:N_TRAIN])
            losses[solver] = log_loss(y[N_TRAIN:], model.predict_proba(X[N_TRAIN:]))
            if solver == "exact":
                insertions = model.n_insertions_
        assert losses["mab"] < 1.01 * losses["exact"]
        assert model.n_insertions_ < 0.5 * insertions


def test_early_trees_see_few_rows(data, boosters):
    """What a fit reads does not depend on how many rows there are."""
    X, y = data
    settings = {"max_iter": 5, "solver": "mab", "batch_size": 2000, "random_state": 0}
    HistGradientBoostingRegressor(early_stopping=False, **settings).fit(X, y)
    assert boosters[0].data.n_rows == SAMPLES_OF_SET * 2000


def test_the_working_set_grows_with_its_use(data, boosters):
    """Even where the first sample is large enough for all trees."""
    X, y = data
    settings = {"solver": "mab", "batch_size": 2000, "sample_tol": np.inf}
    n_rows = []
    for max_iter in (10, 40, 160):
        HistGradientBoostingRegressor(
            max_iter=max_iter,
            max_leaf_nodes=8,
            early_stopping=False,
            random_state=0,
            **settings,
        ).fit(X, y)
        n_rows.append(boosters[-1].data.n_rows)
        assert boosters[-1].state.size == 2000
    assert n_rows[0] == SAMPLES_OF_SET * 2000
    assert n_rows == sorted(set(n_rows))


def test_values_that_only_late_rows_have(boosters):
    """Missing values and categories that no row of the first trees has."""
    n = 20_000
    rng = np.random.RandomState(0)
    X = rng.standard_normal((n, 3))
    X[:, 1] = rng.randint(3, size=n)
    y = X[:, 0] + X[:, 1] + 0.1 * rng.standard_normal(n)
    settings = {
        "solver": "mab",
        "batch_size": 500,
        "categorical_features": [1],
        "early_stopping": False,
        "random_state": 0,
    }
    HistGradientBoostingRegressor(max_iter=1, **settings).fit(X, y)
    late = np.setdiff1d(np.arange(n), rows_of(boosters[0]))[:6000]
    X[late[::2], 0] = np.nan
    X[late[1::2], 1] = 3
    y[late] = 20.0
    model = HistGradientBoostingRegressor(max_iter=1, **settings).fit(X, y)
    assert not boosters[-1].data.has_missing.any()
    model = HistGradientBoostingRegressor(max_iter=150, **settings).fit(X, y)
    assert boosters[-1].data.n_rows == n
    assert_array_equal(boosters[-1].data.has_missing, [0, 1, 0])  # categories first
    assert np.abs(model.predict(X[late]) - 20.0).max() < 4.0
    rows = rows_of(boosters[-1])
    assert_allclose(boosters[-1].data.raw[:, 0], model.predict(X[rows]))


def test_the_sample_grows_as_gains_shrink(data, sizes):
    X, y = data
    settings = {"solver": "mab", "early_stopping": False, "random_state": 0}
    HistGradientBoostingRegressor(batch_size=1000, max_iter=40, **settings).fit(X, y)
    assert sizes == sorted(sizes)
    assert sizes[0] == 1000
    assert sizes[-1] >= 4000
    del sizes[:]
    HistGradientBoostingRegressor(
        batch_size=1000, sample_tol=0.0, max_iter=12, **settings
    ).fit(X, y)
    assert sizes[-1] == len(X)
    del sizes[:]
    HistGradientBoostingRegressor(
        batch_size=1000, sample_tol=np.inf, max_iter=12, **settings
    ).fit(X, y)
    assert set(sizes) == {1000}


def test_what_is_not_learnable_asks_for_more_rows(data, sizes):
    """On noise every split has rivals as good as itself."""
    X, y = data
    noise = np.random.RandomState(0).permutation(y)
    HistGradientBoostingRegressor(
        solver="mab", batch_size=500, max_iter=6, early_stopping=False, random_state=0
    ).fit(X, noise)
    assert sizes == [500 * 2**i for i in range(6)]


@pytest.mark.parametrize("n_threads", [2, 3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_same_model_for_any_number_of_threads(data, n_classes, n_threads, monkeypatch):
    X, y = data
    y = np.digitize(y, [0.0, 1.5][: n_classes - 1])
    parameters = {
        "max_iter": 30,
        "solver": "mab",
        "batch_size": 5000,
        "early_stopping": False,
        "random_state": 0,
    }
    first = HistGradientBoostingClassifier(**parameters).fit(X, y)
    monkeypatch.setattr(fitting, "start_threads", lambda n_jobs: n_threads)
    other = HistGradientBoostingClassifier(**parameters).fit(X, y)
    assert_array_equal(first.decision_function(X), other.decision_function(X))
    assert first.n_insertions_ == other.n_insertions_


@pytest.mark.parametrize("scoring", ["loss", "neg_mean_squared_error", None])
def test_early_stopping_and_warm_start(data, scoring, boosters):
    X, y = data
    parameters = {
        "solver": "mab",
        "batch_size": 2000,
        "early_stopping": True,
        "scoring": scoring,
        "random_state": 0,
    }
    n_rows = []
    model = HistGradientBoostingRegressor(warm_start=True, **parameters)
    for max_iter in (4, 14, 40):  # the working set grows in between
        model.set_params(max_iter=max_iter).fit(X, y)
        n_rows.append(boosters[-1].data.n_rows)
    assert n_rows[0] == SAMPLES_OF_SET * 2000
    assert n_rows == sorted(n_rows)
    assert n_rows[0] < n_rows[2]
    assert model.n_iter_ == 40
    assert len(model.validation_score_) == len(model.train_score_) == 41
    assert np.all(np.diff(model.validation_score_[:30]) > 0)
    assert np.all(np.isfinite(model.train_score_))
    cold = HistGradientBoostingRegressor(max_iter=40, **parameters).fit(X, y)
    assert boosters[-1].state == boosters[-2].state
    assert model.n_insertions_ == cold.n_insertions_
    assert_allclose(model.predict(X), cold.predict(X))


def test_warm_start_with_other_samples_or_rows(data, boosters):
    """The order of rows is another one then: samples start anew."""
    X, y = data
    model = HistGradientBoostingRegressor(
        solver="mab",
        batch_size=2000,
        max_iter=20,
        early_stopping=False,
        warm_start=True,
        random_state=0,
    ).fit(X, y)
    model.set_params(batch_size=3000, max_iter=21).fit(X, y)
    assert boosters[-1].data.n_rows == SAMPLES_OF_SET * 3000
    rows = rows_of(boosters[-1])
    assert_allclose(boosters[-1].data.raw[:, 0], model.predict(X[rows]))
    model.set_params(max_iter=22).fit(X[:30_000], y[:30_000])
    assert boosters[-1].data.n_rows == SAMPLES_OF_SET * 3000
    assert model.n_iter_ == 22


@pytest.mark.parametrize("loss", ["squared_error", "absolute_error"])
def test_constraints_hold_on_samples(data, loss):
    X, y = data
    model = HistGradientBoostingRegressor(
        loss,
        max_iter=10,
        solver="mab",
        batch_size=2000,
        monotonic_cst=[1] + [0] * 7,
        early_stopping=False,
        random_state=0,
    ).fit(X, y)
    grid = np.repeat(X[:200], 30, axis=0)
    grid[:, 0] = np.tile(np.linspace(-3, 3, 30), 200)
    curves = model.predict(grid).reshape(200, 30)
    assert np.diff(curves, axis=1).min() >= -1e-12


def test_auto_is_exact_on_small_data_and_samples_large(data, sizes):
    X, y = data
    model = HistGradientBoostingRegressor(max_iter=2, batch_size=3000)
    model.fit(X, y)
    assert not sizes
    model._sampling_policy = BoostingPolicy(min_sampling=10_000)
    model.fit(X, y)
    assert sizes[0] == 3000
    assert len(sizes) == 2
    model.set_params(max_leaf_nodes=None).fit(X[:20_000], y[:20_000])
    assert len(sizes) == 2
    labels = np.digitize(y, [0.0, 1.5])
    model = HistGradientBoostingClassifier(max_iter=2, batch_size=3000)
    model._sampling_policy = BoostingPolicy(min_sampling=10_000)
    model.fit(X, labels)
    assert len(sizes) == 4
    labels[:] = 0
    labels[:999] = 1  # a class too rare for samples
    model.set_params(early_stopping=False).fit(X, labels)
    assert len(sizes) == 4


def test_too_many_leaves_for_samples(data):
    X, y = data
    for leaves in (None, 257):
        model = HistGradientBoostingRegressor(solver="mab", max_leaf_nodes=leaves)
        with pytest.raises(ValueError, match="max_leaf_nodes of at most 256"):
            model.fit(X, y)
    model = HistGradientBoostingRegressor(
        solver="mab",
        max_leaf_nodes=256,
        min_samples_leaf=2,
        max_iter=2,
        batch_size=9000,
    ).fit(X, y)
    assert model._predictors[0][0].get_n_leaf_nodes() == 256


@pytest.mark.parametrize(("n", "size"), [(1000, 300), (1000, 250), (999, 1), (50, 50)])
def test_rounds_are_without_replacement(n, size):
    rows = draw_rounds(n, size, 3, 0, n, 1)
    assert_array_equal(np.sort(rows), np.arange(n))
    for start in range(0, n, size):
        a_round = rows[start : start + size].astype(int)
        assert np.all(np.diff(a_round) > 0)
    assert_array_equal(draw_rounds(n, size, 3, 0, n, 3), rows)
    middle = n // size // 2 * size
    assert_array_equal(draw_rounds(n, size, 3, 0, middle, 2), rows[:middle])
    assert_array_equal(draw_rounds(n, size, 3, middle, n, 2), rows[middle:])
    for start, stop in ((1, n), (0, size + 1)):
        if size > 1 and size < n:
            with pytest.raises(ValueError, match="whole rounds"):
                draw_rounds(n, size, 3, start, stop, 1)


@pytest.mark.parametrize("which", [0, 1, 3])
def test_rounds_are_uniform(which):
    """In each round one row of a stretch is as likely as another."""
    n, size, n_seeds = 1000, 300, 2000
    start, stop = which * size, min((which + 1) * size, n)
    drawn = [draw_rounds(n, size, seed, start, stop, 1) for seed in range(n_seeds)]
    counts = np.bincount(np.concatenate(drawn), minlength=n)
    length = np.diff(np.arange(size + 1) * n // size)
    expected = np.where(length > which, 1 / length, 0.0).repeat(length)
    assert np.all(counts[expected == 0] == 0)
    error = np.sqrt(n_seeds * expected * (1 - expected))
    assert np.all(np.abs(counts - n_seeds * expected) <= 5 * error)
