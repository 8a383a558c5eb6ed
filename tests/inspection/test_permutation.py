"""Out-of-bag permutation importance."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, make_friedman1
from sklearn.ensemble import (
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError

from sklearn_bandit import ensemble
from sklearn_bandit.inspection import oob_permutation_importance


@pytest.fixture(scope="module")
def friedman():
    """Five features of ten have an effect."""
    return make_friedman1(n_samples=400, n_features=10, random_state=0)


def brute_force(forest, X, y, seed):
    """The definition, feature by feature, with the generator of the first tree."""
    tree, in_bag = forest.estimators_[0], forest.estimators_samples_[0]
    out = np.setdiff1d(np.arange(len(X)), in_bag)
    rng = np.random.RandomState(
        np.random.RandomState(seed).randint(2**31 - 1, size=len(forest.estimators_))[0]
    )
    losses = []
    for feature in range(X.shape[1]):
        if feature not in tree.tree_.feature:
            losses.append(0.0)
            continue
        shuffled = X[out].copy()
        shuffled[:, feature] = rng.permutation(shuffled[:, feature])
        losses.append(tree.score(X[out], y[out]) - tree.score(shuffled, y[out]))
    return losses


def test_against_the_definition(friedman):
    X, y = friedman
    X = X.astype(np.float32)
    forest = RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, y)
    result = oob_permutation_importance(forest, X, y, random_state=3)
    assert result.importances.shape == (10, 5)
    np.testing.assert_allclose(
        result.importances[:, 0], brute_force(forest, X, y, seed=3)
    )
    np.testing.assert_allclose(result.importances_mean, result.importances.mean(axis=1))
    np.testing.assert_allclose(result.importances_std, result.importances.std(axis=1))


@pytest.mark.parametrize(
    "Forest",
    [
        RandomForestRegressor,
        ExtraTreesRegressor,
        ensemble.RandomForestRegressor,
        ensemble.ExtraTreesRegressor,
        ensemble.RandomPatchesRegressor,
    ],
)
def test_features_with_an_effect_come_first(friedman, Forest):
    X, y = friedman
    forest = Forest(50, bootstrap=True, random_state=0).fit(X, y)
    mean = oob_permutation_importance(forest, X, y, random_state=0).importances_mean
    # Random patches may not see them all.
    seen = getattr(forest, "patch_features_", np.arange(10))
    assert set(np.argsort(mean)[::-1][: np.sum(seen < 5)]) == set(seen[seen < 5])
    assert mean[5:].max() < 0.05


def test_out_of_bag_samples_of_our_forests(friedman):
    """Trees are scored on samples that they have not seen: far from a perfect fit."""
    X, y = friedman
    forest = ensemble.RandomForestRegressor(20, oob_score=True, random_state=0)
    forest.fit(X, y)
    in_bag, out_of_bag = [], []
    for tree, samples in zip(
        forest.estimators_, forest.estimators_samples_, strict=True
    ):
        out = np.setdiff1d(np.arange(len(X)), samples)
        in_bag.append(tree.score(X[samples], y[samples]))
        out_of_bag.append(tree.score(X[out], y[out]))
    assert min(in_bag) > 0.99
    assert max(out_of_bag) < 0.8


def test_threads_do_not_matter(friedman):
    X, y = friedman
    forest = RandomForestRegressor(8, random_state=0).fit(X, y)
    one = oob_permutation_importance(forest, X, y, random_state=0)
    two = oob_permutation_importance(forest, X, y, random_state=0, n_jobs=2)
    np.testing.assert_array_equal(one.importances, two.importances)


def test_data_is_left_as_it_was(friedman):
    X, y = friedman
    X = X.astype(np.float32)
    X.flags.writeable = False
    forest = RandomForestRegressor(3, random_state=0).fit(X, y)
    oob_permutation_importance(forest, X, y, random_state=0)


def test_string_classes_scoring_and_missing_values():
    X, y = load_breast_cancer(return_X_y=True)
    X[::7, 3] = np.nan
    names = np.array(["malignant", "benign"])[y]
    forest = RandomForestClassifier(20, random_state=0).fit(X, names)
    accuracy = oob_permutation_importance(forest, X, names, random_state=0)
    auc = oob_permutation_importance(
        forest, X, names, scoring="roc_auc", n_repeats=2, random_state=0
    )
    assert accuracy.importances_mean.max() > 0.01
    assert auc.importances_mean.max() > 0.01
    assert not np.allclose(accuracy.importances_mean, auc.importances_mean)


def test_several_outputs(friedman):
    X, y = friedman
    Y = np.column_stack([y, X[:, 9]])
    forest = RandomForestRegressor(20, random_state=0).fit(X, Y)
    mean = oob_permutation_importance(forest, X, Y, random_state=0).importances_mean
    assert mean[9] > mean[5:9].max()


def test_max_samples_and_weights(friedman):
    X, y = friedman
    weight = np.random.RandomState(0).randint(1, 4, len(y))
    forest = RandomForestRegressor(20, max_samples=0.3, random_state=0)
    forest.fit(X, y, sample_weight=weight)
    mean = oob_permutation_importance(forest, X, y, random_state=0).importances_mean
    assert mean[:5].min() > mean[5:].max() - 0.02


def test_bad_input(friedman):
    X, y = friedman
    with pytest.raises(NotFittedError):
        oob_permutation_importance(RandomForestRegressor(), X, y)
    whole = RandomForestRegressor(2, bootstrap=False).fit(X, y)
    with pytest.raises(ValueError, match="bootstrap=True"):
        oob_permutation_importance(whole, X, y)
    forest = RandomForestRegressor(2).fit(X, y)
    with pytest.raises(ValueError, match="has 9 features"):
        oob_permutation_importance(forest, X[:, 1:], y)
    # The samples that a tree did not draw are known by their numbers.
    with pytest.raises(ValueError, match=r"X has 20 samples, .* fitted on 400"):
        oob_permutation_importance(forest, X[:20], y[:20])
    with pytest.raises(ValueError, match=r"X has 401 samples, .* fitted on 400"):
        oob_permutation_importance(forest, X[[0, *range(400)]], y[[0, *range(400)]])
    patches = ensemble.RandomPatchesRegressor(2).fit(X, y)
    with pytest.raises(ValueError, match=r"X has 399 samples, .* fitted on 400"):
        oob_permutation_importance(patches, X[1:], y[1:])
    with pytest.raises(ValueError, match="inconsistent"):
        oob_permutation_importance(forest, X, y[1:])
    with pytest.raises(ValueError, match="n_repeats"):
        oob_permutation_importance(forest, X, y, n_repeats=0)
    classifier = RandomForestClassifier(2).fit(X, y > 14)
    with pytest.raises(ValueError, match=r"labels that .* not fitted on: \[2\]"):
        oob_permutation_importance(classifier, X, np.where(y > 14, 2, 0))
