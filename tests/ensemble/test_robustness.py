"""Bad input and faults: scikit-learn's kind of error, or a right answer."""

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn import ensemble as sk_ensemble
from sklearn.base import clone, is_classifier

from sklearn_bandit import ensemble, tree
from sklearn_bandit._compat import DRAWS_BY_WEIGHT, MONOTONE_TAKES_MISSING
from sklearn_bandit.tree._data import packing

CLASSIFIERS = [
    tree.DecisionTreeClassifier(random_state=0),
    ensemble.RandomForestClassifier(3, random_state=0),
    ensemble.ExtraTreesClassifier(3, random_state=0),
    ensemble.RandomPatchesClassifier(3, random_state=0),
]
REGRESSORS = [
    tree.DecisionTreeRegressor(random_state=0),
    ensemble.RandomForestRegressor(3, random_state=0),
    ensemble.ExtraTreesRegressor(3, random_state=0),
    ensemble.RandomPatchesRegressor(3, random_state=0),
]
ALL = CLASSIFIERS + REGRESSORS


def name_of(value):
    return type(value).__name__


classifiers = pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name_of)
regressors = pytest.mark.parametrize("estimator", REGRESSORS, ids=name_of)
estimators = pytest.mark.parametrize("estimator", ALL, ids=name_of)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    return X, (X[:, 0] + X[:, 1] > 0).astype(int)


@estimators
@pytest.mark.parametrize("bad", [np.inf, -np.inf, 1e300])
def test_infinite_features(estimator, bad, data):
    X, y = data
    X[3, 2] = bad
    with pytest.raises(ValueError, match="infinity or a value too large"):
        clone(estimator).fit(X, y)


@regressors
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_targets_that_are_not_finite(estimator, bad, data):
    X, y = data
    y = y.astype(float)
    y[5] = bad
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        clone(estimator).fit(X, y)


@classifiers
def test_missing_classes(estimator, data):
    X, y = data
    y = y.astype(float)
    y[5] = np.nan
    with pytest.raises(ValueError, match=r"NaN|Unknown label type"):
        clone(estimator).fit(X, y)


@classifiers
def test_continuous_classes(estimator, data):
    X, _ = data
    with pytest.raises(ValueError, match="Unknown label type"):
        clone(estimator).fit(X, X[:, 0])


@classifiers
def test_one_class(estimator, data):
    X, y = data
    model = clone(estimator).fit(X, np.full_like(y, 7))
    assert (model.predict(X) == 7).all()
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((len(X), 1)))


@estimators
def test_constant_features(estimator, data):
    X, y = data
    model = clone(estimator).fit(np.ones_like(X), y)
    assert len(np.unique(model.predict(X))) == 1
    trees = getattr(model, "estimators_", [model])
    assert all(one.tree_.node_count == 1 for one in trees)


@estimators
def test_duplicate_columns(estimator, data):
    X, y = data
    model = clone(estimator).fit(np.column_stack([X[:, :2]] * 3), y)
    score = model.score(np.column_stack([X[:, :2]] * 3), y)
    assert score > (0.9 if is_classifier(model) else 0.6)


@estimators
def test_one_value_and_missing(estimator, data):
    """A column of one value and NaN splits into just these."""
    _, y = data
    x = np.where(y == 1, np.nan, 3.0)[:, np.newaxis]
    if not estimator.__sklearn_tags__().input_tags.allow_nan:
        with pytest.raises(ValueError, match="NaN"):
            clone(estimator).fit(x, y)
        return
    model = clone(estimator).fit(x, y)
    np.testing.assert_allclose(model.predict(x), y, atol=1e-12)


@estimators
def test_weights(estimator, data):
    X, y = data
    for bad, message in (
        (-np.ones(len(y)), "[Nn]egative"),
        (np.zeros(len(y)), "zero"),
        (np.ones(len(y) - 1), "sample_weight.shape|inconsistent"),
        (np.full(len(y), np.nan), "NaN"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(estimator).fit(X, y, sample_weight=bad)


def test_missing_values_outside_a_patch():
    """Those of sparse matrices are refused wherever they are: `predict` would."""
    X = np.ones((20, 5))
    X[3, 2] = np.nan
    y = np.arange(20.0)
    forest = ensemble.RandomPatchesRegressor(
        2, patch_samples=1e-9, patch_features=1e-9, random_state=0
    )
    assert np.isfinite(forest.fit(X, y).predict(X)).all()
    with pytest.raises(ValueError, match="does not accept missing values"):
        forest.fit(sparse.csr_array(X), y)


@pytest.mark.parametrize("n_samples", [16, 10_000])
def test_draws_of_no_weight(n_samples):
    """No tree is made of draws that all have weight zero.

    Where samples are not drawn in proportion to their weights, a tree draws again, and
    is refused if weights are too rare for that.
    """
    X, y = np.arange(2.0 * n_samples).reshape(-1, 2), np.arange(n_samples) % 2
    weight = np.zeros(n_samples)
    weight[3] = 1.0
    forest = ensemble.RandomForestClassifier(20, max_samples=16, random_state=0)
    if DRAWS_BY_WEIGHT:
        forest.set_params(max_samples=None)
    elif n_samples > 16:
        with pytest.raises(ValueError, match="drawn for a tree have weight zero"):
            forest.set_params(max_samples=1).fit(X, y, weight)
        return
    forest.fit(X, y, weight)
    np.testing.assert_array_equal(forest.predict_proba(X)[:, 1], 1.0)
    assert all(3 in samples for samples in forest.estimators_samples_)


@pytest.mark.parametrize(
    "kind", [tree.DecisionTreeRegressor, ensemble.RandomForestRegressor]
)
def test_missing_values_and_constraints(kind, data):
    """Predicted if they were learnt from; refused by the fit if they cannot be."""
    X, y = data
    X = X.copy()
    X[::3, 0] = np.nan
    model = kind(monotonic_cst=[1] + [0] * (X.shape[1] - 1), random_state=0)
    if MONOTONE_TAKES_MISSING:
        assert np.isfinite(model.fit(X, y).predict(X)).all()
    else:
        with pytest.raises(ValueError, match="does not accept missing values"):
            model.fit(X, y)


@estimators
def test_samples_of_no_weight_are_not_there(estimator, data):
    """The wrong label of a sample without weight has no effect."""
    X, y = data
    weight = np.ones(len(y))
    weight[:50] = 0.0
    wrong = y.copy()
    wrong[:50] = 1 - y[:50]
    one = clone(estimator).fit(X, y, sample_weight=weight)
    two = clone(estimator).fit(X, wrong, sample_weight=weight)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


@estimators
def test_other_width_at_predict(estimator, data):
    X, y = data
    model = clone(estimator).fit(X, y)
    with pytest.raises(ValueError, match=r"X has 5 features, but .* is expecting 6"):
        model.predict(X[:, :5])


@estimators
@pytest.mark.parametrize(
    "parameters",
    [
        {"solver": "magic"},
        {"max_bins": 1},
        {"max_bins": 256},
        {"delta": -0.1},
        {"delta": 2.0},
        {"batch_size": 0},
        {"tol": -1.0},
        {"max_insertions": -1},
        {"criterion": "magic"},
        {"max_features": "magic"},
        {"max_depth": 0},
    ],
    ids=str,
)
def test_unknown_options(estimator, parameters, data):
    X, y = data
    (name,) = parameters
    with pytest.raises(ValueError, match=f"The '{name}' parameter of"):
        clone(estimator).set_params(**parameters).fit(X, y)


@pytest.mark.parametrize("estimator", [CLASSIFIERS[0], CLASSIFIERS[1]], ids=name_of)
def test_many_classes(estimator):
    """Ten thousand classes, two samples each."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(10_000), 2)
    X = np.column_stack([y // 100, y % 100]) + rng.uniform(0, 0.01, size=(20_000, 2))
    model = clone(estimator).set_params(random_state=0)
    if hasattr(model, "n_estimators"):
        model.set_params(n_estimators=1, bootstrap=False)
    model.fit(X, y)
    np.testing.assert_array_equal(model.predict(X[:500]), y[:500])


def test_sizes_beyond_the_index_types():
    packing.check_size(2**31 - 1, 2**16)
    with pytest.raises(ValueError, match="samples are supported"):
        packing.check_size(2**31, 1)
    with pytest.raises(ValueError, match="features are supported"):
        packing.check_size(1, 2**16 + 1)


@estimators
def test_a_broken_fit_changes_nothing(estimator, data, monkeypatch):
    X, y = data
    model = clone(estimator).fit(X, y)
    before = copy.copy(vars(model))
    expected = model.predict(X)
    with pytest.raises(ValueError, match="infinity"):
        model.fit(np.full((10, 3), np.inf), y[:10])
    assert vars(model) == before
    np.testing.assert_array_equal(model.predict(X), expected)

    def cancel(*arguments, **keywords):
        raise KeyboardInterrupt

    monkeypatch.setattr(packing, "pack", cancel)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:50, :3], y[:50])
    assert vars(model) == before
    assert model.n_features_in_ == 6


@estimators
def test_a_broken_first_fit_leaves_nothing(estimator, data):
    X, y = data
    X[0, 0] = np.inf
    model = clone(estimator)
    parameters = set(vars(model))
    with pytest.raises(ValueError, match="infinity"):
        model.fit(X, y)
    assert set(vars(model)) == parameters


@pytest.mark.parametrize("name", ["RandomForestClassifier", "ExtraTreesClassifier"])
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"bootstrap": False, "oob_score": True},
            "Out of bag estimation only available if bootstrap=True",
        ),
        (
            {"bootstrap": False, "max_samples": 10},
            "`max_sample` cannot be set if `bootstrap=False`",
        ),
        (
            {"bootstrap": True, "max_samples": 0},
            r"The 'max_samples' parameter of \w+ must be",
        ),
        ({"n_estimators": 0}, r"The 'n_estimators' parameter of \w+ must be"),
        ({"class_weight": "heavy"}, r"The 'class_weight' parameter of \w+ must be"),
    ],
    ids=str,
)
def test_what_scikit_learn_refuses(name, parameters, message, data):
    for package in (sk_ensemble, ensemble):
        with pytest.raises(ValueError, match=message):
            getattr(package, name)(**parameters).fit(*data)


@classifiers
@pytest.mark.parametrize("class_weight", ["balanced", "balanced_subsample"])
@pytest.mark.filterwarnings("error")
def test_class_without_weight(estimator, class_weight, data):
    """Nobody is of a class whose samples have no weight; it divides nothing by zero."""
    if class_weight == "balanced_subsample" and not hasattr(estimator, "n_estimators"):
        pytest.skip("trees have no subsamples")
    X, y = data
    y = y + (X[:, 2] > 1)
    weight = (y != 1).astype(float)
    model = clone(estimator).set_params(class_weight=class_weight)
    model.fit(X, y, sample_weight=weight)
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    assert (shares[:, 1] == 0.0).all()


@classifiers
@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ({0: np.inf, 1: 1.0}, "must be finite"),
        ({0: -1.0, 1: 1.0}, "Negative values"),
        ({0: 0.0, 1: 0.0}, "All sample weights are zero"),
    ],
    ids=str,
)
def test_class_weights_without_a_meaning(estimator, class_weight, message, data):
    X, y = data
    model = clone(estimator).set_params(class_weight=class_weight)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


@classifiers
def test_class_weights_are_sample_weights(estimator, data):
    X, y = data
    y = y + (X[:, 2] > 1)
    by_class = {0: 1.0, 1: 100.0, 2: 2.5}
    weight = np.array([1.0, 100.0, 2.5])[y]
    one = clone(estimator).fit(X, y, sample_weight=weight)
    two = clone(estimator).set_params(class_weight=by_class).fit(X, y)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    one = clone(estimator).fit(X, y, sample_weight=weight**2)
    two = clone(estimator).set_params(class_weight=by_class)
    two.fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


@estimators
@pytest.mark.parametrize("with_missing", [False, True])
def test_almost_constant_features(estimator, with_missing, data):
    """As in scikit-learn, a range of 1e-7 is none."""
    X, y = data
    X = np.column_stack([3e-8 * X[:, 0].clip(-1, 1), X[:, 1]])
    if with_missing:
        if not estimator.__sklearn_tags__().input_tags.allow_nan:
            pytest.skip("no missing values")
        X[::2, 0] = np.nan
    model = clone(estimator)
    if hasattr(model, "patch_features"):
        model.set_params(patch_features=1.0)
    model.fit(X, y)
    for one in getattr(model, "estimators_", [model]):
        split = one.tree_.threshold[one.tree_.feature == 0]
        assert np.isinf(split).all()
        assert with_missing or len(split) == 0


def test_rare_values_are_not_almost_constant():
    """Bins are made of 20,000 rows, which may miss the only value that differs."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 1e-8, size=(60_000, 1))
    y = np.zeros(len(X), dtype=int)
    X[7], y[7] = 5.0, 1
    model = tree.DecisionTreeClassifier(random_state=0).fit(X, y)
    assert model.predict([[5.0]]) == 1
