"""Forests and boosted models predict as scikit-learn's do, packed or not."""

import copy
import pickle
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn import ensemble as sk_ensemble
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_digits
from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import (
    BaseHistGradientBoosting,
)

from sklearn_bandit import ensemble
from sklearn_bandit.ensemble._boosting._prediction.packed_forms import packed_boosters
from sklearn_bandit.ensemble._forest_prediction import (
    MIN_VALUES_UNCHECKED,
    packed_forests,
)

FORESTS = [
    (ensemble.RandomForestClassifier, sk_ensemble.RandomForestClassifier),
    (ensemble.ExtraTreesClassifier, sk_ensemble.ExtraTreesClassifier),
    (ensemble.RandomPatchesClassifier, sk_ensemble.RandomForestClassifier),
    (ensemble.RandomForestRegressor, sk_ensemble.RandomForestRegressor),
    (ensemble.ExtraTreesRegressor, sk_ensemble.ExtraTreesRegressor),
    (ensemble.RandomPatchesRegressor, sk_ensemble.RandomForestRegressor),
]


def packed_form(forms, model):
    """The packed form of a model, None if there is none."""
    entry = forms._entries.get(model)
    return None if entry is None else entry._state[2]


def digits(is_class):
    X, y = (load_digits if is_class else load_diabetes)(return_X_y=True)
    return X, y


@pytest.mark.parametrize(("Ours", "Theirs"), FORESTS)
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_forests_predict_as_scikit_learn(Ours, Theirs, n_outputs):
    is_class = hasattr(Ours, "predict_proba")
    X, y = digits(is_class)
    if n_outputs == 2:
        y = np.column_stack([y, y % 3 if is_class else -y])
    model = Ours(n_estimators=12, min_samples_leaf=2, random_state=0).fit(X, y)
    names = ["predict", "predict_proba"] if is_class else ["predict"]
    for name in names:
        expected = (
            getattr(Theirs, name)(model, X)
            if name != "predict" or not is_class
            else None
        )
        for part in (
            X[:1],
            X[:1],
            X,
            csr_matrix(X),
            X.astype(np.float32),
            np.asfortranarray(X),
        ):
            found = getattr(model, name)(part)
            if expected is None:
                # scikit-learn's `predict` calls the `predict_proba` of the model.
                proba = Theirs.predict_proba(model, part)
                probas = proba if isinstance(proba, list) else [proba]
                classes = model.classes_ if n_outputs == 2 else [model.classes_]
                columns = [
                    c[p.argmax(axis=1)] for c, p in zip(classes, probas, strict=True)
                ]
                want = np.column_stack(columns) if n_outputs == 2 else columns[0]
                np.testing.assert_array_equal(found, want)
                continue
            pairs = (
                zip(found, expected, strict=True)
                if isinstance(found, list)
                else [(found, expected)]
            )
            for one, other in pairs:
                np.testing.assert_array_equal(one, other[: part.shape[0]])
    assert packed_form(packed_forests, model) is not None


def fitted(**parameters):
    X, y = load_digits(return_X_y=True)
    parameters = {"n_estimators": 10, "random_state": 0} | parameters
    return ensemble.RandomForestClassifier(**parameters).fit(X, y), X, y


def test_one_row_is_not_worth_packing():
    model, X, _ = fitted()
    model.predict(X[:1])
    assert packed_form(packed_forests, model) is None
    model.predict(X[:1])
    assert packed_form(packed_forests, model) is not None


def test_the_packed_form_is_dropped_at_refit_and_not_pickled():
    model, X, y = fitted()
    before = pickle.dumps(model)
    expected = model.predict_proba(X)
    assert packed_form(packed_forests, model) is not None
    assert len(pickle.dumps(model)) == len(before)
    for other in (pickle.loads(before), copy.deepcopy(model), copy.copy(model)):
        assert packed_form(packed_forests, other) is None
        np.testing.assert_array_equal(other.predict_proba(X), expected)
    assert packed_form(packed_forests, clone(model)) is None
    model.fit(X, y)
    assert packed_form(packed_forests, model) is None


@pytest.mark.parametrize("edit", ["warm", "drop", "exchange", "replace"])
def test_changed_trees_are_noticed(edit):
    model, X, y = fitted(warm_start=True)
    model.predict_proba(X)
    if edit == "warm":
        model.set_params(n_estimators=15).fit(X, y)
    elif edit == "drop":
        del model.estimators_[3]
    elif edit == "exchange":
        model.estimators_[0] = fitted(random_state=5)[0].estimators_[0]
    else:
        model.estimators_[2].tree_ = fitted(random_state=5)[0].estimators_[0].tree_
    expected = sk_ensemble.RandomForestClassifier.predict_proba(model, X)
    for _ in range(2):
        np.testing.assert_array_equal(model.predict_proba(X), expected)


class Inverted(ensemble.RandomForestClassifier().estimator.__class__):
    """A tree that predicts in a way of its own."""

    def predict_proba(self, X, check_input=True):
        return 1.0 - super().predict_proba(X, check_input)


def test_trees_of_other_kinds_are_asked_themselves():
    model, X, _ = fitted()
    expected = 1.0 - model.predict_proba(X)
    for tree in model.estimators_:
        tree.__class__ = Inverted
    packed_forests.forget(model)
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)


def test_threads_and_processes_share_a_model():
    model, X, _ = fitted()
    expected = model.predict_proba(X)
    packed_forests.forget(model)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: model.predict_proba(X), range(24)):
            np.testing.assert_array_equal(found, expected)
    for found in Parallel(2)(delayed(model.predict_proba)(X) for _ in range(2)):
        np.testing.assert_array_equal(found, expected)
    model.n_jobs = 2
    many = np.tile(X, (3, 1))
    np.testing.assert_array_equal(model.predict_proba(many), np.tile(expected, (3, 1)))


@pytest.mark.parametrize("n_calls", [0, 2])
def test_bad_input_is_refused_before_and_after_packing(n_calls):
    model, X, _ = fitted(monotonic_cst=None)
    for _ in range(n_calls):
        model.predict(X)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, 1:])
    with pytest.raises(ValueError, match="infinity"):
        model.predict(np.where(X > 5, np.inf, X))
    with pytest.raises(ValueError, match="minimum of 1"):
        model.predict(X[:0])
    with pytest.raises(ValueError, match="NaN"):
        model.predict(csr_matrix(np.where(X > 15, np.nan, X)))


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("predict_delta", [0.0, 0.01])
@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e39])
def test_infinite_values_among_many_are_refused_as_among_few(value, predict_delta):
    """Those of many samples are found while they are read; 1e39 is none of float32."""
    X, y = noisy(3, 30_000)
    model = ensemble.RandomForestClassifier(
        60, max_depth=3, predict_delta=predict_delta, n_jobs=2, random_state=0
    ).fit(X[:500], y[:500])
    expected = model.predict(X)
    bad = X.astype(np.float64)
    bad[-1, 4] = value
    assert bad.size > MIN_VALUES_UNCHECKED
    with pytest.raises(ValueError, match="infinity") as refused:
        model.predict(bad[-10:])
    for samples in (bad, np.asfortranarray(bad), bad[:, ::-1][:, ::-1]):
        with pytest.raises(ValueError, match=re.escape(str(refused.value))):
            model.predict(samples)
        with config_context(assume_finite=True):
            found = model.predict(samples)
        np.testing.assert_array_equal(found[:-1], expected[:-1])


@pytest.mark.parametrize("predict_delta", [0.0, 0.01])
def test_missing_values_among_many_are_predicted_as_among_few(predict_delta):
    X, y = noisy(3, 30_000)
    X[::1000, 1] = np.nan
    model = ensemble.RandomForestClassifier(
        60, max_depth=5, predict_delta=predict_delta, n_jobs=2, random_state=0
    ).fit(X[:500], y[:500])
    few = [model.predict(X[i : i + 3000]) for i in range(0, len(X), 3000)]
    np.testing.assert_array_equal(model.predict(X), np.concatenate(few))


@pytest.mark.parametrize("Forest", [pair[0] for pair in FORESTS[:3]])
def test_few_trees_disagree_with_all_at_most_delta(Forest):
    X, y = load_digits(return_X_y=True)
    model = Forest(200, max_depth=6, random_state=0).fit(X[::2], y[::2])
    exact = model.predict(X)
    probabilities = model.predict_proba(X)
    model.set_params(predict_delta=0.01)
    found, n_asked = model.predict(X), model.count_trees(X)
    assert np.mean(found != exact) <= 0.01
    assert n_asked.mean() < 120
    np.testing.assert_array_equal(model.predict_proba(X), probabilities)
    np.testing.assert_array_equal(
        np.concatenate([model.predict(X[i : i + 1]) for i in range(40)]), found[:40]
    )


def noisy(n_classes, n_samples):
    """Samples with noisy classes: many votes are close."""
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(n_samples, 5)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n_samples)).argsort().argsort()
    return X, y * n_classes // n_samples


@pytest.mark.parametrize("parameters", [{}, {"min_samples_leaf": 10}])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_close_votes_disagree_with_all_trees_at_most_delta(n_classes, parameters):
    """On samples that were not trained on, and on those whose margin is small."""
    X, y = noisy(n_classes, 8000)
    model = ensemble.RandomForestClassifier(
        200, max_depth=8, random_state=0, n_jobs=2, **parameters
    ).fit(X[:1000], y[:1000])
    test = X[1000:]
    shares = np.sort(model.predict_proba(test), axis=1)
    is_close = shares[:, -1] - shares[:, -2] < 0.05
    exact = model.predict(test)
    differs = model.set_params(predict_delta=0.05).predict(test) != exact
    assert model.count_trees(test).mean() < 180
    assert is_close.sum() > 300
    assert differs.mean() <= 0.05
    assert differs[is_close].mean() <= 0.05


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, csr_matrix])
def test_what_a_row_asks_does_not_depend_on_other_rows(make):
    """Open rows of many blocks go on together, in whatever thread they are."""
    X, y = noisy(3, 30_000)
    model = ensemble.RandomForestClassifier(100, max_depth=8, random_state=0)
    model.fit(X[:1000], y[:1000])
    model.set_params(predict_delta=0.01)
    few = [X[i : i + 2000] for i in range(0, len(X), 2000)]
    found = np.concatenate([model.predict(part) for part in few])
    n_asked = np.concatenate([model.count_trees(part) for part in few])
    assert len(np.unique(n_asked)) > 8
    for n_jobs in (1, 2, 3):
        model.set_params(n_jobs=n_jobs)
        np.testing.assert_array_equal(model.predict(make(X)), found)
        np.testing.assert_array_equal(model.count_trees(make(X)), n_asked)
    alone = [model.predict(X[i : i + 1])[0] for i in range(50)]
    np.testing.assert_array_equal(alone, found[:50])


def test_missing_values_wait_with_others():
    X, y = noisy(3, 30_000)
    X[::7, 0] = np.nan
    model = ensemble.RandomForestClassifier(100, max_depth=8, random_state=0)
    model.fit(X[:1000], y[:1000])
    model.set_params(predict_delta=0.01)
    found = model.predict(X)
    few = np.concatenate(
        [model.predict(X[i : i + 2000]) for i in range(0, len(X), 2000)]
    )
    np.testing.assert_array_equal(few, found)


def test_a_row_that_asks_all_trees_gets_the_class_of_all():
    """Ties of means are broken as without sampling, in blocks and one by one."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (3000, 4)).astype(float)
    y = rng.integers(0, 3, 3000)
    model = ensemble.RandomForestClassifier(
        30, max_depth=3, class_weight={0: 0.1, 1: 0.1, 2: 0.1}, random_state=0
    ).fit(X, y)
    # The first two classes are level in each tree: sums differ by rounding at most.
    for tree in model.estimators_:
        value = tree.tree_.value
        value[:, 0, 1] = value[:, 0, 0]
    exact = model.predict(X)
    model.set_params(predict_delta=0.01)
    found, n_asked = model.predict(X), model.count_trees(X)
    asked_all = n_asked == 30
    assert asked_all.sum() > 100
    np.testing.assert_array_equal(found[asked_all], exact[asked_all])
    rows = np.flatnonzero(asked_all)[:20]
    np.testing.assert_array_equal(
        np.concatenate([model.predict(X[i : i + 1]) for i in rows]), exact[rows]
    )


def test_all_trees_are_asked_by_default_and_for_several_outputs():
    model, X, y = fitted()
    assert (model.count_trees(X) == 10).all()
    model = ensemble.RandomForestClassifier(10, predict_delta=0.1, random_state=0)
    model.fit(X, np.column_stack([y, y]))
    assert (model.count_trees(X) == 10).all()
    assert model.predict(X).shape == (len(X), 2)
    with pytest.raises(ValueError, match="predict_delta"):
        model.set_params(predict_delta=1.0).fit(X, y)


def raw_reference(model, X):
    """Raw predictions by scikit-learn's own trees."""
    raw = np.zeros((len(X), model.n_trees_per_iteration_), order="F")
    raw += model._baseline_prediction
    BaseHistGradientBoosting._predict_iterations(
        model, model._preprocess_X(X, reset=False), model._predictors, raw, False, 1
    )
    return raw


def boosting_data(seed):
    rng = np.random.default_rng(seed)
    X = np.c_[
        rng.integers(0, 9, 1500), rng.normal(size=(1500, 3)), rng.integers(0, 200, 1500)
    ].astype(float)
    y = (X[:, 0] * 7 % 5 + X[:, 1] + X[:, 4] * 13 % 3).round()
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


@pytest.mark.parametrize("kernel", ["avx512", "avx2", "portable"])
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"categorical_features": [0, 4]},
        {"max_leaf_nodes": 2},
        {"max_leaf_nodes": 32},
        {"max_leaf_nodes": 33, "min_samples_leaf": 2},
        {"max_leaf_nodes": None, "min_samples_leaf": 1, "categorical_features": [0]},
        {"min_samples_leaf": 5000},
    ],
)
@pytest.mark.parametrize("task", ["regression", "two", "many"])
def test_boosted_models_predict_as_scikit_learn(task, parameters, kernel):
    X, y = boosting_data(0)
    if task == "regression":
        model = ensemble.HistGradientBoostingRegressor(max_iter=12, **parameters)
    else:
        y = y > 2 if task == "two" else np.clip(y, 0, 3)
        model = ensemble.HistGradientBoostingClassifier(max_iter=6, **parameters)
    model.fit(X, y)
    test, _ = boosting_data(1)
    test[:5, 1] = [np.inf, -np.inf, 1e300, -1e300, 0.0]
    test[5:9, 0] = [-3, 77, 8, 0]
    test = np.concatenate([test, X])
    expected = raw_reference(model, test)
    model._raw_predict(test)
    packed = packed_form(packed_boosters, model)
    if not packed.use_kernel(kernel):
        pytest.skip("this processor has no such kernel")
    for part in (test, np.asfortranarray(test), test[:1], test[:63], test[:129]):
        np.testing.assert_array_equal(model._raw_predict(part), expected[: len(part)])
    stages = [*model.staged_predict(test[:50])]
    np.testing.assert_array_equal(stages[-1], model.predict(test[:50]))


def test_trees_with_more_sets_than_a_byte_numbers_are_left_to_scikit_learn():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 250, (6000, 3)).astype(float)
    y = rng.normal(size=6000)
    model = ensemble.HistGradientBoostingRegressor(
        max_iter=2,
        max_leaf_nodes=1200,
        min_samples_leaf=1,
        categorical_features=[0, 1, 2],
        early_stopping=False,
    ).fit(X, y)
    n_sets = [len(trees[0].raw_left_cat_bitsets) for trees in model._predictors]
    assert max(n_sets) > 256
    np.testing.assert_array_equal(model._raw_predict(X), raw_reference(model, X))
    assert packed_form(packed_boosters, model) is None


def test_more_iterations_are_noticed():
    X, y = boosting_data(0)
    model = ensemble.HistGradientBoostingRegressor(max_iter=3, warm_start=True)
    model.fit(X, y).predict(X)
    model.set_params(max_iter=6).fit(X, y)
    assert packed_form(packed_boosters, model) is None
    np.testing.assert_array_equal(model._raw_predict(X), raw_reference(model, X))
    other = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
