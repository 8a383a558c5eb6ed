"""Permutation importance of forests on the samples that their trees have not drawn."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import (
    BaggingRegressor,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.metrics import log_loss

from sklearn_bandit import ensemble
from sklearn_bandit.inspection import bandit_permutation_importance

N_FEATURES = 8


@pytest.fixture(scope="module")
def friedman():
    """Five features of eight have an effect."""
    return make_friedman1(500, N_FEATURES, random_state=0)


@pytest.fixture(scope="module")
def classes():
    X, y = make_classification(
        500, N_FEATURES, n_classes=3, n_informative=4, random_state=0
    )
    return X, np.array(["a", "b", "c"])[y]


def predictions(forest, X, method):
    """Of every row by the trees that have not drawn it, row by row."""
    X = X.astype(np.float32)
    drawn = [set(samples) for samples in forest.estimators_samples_]
    found = []
    for i, row in enumerate(X):
        each = [
            getattr(tree, method)(row[None])[0]
            for tree, samples in zip(forest.estimators_, drawn, strict=True)
            if i not in samples
        ]
        found.append(np.mean(each, axis=0))
    return np.array(found)


def shuffled(X, seed):
    """X with one feature after the other shuffled, as scikit-learn draws."""
    seed = np.random.RandomState(seed).randint(np.iinfo(np.int32).max + 1)
    for feature in range(X.shape[1]):
        rng = np.random.RandomState(seed)
        order = np.arange(len(X))
        rng.shuffle(order)
        changed = X.copy()
        changed[:, feature] = X[order, feature]
        yield changed


def r2(y, predicted):
    return 1 - np.mean((y - predicted) ** 2) / y.var()


def test_against_the_definition(friedman):
    X, y = (each[:60] for each in friedman)
    forest = RandomForestRegressor(20, random_state=0).fit(X, y)
    before = r2(y, predictions(forest, X, "predict"))
    expected = [
        before - r2(y, predictions(forest, changed, "predict"))
        for changed in shuffled(X, seed=3)
    ]
    options = {"oob": True, "n_repeats": 1, "random_state": 3}
    full = bandit_permutation_importance(forest, X, y, **options)
    exact = bandit_permutation_importance(forest, X, y, k=3, delta=0, **options)
    for result in (full, exact):
        np.testing.assert_allclose(result.importances_mean, expected, atol=1e-10)
        np.testing.assert_array_equal(result.importances_low, result.importances_high)
    np.testing.assert_array_equal(exact.selected, np.argsort(expected)[::-1][:3])


def test_probabilities_against_the_definition(classes):
    X, y = (each[:60] for each in classes)
    forest = RandomForestClassifier(20, max_depth=3, random_state=0).fit(X, y)
    before = log_loss(y, predictions(forest, X, "predict_proba"))
    expected = [
        log_loss(y, predictions(forest, changed, "predict_proba")) - before
        for changed in shuffled(X, seed=0)
    ]
    options = {"oob": True, "n_repeats": 1, "random_state": 0}
    exact = bandit_permutation_importance(
        forest, X, y, k=3, delta=0, scoring="neg_log_loss", **options
    )
    np.testing.assert_allclose(exact.importances_mean, expected, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scoring", [None, "balanced_accuracy", "neg_log_loss"])
def test_exact_mode_is_the_full_computation(classes, scoring, weighted):
    X, y = classes
    forest = ensemble.RandomForestClassifier(30, max_depth=5, random_state=0).fit(X, y)
    options = {"scoring": scoring, "oob": True, "n_repeats": 2, "random_state": 1}
    if weighted:
        options["sample_weight"] = np.random.RandomState(1).rand(len(X)) + 0.1
    full = bandit_permutation_importance(forest, X, y, **options)
    exact = bandit_permutation_importance(forest, X, y, tol=1.0, delta=0, **options)
    np.testing.assert_allclose(
        exact.importances_mean, full.importances_mean, atol=1e-10
    )


def test_failures_are_counted():
    """The selection and all intervals, over 40 seeds: at delta = .05, 2 are expected
    at most, and 7 have a chance below 1%."""
    X, y = make_friedman1(3000, 20, random_state=0)
    forest = ensemble.RandomForestRegressor(
        10, max_depth=6, random_state=0, n_jobs=1
    ).fit(X, y)
    n_wrong = n_outside = 0
    for seed in range(40):
        options = {"oob": True, "n_repeats": 1, "random_state": seed}
        mean = bandit_permutation_importance(forest, X, y, **options).importances_mean
        options["delta"] = 0.05
        top = bandit_permutation_importance(forest, X, y, k=4, **options)
        n_wrong += set(top.selected) != set(np.argsort(-mean)[:4])
        low, high = top.importances_low - 1e-12, top.importances_high + 1e-12
        n_outside += ((mean < low) | (mean > high)).any()
        assert top.n_predictions < X.size / 2
    assert n_wrong <= 6
    assert n_outside <= 6


def test_known_to_tol(friedman):
    X, y = friedman
    forest = RandomForestRegressor(20, random_state=0).fit(X, y)
    options = {"oob": True, "n_repeats": 5, "random_state": 0}
    full = bandit_permutation_importance(forest, X, y, **options)
    near = bandit_permutation_importance(forest, X, y, tol=0.1, **options)
    assert near.n_predictions < full.n_predictions
    assert (near.importances_high - near.importances_low <= 0.2 + 1e-12).all()
    assert np.abs(near.importances_mean - full.importances_mean).max() <= 0.1


def test_rows_that_all_trees_have_drawn_are_left_out(friedman):
    X, y = friedman
    forest = RandomForestRegressor(2, random_state=0).fit(X, y)
    first, second = forest.estimators_samples_
    judged = len(X) - len(np.intersect1d(first, second))
    assert judged < len(X)
    result = bandit_permutation_importance(
        forest, X, y, oob=True, n_repeats=1, random_state=0
    )
    assert result.n_predictions == judged * (1 + N_FEATURES)
    # A sample of one is drawn by every tree.
    forest = RandomForestRegressor(2, max_samples=1).fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="No sample is out of bag"):
        bandit_permutation_importance(forest, X[:1], y[:1], oob=True)


@pytest.mark.parametrize(
    "Forest",
    [
        ExtraTreesRegressor,
        ensemble.RandomForestRegressor,
        ensemble.ExtraTreesRegressor,
        ensemble.RandomPatchesRegressor,
    ],
)
def test_features_with_an_effect_come_first(friedman, Forest):
    X, y = friedman
    forest = Forest(40, bootstrap=True, random_state=0).fit(X, y)
    top = bandit_permutation_importance(forest, X, y, oob=True, k=1, random_state=0)
    # Random patches may not see them all.
    assert top.selected[0] in getattr(forest, "patch_features_", range(5))
    assert top.selected[0] < 5


def test_categories_missing_values_and_several_outputs():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 6, 600)
    frame = pandas.DataFrame(
        {
            "number": rng.standard_normal(600),
            "kind": pandas.Categorical(np.array(list("uvwxyz"))[kind]),
            "noise": rng.standard_normal(600),
        }
    )
    frame.loc[::9, "number"] = np.nan
    y = rng.standard_normal(6)[kind] + 0.1 * frame["number"].fillna(0).to_numpy()
    forest = ensemble.RandomForestRegressor(
        20, categorical_features="from_dtype", random_state=0
    ).fit(frame, y)
    options = {"oob": True, "k": 1, "random_state": 0}
    top = bandit_permutation_importance(forest, frame, y, **options)
    assert frame.columns[top.selected[0]] == "kind"
    X = np.column_stack([frame["number"], kind, frame["noise"]])
    Y = np.column_stack([y, 2 * y])
    forest = RandomForestRegressor(20, random_state=0).fit(X, Y)
    top = bandit_permutation_importance(forest, X, Y, **options)
    assert top.selected[0] == 1


def test_same_seed_same_result_for_any_n_jobs(friedman, monkeypatch):
    X, y = friedman
    forest = RandomForestRegressor(10, random_state=0).fit(X, y)
    module = "sklearn_bandit.inspection._permutation_losses"
    monkeypatch.setattr(f"{module}.MAX_VALUES", 3000)  # several calls in a batch
    one, two = (
        bandit_permutation_importance(
            forest, X, y, k=2, oob=True, random_state=0, n_jobs=n_jobs
        )
        for n_jobs in (None, 2)
    )
    np.testing.assert_array_equal(one.importances_mean, two.importances_mean)
    assert one.n_rounds == two.n_rounds


def test_bad_input(friedman):
    X, y = friedman

    def importance(model, X=X, y=y, **options):
        return bandit_permutation_importance(model, X, y, oob=True, k=2, **options)

    for other in (Ridge().fit(X, y), BaggingRegressor(n_estimators=2).fit(X, y)):
        with pytest.raises(ValueError, match=f"got {type(other).__name__}"):
            importance(other)
    with pytest.raises(NotFittedError):
        importance(RandomForestRegressor())
    with pytest.raises(ValueError, match="bootstrap=True"):
        importance(RandomForestRegressor(2, bootstrap=False).fit(X, y))
    forest = RandomForestRegressor(4, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="has 7 features"):
        importance(forest, X[:, 1:])
    with pytest.raises(ValueError, match=r"X has 20 samples, .* fitted on 500"):
        importance(forest, X[:20], y[:20])
    with pytest.raises(ValueError, match="inconsistent"):
        importance(forest, X, y[1:])
    with pytest.raises(ValueError, match="targets are needed"):
        importance(forest, X, None)
    for max_samples in (0.5, 1, 500):
        with pytest.raises(ValueError, match="max_samples must be"):
            importance(forest, max_samples=max_samples)
    with pytest.raises(ValueError, match="sample_weight"):
        importance(forest, sample_weight=np.ones(3))
    both = RandomForestClassifier(4).fit(X, np.column_stack([y > 14, y > 10]))
    with pytest.raises(ValueError, match="several outputs"):
        importance(both, y=np.column_stack([y > 14, y > 10]))
