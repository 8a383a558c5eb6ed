"""Trees become scikit-learn's, those of later versions included."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_iris
from sklearn_bandit.tree._building.export import to_sklearn_tree

from sklearn_bandit import _compat
from sklearn_bandit.tree import DecisionTreeClassifier


class ComingTree:
    """A tree as it will be constructed, that keeps what it is given."""

    def __init__(self, n_features, n_classes, n_outputs, n_categories):
        assert n_categories.dtype == np.intp
        assert_array_equal(n_categories, np.full(n_features, -1))
        self.n_features = n_features
        self.n_classes = n_classes
        self.n_outputs = n_outputs

    def __setstate__(self, state):
        self.state = state


def coming_dtype(*fields):
    """Return the type of nodes with other fields before and behind those of today."""
    now = [(name, _compat.NODE_DTYPE[name]) for name in _compat.NODE_DTYPE.names]
    return np.dtype([*fields[:1], *now, *fields[1:]], align=True)


@pytest.fixture
def grown():
    X, y = load_iris(return_X_y=True)
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y).tree_
    state = tree.__getstate__()
    values = state["values"].reshape(len(state["nodes"]), -1)
    return state, (state["nodes"], values, 3, 4, np.array([3], dtype=np.intp))


@pytest.mark.parametrize("has_kinds", [False, True])
def test_coming_trees(grown, monkeypatch, has_kinds):
    state, arguments = grown
    fields = [("left_cat_bitset", np.uint64)]
    if has_kinds:
        fields.append(("split_kind", np.int8))
    monkeypatch.setattr(_compat, "NODE_DTYPE", coming_dtype(*fields))
    monkeypatch.setattr(_compat, "Tree", ComingTree)
    tree = to_sklearn_tree(*arguments)
    assert (tree.n_features, tree.n_outputs) == (4, 1)
    nodes = tree.state["nodes"]
    assert nodes.dtype == _compat.NODE_DTYPE
    for name in state["nodes"].dtype.names:
        assert_array_equal(nodes[name], state["nodes"][name])
    assert not nodes["left_cat_bitset"].any()
    if has_kinds:
        is_leaf = state["nodes"]["left_child"] < 0
        assert_array_equal(nodes["split_kind"], np.where(is_leaf, -1, 0))
    assert_array_equal(tree.state["values"], state["values"])
    assert tree.state["node_count"] == len(nodes)


def test_estimators_fit_coming_trees(monkeypatch):
    X, y = load_iris(return_X_y=True)
    fields = [("left_cat_bitset", np.uint64), ("split_kind", np.int8)]
    monkeypatch.setattr(_compat, "NODE_DTYPE", coming_dtype(*fields))
    monkeypatch.setattr(_compat, "Tree", ComingTree)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y).tree_
    assert isinstance(tree, ComingTree)
    assert set(tree.state["nodes"]["split_kind"]) == {-1, 0}


def test_present_trees(grown):
    state, arguments = grown
    tree = to_sklearn_tree(*arguments)
    assert type(tree) is _compat.Tree
    assert_array_equal(tree.__getstate__()["nodes"], state["nodes"])
    assert_array_equal(tree.__getstate__()["values"], state["values"])


@pytest.mark.parametrize(
    ("field", "value"), [("left_child", 99), ("right_child", 0), ("feature", 4)]
)
def test_malformed_trees_are_refused(grown, field, value):
    _, (nodes, *rest) = grown
    nodes[field][0] = value
    with pytest.raises(RuntimeError, match="malformed"):
        to_sklearn_tree(nodes, *rest)
