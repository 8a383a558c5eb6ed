"""Packed trees predict what scikit-learn's trees do, to the last bit."""

import ctypes
import mmap
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn_bandit.tree._prediction.packing import has_groups

from sklearn_bandit.tree._prediction import (
    CannotPackError,
    PackedForms,
    PackedTrees,
    average,
    vote,
)

# Groups of nodes need AVX-512.
FORMS = ["nodes", "groups"] if has_groups(1) else ["nodes"]


def reference(estimators, X):
    """Sum what the leaves hold in the order of the trees, then divide."""
    total = np.zeros((len(X), estimators[0].tree_.value[0].size))
    for estimator in estimators:
        total += estimator.tree_.predict(X).reshape(total.shape)
    return total / len(estimators)


def pack(estimators, form=None):
    trees = [estimator.tree_ for estimator in estimators]
    is_classification = isinstance(estimators[0], DecisionTreeClassifier)
    return PackedTrees(trees, estimators[0].n_features_in_, is_classification, form)


def adjacent(rng, shape):
    """Values of few floats beside each other, whose midpoints are no float32."""
    return (np.float32(1.0) + rng.integers(0, 5, shape) * 2.0**-23).astype(np.float32)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_outputs=st.integers(1, 3),
    n_trees=st.integers(1, 150),
    depth=st.sampled_from([1, 3, None]),
    kind=st.sampled_from(["normal", "adjacent", "huge", "integers"]),
    n_rows=st.sampled_from([0, 1, 2, 47, 48, 129, 700]),
    n_features=st.sampled_from([1, 2, 5, 16, 17, 32, 33, 64, 65, 128]),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_equal_to_the_last_bit(
    seed, n_outputs, n_trees, depth, kind, n_rows, n_features, flags
):
    is_class, has_missing, has_weights = flags
    rng = np.random.default_rng(seed)
    shape = (60 + n_rows, n_features)
    X = {
        "normal": lambda: rng.standard_normal(shape),
        "adjacent": lambda: adjacent(rng, shape),
        "huge": lambda: rng.choice([-3.4e38, -1e30, 0.0, -0.0, 1e-40, 3.4e38], shape),
        "integers": lambda: rng.integers(0, 3, shape),
    }[kind]().astype(np.float32)
    if has_missing:
        X[rng.random(shape) < 0.2] = np.nan
    train, test = X[:60], X[60:]
    y = (
        rng.integers(0, 4, (60, n_outputs))
        if is_class
        else rng.normal(size=(60, n_outputs))
    )
    if not is_class and seed % 2:
        y = np.round(y * 4)
    weights = rng.random(60) if has_weights else None
    Tree = DecisionTreeClassifier if is_class else DecisionTreeRegressor
    distinct = [
        Tree(max_depth=depth, splitter=splitter, random_state=i).fit(train, y, weights)
        for i, splitter in enumerate(["best", "random", "random"])
    ]
    estimators = [distinct[i % 3] for i in range(n_trees)]
    expected = reference(estimators, test)
    columns = np.asfortranarray(test)
    for form in FORMS:
        packed = pack(estimators, form)
        for n_threads in (1, 2):
            np.testing.assert_array_equal(average(packed, test, n_threads), expected)
        np.testing.assert_array_equal(average(packed, columns, 1), expected)
        np.testing.assert_array_equal(average(packed, test[::-1], 1), expected[::-1])
        if not has_missing:
            sparse = csr_matrix(test)
            np.testing.assert_array_equal(average(packed, sparse, 2), expected)


@pytest.mark.parametrize("form", FORMS)
def test_threshold_that_is_not_a_number(form):
    """As scikit-learn 1.6 grew: no value is below; missing ones go where they go."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 3)).astype(np.float32)
    estimator = DecisionTreeRegressor(max_depth=2).fit(X, X[:, 0])
    state = estimator.tree_.__getstate__()
    state["nodes"] = state["nodes"].copy()
    state["nodes"]["threshold"][0] = np.nan
    estimator.tree_.__setstate__(state)
    X[::7] = np.nan
    expected = estimator.tree_.predict(X).reshape(100, 1)
    np.testing.assert_array_equal(average(pack([estimator], form), X, 1), expected)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_features", [4, 20, 54, 100])
@pytest.mark.parametrize("share_missing", [0.0, 0.1])
def test_trees_of_many_nodes(form, n_features, share_missing):
    rng = np.random.default_rng(n_features)
    X = rng.standard_normal((6000, n_features)).astype(np.float32)
    X[rng.random(X.shape) < share_missing] = np.nan
    y = rng.integers(0, 3, 6000)
    weights = rng.exponential(size=6000)
    trees = [
        DecisionTreeClassifier(splitter="random", random_state=i).fit(
            X[:3000], y[:3000], weights[:3000]
        )
        for i in range(3)
    ]
    assert trees[0].get_n_leaves() > 900
    packed = pack(trees, form)
    assert packed.form == form
    np.testing.assert_array_equal(average(packed, X, 1), reference(trees, X))
    one_by_one = [average(packed, X[i : i + 1], 1)[0] for i in range(50)]
    np.testing.assert_array_equal(one_by_one, reference(trees, X[:50]))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="protects a page")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_features", [1, 15, 17, 31, 33, 54, 65, 101, 127])
def test_nothing_beyond_the_last_row_is_read(form, n_features):
    page, n_rows = mmap.PAGESIZE, 3
    memory = mmap.mmap(-1, 2 * page)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    protect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    end = np.frombuffer(memory, np.float32, page // 4)
    rows = end[page // 4 - n_rows * n_features :].reshape(n_rows, n_features)
    rng = np.random.default_rng(0)
    rows[:] = rng.standard_normal(rows.shape)
    X = rng.standard_normal((200, n_features)).astype(np.float32)
    trees = [
        DecisionTreeRegressor(random_state=i, splitter="random").fit(X, X[:, -1])
        for i in range(2)
    ]
    expected = reference(trees, rows)
    packed = pack(trees, form)
    assert protect(address + page, page, 0) == 0
    try:
        np.testing.assert_array_equal(average(packed, rows, 1), expected)
        many = np.lib.stride_tricks.as_strided(
            rows[-1:], (60, n_features), (0, rows.strides[1])
        )
        np.testing.assert_array_equal(
            average(packed, many, 1), np.repeat(expected[-1:], 60, axis=0)
        )
    finally:
        protect(address + page, page, mmap.PROT_READ | mmap.PROT_WRITE)


@pytest.mark.parametrize("form", FORMS)
def test_a_tree_with_a_circle_is_refused(form):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    tree = DecisionTreeRegressor(random_state=0).fit(X, rng.standard_normal(300))
    left = tree.tree_.children_left
    inner = np.flatnonzero(left > 0)
    left[inner[-1]] = inner[1]
    with pytest.raises(CannotPackError):
        pack([tree], form)


@pytest.mark.parametrize("n_features", [3, 200_000])
def test_many_features_need_larger_nodes(n_features):
    rng = np.random.default_rng(0)
    X = np.zeros((3000, n_features), dtype=np.float32) if n_features == 3 else None
    if X is None:
        X = csr_matrix(
            (
                rng.random(9000),
                (np.repeat(np.arange(3000), 3), rng.integers(0, n_features, 9000)),
            ),
            (3000, n_features),
            dtype=np.float32,
        )
    else:
        X[:] = rng.random(X.shape)
    y = rng.integers(0, 3, 3000)
    trees = [
        DecisionTreeClassifier(max_features=50, splitter="random", random_state=i).fit(
            X, y
        )
        for i in range(2)
    ]
    expected = sum(tree.tree_.predict(X) for tree in trees).reshape(3000, -1) / 2
    np.testing.assert_array_equal(average(pack(trees), X, 2), expected)


def test_a_repeated_entry_of_a_sparse_row_counts_last():
    X = csr_matrix(([1.0, 5.0], [0, 0], [0, 2]), (1, 2), dtype=np.float32)
    tree = DecisionTreeRegressor().fit([[1, 0], [5, 0]], [1.0, 5.0])
    assert average(pack([tree]), X, 1)[0, 0] == tree.tree_.predict(X).item()


@pytest.mark.parametrize("form", FORMS)
def test_a_vote_of_few_trees_is_that_of_all_when_clear(form):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 4)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    trees = [
        DecisionTreeClassifier(max_depth=2, random_state=i).fit(X[i::9], y[i::9])
        for i in range(90)
    ]
    packed, means = pack(trees, form), reference(trees, X)
    classes, n_asked = vote(packed, X, 0.01, 1)
    clear = abs(means[:, 0] - 0.5) > 0.3
    np.testing.assert_array_equal(classes[clear], means[clear].argmax(axis=1))
    assert n_asked.mean() < 45
    for n_threads, step in [(2, 500), (1, 1), (1, 20)]:
        parts = [
            vote(packed, X[i : i + step], 0.01, n_threads) for i in range(0, 500, step)
        ]
        np.testing.assert_array_equal(np.concatenate([p[0] for p in parts]), classes)
        np.testing.assert_array_equal(np.concatenate([p[1] for p in parts]), n_asked)


def test_no_delta_asks_all_who_can_change_the_class():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 3)).astype(np.float32)
    y = rng.integers(0, 3, 200)
    trees = [
        DecisionTreeClassifier(max_depth=5, splitter="random", random_state=i).fit(X, y)
        for i in range(40)
    ]
    classes, _ = vote(pack(trees), X, 0.0, 1)
    np.testing.assert_array_equal(classes, reference(trees, X).argmax(axis=1))


def test_trees_that_do_not_belong_together_are_refused():
    X = np.arange(20.0).reshape(10, 2)
    one = DecisionTreeRegressor().fit(X, X[:, 0])
    two = DecisionTreeRegressor().fit(X[:, :1], X[:, 0])
    with pytest.raises(CannotPackError):
        PackedTrees([one.tree_, two.tree_], 2, False)
    with pytest.raises(ValueError, match="features"):
        average(pack([two]), X.astype(np.float32), 1)


class Model:
    """Something to keep a form for."""


def test_a_form_is_made_at_the_second_call_and_once():
    forms, model, parts, made = PackedForms(), Model(), [Model()], []

    def find(parts):
        return forms.find(model, parts, lambda: False, lambda p: made.append(p) or p)

    assert find(parts) is None
    assert find(list(parts)) == parts
    assert find(parts) == parts
    assert len(made) == 1
    other = [Model()]
    assert find(other) is None
    assert find(other) == other
    forms.forget(model)
    assert find(other) is None


def test_a_form_that_cannot_be_made_is_not_tried_again():
    forms, model, parts, tried = PackedForms(), Model(), [Model()], []

    def make(_):
        tried.append(1)
        raise CannotPackError

    for _ in range(3):
        assert forms.find(model, parts, lambda: True, make) is None
    assert len(tried) == 1


def test_a_form_ends_with_its_model():
    forms, model = PackedForms(), Model()
    forms.find(model, [forms], lambda: True, list)
    assert len(forms._entries) == 1
    del model
    assert len(forms._entries) == 0
