"""Pictures of searches."""

import numpy as np
import pytest
from early_policy import early_policy
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs, make_classification
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier as SklearnTree

from sklearn_bandit.bandit import best_arm
from sklearn_bandit.cluster import BanditKMedoids, medoid_silhouette
from sklearn_bandit.inspection import (
    InsertionsDisplay,
    RacingDisplay,
    SilhouetteDisplay,
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


class SampledTree(DecisionTreeClassifier):
    """A tree that samples nodes of fewer rows than it does otherwise."""

    _sampling_policy = early_policy()


def test_insertions_of_levels_sum_to_those_of_the_tree(samples):
    tree = SampledTree(random_state=0)
    figure, ax = plt.subplots()
    display = InsertionsDisplay.from_estimator(tree, *samples, max_depth=3, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    totals = {}
    for line, solver in zip(display.lines_, ["mab", "exact"], strict=True):
        fitted = SampledTree(max_depth=3, solver=solver, random_state=0)
        totals[solver] = fitted.fit(*samples).n_insertions_
        assert sum(line.get_ydata()) == totals[solver]
    # Were the solver ignored, the curves would be one.
    assert totals["mab"] < totals["exact"]
    assert not hasattr(tree, "tree_")


def test_insertions_are_those_of_our_trees(samples):
    with pytest.raises(TypeError, match="of this package"):
        InsertionsDisplay.from_estimator(SklearnTree(), *samples)


def test_speed_and_quality(samples):
    tree = SampledTree(max_depth=3, random_state=0)
    display = SpeedQualityDisplay.from_estimator(
        tree, *samples, param_range=[0.0, 0.1], cv=3
    )
    assert display.times.shape == display.scores.shape == (2, 3)
    assert display.ax_.get_title() == "delta"
    means = display.scores.mean(axis=1)
    np.testing.assert_allclose(display.lines_[0].get_ydata(), means)
    assert display.plot() is display
    deeper = SpeedQualityDisplay.from_estimator(
        tree, *samples, param_name="max_depth", param_range=[1, 3], cv=3
    )
    assert deeper.scores[0].mean() < deeper.scores[1].mean() == means[0]


def test_silhouettes():
    X, _ = make_blobs(2000, centers=4, cluster_std=2.0, random_state=0)
    kmedoids = BanditKMedoids(4, random_state=0).fit(X)
    display = SilhouetteDisplay.from_estimator(kmedoids, X)
    expected = medoid_silhouette(X, kmedoids.medoid_indices_)
    assert display.mean == expected.mean
    np.testing.assert_array_equal(display.labels, kmedoids.labels_)
    assert display.lines_[0].get_xdata()[0] == expected.mean
    assert display.figure_ is display.ax_.figure
    assert len(display.shapes_) == 4
    heights = []
    for cluster, shape in enumerate(display.shapes_):
        outline = shape.get_paths()[0].vertices
        own = expected.samples[kmedoids.labels_ == cluster]
        np.testing.assert_allclose(outline[:, 0].max(), own.max())
        heights.append(np.ptp(outline[:, 1]))
    np.testing.assert_allclose(heights, np.bincount(kmedoids.labels_) / 2000)
    _, ax = plt.subplots()
    assert display.plot(ax=ax).ax_ is ax


def test_sampled_silhouettes_have_a_band():
    X, _ = make_blobs(20_000, centers=3, random_state=0)
    kmedoids = BanditKMedoids(3, random_state=0).fit(X)
    display = SilhouetteDisplay.from_estimator(kmedoids, X, tol=0.05, random_state=0)
    assert 0 < display.radius <= 0.05
    assert len(display.silhouettes) < 20_000
    assert display.ax_.patches


def test_silhouettes_of_objects_and_small_clusters():
    words = ["a", "aa", "aaa", "bbbbbbbb", "bbbbbbbbb", "c" * 30]
    model = BanditKMedoids(3, metric=lambda a, b: abs(len(a) - len(b))).fit(words)
    display = SilhouetteDisplay.from_estimator(model, words)
    assert len(display.shapes_) == 3


def test_silhouettes_refuse():
    X = load_iris().data
    with pytest.raises(TypeError, match="BanditKMedoids"):
        SilhouetteDisplay.from_estimator(KMeans(2, n_init=1).fit(X), X)
    with pytest.raises(NotFittedError):
        SilhouetteDisplay.from_estimator(BanditKMedoids(2), X)
    with pytest.raises(ValueError, match="fitted on 150"):
        SilhouetteDisplay.from_estimator(BanditKMedoids(2).fit(X), X[:20])
