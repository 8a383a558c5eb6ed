"""Trees with sets of categories send samples where those with thresholds do."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_bandit import _compat
from sklearn_bandit.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn_bandit.tree._data import category_splits
from sklearn_bandit.tree._data.category_splits import left_sets


class ComingTree:
    """A tree as it will be constructed, that sends samples down by its nodes."""

    def __init__(self, n_features, n_classes, n_outputs, n_categories):
        self.n_features, self.n_outputs = n_features, n_outputs
        self.n_classes, self.n_categories = n_classes, n_categories

    def __setstate__(self, state):
        self.state = state

    def __getstate__(self):
        return self.state

    def goes_left(self, node, value):
        if np.isnan(value):
            return bool(node["missing_go_to_left"])
        if self.n_categories[node["feature"]] < 0:
            return value <= node["threshold"]
        category = int(value)
        return bool(node["left_cat_bitset"][category // 32] >> (category % 32) & 1)

    def apply(self, X):
        leaves, nodes = [], self.state["nodes"]
        for row in X.astype(np.float32):
            i = 0
            while nodes[i]["left_child"] >= 0:
                is_left = self.goes_left(nodes[i], row[nodes[i]["feature"]])
                i = nodes[i]["left_child" if is_left else "right_child"]
            leaves.append(i)
        return np.array(leaves)


# Not the value that comes: what scikit-learn's own tree has is to be taken.
KIND_OF_A_SET = 3


class ComingClassifier:
    """A classifier of scikit-learn's own, with one split by a set."""

    def __init__(self, categorical_features, max_depth):
        assert (categorical_features, max_depth) == ([0], 1)

    def fit(self, X, y):
        assert len(np.unique(X)) == len(np.unique(y)) == 2
        nodes = np.zeros(3, dtype=_compat.NODE_DTYPE)
        nodes["split_kind"] = [KIND_OF_A_SET, -1, -1]
        self.tree_ = ComingTree(1, [2], 1, [2])
        self.tree_.__setstate__({"nodes": nodes})


@pytest.fixture(params=[False, True])
def coming(monkeypatch, request):
    fields = [(name, _compat.NODE_DTYPE[name]) for name in _compat.NODE_DTYPE.names]
    fields.append(("left_cat_bitset", np.uint32, (8,)))
    if request.param:
        fields.append(("split_kind", np.int8))
        monkeypatch.setattr(category_splits, "DecisionTreeClassifier", ComingClassifier)
    monkeypatch.setattr(_compat, "NODE_DTYPE", np.dtype(fields, align=True))
    monkeypatch.setattr(_compat, "Tree", ComingTree)


def samples(n_categories, seed=0):
    """Return samples with categories, some missing, and their targets."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n_categories, 3000).astype(np.float64)
    second = rng.integers(0, 7, 3000) + 100.0
    X = np.column_stack([first, rng.standard_normal(3000), second])
    effects = rng.standard_normal(n_categories)
    y = effects[first.astype(int)] + X[:, 1] * (X[:, 2] > 103)
    X[rng.random(3000) < 0.1, 0] = np.nan
    X[rng.random(3000) < 0.1, 2] = np.nan
    return X, y


@pytest.mark.parametrize("n_categories", [3, 40, 256])
@pytest.mark.parametrize("is_classifier", [False, True])
def test_leaves_are_the_same(coming, n_categories, is_classifier):
    X, y = samples(n_categories)
    kind = DecisionTreeClassifier if is_classifier else DecisionTreeRegressor
    weights = np.ones(len(y))
    weights[X[:, 0] == 1.0] = 0.0  # a category that no tree has seen
    tree = kind(categorical_features=[0, 2], max_depth=8, random_state=0)
    tree.fit(X, y > 0 if is_classifier else y, weights)
    encoder = tree.category_encoder_
    splits = encoder.category_splits()
    converted = splits.convert(tree.tree_)
    assert_array_equal(converted.n_categories, [n_categories, -1, 7])
    new = X[:500].copy()
    new[:20, 0] = n_categories + 5.0  # unknown
    numbers = encoder.transform(new)
    expected = tree.tree_.apply(numbers)
    assert len(np.unique(expected)) > 10
    assert_array_equal(converted.apply(splits.transform(new)), expected)
    # What the tree was is left as it was.
    assert_array_equal(tree.tree_.apply(numbers), expected)
    nodes = converted.state["nodes"]
    by_set = (nodes["left_child"] >= 0) & np.isin(nodes["feature"], [0, 2])
    assert by_set.any()
    assert not nodes["left_cat_bitset"][~by_set].any()
    if "split_kind" in nodes.dtype.names:
        kinds = np.where(nodes["left_child"] < 0, -1, KIND_OF_A_SET * by_set)
        assert_array_equal(nodes["split_kind"], kinds)


def test_too_many_categories_keep_their_numbers(coming):
    X, y = samples(257)
    tree = DecisionTreeRegressor(
        categorical_features=[0, 2], max_depth=6, random_state=0
    ).fit(X, y)
    splits = tree.category_encoder_.category_splits()
    assert_array_equal(splits.n_categories, [-1, -1, 7])
    new = splits.transform(X)
    numbers = tree.category_encoder_.transform(X)
    assert_array_equal(new[:, 0], numbers[:, 0])
    assert_array_equal(new[:, 2], X[:, 2] - 100.0)
    expected = tree.tree_.apply(numbers)
    assert_array_equal(splits.convert(tree.tree_).apply(new), expected)


def test_bits():
    codes = np.full(70, 1.0)
    codes[[0, 31, 32, 69]] = -1.0
    codes[33] = np.nan
    sets = left_sets(codes, np.array([0.0, 0.0]), np.array([0, 1], dtype=np.uint8))
    assert sets.dtype == np.uint32
    expected = np.zeros((2, 8), dtype=np.uint32)
    expected[:, 0] = 1 + (1 << 31)
    expected[:, 1] = [1, 3]
    expected[:, 2] = 1 << 5
    assert_array_equal(sets, expected)


@pytest.mark.skipif(_compat.has_category_splits(), reason="nodes can hold sets")
def test_without_sets_in_the_nodes():
    X, y = samples(5)
    tree = DecisionTreeRegressor(categorical_features=[0], random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"need scikit-learn 1\.10"):
        tree.category_encoder_.category_splits()


@pytest.mark.skipif(
    not _compat.has_category_splits(),
    reason="nodes of this scikit-learn cannot hold sets: they can from 1.10 on",
)
@pytest.mark.parametrize("n_categories", [3, 40, 256])
def test_leaves_are_the_same_in_trees_of_scikit_learn(n_categories):
    X, y = samples(n_categories)
    tree = DecisionTreeRegressor(
        categorical_features=[0, 2], max_depth=8, random_state=0
    ).fit(X, y)
    encoder = tree.category_encoder_
    splits = encoder.category_splits()
    converted = splits.convert(tree.tree_)
    new = X[:500].copy()
    new[:20, 0] = n_categories + 5.0  # unknown
    expected = tree.tree_.apply(encoder.transform(new))
    assert len(np.unique(expected)) > 10
    places = np.ascontiguousarray(splits.transform(new), dtype=np.float32)
    assert_array_equal(converted.apply(places), expected)
    by_set = np.isin(converted.feature, [0, 2])
    assert converted.__getstate__()["nodes"]["left_cat_bitset"][by_set].any()
