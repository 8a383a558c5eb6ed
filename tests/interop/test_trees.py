"""Packages that explain, store, convert and draw trees and forests."""

import re
import shutil

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from sklearn_bandit import ensemble, tree
from sklearn_bandit.onnx import OPERATORS, register
from sklearn_bandit.utils import listed_in_sklearn

tool = pytest.mark.tool


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X.astype(np.float32), y


@pytest.fixture(scope="module")
def single(cancer):
    return tree.DecisionTreeClassifier(max_depth=4, random_state=0).fit(*cancer)


@pytest.fixture(scope="module")
def forest(cancer):
    return ensemble.RandomForestClassifier(10, max_depth=4, random_state=0).fit(*cancer)


@pytest.fixture(scope="module")
def booster(cancer):
    return ensemble.HistGradientBoostingClassifier(max_iter=20).fit(*cancer)


@tool("shap", "TreeExplainer: values of forests sum to the probability")
def test_shap_explains_forests(forest, cancer):
    import shap

    X = cancer[0][:20]
    explainer = shap.TreeExplainer(forest)
    values = explainer.shap_values(X)
    positive = values[1] if isinstance(values, list) else values[..., 1]
    total = positive.sum(axis=1) + explainer.expected_value[1]
    assert_allclose(total, forest.predict_proba(X)[:, 1], atol=1e-6)


@tool("shap", "TreeExplainer: values of boosting sum to the decision function")
def test_shap_explains_boosting(booster, cancer):
    import shap

    X = cancer[0][:20].astype(np.float64)
    explainer = shap.TreeExplainer(booster)
    total = explainer.shap_values(X).sum(axis=1) + explainer.expected_value
    assert_allclose(total, booster.decision_function(X), atol=1e-6)


@tool("skops", "forests and boosting are stored and loaded without pickle")
@pytest.mark.parametrize("name", ["forest", "booster"])
def test_skops_round_trip(name, request, cancer):
    from skops import io

    model = request.getfixturevalue(name)
    stored = io.dumps(model)
    again = io.loads(stored, trusted=io.get_untrusted_types(data=stored))
    assert_array_equal(again.predict_proba(cancer[0]), model.predict_proba(cancer[0]))


def run_onnx(model, X):
    """Convert a model and predict with onnxruntime: labels or values, probabilities."""
    onnxruntime = pytest.importorskip("onnxruntime")
    from skl2onnx import to_onnx

    options = {id(model): {"zipmap": False}} if is_classifier(model) else None
    stored = to_onnx(model, X[:1], options=options).SerializeToString()
    session = onnxruntime.InferenceSession(stored, providers=["CPUExecutionProvider"])
    return session.run(None, {"X": X})


TREES = [each for each in OPERATORS if "Boosting" not in each.__name__]
BOOSTERS = [each for each in OPERATORS if "Boosting" in each.__name__]


@tool("skl2onnx", "onnx.register(): trees and forests agree to 1e-6")
@pytest.mark.parametrize("owner", TREES)
def test_onnx_of_trees(owner, cancer):
    X, y = cancer
    register()
    model = owner(random_state=0)
    if not is_classifier(model):
        y = X[:, 0] / X[:, 0].max()
    model.fit(X, y)
    found = run_onnx(model, X)
    if is_classifier(model):
        assert_array_equal(found[0], model.predict(X))
        assert_allclose(found[1], model.predict_proba(X), atol=1e-6)
    else:
        assert_allclose(found[0][:, 0], model.predict(X), atol=1e-6)


def outcome(model, X):
    """What a converted model predicts; if it cannot be converted, how that is said."""
    try:
        return [values.tolist() for values in run_onnx(model, X)]
    except Exception as error:
        return type(error), str(error).split("\n")[0]


@tool("skl2onnx", "onnx.register(): boosting converts or fails as scikit-learn's own")
@pytest.mark.parametrize("owner", BOOSTERS)
def test_onnx_of_boosting(owner, cancer):
    X, y = cancer
    register()
    model = owner(max_iter=10).fit(X, y)
    assert outcome(model, X) == outcome(model.to_sklearn(), X)


@tool("skl2onnx", "onnx.register(): models of categories are refused")
@pytest.mark.parametrize("owner", OPERATORS)
@pytest.mark.parametrize("in_pipeline", [False, True])
def test_onnx_of_categories(owner, in_pipeline, cancer):
    X, y = cancer
    X = np.column_stack([np.arange(len(y)) % 5, X[:, :3]]).astype(np.float32)
    register()
    model = owner(categorical_features=[0], random_state=0)
    if in_pipeline:
        model = make_pipeline(FunctionTransformer(), model)
    model.fit(X, y)
    with pytest.raises(ValueError, match="fitted to categories"):
        run_onnx(model, X)


@tool("treelite", "import_model: forests and boosting agree")
@pytest.mark.parametrize("name", ["forest", "booster"])
def test_treelite(name, request, cancer):
    import treelite

    model = request.getfixturevalue(name)
    X = cancer[0]
    converted = treelite.sklearn.import_model(model)
    found = np.squeeze(treelite.gtil.predict(converted, X))
    positive = found[:, 1] if found.ndim == 2 else found
    assert_allclose(positive, model.predict_proba(X)[:, 1], atol=1e-5)


@tool("dtreeviz", "draws single trees")
def test_dtreeviz(cancer):
    pytest.importorskip("matplotlib").use("Agg")
    dtreeviz = pytest.importorskip("dtreeviz")
    X, y = cancer
    model = tree.DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)
    names = [f"f{i}" for i in range(X.shape[1])]
    view = dtreeviz.model(
        model, X, y, feature_names=names, target_name="y", class_names=["a", "b"]
    )
    view.ctree_feature_space(features=names[:1])


@tool("mlflow-skinny", "log_model and load_model")
def test_mlflow_stores_models(forest, cancer, tmp_path):
    mlflow = pytest.importorskip("mlflow")
    sklearn_flavour = pytest.importorskip("mlflow.sklearn")
    path = tmp_path / "model"
    sklearn_flavour.save_model(
        forest, path, serialization_format=mlflow.sklearn.SERIALIZATION_FORMAT_PICKLE
    )
    again = sklearn_flavour.load_model(str(path))
    assert_array_equal(again.predict(cancer[0]), forest.predict(cancer[0]))


@tool("mlflow-skinny", "autolog() within utils.listed_in_sklearn() logs fits")
def test_mlflow_logs_fits(cancer, tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow")
    pytest.importorskip("mlflow.sklearn")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    mlflow.set_experiment("forests")
    with listed_in_sklearn():
        mlflow.sklearn.autolog(log_models=False, log_datasets=False)
    try:
        with mlflow.start_run() as run:
            ensemble.RandomForestClassifier(3, random_state=0).fit(*cancer)
    finally:
        mlflow.sklearn.autolog(disable=True)
    logged = mlflow.get_run(run.info.run_id).data
    assert logged.params["n_estimators"] == "3"
    assert logged.metrics["training_score"] > 0.9


@tool("hummingbird-ml", "to_sklearn(): trees, forests and boosting agree as torch")
@pytest.mark.parametrize("name", ["single", "forest", "booster"])
def test_hummingbird(name, request, cancer):
    pytest.importorskip("torch")
    hummingbird = pytest.importorskip("hummingbird.ml")
    model = request.getfixturevalue(name)
    converted = hummingbird.convert(model.to_sklearn(), "torch")
    found = converted.predict_proba(cancer[0])
    assert_allclose(found, model.predict_proba(cancer[0]), atol=1e-6)


@tool("sklearn2pmml", "to_sklearn(): trees, forests and boosting agree as PMML")
@pytest.mark.parametrize("name", ["single", "forest", "booster"])
def test_pmml(name, request, cancer, tmp_path, capfd):
    pandas = pytest.importorskip("pandas")
    evaluator = pytest.importorskip("jpmml_evaluator")
    if shutil.which("java") is None:
        pytest.skip("there is no Java")
    from sklearn2pmml import make_pmml_pipeline, sklearn2pmml

    model = request.getfixturevalue(name)
    path = tmp_path / "model.pmml"
    try:
        sklearn2pmml(make_pmml_pipeline(model.to_sklearn()), path)
    except RuntimeError:
        if re.search(
            r"Scikit-Learn version '.*' is not supported", capfd.readouterr().err
        ):
            pytest.skip("sklearn2pmml is older than scikit-learn")
        raise
    X = cancer[0][:50].astype(np.float64)
    frame = pandas.DataFrame(X, columns=[f"x{i + 1}" for i in range(X.shape[1])])
    found = evaluator.make_evaluator(str(path)).verify().evaluateAll(frame)
    assert_allclose(found["probability(1)"], model.predict_proba(X)[:, 1], atol=1e-6)
