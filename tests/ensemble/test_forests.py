"""Forests: as good as scikit-learn's, and the same for any number of threads."""

import pickle

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import ensemble as sklearn_ensemble
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.metrics import balanced_accuracy_score

from sklearn_bandit import ensemble, tree
from sklearn_bandit._compat import HAS_CALLBACKS

FORESTS = [getattr(ensemble, name) for name in ensemble.__all__ if "Hist" not in name]
CLASSIFICATION = load_digits(return_X_y=True)
REGRESSION = load_diabetes(return_X_y=True)


def data(forest):
    return CLASSIFICATION if is_classifier(forest()) else REGRESSION


@pytest.mark.parametrize(
    ("name", "load"),
    [
        ("RandomForestClassifier", load_digits),
        ("RandomForestClassifier", load_breast_cancer),
        ("ExtraTreesClassifier", load_digits),
        ("RandomForestRegressor", load_diabetes),
        ("ExtraTreesRegressor", load_diabetes),
    ],
)
def test_scores_are_scikit_learns(name, load):
    # Out of bag over five seeds: the means differ by no more than their noise.
    X, y = load(return_X_y=True)
    scores = []
    for package in (ensemble, sklearn_ensemble):
        forest = getattr(package, name)
        scores.append(
            [
                forest(30, bootstrap=True, oob_score=True, random_state=seed)
                .fit(X, y)
                .oob_score_
                for seed in range(5)
            ]
        )
    ours, theirs = np.array(scores)
    noise = np.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / 5)
    assert ours.mean() > theirs.mean() - 4 * noise - 0.005


@pytest.mark.parametrize("forest", FORESTS)
def test_same_trees_for_any_n_jobs(forest):
    X, y = data(forest)
    one, two = (forest(6, n_jobs=n, random_state=0).fit(X, y) for n in (1, 3))
    for a, b in zip(one.estimators_, two.estimators_, strict=True):
        assert_array_equal(a.tree_.threshold, b.tree_.threshold)
    assert one.n_insertions_ == two.n_insertions_ > 0
    assert_array_equal(one.predict(X), two.predict(X))


def test_same_trees_in_other_processes():
    X, y = REGRESSION
    here = ensemble.RandomForestRegressor(4, n_jobs=2, random_state=0).fit(X, y)
    with joblib.parallel_backend("loky"):
        there = ensemble.RandomForestRegressor(4, n_jobs=2, random_state=0).fit(X, y)
    assert_array_equal(here.predict(X), there.predict(X))
    assert here.n_insertions_ == there.n_insertions_


@pytest.mark.parametrize("forest", FORESTS)
def test_warm_start(forest):
    X, y = data(forest)
    whole = forest(6, random_state=3).fit(X, y)
    grown = forest(2, random_state=3, warm_start=True).fit(X, y)
    first = grown.estimators_[0]
    grown.set_params(n_estimators=6).fit(X, y)
    assert grown.estimators_[0] is first
    assert grown.n_insertions_ == whole.n_insertions_
    assert_array_equal(grown.predict(X), whole.predict(X))
    with pytest.warns(UserWarning, match="does not fit new"):
        grown.fit(X, y)
    with pytest.raises(ValueError, match="n_estimators=3"):
        grown.set_params(n_estimators=3).fit(X, y)


@pytest.mark.parametrize("forest", FORESTS)
def test_budget_of_the_forest(forest):
    X, y = data(forest)
    free = forest(12, random_state=0).fit(X, y)
    budget = free.n_insertions_ // 3
    model = forest(12, random_state=0, max_insertions=budget).fit(X, y)
    assert 0.8 * budget < model.n_insertions_ <= budget
    assert 1 <= len(model.estimators_) < 12
    assert model.predict(X).shape == y.shape
    # Trees within the budget are those of the forest without one.
    assert_array_equal(
        model.estimators_[0].tree_.threshold, free.estimators_[0].tree_.threshold
    )


def test_out_of_bag():
    X, y = CLASSIFICATION
    model = ensemble.RandomForestClassifier(
        30, oob_score=balanced_accuracy_score, random_state=0, n_jobs=2
    ).fit(X, y)
    assert model.oob_decision_function_.shape == (len(X), 10)
    assert 0.93 < model.oob_score_ < 0.99
    with pytest.raises(ValueError, match="bootstrap=True"):
        model.set_params(bootstrap=False).fit(X, y)


def test_bootstrap_samples_are_those_of_the_trees():
    X, y = REGRESSION
    model = ensemble.RandomForestRegressor(4, random_state=0, max_samples=50).fit(X, y)
    for drawn, estimator in zip(
        model.estimators_samples_, model.estimators_, strict=True
    ):
        assert len(drawn) == 50
        assert estimator.tree_.weighted_n_node_samples[0] == 50
        assert estimator.tree_.n_node_samples[0] == len(np.unique(drawn))
        assert_allclose(estimator.tree_.value[0].item(), y[drawn].mean())


@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample", {0: 10.0}])
def test_class_weight(class_weight):
    X, y = load_breast_cancer(return_X_y=True)
    rare = np.r_[np.flatnonzero(y == 1), np.flatnonzero(y == 0)[:20]]
    X, y = X[rare], y[rare]
    options = {"n_estimators": 30, "max_depth": 2, "random_state": 0}
    plain = ensemble.RandomForestClassifier(**options).fit(X, y)
    model = ensemble.RandomForestClassifier(class_weight=class_weight, **options)
    weighted = model.fit(X, y)
    assert (
        weighted.predict_proba(X)[:, 0].mean()
        > plain.predict_proba(X)[:, 0].mean() + 0.02
    )


def test_random_patches_see_a_patch():
    X, y = CLASSIFICATION
    model = ensemble.RandomPatchesClassifier(
        5, patch_samples=0.5, patch_features=0.25, random_state=0, oob_score=True
    )
    with pytest.warns(UserWarning, match="OOB"):
        model.fit(X, y)
    assert len(model.patch_samples_) == round(0.5 * len(X))
    assert len(model.patch_features_) == 16
    used = {f for e in model.estimators_ for f in e.tree_.feature if f >= 0}
    assert used <= set(model.patch_features_)
    for drawn in model.estimators_samples_:
        assert set(drawn) <= set(model.patch_samples_)
    assert model.score(X, y) > 0.8
    assert model.oob_score_ > 0.5


def test_more_random_thresholds_fit_better():
    X, y = REGRESSION
    scores = [
        ensemble.ExtraTreesRegressor(20, n_thresholds=n, max_depth=4, random_state=0)
        .fit(X, y)
        .score(X, y)
        for n in (1, 20)
    ]
    assert scores[1] > scores[0] + 0.02


def test_several_outputs_and_strings():
    X, y = CLASSIFICATION
    Y = np.column_stack([y, y % 3]).astype(str)
    model = ensemble.RandomForestClassifier(10, random_state=0).fit(X, Y)
    assert (model.predict(X) == Y).mean() > 0.98
    assert [p.shape[1] for p in model.predict_proba(X)] == [10, 3]


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has no callbacks")
@pytest.mark.parametrize("budget", [None, 10**9])
def test_callbacks_see_every_tree(budget, recorder):
    model = ensemble.RandomForestClassifier(
        3, n_jobs=2, max_insertions=budget, random_state=0
    )
    watched = model.set_callbacks(recorder).fit(*CLASSIFICATION)
    trees = ["begin tree", "end tree"] * 3
    assert recorder.events == ["setup", "begin fit", *trees, "end fit", "teardown"]
    plain = ensemble.RandomForestClassifier(3, random_state=0).fit(*CLASSIFICATION)
    for one, two in zip(watched.estimators_, plain.estimators_, strict=True):
        assert_array_equal(one.tree_.threshold, two.tree_.threshold)


@pytest.mark.parametrize("estimator", ["tree", "forest"])
def test_interrupt(estimator, interrupt):
    """Ctrl-C ends a fit that would take much longer, and leaves nothing fitted."""
    rng = np.random.default_rng(0)
    X = rng.random((400_000, 30), dtype=np.float32)
    y = rng.random(len(X))
    if estimator == "tree":
        model = tree.DecisionTreeRegressor(solver="exact")
    else:
        model = ensemble.RandomForestRegressor(200, n_jobs=2)
    before = dict(vars(model))
    interrupt.send_after(0.3)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    # A tree or two may be finished; the whole forest takes minutes.
    assert interrupt.cpu_seconds < 30.0
    assert vars(model) == before


def test_a_forest_without_newer_attributes_still_predicts():
    """Forests pickled before an attribute was added are still of use."""
    X, y = CLASSIFICATION
    model = ensemble.RandomForestClassifier(3, random_state=0).fit(X, y)
    state = pickle.loads(pickle.dumps(model)).__dict__
    for name in ("n_insertions_", "max_bins", "delta", "tol"):
        del state[name]
    old = ensemble.RandomForestClassifier.__new__(ensemble.RandomForestClassifier)
    old.__setstate__(state)
    for estimator in old.estimators_:
        del estimator.n_insertions_
    assert_array_equal(old.predict(X), model.predict(X))
    assert_array_equal(old.apply(X), model.apply(X))
