"""Equal fits have equal pickles: nothing that is not the model's goes into a file."""

import pickle

import numpy as np
import pytest
from early_policy import early_policy

from sklearn_bandit import ensemble, tree
from sklearn_bandit.tree._building import subsample, subtrees

CLASS_CRITERIA = ["gini", "entropy", "log_loss"]
REAL_CRITERIA = ["squared_error", "poisson", "absolute_error"]


def make_samples(n_samples=1_500, missing=True):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, 6)).astype(np.float32)
    score = 2 * X[:, 0] + X[:, 1] * (X[:, 2] > 0) + rng.standard_normal(n_samples)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, score


def padding(nodes):
    """Bytes of nodes that belong to no field."""
    is_padding = np.ones(nodes.dtype.itemsize, dtype=bool)
    for dtype, offset in nodes.dtype.fields.values():
        is_padding[offset : offset + dtype.itemsize] = False
    return np.frombuffer(nodes.tobytes(), np.uint8).reshape(len(nodes), -1)[
        :, is_padding
    ]


def assert_equal_pickles(make, X, y, weight=None):
    """Fit twice, with memory that was used for other things in between."""
    pickles = []
    for filling in (0x55, 0xAA):
        # Blocks of all sizes that are freed again: what is taken next is not zero.
        blocks = [np.full(2**k, filling, np.uint8) for k in range(6, 22)]
        del blocks
        model = make().fit(X, y, weight)
        for fitted in getattr(model, "estimators_", [model]):
            assert not padding(fitted.tree_.__getstate__()["nodes"]).any()
        pickles.append(pickle.dumps(model))
    assert pickles[0] == pickles[1]


@pytest.mark.parametrize("criterion", CLASS_CRITERIA + REAL_CRITERIA)
@pytest.mark.parametrize("max_leaf_nodes", [None, 40])
@pytest.mark.parametrize("weighted", [False, True])
def test_trees(criterion, max_leaf_nodes, weighted):
    X, score = make_samples()
    weight = np.random.default_rng(1).random(len(X)) if weighted else None
    parameters = {"criterion": criterion, "max_leaf_nodes": max_leaf_nodes}
    if criterion in CLASS_CRITERIA:
        names, y = ("DecisionTreeClassifier", "ExtraTreeClassifier"), score > 0
    else:
        names, y = ("DecisionTreeRegressor", "ExtraTreeRegressor"), np.abs(score)
    for name in names:
        estimator = getattr(tree, name)
        if not estimator(**parameters).__sklearn_tags__().input_tags.allow_nan:
            X = np.nan_to_num(X)
        assert_equal_pickles(
            lambda estimator=estimator: estimator(random_state=0, **parameters),
            X,
            y,
            weight,
        )


@pytest.mark.parametrize("solver", ["mab", "exact", "auto", "mab-thesis"])
def test_solvers(solver):
    X, score = make_samples(20_000)
    assert_equal_pickles(
        lambda: tree.DecisionTreeClassifier(solver=solver, random_state=0), X, score > 0
    )


@pytest.mark.parametrize(
    "name",
    [
        "RandomForestClassifier",
        "RandomForestRegressor",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "RandomPatchesClassifier",
        "RandomPatchesRegressor",
    ],
)
def test_forests(name):
    X, score = make_samples()
    y = score if name.endswith("Regressor") else np.digitize(score, [-1.0, 1.0])
    forest = getattr(ensemble, name)
    assert_equal_pickles(lambda: forest(4, random_state=0), X, y)


@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_trees_of_subtrees(kind, monkeypatch):
    joined = []

    def join(subtree):
        joined.append(len(subtree.subtrees))
        put_together(subtree)

    put_together = subtrees.Subtree.join
    monkeypatch.setattr(subtrees.Subtree, "join", join)
    X, score = make_samples(60_000)
    y = score if kind == "Regressor" else score > 0
    model = getattr(tree, f"DecisionTree{kind}")(max_depth=8, random_state=0)
    model._sampling_policy = early_policy(min_divided_values=6 * 20_000)
    assert_equal_pickles(lambda: model, X, y)
    assert max(joined) > 1


@pytest.mark.parametrize("tol", [0.0, 0.1])
def test_subsampled_trees(tol):
    X, score = make_samples(80_000)
    model = tree.DecisionTreeClassifier(max_depth=4, tol=tol, random_state=0)
    model._sampling_policy = early_policy(min_subsampled_per_leaf=512)
    assert subsample.pays_to_subsample(model, X, 2, None)
    assert_equal_pickles(lambda: model, X, score > 0)
