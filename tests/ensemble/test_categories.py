"""Categories: numbers in their place, everywhere the same; the plain forest on them."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_matrix
from sklearn.base import clone, is_classifier
from sklearn.ensemble import BaggingClassifier
from sklearn.inspection import partial_dependence
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_bandit import ensemble, tree
from sklearn_bandit.inspection import oob_permutation_importance
from sklearn_bandit.tree._data.target_order import MIN_SAMPLES, TargetOrder

pd = pytest.importorskip("pandas")

ESTIMATORS = [
    getattr(package, name)
    for package in (tree, ensemble)
    for name in package.__all__
    if "Hist" not in name and name != "PackedDataset"
]
FORESTS = [each for each in ESTIMATORS if hasattr(each, "estimators_samples_")]


def make(estimator, **parameters):
    if hasattr(estimator, "estimators_samples_"):
        parameters = {"n_estimators": 5} | parameters
    return estimator(random_state=0, **parameters)


@pytest.fixture
def frame():
    """Two features with categories, one of them often missing, and two of numbers."""
    rng = np.random.default_rng(0)
    n = 600
    X = pd.DataFrame(
        {
            "width": rng.normal(size=n),
            "colour": pd.Categorical(rng.choice(["red", "green", "blue", "ochre"], n)),
            "height": rng.integers(0, 9, n),
            "maker": pd.Categorical(rng.choice([f"m{k}" for k in range(12)], n)),
        }
    )
    X.loc[rng.random(n) < 0.1, "maker"] = np.nan
    effect = X["colour"].map({"red": 0, "green": 3, "blue": 1, "ochre": 2})
    y = effect.astype(float) + X["width"] + rng.normal(size=n)
    return X, y.to_numpy()


def target(estimator, y):
    return np.digitize(y, [0.5, 2.0]) if is_classifier(estimator()) else y


def by_hand(values, y):
    """Smoothed means of frequent categories, as the docstring says."""
    y = (y - y.mean()) / y.std()
    names = sorted(set(values))
    sums = {name: y[values == name].sum() for name in names}
    counts = {name: np.sum(values == name) for name in names}
    assert min(counts.values()) >= MIN_SAMPLES
    return {name: sums[name] / (counts[name] + 10.0) for name in names}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.__name__)
def test_the_plain_model_on_numbers(estimator, frame):
    X, y = frame
    y = target(estimator, y)
    model = make(estimator).fit(X, y)
    numbers = model.category_encoder_.transform(X)
    if "Patches" not in estimator.__name__:
        plain = make(estimator).fit(numbers, y)
        assert_array_equal(model.predict(X), plain.predict(numbers))
        assert_array_equal(model.apply(X), plain.apply(numbers))
        assert model.score(X, y) == plain.score(numbers, y)
        ours, theirs = model.decision_path(X), plain.decision_path(numbers)
        if isinstance(ours, tuple):
            ours, theirs = ours[0], theirs[0]
        assert (ours != theirs).nnz == 0
        if is_classifier(model):
            assert_array_equal(model.predict_proba(X), plain.predict_proba(numbers))
    assert_array_equal(model.feature_names_in_, X.columns)
    assert model.n_features_in_ == 4


def test_means_by_hand(frame):
    X, y = frame
    model = make(ensemble.RandomForestRegressor).fit(X, y)
    encoder = model.category_encoder_
    means = by_hand(X["colour"].astype(str).to_numpy(), y)
    assert_array_equal(encoder.categories_[1], sorted(means))
    assert_allclose(encoder.codes_[1], [means[name] for name in sorted(means)])
    assert_array_equal(encoder.is_categorical_, [False, True, False, True])
    missing = X["maker"].isna()
    assert_array_equal(np.isnan(encoder.transform(X)[:, 3]), missing)


@pytest.mark.parametrize(
    "kind", ["names", "mask", "indices", "array", "list", "polars"]
)
def test_ways_to_say_it(kind, frame):
    X, y = frame
    expected = make(ensemble.RandomForestRegressor).fit(X, y).predict(X)
    chosen = ["colour", "maker"]
    if kind == "mask":
        chosen = [False, True, False, True]
    elif kind == "indices":
        chosen = [1, 3]
    elif kind in ("array", "list"):
        chosen, X = [1, 3], X.to_numpy(dtype=object)
        X = X.tolist() if kind == "list" else X
    elif kind == "polars":
        pl = pytest.importorskip("polars")
        X = pl.DataFrame(
            {
                name: X[name].astype(object).where(X[name].notna(), None).tolist()
                for name in X
            }
        ).with_columns(pl.col("colour").cast(pl.Categorical))
    model = make(ensemble.RandomForestRegressor, categorical_features=chosen)
    assert_array_equal(model.fit(X, y).predict(X), expected)


def test_strings_are_categories_if_named(frame):
    X, y = frame
    expected = make(ensemble.RandomForestRegressor).fit(X, y).predict(X)
    X = X.astype({"colour": str})
    with pytest.raises(ValueError, match="name it in `categorical_features`"):
        make(ensemble.RandomForestRegressor).fit(X, y)
    model = make(
        ensemble.RandomForestRegressor, categorical_features=["colour", "maker"]
    )
    assert_array_equal(model.fit(X, y).predict(X), expected)


@pytest.mark.parametrize(
    "estimator",
    [ensemble.RandomForestRegressor, ensemble.HistGradientBoostingRegressor],
)
def test_what_to_do_with_strings_is_said(estimator, frame):
    """A list of names is all of them: columns of the type are not added."""
    X, y = frame
    strings = X.astype({"colour": str})
    with pytest.raises(ValueError, match='give its column the type "category"'):
        estimator().fit(strings, y)
    with pytest.raises(ValueError, match='columns of the type "category" too'):
        estimator(categorical_features=["maker"]).fit(X, y)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.__name__)
def test_unknown_categories_are_missing(estimator, frame):
    X, y = frame
    model = make(estimator).fit(X, target(estimator, y))
    unknown, missing = X.copy(), X.copy()
    unknown["maker"] = "nobody"
    missing["maker"] = None
    assert_array_equal(model.predict(unknown), model.predict(missing))


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.__name__)
def test_copies(estimator, frame):
    X, y = frame
    y = target(estimator, y)
    model = make(estimator, categorical_features=["colour", "maker"]).fit(X, y)
    for other in (pickle.loads(pickle.dumps(model)), clone(model).fit(X, y)):
        assert_array_equal(other.predict(X), model.predict(X))
        assert other.category_encoder_ == model.category_encoder_


def test_in_searches_and_pipelines(frame):
    X, y = frame
    model = make_pipeline(
        FunctionTransformer().set_output(transform="pandas"),
        make(ensemble.RandomForestRegressor),
    )
    search = GridSearchCV(model, {"randomforestregressor__max_depth": [2, 5]}, cv=2)
    assert np.isfinite(search.fit(X, y).predict(X)).all()
    bagged = BaggingClassifier(
        make(tree.DecisionTreeClassifier, categorical_features=[1]), n_estimators=2
    )
    codes = X.assign(colour=X["colour"].cat.codes, maker=0)
    assert bagged.fit(codes.to_numpy(), y > 1).score(codes.to_numpy(), y > 1) > 0.6


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.__name__)
def test_rows_without_weight_have_no_part(estimator, frame):
    X, y = frame
    y = target(estimator, y)
    weights = np.ones(len(y))
    weights[::3] = 0.0
    noise = y[np.random.default_rng(1).permutation(len(y))]
    wrong = np.where(weights > 0, y, noise)
    first = make(estimator).fit(X, y, weights).category_encoder_
    other = X.copy()
    other["colour"] = other["colour"].astype(object)
    other.loc[weights == 0.0, "colour"] = "absent"
    second = make(estimator, categorical_features=["colour", "maker"])
    second = second.fit(other, wrong, weights).category_encoder_
    assert np.isnan(second.codes_[1][list(second.categories_[1]).index("absent")])
    assert_allclose(first.codes_[3], second.codes_[3])
    known = [name != "absent" for name in second.categories_[1]]
    assert_allclose(first.codes_[1], second.codes_[1][known])


def test_class_weights_move_the_order(frame):
    X, y = frame
    y = target(ensemble.RandomForestClassifier, y)
    plain = make(ensemble.RandomForestClassifier).fit(X, y)
    weighted = make(ensemble.RandomForestClassifier, class_weight={0: 9.0, 1: 1, 2: 1})
    weighted.fit(X, y)
    by_sample = make(ensemble.RandomForestClassifier)
    by_sample.fit(X, y, np.where(y == 0, 9.0, 1.0))
    assert weighted.category_encoder_ == by_sample.category_encoder_
    assert weighted.category_encoder_ != plain.category_encoder_


def test_scale_of_weights_and_targets_has_no_part():
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 30, 400).astype(float), rng.normal(size=(400, 1))
    weights = rng.random(400)
    expected = TargetOrder(codes, 30, y, None, weights)
    for factor in (1e-300, 1e300):
        other = TargetOrder(codes, 30, factor * y, None, 1e-9 * weights)
        assert_allclose(other.means, expected.means, rtol=1e-6)
        assert_allclose(other.training_codes(), expected.training_codes(), rtol=1e-6)


def test_rare_categories_do_not_know_their_own_target():
    """A single sample is unknown; of several, those in other parts tell."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(100.0), 5)
    y = rng.normal(size=(500, 1))
    trained = TargetOrder(codes, 100, y, None, None).training_codes()
    full = TargetOrder(codes, 100, y, None, None).means[codes.astype(int)]
    known = ~np.isnan(trained)
    assert abs(np.corrcoef(trained[known], y[known, 0])[0, 1]) < 0.2
    assert np.corrcoef(full, y[:, 0])[0, 1] > 0.35
    single = TargetOrder(np.arange(50.0), 50, y[:50], None, None)
    assert np.isnan(single.training_codes()).all()
    assert np.isfinite(single.means).all()


def test_several_classes_and_outputs():
    """Categories that differ along a line of class fractions are put in its order."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 10, 20_000)
    share = codes / 9.0
    labels = np.where(rng.random(20_000) < share, 2, rng.integers(0, 2, 20_000))
    columns = codes.astype(float)
    order = TargetOrder(columns, 10, labels[:, None], np.array([3]), None).means
    assert_array_equal(np.argsort(order), np.arange(10))
    y = np.column_stack([labels, labels > 0])
    order = TargetOrder(columns, 10, y, np.array([3, 2]), None).means
    assert np.array_equal(np.argsort(order), np.arange(10))
    real = np.column_stack([1e6 * share, -share]) + rng.normal(size=(20_000, 2))
    order = TargetOrder(columns, 10, real, None, None).means
    assert_array_equal(np.argsort(order), np.arange(10))


def test_better_than_codes_with_many_categories():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 100, 6000), rng.normal(size=6000)])
    y = rng.normal(size=100)[X[:, 0].astype(int)] + X[:, 1] + rng.normal(size=6000) / 2
    train, test = slice(3000), slice(3000, None)
    scores = [
        make(ensemble.RandomForestRegressor, categorical_features=chosen)
        .fit(X[train], y[train])
        .score(X[test], y[test])
        for chosen in ([0], None)
    ]
    assert scores[0] > scores[1] + 0.1


@pytest.mark.parametrize("estimator", FORESTS, ids=lambda one: one.__name__)
def test_warm_start(estimator, frame):
    X, y = frame
    y = target(estimator, y)
    warm = make(estimator, warm_start=True, n_estimators=3).fit(X, y)
    warm.set_params(n_estimators=5).fit(X, y)
    assert_array_equal(warm.predict(X), make(estimator).fit(X, y).predict(X))
    warm.set_params(n_estimators=6)
    before = warm.predict(X)
    with pytest.raises(ValueError, match="training set must stay the same"):
        warm.fit(X, y[::-1])
    assert_array_equal(warm.predict(X), before)


def test_inspection(frame):
    X, y = frame
    model = make(ensemble.RandomForestRegressor, n_estimators=20).fit(X, y)
    plot = partial_dependence(
        model, X, ["colour"], categorical_features=["colour"], kind="average"
    )
    brute = partial_dependence(
        model, X, ["colour"], categorical_features=["colour"], method="brute"
    )
    values = plot["grid_values"][0].tolist()
    for result in (plot, brute):
        order = np.argsort(result["average"][0])
        assert [values[k] for k in order] == ["red", "blue", "ochre", "green"]
    found = oob_permutation_importance(model, X, y, random_state=0).importances_mean
    assert found[1] > 10 * abs(found[2])


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.__name__)
def test_refused(estimator, frame):
    X, y = frame
    y = target(estimator, y)
    numbers = np.column_stack([np.arange(len(y)) % 7, y])
    cases = [
        ({"categorical_features": [0]}, csr_matrix(numbers), "needs a dense X"),
        ({"categorical_features": [2]}, numbers, r"must be in \[0, n_features - 1\]"),
        ({"categorical_features": ["a"]}, numbers, "without feature names"),
        ({"categorical_features": ["a"]}, X, "not a valid feature name"),
        ({"categorical_features": [True]}, numbers, "boolean mask"),
        ({"categorical_features": [0.5]}, numbers, "bool, int or str"),
        ({"categorical_features": "all"}, numbers, "categorical_features"),
        ({"monotonic_cst": [0, 1, 0, 0]}, X, "cannot have monotonic constraints"),
    ]
    for parameters, samples, message in cases:
        with pytest.raises(ValueError, match=message):
            make(estimator, **parameters).fit(samples, y)
    model = make(estimator).fit(X, y)
    with pytest.raises(ValueError, match="must be dense"):
        model.predict(csr_matrix(np.zeros((2, 4))))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"colour": "color"}))
    with pytest.raises(ValueError, match="now missing"):
        model.predict(X[["width", "colour", "height"]])


def test_sparse_numbers_need_no_more_than_before(frame):
    _, y = frame
    X = csr_matrix(np.column_stack([np.arange(len(y)) % 7, y]))
    assert make(ensemble.RandomForestRegressor).fit(X, y).category_encoder_ is None


def test_a_column_without_any_value(frame):
    X, y = frame
    X = X.assign(maker=pd.Categorical([None] * len(X), categories=["a"]))
    model = make(ensemble.RandomForestRegressor).fit(X, y)
    assert len(model.category_encoder_.categories_[3]) == 0
    assert np.isfinite(model.predict(X)).all()
