"""Single trees that are grown subtree by subtree."""

import numpy as np
import pytest
from early_policy import early_policy

from sklearn_bandit.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    _bandit_tree,
)
from sklearn_bandit.tree._building import subtrees

# Trees of few samples are divided.
POLICY = early_policy(min_divided_values=6 * 20_000)


def make_tree(Tree, **parameters):
    model = Tree(**parameters)
    model._sampling_policy = POLICY
    return model


@pytest.fixture
def divided(monkeypatch):
    """List the sizes of subtrees by tree and round."""
    trees = []

    def grow(estimator, training_set, *arguments):
        rounds = []

        def run_tasks(function, tasks, n_threads):
            rounds.append([len(subtree.ids) for subtree in tasks])
            run(function, tasks, n_threads)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(subtrees, "run_tasks", run_tasks)
            result = subtrees.grow_in_subtrees(estimator, training_set, *arguments)
        trees.append(rounds)
        return result

    run = subtrees.run_tasks
    monkeypatch.setattr(_bandit_tree, "grow_in_subtrees", grow)
    return trees


def make_samples(n_samples=60_000):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples, 6)).astype(np.float32)
    X[:, 5] = X[:, 5] > 2.5
    X[rng.random(n_samples) < 0.05, 1] = np.nan
    score = 2 * X[:, 0] + np.nan_to_num(X[:, 1]) * (X[:, 2] > 0)
    return X, score + rng.standard_normal(n_samples)


def test_subtrees_have_at_most_half_the_rows(divided):
    X, score = make_samples()
    make_tree(DecisionTreeClassifier, max_depth=6, random_state=0).fit(X, score > 0)
    root, first, second = divided[0]
    assert root == [len(X)]
    assert max(first) <= len(X) // 2
    assert sum(first) == len(X)
    assert first == sorted(first, reverse=True)
    assert max(second) <= max(first) // 2
    assert sum(second) == sum(size for size in first if size >= 20_000)


@pytest.mark.parametrize(
    "Tree", [DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier]
)
@pytest.mark.parametrize("max_depth", [5, None])
def test_nodes_describe_their_samples(divided, Tree, max_depth):
    X, score = make_samples()
    y = score if Tree is DecisionTreeRegressor else np.digitize(score, [-1.0, 1.0])
    weight = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    model = make_tree(
        Tree, max_depth=max_depth, min_samples_leaf=5, max_features=None, random_state=0
    ).fit(X, y, weight)
    assert len(divided) == 1
    assert len(divided[0]) > 1
    tree = model.tree_
    assert tree.max_depth == (max_depth or tree.max_depth)
    X, y, weight = X[weight > 0], y[weight > 0], weight[weight > 0]
    # Depth first, as in scikit-learn: a node's descendants follow it. (Its method for
    # the path of a sample knew nothing of missing values before version 1.7.)
    inner = np.flatnonzero(tree.children_left >= 0)
    np.testing.assert_array_equal(tree.children_left[inner], inner + 1)
    last = np.arange(tree.node_count)
    for node in inner[::-1]:
        last[node] = last[tree.children_right[node]]
    leaves = model.apply(X)
    for node in range(0, tree.node_count, 1 + tree.node_count // 100):
        rows = np.flatnonzero((node <= leaves) & (leaves <= last[node]))
        assert tree.n_node_samples[node] == len(rows)
        assert tree.weighted_n_node_samples[node] == weight[rows].sum()
        if Tree is DecisionTreeRegressor:
            expected = np.average(y[rows], weights=weight[rows])
        else:
            expected = np.bincount(y[rows], weight[rows], 3) / weight[rows].sum()
        np.testing.assert_allclose(tree.value[node].squeeze(), expected, rtol=1e-7)
    assert tree.n_node_samples[tree.children_left < 0].min() >= 5


@pytest.mark.parametrize("Tree", [DecisionTreeClassifier, ExtraTreeClassifier])
@pytest.mark.parametrize("max_depth", [5, None])
def test_same_tree_for_any_number_of_threads(divided, monkeypatch, Tree, max_depth):
    X, score = make_samples()
    trees = []
    for n_threads in (1, 2, 3):
        monkeypatch.setattr(
            _bandit_tree, "effective_n_threads", lambda _, n=n_threads: n
        )
        model = make_tree(Tree, max_depth=max_depth, max_features=None, random_state=0)
        trees.append(model.fit(X, score > 0))
    assert len(divided) == 3
    first = trees[0].tree_.__getstate__()
    for tree in trees[1:]:
        state = tree.tree_.__getstate__()
        np.testing.assert_array_equal(state["nodes"], first["nodes"])
        np.testing.assert_array_equal(state["values"], first["values"])
        assert tree.n_insertions_ == trees[0].n_insertions_


def test_clear_splits_are_found_in_every_subtree(divided):
    """Eight cells of equal size, each of its own class: the tree is known."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80_000, 4)).astype(np.float32)
    y = (X[:, :3] > 0) @ [4, 2, 1]
    model = make_tree(DecisionTreeClassifier, random_state=0).fit(X, y)
    assert len(divided[0]) > 1
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize(
    ("Tree", "limits"),
    [
        (DecisionTreeClassifier, {}),
        (DecisionTreeClassifier, {"min_samples_leaf": 5}),
        (DecisionTreeRegressor, {}),
    ],
)
def test_subtrees_subtract_from_histograms_of_their_parents(divided, Tree, limits):
    """On noise no sample decides: the tree is the exact one, and takes as much."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (80_000, 6)).astype(np.float32)
    y = rng.integers(0, 2, len(X))
    mab, exact = (
        make_tree(Tree, max_depth=5, random_state=0, solver=solver, **limits).fit(X, y)
        for solver in ("mab", "exact")
    )
    assert len(divided[0]) > 1
    assert mab.n_sampled_nodes_ == 0
    assert mab.n_insertions_ < 1.1 * exact.n_insertions_
    np.testing.assert_array_equal(mab.tree_.feature, exact.tree_.feature)
    np.testing.assert_array_equal(mab.tree_.threshold, exact.tree_.threshold)
    np.testing.assert_array_equal(mab.tree_.value, exact.tree_.value)


@pytest.mark.parametrize(
    "parameters",
    [
        {"solver": "exact"},
        {"delta": 0.0},
        {"max_leaf_nodes": 8},
        {"max_insertions": 10**9},
        {"min_impurity_decrease": 1e-3},
        {"monotonic_cst": [1, 0, 0, 0, 0, 0]},
    ],
)
def test_stays_whole(divided, parameters):
    X, score = make_samples(20_000)
    # scikit-learn 1.6 has no constraints where values are missing.
    X = np.nan_to_num(X) if "monotonic_cst" in parameters else X
    make_tree(DecisionTreeClassifier, max_depth=3, **parameters).fit(X, score > 0)
    make_tree(DecisionTreeClassifier, max_depth=3).fit(X[1:], score[1:] > 0)
    assert not divided
    make_tree(DecisionTreeClassifier, max_depth=3).fit(X, score > 0)
    assert len(divided) == 1


@pytest.mark.parametrize("Tree", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_histograms_of_parents_do_not_depend_on_threads(divided, monkeypatch, Tree):
    """Sums of real targets are rounded where they are subtracted."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 30, (80_000, 6)).astype(np.float32)
    y = rng.standard_normal(len(X))
    y = y > 0 if Tree is DecisionTreeClassifier else y
    trees = []
    for n_threads in (1, 2, 3):
        monkeypatch.setattr(
            _bandit_tree, "effective_n_threads", lambda _, n=n_threads: n
        )
        trees.append(make_tree(Tree, max_depth=6, random_state=0).fit(X, y))
    assert len(divided[0]) > 1
    first = trees[0].tree_.__getstate__()
    for tree in trees[1:]:
        state = tree.tree_.__getstate__()
        np.testing.assert_array_equal(state["nodes"], first["nodes"])
        np.testing.assert_array_equal(state["values"], first["values"])


@pytest.mark.parametrize(("n_sets", "n_kept"), [(100, [0, 3, 5, 1]), (4, [0, 3, 3, 0])])
def test_histograms_that_wait_for_subtrees_have_room_together(
    monkeypatch, n_sets, n_kept
):
    """Each part of a tree has room by its rows: with four sets no round has more."""
    held = []
    run = subtrees.run_tasks

    def run_tasks(function, tasks, n_threads):
        held.append(sum(subtree.root_set is not None for subtree in tasks))
        run(function, tasks, n_threads)
        assert all(subtree.root_set is None for subtree in tasks)

    monkeypatch.setattr(subtrees, "run_tasks", run_tasks)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (80_000, 6)).astype(np.float32)
    y = rng.integers(0, 2, len(X))
    model = DecisionTreeClassifier(max_depth=5, random_state=0)
    model._sampling_policy = early_policy(
        min_divided_values=6 * 16_400, max_cells=n_sets * 256 * 6 * 2
    )
    model.fit(X, y)
    assert held == n_kept
    exact = make_tree(DecisionTreeClassifier, max_depth=5, solver="exact").fit(X, y)
    np.testing.assert_array_equal(model.tree_.feature, exact.tree_.feature)
    np.testing.assert_array_equal(model.tree_.value, exact.tree_.value)
