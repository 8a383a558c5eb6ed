"""Packages that fit, search and select with estimators, and frames that they take."""

import numpy as np
import pytest
import sklearn.neighbors
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_classification
from sklearn.model_selection import cross_val_score

from sklearn_bandit import cluster, ensemble, neighbors

tool = pytest.mark.tool


@pytest.fixture(scope="module")
def samples():
    # The first four features are those that tell.
    X, y = make_classification(
        600, 10, n_informative=4, n_redundant=0, shuffle=False, random_state=0
    )
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


@tool("optuna", "searches parameters")
def test_optuna(samples):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def objective(trial):
        depth = trial.suggest_int("max_depth", 1, 6)
        model = ensemble.RandomForestClassifier(5, max_depth=depth, random_state=0)
        return cross_val_score(model, *samples, cv=2).mean()

    study = optuna.create_study(
        direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0)
    )
    study.optimize(objective, n_trials=4)
    assert study.best_value > 0.7


@tool("Boruta", "selects features by forests")
def test_boruta(samples):
    from boruta import BorutaPy

    forest = ensemble.RandomForestClassifier(max_depth=4, random_state=0)
    selector = BorutaPy(forest, n_estimators=30, max_iter=15, random_state=0)
    selector.fit(*samples)
    assert selector.support_[:4].any()
    assert not selector.support_[6:].any()


@tool("econml", "forests as nuisance models of double machine learning")
def test_econml(samples):
    from econml.dml import LinearDML

    X, _ = samples
    rng = np.random.default_rng(0)
    treated = (rng.random(len(X)) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    outcome = 2.0 * treated + X[:, 0] + 0.1 * rng.standard_normal(len(X))
    model = LinearDML(
        model_y=ensemble.RandomForestRegressor(20, min_samples_leaf=5, random_state=0),
        model_t=ensemble.RandomForestClassifier(20, min_samples_leaf=5, random_state=0),
        discrete_treatment=True,
        random_state=0,
    ).fit(outcome, treated, X=X[:, 5:7], W=X)
    assert np.median(model.effect(X[:, 5:7])) == pytest.approx(2.0, abs=0.5)


@tool("imbalanced-learn", "pipelines with resampling")
def test_imbalanced_learn(samples):
    from imblearn.over_sampling import SMOTE
    from imblearn.pipeline import make_pipeline

    X, y = samples
    rare = np.flatnonzero((y == 0) | (np.arange(len(y)) % 5 == 0))
    model = make_pipeline(
        SMOTE(random_state=0), ensemble.RandomForestClassifier(10, random_state=0)
    )
    assert model.fit(X[rare], y[rare]).score(X, y) > 0.7


@tool("ray", "forests grow through joblib's backend")
def test_ray(samples):
    import joblib
    import ray
    from ray.util.joblib import register_ray

    local = ensemble.RandomForestClassifier(6, random_state=0).fit(*samples)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        register_ray()
        with joblib.parallel_backend("ray", n_jobs=2):
            forest = ensemble.RandomForestClassifier(6, random_state=0).fit(*samples)
    finally:
        ray.shutdown()
    for one, other in zip(forest.estimators_, local.estimators_, strict=True):
        assert_array_equal(one.tree_.threshold, other.tree_.threshold)
        assert_array_equal(one.tree_.value, other.tree_.value)


@tool("pandas", "frames in, names kept")
def test_pandas(samples):
    import pandas

    X, y = samples
    frame = pandas.DataFrame(X, columns=[f"f{i}" for i in range(10)])
    model = ensemble.RandomForestClassifier(5, random_state=0).fit(frame, y)
    assert list(model.feature_names_in_) == list(frame.columns)
    plain = ensemble.RandomForestClassifier(5, random_state=0).fit(X, y)
    assert_array_equal(model.predict_proba(frame), plain.predict_proba(X))


@tool("polars", "frames in, names kept")
@pytest.mark.parametrize(
    "model",
    [
        ensemble.RandomForestClassifier(5, random_state=0),
        ensemble.HistGradientBoostingClassifier(max_iter=5, random_state=0),
        cluster.BanditKMedoids(3, random_state=0),
        neighbors.KNeighborsClassifier(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_polars(model, samples):
    import polars

    X, y = samples
    frame = polars.DataFrame(X, schema=[f"f{i}" for i in range(10)])
    found = model.fit(frame, y).predict(frame)
    assert list(model.feature_names_in_) == frame.columns
    assert_array_equal(found, model.fit(X, y).predict(X))


@tool("umap-learn", "UMAP of a precomputed graph of KNeighborsTransformer")
def test_umap(samples):
    umap = pytest.importorskip("umap")
    X, _ = samples

    def fitted(transformer):
        # Each row of the graph has the sample itself and its neighbours.
        graph = transformer.fit_transform(X)
        indices = graph.indices.reshape(len(X), -1)
        distances = graph.data.reshape(len(X), -1).astype(np.float32)
        return umap.UMAP(
            precomputed_knn=(indices, distances),
            n_neighbors=indices.shape[1],
            n_epochs=20,
            random_state=0,
        ).fit(X)

    found = fitted(neighbors.KNeighborsTransformer(n_neighbors=15))
    assert np.isfinite(found.embedding_).all()
    expected = fitted(sklearn.neighbors.KNeighborsTransformer(n_neighbors=15))
    assert_allclose(found.graph_.toarray(), expected.graph_.toarray(), atol=1e-5)


@tool("rich", "scikit-learn's ProgressBar of set_callbacks")
def test_progress_bar(samples):
    callback = pytest.importorskip("sklearn.callback")
    model = ensemble.RandomForestClassifier(5, random_state=0)
    model.set_callbacks(callback.ProgressBar()).fit(*samples)
    assert len(model.estimators_) == 5
