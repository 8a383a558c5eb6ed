"""verbose and callbacks of long fits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, is_classifier
from sklearn.datasets import load_iris

from sklearn_bandit._compat import HAS_CALLBACKS, with_callbacks
from sklearn_bandit._core.progress import ProgressMixin
from sklearn_bandit.cluster import BanditKMedoids
from sklearn_bandit.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomPatchesClassifier,
)
from sklearn_bandit.tree import DecisionTreeClassifier, DecisionTreeRegressor

needs_callbacks = pytest.mark.skipif(
    not HAS_CALLBACKS, reason="scikit-learn has no callbacks"
)
X, Y = load_iris(return_X_y=True)


class Stepper(ProgressMixin, BaseEstimator):
    def __init__(self, n_steps=3, fail_at=None, verbose=0):
        self.n_steps = n_steps
        self.fail_at = fail_at
        self.verbose = verbose

    @with_callbacks
    def fit(self, X=None, y=None, sample_weight=None):
        done = []
        with self._progress(
            self.n_steps,
            X=X,
            y=y,
            sample_weight=sample_weight,
            fitted=lambda: {"done_": len(done)},
        ) as progress:
            for i in range(self.n_steps):
                with progress.step("count"):
                    if i == self.fail_at:
                        raise KeyboardInterrupt
                    done.append(i)
                if progress.should_stop:
                    break
        self.done_ = len(done)
        return self


def test_verbose(capsys):
    Stepper(verbose=0).fit()
    assert capsys.readouterr().out == ""
    Stepper(verbose=1).fit()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert lines[1].startswith("[Stepper] step 2 of at most 3: count")


@needs_callbacks
def test_callbacks_see_every_step(recorder):
    Stepper().set_callbacks(recorder).fit()
    steps = ["begin count", "end count"] * 3
    expected = ["setup", "begin fit", *steps, "end fit", "teardown"]
    assert recorder.events == expected


@needs_callbacks
def test_interrupted_fit_tears_down(recorder):
    stepper = Stepper(fail_at=1).set_callbacks(recorder)
    with pytest.raises(KeyboardInterrupt):
        stepper.fit()
    assert recorder.events[-1] == "teardown"
    assert not hasattr(stepper, "done_")


@pytest.mark.skipif(HAS_CALLBACKS, reason="scikit-learn has callbacks")
def test_without_callbacks_there_is_no_setter():
    assert not hasattr(Stepper(), "set_callbacks")


class Watcher:
    """A callback that keeps all that a hook can be told, and may ask to stop."""

    def __init__(self, stop_after=None):
        self.told = []
        self.n_ended = 0
        self.torn_down = False
        self.stop_after = stop_after

    def setup(self, estimator, context):
        """Before the fit."""

    def teardown(self, estimator, context):
        """After the fit, whatever happened."""
        self.torn_down = True

    def on_fit_task_begin(self, estimator, context):
        """Before the fit or a step of it."""

    def on_fit_task_end(self, estimator, context, *, X, y, metadata, fitted_estimator):
        """After it."""
        self.told.append((X, y, metadata, fitted_estimator))
        self.n_ended += 1
        return self.n_ended == self.stop_after


@needs_callbacks
def test_callbacks_are_told_of_the_data():
    watcher = Watcher()
    weights = np.ones(len(Y))
    Stepper().set_callbacks(watcher).fit(X, Y, weights)
    assert [copy.done_ for *_, copy in watcher.told] == [1, 2, 3, 3]
    for data, targets, metadata, _ in watcher.told:
        assert data is X
        assert targets is Y
        assert metadata == {"sample_weight": weights}
    watcher = Watcher()
    Stepper().set_callbacks(watcher).fit(X, Y)
    assert all(metadata is None for _, _, metadata, _ in watcher.told)


@needs_callbacks
def test_callbacks_can_stop():
    assert Stepper(5).set_callbacks(Watcher(stop_after=2)).fit(X).done_ == 2


MODELS = [
    HistGradientBoostingClassifier(max_iter=4, random_state=0),
    HistGradientBoostingRegressor(max_iter=4, random_state=0),
    HistGradientBoostingClassifier(
        max_iter=4, early_stopping=True, scoring="accuracy", random_state=0
    ),
    RandomForestClassifier(4, n_jobs=2, random_state=0),
    RandomForestClassifier(4, max_insertions=10**9, random_state=0),
    RandomPatchesClassifier(4, random_state=0),
    ExtraTreesRegressor(4, random_state=0),
]


@needs_callbacks
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "model", [*MODELS, DecisionTreeClassifier(), DecisionTreeRegressor(max_depth=3)]
)
def test_scores_are_monitored(model, weighted):
    """scikit-learn's own callback scores every step, and the fitted model."""
    from sklearn.callback import ScoringMonitor

    scoring = "accuracy" if is_classifier(model) else "r2"
    monitor = ScoringMonitor(scoring=scoring)
    n_steps = 0 if hasattr(model, "splitter") else 4
    weights = {"sample_weight": 1.0 + Y} if weighted else {}
    try:
        model.set_callbacks(monitor).fit(X, Y, **weights)
    finally:
        model.set_callbacks()
    rows = monitor.get_logs().data
    assert len(rows) == n_steps + 1
    (final,) = (row[scoring] for row in rows if row["task_name"] == "fit")
    assert final == model.score(X, Y, **weights)
    scores = [row[scoring] for row in rows if row["task_name"] != "fit"]
    if hasattr(model, "staged_predict"):
        predicted = list(model.staged_predict(X))
        if scoring == "accuracy":
            expected = [
                np.average(p == Y, weights=weights.get("sample_weight"))
                for p in predicted
            ]
            assert_allclose(scores, expected)
        assert scores[-1] == final


@needs_callbacks
@pytest.mark.parametrize("model", MODELS)
def test_models_stop_when_asked_to(model):
    watcher = Watcher(stop_after=2)
    try:
        model.set_callbacks(watcher).fit(X, Y)
    finally:
        model.set_callbacks()
    if hasattr(model, "n_iter_"):
        assert model.n_iter_ == 2
    else:
        assert len(model.estimators_) == 2
    assert watcher.n_ended == 3  # the last is the fit
    *_, copy = watcher.told[1]
    assert_allclose(copy.predict(X), model.predict(X))


@needs_callbacks
@pytest.mark.parametrize("algorithm", ["pam", "bandit", "eager"])
def test_medoids_are_watched_and_stop(algorithm, recwarn):
    """Steps that choose the first medoids all have to be made."""
    model = BanditKMedoids(3, algorithm=algorithm, init=[0, 1, 2], random_state=0)
    whole, part = Watcher(), Watcher(stop_after=1)
    model.set_callbacks(whole).fit(X)
    assert model.n_iter_ > 1
    model.set_callbacks(part).fit(X)
    assert model.n_iter_ == 1
    for *_, copy in part.told[algorithm == "eager" :]:  # it swaps on a sample first
        assert_allclose(copy.predict(X), model.predict(X))
        assert copy.inertia_ == model.inertia_
    model.set_params(init="build").set_callbacks(built := Watcher(stop_after=1)).fit(X)
    assert model.n_iter_ == 0
    assert len(model.medoid_indices_) == 3
    lacking = [copy is None for *_, copy in built.told]
    assert lacking == [True, True, algorithm == "eager", False]
    assert not recwarn  # to be stopped is not to fail to converge


@needs_callbacks
@pytest.mark.filterwarnings("ignore:The swaps did not end")
def test_callbacks_see_the_best_of_several_starts():
    watcher = Watcher()
    model = BanditKMedoids(5, init="random", n_init=5, max_iter=1, random_state=0)
    model.set_callbacks(watcher).fit(X)
    *_, copy = watcher.told[-1]
    assert copy.inertia_ == model.inertia_
    # The last start is not the best one.
    assert watcher.told[-2][-1].inertia_ > model.inertia_


@needs_callbacks
@pytest.mark.parametrize(
    "model",
    [
        HistGradientBoostingRegressor(max_iter=1),
        RandomForestClassifier(2),
        DecisionTreeClassifier(),
    ],
)
def test_failed_fits_tear_down(model):
    """The estimator is as before, and callbacks know that the fit has ended."""

    class Failing(Watcher):
        def on_fit_task_begin(self, estimator, context):
            raise KeyboardInterrupt

    model.set_callbacks(watcher := Failing())
    before = vars(model).copy()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert watcher.torn_down
    assert vars(model) == before


def test_verbose_boosting(capsys):
    model = HistGradientBoostingRegressor(max_iter=2, early_stopping=True, tol=0.0)
    model.fit(X, Y)
    assert capsys.readouterr().out == ""
    model.set_params(verbose=1).fit(X, Y)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("Fit 2 trees in ")
    model.set_params(verbose=2).fit(X, Y)
    first, second, _ = capsys.readouterr().out.splitlines()
    assert first.startswith("[1/2] 1 tree, ")
    assert f"train loss: {-model.train_score_[-1]:.5f}" in second
    assert f"val loss: {-model.validation_score_[-1]:.5f}" in second
