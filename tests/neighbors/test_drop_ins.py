"""Scikit-learn's estimators with our neighbours, and its others on our graphs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import neighbors as theirs
from sklearn.cluster import DBSCAN
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE, Isomap
from sklearn.pipeline import make_pipeline

from sklearn_bandit import neighbors
from sklearn_bandit.neighbors import BanditNearestNeighbors


@pytest.mark.parametrize("metric", ["minkowski", "cosine", "cityblock", "chebyshev"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_drop_ins(metric, weights):
    X, y = load_digits(return_X_y=True)
    X = X + np.random.default_rng(0).random(X.shape)
    options = {"metric": metric, "weights": weights}
    for name, method in (
        ("KNeighborsClassifier", "predict_proba"),
        ("KNeighborsClassifier", "predict"),
        ("KNeighborsRegressor", "predict"),
    ):
        said = []
        for module in (neighbors, theirs):
            model = getattr(module, name)(**options).fit(X[:1000], y[:1000])
            said.append(getattr(model, method)(X[1000:1300]))
        assert_allclose(*said, atol=1e-6)
        mine = getattr(neighbors, name)(**options).fit(X[:1000], y[:1000])
        assert (mine._index is None) == (metric == "chebyshev")


def test_drop_ins_leave_few_features_to_trees():
    X, y = load_digits(return_X_y=True)
    model = neighbors.KNeighborsClassifier().fit(X[:, 20:26], y)
    assert model._index is None
    model.fit(X, y)
    assert model._index is not None
    model.fit(X[:, 20:26], y)
    assert model._index is None


def test_graph_for_other_estimators():
    X = load_digits().data[:500]
    X = X + np.random.default_rng(0).random(X.shape)
    mine = neighbors.KNeighborsTransformer(n_neighbors=20)
    other = theirs.KNeighborsTransformer(n_neighbors=20)
    labels = [
        make_pipeline(each, DBSCAN(metric="precomputed", eps=22)).fit_predict(X)
        for each in (mine, other)
    ]
    assert_array_equal(*labels)
    assert len(set(labels[0])) > 2
    places = [
        make_pipeline(each, Isomap(n_neighbors=10, metric="precomputed")).fit_transform(
            X
        )
        for each in (mine, other)
    ]
    assert_allclose(*map(np.abs, places), atol=1e-4)
    embeddings = [
        make_pipeline(
            type(each)(n_neighbors=40),
            TSNE(
                metric="precomputed",
                init="random",
                perplexity=10,
                max_iter=250,
                random_state=0,
            ),
        ).fit_transform(X[:150])
        for each in (mine, other)
    ]
    assert_allclose(*embeddings, atol=1e-3)
    graph = (
        BanditNearestNeighbors(radius=22)
        .fit(X)
        .radius_neighbors_graph(X, mode="distance")
    )
    assert_array_equal(
        DBSCAN(metric="precomputed", eps=22).fit_predict(graph),
        DBSCAN(eps=22).fit_predict(X),
    )
