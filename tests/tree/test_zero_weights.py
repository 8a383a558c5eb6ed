"""A row of weight zero is as good as no row."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from sklearn_bandit import ensemble, tree
from sklearn_bandit.tree._data.packed_rows import pack
from sklearn_bandit.tree._policy import SamplingPolicy

CRITERIA = ["gini", "entropy", "squared_error", "poisson", "absolute_error"]


def make_data(n, missing=False, seed=0):
    """Rows without weight have other values: they would move the edges of bins."""
    rng = np.random.default_rng(seed)
    weight = rng.integers(0, 3, n) * 0.5
    X = rng.normal(size=(n, 4))
    y = np.exp(X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=n))
    X[weight == 0] = 3 + 5 * X[weight == 0]
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    # Missing in rows without weight alone.
    X[(weight == 0) & (rng.random(n) < 0.1), 3] = np.nan
    return X, y, weight


def assert_equal_trees(one, two):
    for name in ("feature", "threshold", "impurity", "n_node_samples", "value"):
        assert_array_equal(getattr(one.tree_, name), getattr(two.tree_, name))
    assert_array_equal(one.tree_.missing_go_to_left, two.tree_.missing_go_to_left)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("options", [{}, {"max_leaf_nodes": 20}, {"max_bins": 40}])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_tree(criterion, options, missing):
    X, y, weight = make_data(1_500, missing)
    kind = "Regressor"
    if criterion in ("gini", "entropy"):
        kind, y = "Classifier", np.digitize(y, [0.5, 2])
    model = getattr(tree, f"DecisionTree{kind}")
    options = {"criterion": criterion, "random_state": 0, "max_depth": 8, **options}
    if not model(**options).__sklearn_tags__().input_tags.allow_nan:
        pytest.skip("missing values are not supported")
    used = weight > 0
    assert_equal_trees(
        model(**options).fit(X, y, weight),
        model(**options).fit(X[used], y[used], weight[used]),
    )


@pytest.mark.parametrize("solver", ["mab", "exact"])
def test_tree_of_sampled_edges(solver):
    # More than 20,000 rows: the edges are those of a sample, the nodes are sampled.
    X, y, weight = make_data(60_000)
    y = y > 1
    used = weight > 0
    options = {"max_depth": 5, "random_state": 0, "solver": solver}
    assert_equal_trees(
        tree.DecisionTreeClassifier(**options).fit(X, y, weight),
        tree.DecisionTreeClassifier(**options).fit(X[used], y[used], weight[used]),
    )


@pytest.mark.parametrize("name", ["RandomForest", "ExtraTrees"])
@pytest.mark.parametrize("kind", ["Classifier", "Regressor"])
def test_forest(name, kind):
    X, y, weight = make_data(1_500)
    y = y > 1 if kind == "Classifier" else y
    X = np.nan_to_num(X)
    used = weight > 0
    options = {"n_estimators": 4, "bootstrap": False, "random_state": 0}
    model = getattr(ensemble, f"{name}{kind}")
    one = model(**options).fit(X, y, weight)
    two = model(**options).fit(X[used], y[used], weight[used])
    for a, b in zip(one.estimators_, two.estimators_, strict=True):
        assert_equal_trees(a, b)


def test_bootstrapped_forest_keeps_the_bins():
    # Other rows are drawn if there are fewer, but bins do not depend on what has no
    # weight, and no tree on its values.
    X, y, weight = make_data(1_500)
    other = X.copy()
    other[weight == 0] = -1e6
    models = [
        ensemble.RandomForestRegressor(4, random_state=0).fit(rows, y, weight)
        for rows in (X, other)
    ]
    for a, b in zip(*(model.estimators_ for model in models), strict=True):
        assert_equal_trees(a, b)


def test_what_cannot_be_learnt_from_is_refused_all_the_same():
    X, y, weight = make_data(300)
    X[np.flatnonzero(weight == 0)[0], 0] = np.inf
    with pytest.raises(ValueError, match="contains infinity"):
        tree.DecisionTreeRegressor().fit(X, y, weight)


def test_pack():
    X, _, weight = make_data(500)
    used = np.flatnonzero(weight)
    dropped = pack(X[used], ranking=SamplingPolicy())
    for matrix in (X, np.asfortranarray(X), sparse.csr_matrix(X)):
        packed = pack(matrix, weights=weight, ranking=SamplingPolicy())
        assert_array_equal(packed.rows[used], dropped.rows)
        assert_array_equal(packed.columns[:, used], dropped.columns)
        assert_array_equal(packed.bin_low, dropped.bin_low)
        assert_array_equal(packed.has_missing, dropped.has_missing)
        assert packed.n_samples == len(X)


@pytest.mark.parametrize("name", ["DecisionTreeClassifier", "DecisionTreeRegressor"])
def test_weights_beyond_the_range_are_refused(name):
    X = np.arange(6.0).reshape(-1, 1)
    model = getattr(tree, name)()
    with pytest.raises(ValueError, match="divide sample_weight by its maximum"):
        model.fit(X, [0, 1, 0, 1, 1, 1], sample_weight=np.full(6, 1e300))
