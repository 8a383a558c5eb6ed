"""Trees of a limited number of leaves: the best leaf is split first."""

import numpy as np
import pytest

from sklearn_bandit import tree


def make_samples(seed, n_samples=4_000):
    """Few different rows, so that many leaves are split equally well."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, (n_samples, 6)).astype(np.float32)
    y = (X[:, 0] > 3) ^ (X[:, 1] > 3) ^ (rng.random(n_samples) < 0.2)
    return X, y.astype(int)


def describe_splits(t):
    """Return the decrease in impurity by each split, and all that it follows from."""
    loss = t.weighted_n_node_samples * t.impurity
    gain, facts = np.full(t.node_count, -np.inf), [None] * t.node_count
    for node in np.flatnonzero(t.children_left >= 0):
        left, right = t.children_left[node], t.children_right[node]
        gain[node] = loss[node] - loss[left] - loss[right]
        family = [node, left, right]
        facts[node] = (*t.weighted_n_node_samples[family], *t.impurity[family])
    return gain, facts


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_order_of_splits(kind, seed):
    """That of a search through a list of leaves, for the first of the best ones.

    The last of the list takes the place of the one that is split; its children, if they
    can be split, come at the end.
    """
    X, y = make_samples(seed)
    model = getattr(tree, f"DecisionTree{kind}")(max_leaf_nodes=len(X))
    t = model.fit(X, y).tree_
    gain, facts = describe_splits(t)
    inner = np.flatnonzero(t.children_left >= 0)
    leaves, n_ties = [0], 0
    # Children are numbered when their parent is split.
    for node in inner[np.argsort(t.children_left[inner])]:
        place = leaves.index(node)
        assert gain[node] >= gain[leaves].max() - 1e-9
        tied = [i for i, leaf in enumerate(leaves) if facts[leaf] == facts[node]]
        assert place == tied[0]
        n_ties += len(tied) > 1
        leaves[place] = leaves[-1]
        leaves.pop()
        children = t.children_left[node], t.children_right[node]
        assert children[1] == children[0] + 1
        leaves += [child for child in children if t.children_left[child] >= 0]
    assert not leaves
    assert len(inner) > 500
    assert n_ties > 50


@pytest.mark.parametrize("n_leaves", [2, 3, 64, 65, 500])
def test_smaller_trees_are_the_first_nodes_of_larger_ones(n_leaves):
    X, y = make_samples(0)
    whole = (
        tree.DecisionTreeClassifier(max_leaf_nodes=len(X), random_state=0)
        .fit(X, y)
        .tree_
    )
    part = (
        tree.DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0)
        .fit(X, y)
        .tree_
    )
    assert part.n_leaves == n_leaves
    n_nodes = part.node_count
    np.testing.assert_array_equal(part.impurity, whole.impurity[:n_nodes])
    inner = part.children_left >= 0
    np.testing.assert_array_equal(part.feature[inner], whole.feature[:n_nodes][inner])


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n_samples", [100, 400, 20_000])
def test_samples_that_are_alike_are_not_split(criterion, n_samples):
    """Leaves have several classes here, and no feature varies in them."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (n_samples, 2)).astype(np.uint8)
    y = rng.integers(0, 2, n_samples)
    model = tree.DecisionTreeClassifier(
        criterion=criterion, max_leaf_nodes=1000, random_state=0
    ).fit(X, y)
    assert model.get_n_leaves() == len(np.unique(X, axis=0))
    assert model.tree_.n_node_samples.min() > 0
    assert np.isfinite(model.tree_.value).all()
