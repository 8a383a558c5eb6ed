"""What every estimator of the package must do, whichever it is.

The estimators are discovered, so a new one is held to this without being named here.
"""

import importlib
import inspect
import pickle
import pkgutil
import re

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpydoc.docscrape import ClassDoc, FunctionDoc
from scipy import sparse
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.datasets import make_classification, make_regression
from sklearn.utils import all_estimators
from sklearn.utils.estimator_checks import parametrize_with_checks

import sklearn_bandit

N_SAMPLES, N_FEATURES = 120, 6


def public_estimators():
    """Yield every class of a public sub-package that is an estimator."""
    found = {}
    for package in pkgutil.iter_modules(sklearn_bandit.__path__):
        # The names of `dask` are those of the others: tests/dask/test_estimators.py.
        if package.name.startswith("_") or package.name == "dask" or not package.ispkg:
            continue
        module = importlib.import_module(f"sklearn_bandit.{package.name}")
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) and issubclass(value, BaseEstimator):
                if "estimator" in inspect.signature(value).parameters:
                    continue  # searches: tests/model_selection/test_checks.py
                found[name] = value
    return [found[name] for name in sorted(found)]


ESTIMATORS = public_estimators()

# Checks that scikit-learn's own estimator of the same name is known to fail, for the
# same reason. Nothing else may be listed: `test_no_more_failures_than_scikit_learn`.
BOOTSTRAP = "a bootstrap sample draws rows, whatever their weights"
WEIGHTS_ARE_NOT_COPIES = {
    "check_sample_weight_equivalence_on_dense_data": BOOTSTRAP,
    "check_sample_weight_equivalence_on_sparse_data": BOOTSTRAP,
}
EXPECTED_FAILURES = {
    "RandomForestClassifier": WEIGHTS_ARE_NOT_COPIES,
    "RandomForestRegressor": WEIGHTS_ARE_NOT_COPIES,
    "RandomPatchesClassifier": WEIGHTS_ARE_NOT_COPIES,
    "RandomPatchesRegressor": WEIGHTS_ARE_NOT_COPIES,
}

# Estimators without a namesake in scikit-learn are measured by the closest one.
COUNTERPARTS = {
    "RandomPatchesClassifier": "RandomForestClassifier",
    "RandomPatchesRegressor": "RandomForestRegressor",
}

# Estimators that take infinite features, as those of scikit-learn do.
TAKES_INFINITY = {"HistGradientBoostingClassifier", "HistGradientBoostingRegressor"}


def instance(estimator_class, **parameters):
    """Make a small instance: few trees, fixed seed, on one thread unless asked."""
    estimator = estimator_class()
    small = {"n_estimators": 5, "max_iter": 10, "random_state": 0, "n_clusters": 3}
    small |= {"n_neighbors": 3, "k": 3}
    known = estimator.get_params()
    small = {key: value for key, value in small.items() if key in known}
    return estimator.set_params(**small, **parameters)


def data(estimator, dtype=np.float64):
    """Return X and y of the kind that the estimator learns from."""
    common = {"n_samples": N_SAMPLES, "n_features": N_FEATURES, "random_state": 0}
    if is_regressor(estimator):
        X, y = make_regression(n_informative=3, **common)
        y = (y - y.mean()) / y.std()
    else:
        X, y = make_classification(n_informative=3, **common)
    return X.astype(dtype), y


def results(estimator, X):
    """Everything that a fitted estimator says of X, by method."""
    methods = ["predict", "predict_proba", "decision_function", "transform", "apply"]
    methods += ["kneighbors"]
    said = {}
    for name in methods:
        if hasattr(estimator, name):
            value = getattr(estimator, name)(X)
            parts = value if isinstance(value, tuple) else (value,)
            for i, part in enumerate(parts):
                part = part.toarray() if sparse.issparse(part) else part
                said[f"{name}[{i}]"] = np.asarray(part)
    return said


def assert_same(first, second, exact=True):
    assert first.keys() == second.keys()
    assert first
    for name in first:
        if exact:
            assert_array_equal(first[name], second[name], err_msg=name)
        else:
            assert_allclose(first[name], second[name], rtol=1e-5, atol=1e-5)


each_estimator = pytest.mark.parametrize(
    "estimator_class", ESTIMATORS, ids=lambda c: c.__name__
)


@parametrize_with_checks(
    [instance(estimator_class) for estimator_class in ESTIMATORS],
    expected_failed_checks=lambda e: EXPECTED_FAILURES.get(type(e).__name__, {}),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", sorted(EXPECTED_FAILURES))
def test_no_more_failures_than_scikit_learn(name):
    generator = pytest.importorskip("sklearn.utils._test_common.instance_generator")
    counterparts = dict(all_estimators())
    counterpart = counterparts[COUNTERPARTS.get(name, name)]()
    declared = generator._get_expected_failed_checks(counterpart)
    assert set(EXPECTED_FAILURES[name]) <= set(declared)


@each_estimator
def test_same_model_for_any_n_jobs(estimator_class):
    if "n_jobs" not in estimator_class().get_params():
        pytest.skip("one thread always")
    X, y = data(estimator_class())
    first = instance(estimator_class, n_jobs=1).fit(X, y)
    for n_jobs in (2, 3, None):
        other = instance(estimator_class, n_jobs=n_jobs).fit(X, y)
        assert_same(results(first, X), results(other, X))


@each_estimator
def test_same_seed_same_model(estimator_class):
    X, y = data(estimator_class())
    first, second = (instance(estimator_class).fit(X, y) for _ in range(2))
    assert_same(results(first, X), results(second, X))


@each_estimator
def test_round_trips(estimator_class, tmp_path):
    X, y = data(estimator_class())
    estimator = instance(estimator_class).fit(X, y)
    said = results(estimator, X)
    assert_same(said, results(pickle.loads(pickle.dumps(estimator)), X))
    joblib.dump(estimator, tmp_path / "model")
    assert_same(said, results(joblib.load(tmp_path / "model"), X))
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    assert_same(said, results(mapped, X))
    assert_same(said, results(clone(estimator).fit(X, y), X))


@each_estimator
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layouts_and_read_only_memory(estimator_class, dtype, tmp_path):
    """C and Fortran order, strides, and a read-only memory map are the same data."""
    X, y = data(estimator_class(), dtype)
    said = results(instance(estimator_class).fit(X, y), X)
    strided = np.repeat(X, 2, axis=0)[::2]
    mapped = joblib.load(joblib.dump(X, tmp_path / "X")[0], mmap_mode="r")
    for same in (np.asfortranarray(X), strided, mapped):
        other = results(instance(estimator_class).fit(same, y), same)
        assert_same(said, other, exact=False)  # BLAS sums in the order of the layout


@each_estimator
def test_single_and_double_precision_agree(estimator_class):
    X, y = data(estimator_class(), np.float32)
    single = results(instance(estimator_class).fit(X, y), X)
    double = X.astype(np.float64)
    double = results(instance(estimator_class).fit(double, y), double)
    assert_same(single, double, exact=False)


@each_estimator
def test_pandas_and_feature_names(estimator_class):
    pandas = pytest.importorskip("pandas")
    X, y = data(estimator_class())
    frame = pandas.DataFrame(X, columns=[f"feature {i}" for i in range(N_FEATURES)])
    estimator = instance(estimator_class).fit(frame, y)
    assert_array_equal(estimator.feature_names_in_, frame.columns)
    assert_same(
        results(estimator, frame), results(instance(estimator_class).fit(X, y), X)
    )
    # scikit-learn makes no data frame of a sparse graph.
    if hasattr(estimator, "set_output") and not sparse.issparse(
        estimator.transform(frame)
    ):
        table = estimator.set_output(transform="pandas").transform(frame)
        assert_array_equal(table.columns, estimator.get_feature_names_out())
    for name in ("predict", "transform", "kneighbors"):
        if hasattr(estimator, name):
            with pytest.raises(ValueError, match="feature names"):
                getattr(estimator, name)(frame.rename(columns=str.upper))


@each_estimator
def test_fit_leaves_parameters_alone(estimator_class):
    X, y = data(estimator_class())
    estimator = instance(estimator_class)
    before = estimator.get_params()
    estimator.fit(X, y)
    after = estimator.get_params()
    assert before.keys() == after.keys()
    assert all(before[key] is after[key] for key in before)


@each_estimator
def test_failed_fit_leaves_no_fitted_estimator(estimator_class):
    X, y = data(estimator_class())
    for bad in (np.inf, -np.inf):
        spoilt, target = X.copy(), y
        if estimator_class.__name__ in TAKES_INFINITY:
            target = y.astype(float)
            target[3] = bad
        else:
            spoilt[3, 2] = bad
        estimator = instance(estimator_class)
        with pytest.raises(ValueError, match="infinity"):
            estimator.fit(spoilt, target)
        fitted = [name for name in vars(estimator) if re.search(r"[^_]_$", name)]
        assert set(fitted) <= {"n_features_in_", "feature_names_in_"}


@each_estimator
def test_sparse_input_is_taken_or_refused(estimator_class):
    X, y = data(estimator_class())
    X[np.abs(X) < 0.5] = 0
    estimator = instance(estimator_class)
    if estimator.__sklearn_tags__().input_tags.sparse:
        estimator.fit(sparse.csr_matrix(X), y)
        dense = instance(estimator_class).fit(X, y)
        assert_same(
            results(estimator, sparse.csr_matrix(X)), results(dense, X), exact=False
        )
    else:
        with pytest.raises(TypeError, match=r"[Ss]parse"):
            estimator.fit(sparse.csr_matrix(X), y)


@each_estimator
def test_everything_is_documented(estimator_class):
    X, y = data(estimator_class())
    estimator = instance(estimator_class).fit(X, y)
    document = ClassDoc(estimator_class)
    documented = [parameter.name for parameter in document["Parameters"]]
    assert documented == list(inspect.signature(estimator_class).parameters)
    attributes = {a.name for a in document["Attributes"]}
    fitted = {
        name
        for name in vars(estimator)
        if name.endswith("_") and not name.startswith("_") and not name.endswith("__")
    }
    missing = fitted - attributes - {"n_features_in_", "feature_names_in_"}
    assert not missing, f"not documented: {sorted(missing)}"
    assert any(">>>" in line for line in document["Examples"])
    for name, method in inspect.getmembers(estimator_class, inspect.isfunction):
        if name.startswith("_") or not method.__module__.startswith("sklearn_bandit"):
            continue
        text = FunctionDoc(method)
        parameters = [p.name for p in text["Parameters"]]
        signature = list(inspect.signature(method).parameters)[1:]
        assert parameters == signature, f"{name}: {parameters} != {signature}"


@each_estimator
def test_repr_and_classifier_labels(estimator_class):
    estimator = instance(estimator_class)
    assert type(estimator).__name__ in repr(estimator)
    if is_classifier(estimator):
        X, y = data(estimator)
        names = np.array(["no", "yes"])[y]
        assert set(estimator.fit(X, names).predict(X)) <= {"no", "yes"}
