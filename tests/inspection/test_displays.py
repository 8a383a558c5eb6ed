"""Pictures of searches."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier as SklearnTree

from sklearn_bandit.bandit import best_arm
from sklearn_bandit.inspection import (
    InsertionsDisplay,
    RacingDisplay,
    SpeedQualityDisplay,
    SurvivorsDisplay,
)
from sklearn_bandit.model_selection import BanditGridSearchCV
from sklearn_bandit.tree import DecisionTreeClassifier

plt = pytest.importorskip("matplotlib.pyplot")
plt.switch_backend("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def samples():
    return make_classification(20_000, 12, random_state=0)


def search(history):
    costs = np.random.default_rng(0).random((50, 20_000)) + np.arange(50)[:, None] / 50
    return best_arm(
        lambda arms, references: costs[np.ix_(arms, references)],
        n_arms=50,
        n_references=20_000,
        random_state=0,
        history=history,
    )


def test_survivors():
    result = search(history=True)
    display = SurvivorsDisplay.from_result(result, name="medoid")
    x, y = display.lines_[0].get_data()
    assert y[0] == 50
    assert list(y[1:]) == [len(each.survivors) for each in result.history]
    assert list(x[1:]) == [each.n_references for each in result.history]
    assert display.figure_ is display.ax_.figure
    assert display.ax_.get_legend() is not None


def test_survivors_need_a_history():
    with pytest.raises(ValueError, match="history=True"):
        SurvivorsDisplay.from_result(search(history=False))


def test_race():
    grid = {"max_depth": [1, 2, 3, 4, 5]}
    X, y = load_iris(return_X_y=True)
    race = BanditGridSearchCV(SklearnTree(random_state=0), grid, cv=10).fit(X, y)
    display = RacingDisplay.from_estimator(race)
    n_done = race.cv_results_["n_folds_done"]
    assert [len(line.get_xdata()) for line in display.lines_] == list(n_done)
    full = np.flatnonzero(n_done == 10)
    ends = [display.lines_[i].get_ydata()[-1] for i in full]
    np.testing.assert_allclose(ends, race.cv_results_["mean_test_score"][full])


def test_other_searches_are_no_race():
    full = GridSearchCV(SklearnTree(), {"max_depth": [1, 2]})
    full.fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match="must be one of sklearn_bandit"):
        RacingDisplay.from_estimator(full)


def test_insertions_of_levels_sum_to_those_of_the_tree(samples):
    tree = DecisionTreeClassifier(random_state=0)
    figure, ax = plt.subplots()
    display = InsertionsDisplay.from_estimator(tree, *samples, max_depth=3, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    for line, solver in zip(display.lines_, ["mab", "exact"], strict=True):
        fitted = DecisionTreeClassifier(max_depth=3, solver=solver, random_state=0)
        assert sum(line.get_ydata()) == fitted.fit(*samples).n_insertions_
    assert not hasattr(tree, "tree_")


def test_insertions_are_those_of_our_trees(samples):
    with pytest.raises(TypeError, match="of this package"):
        InsertionsDisplay.from_estimator(SklearnTree(), *samples)


def test_speed_and_quality(samples):
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    display = SpeedQualityDisplay.from_estimator(
        tree, *samples, param_range=[0.0, 0.1], cv=3
    )
    assert display.times.shape == display.scores.shape == (2, 3)
    assert display.ax_.get_title() == "delta"
    means = display.scores.mean(axis=1)
    np.testing.assert_allclose(display.lines_[0].get_ydata(), means)
    assert display.plot() is display
