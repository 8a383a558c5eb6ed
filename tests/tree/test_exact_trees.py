"""The exact solver grows scikit-learn's trees, on data with one value a bin or more."""

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn import datasets
from sklearn import tree as sklearn_tree
from sklearn.utils.fixes import parse_version

from sklearn_bandit import tree
from sklearn_bandit.tree._policy import SamplingPolicy


def skip_without_missing_splits(missing):
    """Leave out missing values where scikit-learn makes less of them."""
    if missing and parse_version(sklearn.__version__) < parse_version("1.7"):
        pytest.skip("scikit-learn 1.6 does not split on missing values alone")


def gain(t, node):
    """Decrease in impurity of a split, relative to the node's weight."""
    if t.feature[node] < 0:
        return 0.0
    children = t.children_left[node], t.children_right[node]
    weight = t.weighted_n_node_samples
    return t.impurity[node] - sum(
        weight[child] / weight[node] * t.impurity[child] for child in children
    )


def match_nodes(ours, theirs):
    """Compare node by node; where splits differ their gains must be tied.

    Returns the number of nodes compared and of ties; below these nothing is compared.
    """
    a, b = ours.tree_, theirs.tree_
    n_compared = n_ties = 0
    pending = [(0, 0)]
    while pending:
        i, j = pending.pop()
        n_compared += 1
        assert a.n_node_samples[i] == b.n_node_samples[j]
        assert_allclose(a.weighted_n_node_samples[i], b.weighted_n_node_samples[j])
        assert_allclose(a.impurity[i], b.impurity[j], rtol=1e-9, atol=1e-8)
        assert_allclose(a.value[i], b.value[j], rtol=1e-9, atol=1e-12)
        if a.feature[i] != b.feature[j] or a.threshold[i] != b.threshold[j]:
            assert_allclose(gain(a, i), gain(b, j), rtol=1e-9, atol=1e-12)
            n_ties += 1
            continue
        if a.feature[i] >= 0:
            assert a.missing_go_to_left[i] == b.missing_go_to_left[j]
            pending.append((a.children_left[i], b.children_left[j]))
            pending.append((a.children_right[i], b.children_right[j]))
    return n_compared, n_ties


def assert_same_tree(ours, theirs):
    """Compare trees that have few ties."""
    n_compared, n_ties = match_nodes(ours, theirs)
    assert n_compared > 20
    assert n_ties < 0.25 * n_compared


def make_data(seed, n=1500, missing=False, n_values=200):
    skip_without_missing_splits(missing)
    rng = np.random.default_rng(seed)
    X = rng.integers(0, n_values, (n, 5)).astype(np.float64)
    y = X[:, 0] + 0.7 * X[:, 1] + rng.normal(0, 30, n)
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y, rng.random(n) * 3 + 0.01


def make_wide_data(n_varying, n=1500):
    """Rows of many cache lines: most values are 0, as in images."""
    rng = np.random.default_rng(0)
    X = np.zeros((n, 300))
    varying = rng.choice(300, n_varying, replace=False)
    X[:, varying] = rng.integers(1, 200, (n, n_varying))
    X[rng.random(X.shape) < 0.8] = 0
    y = X[:, varying[0]] + X[:, varying[1]] + rng.normal(0, 20, n)
    return X, y


@pytest.mark.parametrize("n_varying", [60, 300])
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_wide_rows(kind, n_varying):
    X, y = make_wide_data(n_varying)
    if kind == "Classifier":
        y = np.digitize(y, [20, 100, 180])
    name = f"DecisionTree{kind}"
    ours = getattr(tree, name)(solver="exact", max_depth=7, random_state=0)
    theirs = getattr(sklearn_tree, name)(max_depth=7, random_state=0)
    assert_same_tree(ours.fit(X, y), theirs.fit(X, y))


@pytest.mark.parametrize("solver", ["exact", "mab"])
def test_features_drawn_from_wide_rows_vary(solver):
    # One in a hundred features varies: a tree that counted others could not go on.
    X, y = make_wide_data(3, n=12_000)
    y = X @ np.arange(300) % 2
    model = tree.DecisionTreeClassifier(
        solver=solver, max_features=1, random_state=0
    ).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.n_insertions_ < 40 * len(X)


OPTIONS = [
    {"max_depth": 6},
    {"max_depth": 6, "min_samples_leaf": 7},
    {"min_samples_split": 40},
    {"max_depth": 6, "min_weight_fraction_leaf": 0.01},
    {"max_depth": 8, "min_impurity_decrease": 1e-3},
]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("criterion", ["gini", "entropy", "log_loss"])
def test_classifier(criterion, options, weighted, missing):
    X, y, weight = make_data(0, missing=missing)
    y = np.digitize(y, [80, 150, 200])
    weight = weight if weighted else None
    options = {"criterion": criterion, "random_state": 0, **options}
    ours = tree.DecisionTreeClassifier(solver="exact", **options).fit(X, y, weight)
    theirs = sklearn_tree.DecisionTreeClassifier(**options).fit(X, y, weight)
    assert_same_tree(ours, theirs)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
def test_regressor(criterion, options, weighted, missing):
    X, y, weight = make_data(1, missing=missing)
    y = np.abs(y) / 30
    weight = weight if weighted else None
    options = {"criterion": criterion, "random_state": 0, **options}
    ours = tree.DecisionTreeRegressor(solver="exact", **options).fit(X, y, weight)
    theirs = sklearn_tree.DecisionTreeRegressor(**options).fit(X, y, weight)
    assert_same_tree(ours, theirs)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", OPTIONS[:4], ids=str)
def test_absolute_error(options, weighted):
    if weighted and parse_version(sklearn.__version__) < parse_version("1.7"):
        pytest.skip("scikit-learn 1.6 takes another weighted median")
    X, y, weight = make_data(8, n=500)
    weight = weight if weighted else None
    options = {"criterion": "absolute_error", "random_state": 0, **options}
    ours = tree.DecisionTreeRegressor(**options).fit(X, y, weight)
    theirs = sklearn_tree.DecisionTreeRegressor(**options).fit(X, y, weight)
    assert_same_tree(ours, theirs)


def test_absolute_error_of_several_outputs():
    X, y, _ = make_data(8, n=500)
    Y = np.column_stack([y, X[:, 1] - y, np.random.default_rng(0).normal(size=len(y))])
    options = {"criterion": "absolute_error", "random_state": 0, "max_depth": 5}
    ours = tree.DecisionTreeRegressor(**options).fit(X, Y)
    theirs = sklearn_tree.DecisionTreeRegressor(**options).fit(X, Y)
    assert_same_tree(ours, theirs)


@pytest.mark.parametrize("n_classes", [2, 3, 8, 9, 16, 17, 40])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_number_of_classes(n_classes, criterion):
    # Kernels are compiled for 2, 4, 8 and 16 classes, with a general one behind.
    X, y, _ = make_data(2)
    y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
    options = {"criterion": criterion, "random_state": 0, "max_depth": 6}
    ours = tree.DecisionTreeClassifier(solver="exact", **options).fit(X, y)
    theirs = sklearn_tree.DecisionTreeClassifier(**options).fit(X, y)
    assert_same_tree(ours, theirs)


@pytest.mark.parametrize("min_samples_leaf", [1, 3])
@pytest.mark.parametrize("largest_weight", [1, 3, 20])
def test_few_rows(largest_weight, min_samples_leaf):
    # Up to 64 rows are compared with each other, 16, 32 or 64 at once, unless their
    # weight does not fit a byte.
    rng = np.random.default_rng(9)
    for n in range(6, 80):
        X = rng.integers(0, n, (n, 4)).astype(np.float32)
        y = rng.integers(0, 2 + n // 20, n)
        weight = rng.integers(1, largest_weight + 1, n).astype(np.float64)
        options = {"max_depth": 1, "min_samples_leaf": min_samples_leaf}
        ours = tree.DecisionTreeClassifier(**options).fit(X, y, weight)
        theirs = sklearn_tree.DecisionTreeClassifier(**options).fit(X, y, weight)
        assert_allclose(gain(ours.tree_, 0), gain(theirs.tree_, 0), rtol=1e-12)
        leaves, sizes = np.unique(ours.apply(X), return_counts=True)
        assert_array_equal(sizes, ours.tree_.n_node_samples[leaves])


def test_integer_weights_are_repetitions():
    X, y, _ = make_data(3, n=600)
    y = np.digitize(y, [80, 150])
    counts = np.random.default_rng(0).integers(0, 4, len(y))
    model = tree.DecisionTreeClassifier(solver="exact", max_depth=5, random_state=0)
    weighted = model.fit(X, y, counts).predict_proba(X)
    repeated = model.fit(np.repeat(X, counts, 0), np.repeat(y, counts)).predict_proba(X)
    assert_allclose(weighted, repeated)
    real = model.fit(X, y, counts * 0.5).predict_proba(X)
    assert_allclose(weighted, real)


@pytest.mark.parametrize("missing", [False, True])
def test_several_outputs(missing):
    X, y, weight = make_data(4, missing=missing)
    options = {"random_state": 0, "max_depth": 6}
    Y = np.column_stack([y, y[::-1], X[:, 2] > 50])
    ours = tree.DecisionTreeRegressor(solver="exact", **options).fit(X, Y, weight)
    theirs = sklearn_tree.DecisionTreeRegressor(**options).fit(X, Y, weight)
    assert_same_tree(ours, theirs)
    Y = np.column_stack([np.digitize(y, [80, 150]), np.digitize(y[::-1], [60, 90])])
    for criterion in ("gini", "entropy"):
        options["criterion"] = criterion
        ours = tree.DecisionTreeClassifier(solver="exact", **options).fit(X, Y)
        theirs = sklearn_tree.DecisionTreeClassifier(**options).fit(X, Y)
        assert_same_tree(ours, theirs)
        for a, b in zip(ours.predict_proba(X), theirs.predict_proba(X), strict=True):
            assert a.shape == b.shape


def test_several_outputs_of_one_class():
    X, _, _ = make_data(4, n=30)
    for y in (np.zeros((30, 2)), np.column_stack([np.zeros(30), np.ones(30)])):
        model = tree.DecisionTreeClassifier().fit(X, y)
        for shares in model.predict_proba(X):
            assert_array_equal(shares, np.ones((30, 1)))


@pytest.mark.parametrize("constraints", [[1, 0, 0, 0, 0], [1, 1, 0, -1, 1]])
def test_monotonic_constraints(constraints):
    X, y, weight = make_data(5)
    options = {"random_state": 0, "max_depth": 7, "monotonic_cst": constraints}
    ours = tree.DecisionTreeRegressor(solver="exact", **options).fit(X, y, weight)
    theirs = sklearn_tree.DecisionTreeRegressor(**options).fit(X, y, weight)
    assert_same_tree(ours, theirs)
    labels = y > 120
    ours = tree.DecisionTreeClassifier(solver="exact", **options).fit(X, labels)
    theirs = sklearn_tree.DecisionTreeClassifier(**options).fit(X, labels)
    assert_same_tree(ours, theirs)


def test_pruning():
    X, y, _ = make_data(6)
    ours = tree.DecisionTreeRegressor(solver="exact", ccp_alpha=20.0).fit(X, y)
    theirs = sklearn_tree.DecisionTreeRegressor(ccp_alpha=20.0).fit(X, y)
    assert ours.tree_.node_count == theirs.tree_.node_count
    assert_allclose(ours.predict(X), theirs.predict(X))


def test_prediction_follows_the_bins():
    # Every training row reaches a leaf whose value is the mean of such rows.
    X, y, _ = make_data(7, missing=True)
    X += np.random.default_rng(0).random(X.shape)
    for solver in ("exact", "mab"):
        model = tree.DecisionTreeRegressor(
            solver=solver, random_state=0, min_samples_leaf=5
        ).fit(X, y)
        leaves = model.apply(X)
        sizes = np.bincount(leaves, minlength=model.tree_.node_count)
        inner = model.tree_.children_left >= 0
        assert_array_equal(sizes[~inner], model.tree_.n_node_samples[~inner])
        sums = np.bincount(leaves, y, minlength=len(sizes))
        assert_allclose(
            (sums[~inner] / sizes[~inner]), model.tree_.value[~inner, 0, 0], rtol=1e-9
        )


@pytest.mark.parametrize("min_samples_leaf", [1, 50])
@pytest.mark.parametrize("regression", [False, True])
def test_subtracted_histograms(regression, min_samples_leaf):
    # Nodes of more than 8,000 rows: the larger child's histograms are differences.
    rng = np.random.default_rng(0)
    n = 40_000
    X = rng.integers(0, 100, (n, 6)).astype(np.float32)
    X[rng.random(n) < 0.1, 2] = np.nan
    y = X[:, 0] * X[:, 1] + 20 * X[:, 3] + 500 * rng.normal(size=n)
    kind = "Regressor" if regression else "Classifier"
    if not regression:
        y = np.digitize(y, [1000, 3000, 5000])
    options = {
        "max_depth": 5,
        "min_samples_leaf": min_samples_leaf,
        "random_state": 0,
    }
    ours = getattr(tree, f"DecisionTree{kind}")(solver="exact", **options).fit(X, y)
    theirs = getattr(sklearn_tree, f"DecisionTree{kind}")(**options).fit(X, y)
    assert_same_tree(ours, theirs)
    # Five levels of full histograms would be five times the data.
    assert ours.n_insertions_ < 4.2 * X.size


@pytest.mark.parametrize("n_classes", [2, 3, 7, 12, 30])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_many_cache_lines(n_classes, weighted):
    """Wide rows are copied by columns, too, whatever is in the cells."""
    rng = np.random.default_rng(n_classes)
    X = rng.integers(0, 60, (1003, 250)).astype(np.uint8)
    y = (X[:, :3].sum(axis=1) + rng.integers(0, 40, len(X))) % n_classes
    weights = rng.random(len(X)) + 0.5 if weighted else None
    parameters = {"max_depth": 6, "min_samples_leaf": 5, "random_state": 0}
    ours = tree.DecisionTreeClassifier(solver="exact", **parameters)
    theirs = sklearn_tree.DecisionTreeClassifier(**parameters)
    assert_same_tree(ours.fit(X, y, weights), theirs.fit(X, y, weights))


@pytest.mark.parametrize("n_features", [5, 16, 40])
@pytest.mark.parametrize("missing", [False, True])
def test_regression_on_a_few_rows(n_features, missing):
    """Nodes of 2 to 33 rows, some with tied values: the best split of all is found."""
    skip_without_missing_splits(missing)
    rng = np.random.default_rng(n_features)
    for n in range(2, 34):
        X = rng.integers(0, 9, (n, n_features)).astype(np.float32)
        if missing:
            X[rng.random(X.shape) < 0.2] = np.nan
        y = rng.random(n)
        weights = rng.integers(1, 4, n).astype(float)
        ours = tree.DecisionTreeRegressor(solver="exact", max_depth=1)
        theirs = sklearn_tree.DecisionTreeRegressor(max_depth=1, random_state=0)
        ours.fit(X, y, weights)
        theirs.fit(X, y, weights)
        assert_allclose(gain(ours.tree_, 0), gain(theirs.tree_, 0), rtol=1e-9)


# -- more values than bins ------------------------------------------------------------

SMALL_SETS = [
    ("breast_cancer", "gini"),
    ("breast_cancer", "entropy"),
    ("wine", "gini"),
    ("wine", "log_loss"),
    ("digits", "gini"),
    ("diabetes", "squared_error"),
    ("diabetes", "poisson"),
    ("diabetes", "absolute_error"),
]


def fit_both(criterion, X, y, weight=None, solver="exact", **options):
    """Fit our tree and scikit-learn's, regressors or classifiers by the criterion."""
    is_real = criterion not in ("gini", "entropy", "log_loss")
    name = "DecisionTreeRegressor" if is_real else "DecisionTreeClassifier"
    options = {"criterion": criterion, "random_state": 0, **options}
    ours = getattr(tree, name)(solver=solver, **options).fit(X, y, weight)
    return ours, getattr(sklearn_tree, name)(**options).fit(X, y, weight)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("options", [{}, {"max_leaf_nodes": 8}], ids=str)
@pytest.mark.parametrize("max_depth", [1, 3, None])
@pytest.mark.parametrize(("name", "criterion"), SMALL_SETS)
def test_small_sets(name, criterion, max_depth, options, missing):
    skip_without_missing_splits(missing)
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    if missing:
        X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    for solver in ("exact", "mab", "auto"):
        ours, theirs = fit_both(
            criterion, X, y, solver=solver, max_depth=max_depth, **options
        )
        n_compared, n_ties = match_nodes(ours, theirs)
        assert n_compared >= min(3, theirs.tree_.node_count)
        # Deep in a tree many splits of a few rows are tied.
        assert n_ties < 0.5 * n_compared
        reached = np.asarray(ours.decision_path(X).sum(axis=0)).ravel()
        assert_array_equal(reached, ours.tree_.n_node_samples)


def make_continuous_data(missing, n=20_000):
    skip_without_missing_splits(missing)
    rng = np.random.default_rng(10)
    X = rng.normal(size=(n, 5))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    # Many times the same value, among others.
    X[rng.random(n) < 0.3, 3] = 0.0
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


CONTINUOUS_OPTIONS = [
    {"max_depth": 5},
    {"max_depth": 5, "min_samples_leaf": 300},
    {"max_depth": 5, "min_weight_fraction_leaf": 0.02},
    {"max_leaf_nodes": 20},
]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("options", CONTINUOUS_OPTIONS, ids=str)
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson"])
def test_continuous_features(criterion, options, weighted, missing):
    X, y = make_continuous_data(missing, n=6_000)
    weight = np.random.default_rng(0).random(len(y)) + 0.1 if weighted else None
    if criterion in ("gini", "entropy"):
        y = np.digitize(y, [-1, 0, 1.5])
    elif criterion == "poisson":
        y = np.exp(y / 2)
    assert_same_tree(*fit_both(criterion, X, y, weight, **options))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_tens_of_thousands_of_continuous_values(criterion, missing):
    for n in (20_000, SamplingPolicy().ranked_rows):
        X, y = make_continuous_data(missing, n)
        y = y > 0 if criterion == "gini" else y
        ours, theirs = fit_both(criterion, X, y, max_depth=4)
        assert_same_tree(ours, theirs)


def test_continuous_features_of_several_outputs():
    X, y = make_continuous_data(True, n=3_000)
    Y = np.column_stack([y, y[::-1], X[:, 4] > 0.5])
    assert_same_tree(*fit_both("squared_error", X, Y, max_depth=5))
    Y = np.column_stack([np.digitize(y, [-1, 0, 1]), Y[:, 2]])
    for criterion in ("gini", "entropy"):
        assert_same_tree(*fit_both(criterion, X, Y, max_depth=5))


@pytest.mark.parametrize("n_classes", [2, 10, 40])
def test_continuous_features_of_many_classes(n_classes):
    X, y = make_continuous_data(False, n=4_000)
    y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
    for criterion in ("gini", "entropy"):
        assert_same_tree(*fit_both(criterion, X, y, max_depth=5))


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error"])
def test_monotonic_constraints_on_continuous_features(criterion):
    X, y = make_continuous_data(False, n=1_500)
    options = {"max_depth": 5, "monotonic_cst": [1, 0, 0, -1, 1]}
    assert_same_tree(*fit_both(criterion, X, y, **options))


def test_continuous_features_in_any_layout():
    X, y = make_continuous_data(False, n=2_000)
    X = X.astype(np.float32)
    expected = tree.DecisionTreeRegressor(random_state=0, max_depth=8).fit(X, y)
    for other in (
        X.astype(np.float64),
        np.asfortranarray(X),
        np.repeat(X, 2, axis=0)[::2],
        X.astype(">f4"),
        sparse.csc_matrix(X),
        sparse.csr_matrix(X),
    ):
        model = tree.DecisionTreeRegressor(random_state=0, max_depth=8).fit(other, y)
        assert_array_equal(model.tree_.threshold, expected.tree_.threshold)
        assert_array_equal(model.tree_.feature, expected.tree_.feature)


def test_values_that_hardly_differ_are_one():
    # As in scikit-learn: a value must exceed the one before by 1e-7.
    rng = np.random.default_rng(0)
    X = rng.random((600, 2))
    X[:, 0] *= 1e-7
    y = X[:, 0] > 5e-8
    model = tree.DecisionTreeClassifier(random_state=0).fit(X, y)
    assert not (model.tree_.feature == 0).any()
    X[:, 0] += rng.integers(0, 400, len(X))
    y = X[:, 0] > 200.5
    ours, theirs = fit_both("gini", X, y)
    assert_array_equal(ours.tree_.threshold, theirs.tree_.threshold)
    assert (ours.apply(X) == theirs.apply(X)).all()


@pytest.mark.parametrize("n_rows", [150, 20_000])
def test_copies_of_an_output_have_the_same_random_splits(n_rows):
    rng = np.random.default_rng(n_rows)
    X = rng.standard_normal((n_rows, 5))
    y = rng.integers(3, size=n_rows)
    one = tree.ExtraTreeClassifier(random_state=0, max_depth=8).fit(X, y).tree_
    three = tree.ExtraTreeClassifier(random_state=0, max_depth=8).fit(X, np.c_[y, y, y])
    assert_array_equal(one.feature, three.tree_.feature)
    assert_array_equal(one.threshold, three.tree_.threshold)


@pytest.mark.parametrize("seed", range(3))
def test_the_last_features_that_are_drawn_may_all_be_constant(seed):
    # Deep nodes of sorted columns have few bins; all features are drawn in groups.
    rng = np.random.default_rng(seed)
    X = np.sort(rng.standard_normal((257, 257)), axis=0).astype(np.float32)
    y = X[:, 0] + rng.integers(0, 3, 257)
    model = tree.ExtraTreeRegressor(n_thresholds="sqrt", random_state=0).fit(X, y)
    assert model.get_n_leaves() > 240
