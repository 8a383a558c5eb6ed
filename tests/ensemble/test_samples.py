"""The samples, features and bins that the trees of a forest see."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import ensemble as sklearn_ensemble
from sklearn.base import clone, is_classifier
from sklearn.datasets import make_hastie_10_2

from sklearn_bandit import ensemble
from sklearn_bandit._compat import DRAWS_BY_WEIGHT
from sklearn_bandit.ensemble._forest_trees import TreesToGrow
from sklearn_bandit.tree import DecisionTreeClassifier
from sklearn_bandit.tree._data import bootstrap, packing

FORESTS = [getattr(ensemble, name) for name in ensemble.__all__ if "Hist" not in name]
PATCHES = [ensemble.RandomPatchesClassifier, ensemble.RandomPatchesRegressor]


many_draws = pytest.mark.skipif(
    not DRAWS_BY_WEIGHT, reason="no more draws than samples before scikit-learn 1.8"
)


@many_draws
@pytest.mark.parametrize("name", ["RandomForestClassifier", "RandomForestRegressor"])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_drawn_more_often_than_65535_times(name, weighted):
    """Counts of 16 bits do not hold them."""
    X = np.arange(10.0).reshape(-1, 1)
    y = np.arange(10) % 2
    weight, max_samples = None, 1_000_000
    if weighted:
        weight, max_samples = np.full(10, 100_000.0), 1.0
    roots = []
    for package in (ensemble, sklearn_ensemble):
        model = getattr(package, name)(2, max_samples=max_samples, random_state=0)
        trees = model.fit(X, y, sample_weight=weight).estimators_
        roots.append([one.tree_.weighted_n_node_samples[0] for one in trees])
        assert [one.tree_.n_node_samples[0] for one in trees] == [10, 10]
    assert roots[0] == roots[1] == [1_000_000, 1_000_000]


def test_a_row_drawn_65536_times_is_not_lost():
    n_draws = 3 * 65_536
    counts = bootstrap.draw_counts(0, 3, n_draws)
    draws = np.random.RandomState(0).randint(0, 3, n_draws)
    assert_array_equal(counts, np.bincount(draws))
    only = bootstrap.draw_counts(0, 1, 65_536)
    assert_array_equal(only, [65_536])
    assert bootstrap.draw_counts(0, 1, 65_535).dtype == np.uint16


@many_draws
def test_a_forest_on_one_row_drawn_65536_times():
    model = ensemble.RandomForestRegressor(1, max_samples=65_536, random_state=0)
    model.fit([[1.0]], [3.0])
    assert model.estimators_[0].tree_.weighted_n_node_samples[0] == 65_536


@pytest.mark.parametrize("forest", PATCHES)
@pytest.mark.parametrize("sign", [-1, 1])
def test_monotonic_patches(forest, sign):
    """Constraints are on the features of the data, not on those of the patch."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 8))
    y = sign * X[:, 5] + 0.5 * np.sin(5 * X[:, 5]) + X[:, 1] + rng.normal(size=400)
    if is_classifier(forest()):
        y = y > 0
    constraints = np.zeros(8, dtype=int)
    constraints[5] = sign
    model = forest(
        20, patch_features=0.75, max_features=None, monotonic_cst=constraints
    )
    seeds = [
        seed
        for seed in range(20)
        if 5 in clone(model).set_params(random_state=seed).fit(X, y).patch_features_
    ]
    model.set_params(random_state=seeds[0]).fit(X, y)
    assert any(5 in one.tree_.feature for one in model.estimators_)
    rows = np.repeat(X[:20], 50, axis=0)
    rows[:, 5] = np.tile(np.linspace(-3, 3, 50), 20)
    values = (
        model.predict_proba(rows)[:, 1] if is_classifier(model) else model.predict(rows)
    )
    steps = np.diff(values.reshape(20, 50), axis=1)
    assert (sign * steps >= -1e-12).all()
    assert steps.any()
    with pytest.raises(ValueError, match=r"monotonic_cst has shape 6 .* 8 features"):
        clone(model).set_params(monotonic_cst=constraints[:6]).fit(X, y)


@pytest.mark.parametrize("forest", FORESTS)
@pytest.mark.parametrize("bootstrap", [False, True])
def test_trees_can_be_fitted_again(forest, bootstrap):
    """A tree fitted to the sample of one of a forest is the same tree."""
    X, y = make_hastie_10_2(n_samples=200, random_state=1)
    options = {"max_samples": 0.5} if bootstrap else {}
    if "patch_features" in forest().get_params():
        options["patch_features"] = 1.0
    model = forest(
        4, max_features=0.5, bootstrap=bootstrap, random_state=0, **options
    ).fit(X, y)
    for one, samples in zip(model.estimators_, model.estimators_samples_, strict=True):
        again = clone(one).fit(X[samples], y[samples]).tree_
        assert_array_equal(again.feature, one.tree_.feature)
        assert_allclose(again.threshold, one.tree_.threshold)
        assert_allclose(again.value, one.tree_.value)


@pytest.mark.parametrize("forest", FORESTS)
def test_bins_depend_on_the_random_state(forest, monkeypatch):
    """Of more than 20,000 rows, bins are made of some: other ones for other seeds."""
    drawn = []

    def pack(X, max_bins, n_threads, random_state, **options):
        drawn.append(random_state.randint(1 << 30))
        return original(X, max_bins, n_threads, random_state, **options)

    original = packing.pack
    monkeypatch.setattr(packing, "pack", pack)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.integers(0, 2, 50)
    for seed in (0, 1, 0):
        forest(3, random_state=seed, n_jobs=1 + seed).fit(X, y)
    assert drawn[0] == drawn[2] != drawn[1]
    # A warm start adds trees on the same bins, also if the state is an object.
    model = forest(2, random_state=np.random.RandomState(5), warm_start=True).fit(X, y)
    model.set_params(n_estimators=4).fit(X, y)
    assert drawn[3] == drawn[4]


def test_threads_that_ask_for_trees_at_once_get_those_of_their_numbers():
    """As the threads of a dask worker do."""
    forest = ensemble.RandomForestClassifier(n_estimators=1)
    forest.estimator_ = DecisionTreeClassifier()

    def seeds(trees, numbers):
        return [trees[number].random_state for number in numbers]

    expected = seeds(TreesToGrow(forest, np.random.RandomState(0), 400), range(400))
    for _ in range(5):
        trees = TreesToGrow(forest, np.random.RandomState(0), 400)
        with ThreadPoolExecutor(4) as pool:
            parts = [range(start, 400, 4) for start in range(4)]
            found = list(pool.map(partial(seeds, trees), parts))
        for start, part in enumerate(found):
            assert part == expected[start::4]
