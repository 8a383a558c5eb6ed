"""Trees on samples: exact where they must be, close to it where they may differ."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss
from sklearn_bandit.ensemble._boosting._sampling import copy_rows, draw_rows
from threadpoolctl import threadpool_limits

from sklearn_bandit.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    _hist_gradient_boosting,
)
from sklearn_bandit.ensemble._boosting import _bundles, _sampled_booster
from sklearn_bandit.ensemble._boosting._sampled_booster import SampledBooster

WHERE = ["all", "sample", "lazy"]
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
        seen.append(self.size)
        return iterate(self, rng)

    monkeypatch.setattr(SampledBooster, "iterate", watched)
    return seen


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson"])
def test_a_sample_of_all_rows_is_exact(data, where, loss):
    X, y = data[0][:3000], np.exp(data[1][:3000] / 5)
    shared = {"max_iter": 4, "random_state": 0, "loss": loss}
    exact = HistGradientBoostingRegressor(solver="exact", **shared).fit(X, y)
    sampled = HistGradientBoostingRegressor(
        solver="mab", leaf_values=where, batch_size=3000, **shared
    ).fit(X, y)
    assert_array_equal(exact.predict(X), sampled.predict(X))
    assert exact.n_insertions_ == sampled.n_insertions_


@pytest.mark.parametrize("where", WHERE)
def test_raw_predictions_are_kept_up_to_date(data, where, monkeypatch):
    """What training sees is what the trees predict."""
    X, y = data
    boosters = []
    make = _hist_gradient_boosting.BanditBoosting._make_booster

    def keep(self, *args, **kwargs):
        boosters.append(make(self, *args, **kwargs))
        return boosters[-1]

    monkeypatch.setattr(_hist_gradient_boosting.BanditBoosting, "_make_booster", keep)
    model = HistGradientBoostingClassifier(
        max_iter=6,
        solver="mab",
        leaf_values=where,
        batch_size=2000,
        early_stopping=False,
        random_state=0,
    ).fit(X, np.digitize(y, [0.0, 1.5]))
    (booster,) = boosters
    if where == "lazy":
        assert not booster.raw_is_current
        booster._catch_up()
    assert_allclose(booster.raw, model.decision_function(X), rtol=1e-9, atol=1e-9)


def test_values_from_all_rows_are_newton_steps(data):
    X, y = data
    model = HistGradientBoostingRegressor(
        max_iter=1,
        solver="mab",
        learning_rate=1.0,
        batch_size=1000,
        leaf_values="all",
        early_stopping=False,
        random_state=0,
    ).fit(X, y)
    predicted = model.predict(X)
    for value in np.unique(predicted):
        assert_allclose(y[predicted == value].mean(), value, rtol=1e-4, atol=1e-5)
    assert len(np.unique(predicted)) == 31


def test_medians_of_leaves(data):
    X, y = data
    model = HistGradientBoostingRegressor(
        loss="absolute_error",
        max_iter=1,
        solver="mab",
        learning_rate=1.0,
        batch_size=2000,
        leaf_values="all",
        early_stopping=False,
        random_state=0,
    ).fit(X, y)
    predicted = model.predict(X)
    for value in np.unique(predicted):
        assert_allclose(np.median(y[predicted == value]), value)


@pytest.mark.parametrize("where", WHERE)
def test_loss_is_close_to_that_of_exact(where):
    """Within 1% at the same number of trees, over seeds, with far fewer insertions."""
    for seed in range(3):
        X, y = make_data(seed)
        y = y > 0.8
        shared = {"max_iter": 30, "early_stopping": False, "random_state": seed}
        losses = {}
        for solver in ("exact", "mab"):
            model = HistGradientBoostingClassifier(
                solver=solver, leaf_values=where, batch_size=8000, **shared
            ).fit(X[:N_TRAIN], y[:N_TRAIN])
            losses[solver] = log_loss(y[N_TRAIN:], model.predict_proba(X[N_TRAIN:]))
            if solver == "exact":
                insertions = model.n_insertions_
        assert losses["mab"] < 1.01 * losses["exact"]
        assert model.n_insertions_ < 0.5 * insertions


@pytest.mark.parametrize("where", ["all", "sample"])
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "poisson"])
def test_rows_in_place_are_those_of_a_copy(data, where, loss, monkeypatch):
    """Large samples are read where they are if features are bundled."""
    X, y = data[0].copy(), np.exp(data[1] / 5)
    X[:, 5:] = np.round(X[:, 5:])
    monkeypatch.setattr(_bundles, "MIN_SAMPLES", 1)
    predictions, insertions = [], []
    for share in (0.1, 1.0):
        monkeypatch.setattr(_sampled_booster, "SHARE_IN_PLACE", share)
        model = HistGradientBoostingRegressor(
            loss=loss,
            max_iter=4,
            solver="mab",
            leaf_values=where,
            batch_size=10_000,
            early_stopping=False,
            random_state=0,
        ).fit(X, y)
        predictions.append(model.predict(X))
        insertions.append(model.n_insertions_)
    assert_allclose(*predictions, rtol=1e-6)
    assert insertions[0] < insertions[1]


def test_lazy_trees_are_those_of_the_sample(data):
    X, y = data
    models = [
        HistGradientBoostingRegressor(
            max_iter=8,
            solver="mab",
            leaf_values=where,
            batch_size=4000,
            early_stopping=False,
            random_state=0,
        ).fit(X, y)
        for where in ("sample", "lazy")
    ]
    assert_allclose(models[0].predict(X), models[1].predict(X))


def test_the_sample_grows_as_gains_shrink(data, sizes):
    X, y = data
    settings = {"solver": "mab", "early_stopping": False, "random_state": 0}
    HistGradientBoostingRegressor(batch_size=1000, max_iter=40, **settings).fit(X, y)
    assert sizes == sorted(sizes)
    assert sizes[0] == 1000
    assert sizes[-1] >= 4000
    del sizes[:]
    HistGradientBoostingRegressor(
        batch_size=1000, split_tol=0.0, max_iter=12, **settings
    ).fit(X, y)
    assert sizes[-1] == len(X)
    del sizes[:]
    HistGradientBoostingRegressor(
        batch_size=1000, split_tol=1e9, max_iter=12, **settings
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
@pytest.mark.parametrize("where", WHERE)
def test_same_model_for_any_number_of_threads(data, where, n_threads, monkeypatch):
    X, y = data
    parameters = {
        "max_iter": 4,
        "solver": "mab",
        "leaf_values": where,
        "batch_size": 20_000,
        "early_stopping": False,
        "random_state": 0,
    }
    first = HistGradientBoostingRegressor(**parameters).fit(X, y)
    monkeypatch.setattr(
        _hist_gradient_boosting, "effective_n_threads", lambda n_jobs: n_threads
    )
    other = HistGradientBoostingRegressor(**parameters).fit(X, y)
    assert_array_equal(first.predict(X), other.predict(X))


@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("scoring", ["loss", "neg_mean_squared_error", None])
def test_early_stopping_and_warm_start(data, where, scoring):
    X, y = data
    parameters = {
        "solver": "mab",
        "leaf_values": where,
        "batch_size": 4000,
        "early_stopping": True,
        "scoring": scoring,
        "random_state": 0,
    }
    model = HistGradientBoostingRegressor(max_iter=4, warm_start=True, **parameters)
    model.fit(X, y)
    model.set_params(max_iter=8).fit(X, y)
    assert model.n_iter_ == 8
    assert len(model.validation_score_) == len(model.train_score_) == 9
    assert np.all(np.diff(model.validation_score_) > 0)
    assert np.all(np.isfinite(model.train_score_))
    cold = HistGradientBoostingRegressor(max_iter=8, **parameters).fit(X, y)
    assert model.n_insertions_ == cold.n_insertions_
    assert_allclose(model.predict(X), cold.predict(X))


@pytest.mark.parametrize("where", ["all", "sample"])
def test_constraints_hold_on_samples(data, where):
    X, y = data
    model = HistGradientBoostingRegressor(
        max_iter=10,
        solver="mab",
        leaf_values=where,
        batch_size=2000,
        monotonic_cst=[1] + [0] * 7,
        early_stopping=False,
        random_state=0,
    ).fit(X, y)
    grid = np.repeat(X[:200], 30, axis=0)
    grid[:, 0] = np.tile(np.linspace(-3, 3, 30), 200)
    curves = model.predict(grid).reshape(200, 30)
    assert np.diff(curves, axis=1).min() >= -1e-12


def test_auto_is_exact_on_small_data_and_samples_large(data, sizes, monkeypatch):
    X, y = data
    HistGradientBoostingRegressor(max_iter=2).fit(X, y)
    assert not sizes
    monkeypatch.setattr(_hist_gradient_boosting, "MIN_AUTO_SAMPLING", 10_000)
    HistGradientBoostingRegressor(max_iter=2, batch_size=3000).fit(X, y)
    assert sizes[0] == 3000
    assert len(sizes) == 2
    HistGradientBoostingRegressor(max_iter=2, max_leaf_nodes=None).fit(
        X[:20_000], y[:20_000]
    )
    HistGradientBoostingClassifier(max_iter=2, batch_size=3000).fit(
        X, np.digitize(y, [0.0, 1.5])
    )
    assert len(sizes) == 2
    monkeypatch.setattr(_hist_gradient_boosting, "MIN_AUTO_SAMPLING_CLASSES", 10_000)
    HistGradientBoostingClassifier(max_iter=2, batch_size=3000).fit(
        X, np.digitize(y, [0.0, 1.5])
    )
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


def test_draws_are_uniform_and_without_replacement():
    drawn = np.concatenate([draw_rows(1000, 333, seed) for seed in range(600)])
    counts = np.bincount(drawn, minlength=1000)
    expected = 600 * 0.333
    assert ((counts - expected) ** 2 / expected).sum() < 1150  # chi-square, 999
    rows = draw_rows(1000, 333, 7)
    assert np.all(np.diff(rows.astype(int)) > 0)
    assert_array_equal(draw_rows(50, 50, 1), np.arange(50))


@pytest.mark.parametrize("n_features", [1, 63, 64, 65, 200])
def test_rows_are_copied_and_transposed(n_features):
    rng = np.random.RandomState(0)
    matrix = rng.randint(256, size=(9000, n_features), dtype=np.uint8)
    rows = draw_rows(9000, 4500, 3)
    columns = np.empty((n_features, 4500), dtype=np.uint8)
    copy_rows(matrix, rows, columns, 2)
    assert_array_equal(columns.T, matrix[rows])
