"""What scikit-learn does with our trees: inspection, export, searches, pickle."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.model_selection import GridSearchCV
from sklearn.tree import export_text, plot_tree

from sklearn_bandit import ensemble, tree
from sklearn_bandit._compat import HAS_CALLBACKS


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.fixture(scope="module")
def forest(cancer):
    return ensemble.RandomForestClassifier(10, max_depth=4, random_state=0).fit(*cancer)


def test_pickle(forest, cancer):
    again = pickle.loads(pickle.dumps(forest))
    np.testing.assert_array_equal(
        again.predict_proba(cancer[0]), forest.predict_proba(cancer[0])
    )
    assert again.n_insertions_ == forest.n_insertions_


def test_inspection(forest, cancer):
    X, y = cancer
    importances = permutation_importance(
        forest, X, y, n_repeats=2, random_state=0
    ).importances_mean
    assert importances.max() > 0.0
    assert forest.feature_importances_.sum() == pytest.approx(1.0)
    grid = partial_dependence(forest, X, [0], grid_resolution=5)
    assert grid["average"].shape == (1, 5)


def test_export_and_plot():
    X, y = load_diabetes(return_X_y=True)
    model = tree.DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, y)
    assert export_text(model).count("value") == model.get_n_leaves()
    pytest.importorskip("matplotlib").use("Agg")
    assert len(plot_tree(model)) >= model.tree_.node_count
    assert model.decision_path(X).shape == (len(X), model.tree_.node_count)
    assert set(model.apply(X)) <= set(range(model.tree_.node_count))


def test_grid_search(cancer):
    search = GridSearchCV(
        ensemble.RandomForestClassifier(5, random_state=0),
        {"solver": ["mab", "exact"], "max_depth": [2, 4]},
        cv=2,
    ).fit(*cancer)
    assert search.best_score_ > 0.85


def test_pandas_and_feature_names(cancer):
    pandas = pytest.importorskip("pandas")
    X, y = cancer
    frame = pandas.DataFrame(X, columns=[f"f{i}" for i in range(X.shape[1])])
    model = ensemble.RandomForestClassifier(5, random_state=0).fit(frame, y)
    assert list(model.feature_names_in_) == list(frame.columns)
    plain = ensemble.RandomForestClassifier(5, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(frame), plain.predict_proba(X))


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_do_not_change_the_forest(cancer, n_jobs):
    X, y = cancer
    one = ensemble.RandomForestClassifier(9, random_state=0).fit(X, y)
    many = ensemble.RandomForestClassifier(9, random_state=0, n_jobs=n_jobs).fit(X, y)
    assert one.n_insertions_ == many.n_insertions_
    for a, b in zip(one.estimators_, many.estimators_, strict=True):
        np.testing.assert_array_equal(a.tree_.threshold, b.tree_.threshold)
        np.testing.assert_array_equal(a.tree_.value, b.tree_.value)


@pytest.mark.skipif(not HAS_CALLBACKS, reason="scikit-learn has no callbacks")
def test_callbacks_see_every_iteration(cancer, recorder):
    model = ensemble.HistGradientBoostingClassifier(max_iter=3)
    model.set_callbacks(recorder).fit(*cancer)
    iterations = ["begin iteration", "end iteration"] * 3
    assert recorder.events == ["setup", "begin fit", *iterations, "end fit", "teardown"]
