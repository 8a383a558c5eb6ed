"""Boosting on a cluster: the local model where it can be, the same model everywhere."""

import pickle
from dataclasses import replace

import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sklearn_bandit import dask as sd
from sklearn_bandit import ensemble
from sklearn_bandit.dask import (
    _boosting_rows,
    _boosting_summary,
    _hist_gradient_boosting,
)
from sklearn_bandit.ensemble import MAX_LEAVES, READABLE
from sklearn_bandit.ensemble._boosting._prediction.packed_forms import packed_boosters
from sklearn_bandit.ensemble._boosting._sampling.array_rows import ArrayRows
from sklearn_bandit.ensemble._boosting.fitting import BanditBoosting
from sklearn_bandit.ensemble._boosting.policy import BoostingPolicy

N = 20_000
SMALL = {"batch_size": 1000, "max_iter": 20, "random_state": 0}


@pytest.fixture
def joining_as_there(monkeypatch):
    """Let working sets of local estimators grow as those of a cluster do."""
    monkeypatch.setattr(ArrayRows, "joining", _boosting_rows.ON_CLUSTER)


def make_data(n=N):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 5)).astype(np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(n)
    X[rng.random(X.shape) < 0.03] = np.nan
    return X, signal


X, SIGNAL = make_data()
TARGETS = {
    "binary": (SIGNAL > 0).astype(int),
    "classes": np.array(["a", "b", "c"])[np.digitize(SIGNAL, [-1, 1])],
    "numbers": SIGNAL,
}


def pair(name):
    """Classes on the cluster and in memory, and targets."""
    kind = "Regressor" if name == "numbers" else "Classifier"
    kind = f"HistGradientBoosting{kind}"
    return getattr(sd, kind), getattr(ensemble, kind), TARGETS[name]


def collections(y, chunks=3000, X=X):
    return da.from_array(X, chunks=(chunks, X.shape[1])), da.from_array(
        y, chunks=chunks
    )


def raw(model, X=X):
    return (
        model.decision_function(X) if hasattr(model, "classes_") else model.predict(X)
    )


@pytest.mark.parametrize("solver", ["mab", "exact"])
@pytest.mark.parametrize("name", TARGETS)
def test_the_local_model(client, name, solver, request):
    there, here, y = pair(name)
    options = {**SMALL, "solver": solver, "early_stopping": False}
    if solver == "mab":
        request.getfixturevalue("joining_as_there")
    model = there(**options).fit(*collections(y))
    local = here(**options).fit(X, y)
    if name == "numbers":
        assert_allclose(raw(model), raw(local), rtol=1e-6, atol=1e-9)
    else:
        assert_array_equal(raw(model), raw(local))
        assert_array_equal(model.sample_sizes_, local.sample_sizes_)
    assert type(model.to_local()) is here
    assert_array_equal(raw(pickle.loads(pickle.dumps(model))), raw(model))


@pytest.fixture
def bins_of_first_rows(monkeypatch):
    """Let bins be found from 5 rounds of the order, not from all of so few rows."""
    monkeypatch.setattr(_boosting_summary, "MAX_BIN_ROWS", 5500)
    monkeypatch.setattr(_hist_gradient_boosting, "MAX_BIN_ROWS", 5500)


@pytest.mark.usefixtures("bins_of_first_rows")
@pytest.mark.parametrize("max_iter", [1, 60])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", TARGETS)
def test_bins_are_found_from_the_first_rows(
    client, name, weighted, max_iter, monkeypatch
):
    """No row moves twice, and partitions make no difference."""
    cheap = replace(_boosting_rows.ON_CLUSTER, row=0.0, value=1.0)
    monkeypatch.setattr(_boosting_rows.ClusterRows, "joining", cheap)
    there, here, y = pair(name)
    options = {**SMALL, "max_iter": max_iter, "early_stopping": False, "solver": "mab"}
    weights = np.random.default_rng(1).random(N) if weighted else None
    models = []
    for chunks in [(N,), (1, 0, 6999, 13_000), (5000,) * 4]:
        X_, y_ = collections(y)
        sample_weight = da.from_array(weights, chunks=4000) if weighted else None
        model = there(**options).fit(X_.rechunk({0: chunks}), y_, sample_weight)
        models.append(model)
    for other in models[1:]:
        assert_array_equal(raw(other), raw(models[0]))
    n_rows = [model._sampling_state.n_rows for model in models]
    assert n_rows == [3000] * 3 if max_iter == 1 else min(n_rows) > 5000
    moved = [model.n_rows_moved_ for model in models]
    assert moved == [max(5000, n) for n in n_rows]

    def same_bins(self, **_):
        return model._bin_mapper

    monkeypatch.setattr(ArrayRows, "joining", cheap)
    monkeypatch.setattr(ArrayRows, "fit_bin_mapper", same_bins)
    local = here(**options).fit(X, y, weights)
    assert_allclose(raw(model), raw(local), rtol=1e-6, atol=1e-8)
    assert_array_equal(model.sample_sizes_, local.sample_sizes_)


@pytest.mark.usefixtures("bins_of_first_rows")
def test_held_out_rows_are_not_first_rows(client):
    """Bins may be found from held-out rows, but no tree is fitted to them."""
    there, _, y = pair("binary")
    options = {**SMALL, "solver": "mab", "max_iter": 1, "early_stopping": True}
    model = there(**options).fit(*collections(y))
    assert model.n_rows_moved_ == 5000 + 3000


@pytest.mark.usefixtures("bins_of_first_rows")
@pytest.mark.parametrize(
    ("options", "n_joining"),
    [
        ({"max_leaf_nodes": MAX_LEAVES + 1}, N),
        ({"early_stopping": True}, 18_000),
        ({"max_rows": 19_000}, 19_000),
    ],
)
def test_bins_and_trees_are_both_of_samples_or_not(
    client, options, n_joining, monkeypatch
):
    """Without samples bins are those of the local class: from all of so few rows."""
    there, here, y = pair("binary")
    options = {**SMALL, "max_iter": 2, "early_stopping": False, **options}

    def fit(model, least, *data):
        policy = BoostingPolicy(min_sampling=least)
        monkeypatch.setattr(BanditBoosting, "_sampling_policy", policy)
        return model.fit(*data)

    model = fit(there(**options), n_joining + 1, *collections(y))
    assert model.n_rows_moved_ == N + n_joining
    assert_array_equal(model.sample_sizes_, n_joining)
    if "max_leaf_nodes" in options:
        model = fit(there(**options), n_joining, *collections(y))
        assert_array_equal(raw(model), raw(fit(here(**options), N, X, y)))
    else:
        model = fit(there(**options), n_joining, *collections(y))
        assert model.n_rows_moved_ < N
        assert max(model.sample_sizes_) < n_joining


def test_another_fit_forgets_the_packed_trees(client):
    there, _, y = pair("numbers")
    model = there(**{**SMALL, "max_iter": 1}).fit(*collections(y))
    model.predict(X)
    assert model in packed_boosters._entries
    model.fit(*collections(y))
    assert model not in packed_boosters._entries


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", TARGETS)
def test_the_same_model_for_any_partitions(client, name, weighted):
    there, _, y = pair(name)
    weights = np.random.default_rng(1).random(N)
    cuts = [(N,), (1, 0, 6999, 13_000), (5000,) * 4]
    models = []
    for chunks in cuts:
        X_, y_ = collections(y)
        sample_weight = da.from_array(weights, chunks=4000) if weighted else None
        model = there(**SMALL, solver="mab", early_stopping=True, n_iter_no_change=4)
        models.append(model.fit(X_.rechunk({0: chunks}), y_, sample_weight))
    first = models[0]
    assert len(first.validation_score_) == first.n_iter_ + 1
    for other in models[1:]:
        assert_array_equal(other.validation_score_, first.validation_score_)
        assert_array_equal(raw(other), raw(first))


@pytest.mark.parametrize("name", TARGETS)
def test_scores_of_held_out_rows(client, name, monkeypatch):
    """They are the losses of rows that the model was not fitted to."""
    there, _, y = pair(name)
    seen = []
    hold_out = _boosting_rows.ClusterRows.hold_out

    def watched(self, *args, **options):
        seen.append(self)
        return hold_out(self, *args, **options)

    monkeypatch.setattr(_boosting_rows.ClusterRows, "hold_out", watched)
    model = there(**SMALL, solver="mab", early_stopping=True).fit(*collections(y))
    counts = [[len(y[i : i + 3000])] for i in range(0, N, 3000)]
    if name != "numbers":
        counts = [
            [np.sum(y[i : i + 3000] == label) for label in model.classes_]
            for i in range(0, N, 3000)
        ]
    held_out = np.zeros(N, dtype=bool)
    (rows,) = seen
    for start, strata, numbers in zip(
        range(0, N, 3000), rows.strata, counts, strict=True
    ):
        for stratum, n in zip(strata, numbers, strict=True):
            here = np.arange(start, min(start + 3000, N))
            if name != "numbers":
                here = here[y[here] == model.classes_[stratum.code]]
            held_out[here[stratum.draw(int(n))]] = True
    assert abs(held_out.sum() - N / 10) <= 2
    codes = y[held_out]
    if name != "numbers":
        codes = np.searchsorted(model.classes_, codes)
        for label in model.classes_:
            share = held_out[y == label].mean()
            assert share == pytest.approx(0.1, abs=0.01)
    loss = model._loss(
        y_true=codes.astype(np.float64),
        raw_prediction=np.ascontiguousarray(raw(model, X[held_out])),
    )
    assert -model.validation_score_[-1] == pytest.approx(loss, rel=1e-9)


def test_early_stopping_takes_back_what_came_too_late(client):
    """The last iteration is that of a fit that waits for each score."""
    there, _, y = pair("binary")
    noisy = np.where(np.random.default_rng(3).random(N) < 0.2, 1 - y, y)
    options = {**SMALL, "solver": "mab", "early_stopping": True, "max_iter": 200}
    options |= {"n_iter_no_change": 3, "learning_rate": 0.3}
    late = there(**options).fit(*collections(noisy))
    assert 1 <= late.n_iter_ < 200
    assert len(late.train_score_) == len(late.validation_score_) == late.n_iter_ + 1
    waiting = there(**options, verbose=2).fit(*collections(noisy))
    assert_array_equal(late.validation_score_, waiting.validation_score_)
    assert_array_equal(raw(late), raw(waiting))
    assert late.n_insertions_ == waiting.n_insertions_
    assert late._sampling_state == waiting._sampling_state
    short = there(**{**options, "max_iter": late.n_iter_}).fit(*collections(noisy))
    assert_array_equal(raw(short), raw(late))


def test_a_scorer_judges_on_the_client(client):
    there, _, y = pair("binary")
    options = {**SMALL, "solver": "mab", "early_stopping": True}
    model = there(**options, scoring="roc_auc").fit(*collections(y))
    assert 0.8 < model.validation_score_[-1] < 1
    assert model.n_rows_moved_ > N


def test_a_warm_start_goes_on(client):
    there, _, y = pair("binary")
    options = {**SMALL, "solver": "mab", "early_stopping": True, "tol": 0}
    whole = there(**options).fit(*collections(y))
    model = there(**{**options, "max_iter": 7}, warm_start=True).fit(*collections(y))
    model.set_params(max_iter=20).fit(*collections(y))
    assert_array_equal(model.validation_score_, whole.validation_score_)
    assert_array_equal(raw(model), raw(whole))


@pytest.mark.usefixtures("joining_as_there")
def test_validation_data_in_memory(client):
    there, here, y = pair("binary")
    options = {**SMALL, "solver": "mab"}
    held_out = {"X_val": X[:2000], "y_val": y[:2000]}
    model = there(**options).fit(*collections(y), **held_out)
    local = here(**options).fit(X, y, **held_out)
    assert_array_equal(model.validation_score_, local.validation_score_)
    with pytest.raises(TypeError, match="must be in memory"):
        there().fit(*collections(y), X_val=collections(y)[0], y_val=y)


def test_no_more_rows_than_allowed(client):
    there, _, y = pair("binary")
    options = {**SMALL, "solver": "mab", "early_stopping": False, "max_rows": 5500}
    model = there(**options).fit(*collections(y))
    again = there(**options).fit(*collections(y, chunks=7000))
    assert model._n_training_rows == 5000
    assert model.n_rows_moved_ <= N + 5000  # bins are found from all of so few rows
    assert_array_equal(raw(model), raw(again))
    assert model.score(X, y) > 0.8
    exact = there(**{**options, "solver": "exact"}).fit(*collections(y))
    assert exact.score(X, y) > 0.8
    with pytest.raises(ValueError, match="max_rows=10 must be at least batch_size"):
        there(max_rows=10).fit(*collections(y))


@pytest.mark.usefixtures("joining_as_there")
def test_class_weights(client):
    there, here, y = pair("classes")
    for weight in ("balanced", {"a": 1.0, "b": 2.0, "c": 5.0}):
        options = {**SMALL, "solver": "mab", "early_stopping": False}
        if weight != "balanced":
            y = np.searchsorted(["a", "b", "c"], TARGETS["classes"])
            weight = {0: 1.0, 1: 2.0, 2: 5.0}
        model = there(**options, class_weight=weight).fit(*collections(y))
        local = here(**options, class_weight=weight).fit(X, y)
        assert_allclose(raw(model), raw(local), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("dtype", [*READABLE, np.int64, np.float16, bool])
@pytest.mark.usefixtures("joining_as_there")
def test_types_of_numbers(client, dtype):
    there, here, y = pair("binary")
    values = np.nan_to_num(X * 20).astype(dtype)
    options = {**SMALL, "max_iter": 5, "early_stopping": False, "solver": "mab"}
    model = there(**options).fit(*collections(y, X=values))
    assert_array_equal(raw(model, values), raw(here(**options).fit(values, y), values))


def make_frame():
    pd = pytest.importorskip("pandas")
    letters = np.array(list("dabc"))[np.digitize(SIGNAL, [-1, 0, 1])]
    letters = pd.Categorical(letters).set_categories(list("abcde"))
    letters[::7] = np.nan
    return pd.DataFrame({"number": X[:, 0], "letter": letters, "other": X[:, 1]})


@pytest.mark.usefixtures("joining_as_there")
def test_data_frames_with_categories(client):
    dd = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    pd = pytest.importorskip("pandas")
    there, here, y = pair("binary")
    frame = make_frame()
    options = {**SMALL, "solver": "mab", "early_stopping": False}
    X_ = dd.from_pandas(frame, npartitions=5)
    y_ = dd.from_pandas(pd.Series(y), npartitions=3)
    model = there(**options).fit(X_, y_)
    local = here(**options).fit(frame, y)
    assert_array_equal(raw(model, frame), raw(local, frame))
    assert_array_equal(model.is_categorical_, local.is_categorical_)
    assert list(model.feature_names_in_) == list(frame)
    assert_array_equal(model.predict_proba(X_).compute(), local.predict_proba(frame))
    # Categories that a partition does not have, or does not know.
    ordered = frame.sort_values("letter", ignore_index=True)
    y_ordered = y[frame.sort_values("letter").index]
    parts = [ordered[i : i + 5000].copy() for i in range(0, N, 5000)]
    for part in parts:
        part["letter"] = part["letter"].cat.remove_unused_categories()
    X_ = dd.from_map(lambda i: parts[i], range(4), meta=frame.iloc[:0])
    y_ = dd.from_pandas(pd.Series(y_ordered), npartitions=2)
    model = there(**options).fit(X_, y_)
    local = here(**options).fit(ordered, y_ordered)
    assert_array_equal(raw(model, ordered), raw(local, ordered))


@pytest.mark.usefixtures("bins_of_first_rows")
def test_first_rows_of_data_frames(client):
    dd = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    pd = pytest.importorskip("pandas")
    there, _, y = pair("binary")
    frame = make_frame()
    options = {**SMALL, "solver": "mab", "early_stopping": False}
    models = []
    for n in (5, 2):
        X_ = dd.from_pandas(frame, npartitions=n)
        y_ = dd.from_pandas(pd.Series(y), npartitions=3)
        models.append(there(**options).fit(X_, y_))
    assert [model.n_rows_moved_ for model in models] == [5000] * 2
    assert_array_equal(raw(models[0], frame), raw(models[1], frame))
    assert models[0].score(frame, y) > 0.75


@pytest.mark.usefixtures("joining_as_there")
def test_categories_of_arrays(client):
    there, here, y = pair("binary")
    values = X.astype(np.float64)
    values[:, 3] = np.digitize(SIGNAL, [-1, 0, 1]) * 3 + 2
    values[::5, 3] = np.nan
    options = {**SMALL, "solver": "mab", "early_stopping": False}
    for features in ([3], [False, False, False, True, False]):
        model = there(**options, categorical_features=features)
        model.fit(*collections(y, X=values))
        local = here(**options, categorical_features=features).fit(values, y)
        assert_array_equal(raw(model, values), raw(local, values))
    with pytest.raises(ValueError, match="categorical_features"):
        there(categorical_features=[7]).fit(*collections(y))


@pytest.mark.parametrize("loss", ["absolute_error", "poisson", "gamma", "quantile"])
@pytest.mark.usefixtures("joining_as_there")
def test_losses(client, loss):
    y = np.exp(SIGNAL / 4)
    options = {**SMALL, "loss": loss, "solver": "mab", "early_stopping": False}
    if loss == "quantile":
        options["quantile"] = 0.8
    model = sd.HistGradientBoostingRegressor(**options).fit(*collections(y))
    local = ensemble.HistGradientBoostingRegressor(**options).fit(X, y)
    assert_allclose(model.predict(X), local.predict(X), rtol=1e-6)
    with pytest.raises(ValueError, match="y"):
        sd.HistGradientBoostingRegressor(loss="gamma").fit(*collections(-y))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda X, y: (X, da.where(y == y[0].compute(), np.nan, y)), "NaN"),
        (lambda X, y: (X, y[:-1]), "X has 20000 samples, but y has 19999"),
        (lambda X, y: (X, da.stack([y, y], axis=1)), "1d array"),
        (lambda X, y: (X, y + 0.5), "Unknown label type"),
    ],
)
def test_what_cannot_be_fitted(client, change, match):
    model = sd.HistGradientBoostingClassifier()
    with pytest.raises(ValueError, match=match):
        model.fit(*change(*collections(TARGETS["binary"].astype(float))))
    assert not hasattr(model, "classes_")


def test_partitions_without_weight(client):
    there, _, y = pair("binary")
    weights = np.ones(N)
    weights[:6000] = 0.0
    options = {**SMALL, "solver": "mab", "early_stopping": False}
    model = there(**options)
    model.fit(*collections(y), da.from_array(weights, chunks=3000))
    assert model.score(X, y) > 0.8
    with pytest.raises(ValueError, match="All sample weights are zero"):
        model.fit(*collections(y), da.zeros(N, chunks=3000))


def test_a_class_with_a_single_row(client):
    y = TARGETS["binary"].copy()
    y[5] = 2
    with pytest.raises(ValueError, match="only 1 member"):
        sd.HistGradientBoostingClassifier(**SMALL).fit(*collections(y))
