"""What checks of several families share: outcomes of a fit, finite answers."""

import pickle
import re

import numpy as np
from fuzz_data import make_classes, make_input, make_matrix, make_targets, make_weights
from fuzz_strategies import CLASSES
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.tree import DecisionTreeClassifier

# What an error may be. The message must be meant for a user: what numpy or Python say
# when something unforeseen reaches them is not.
CLEAR = (ValueError, TypeError, MemoryError)
RAW = re.compile(
    r"^$|broadcast|out of bounds|ssize_t|cannot convert float|zero-size array|"
    r"Buffer dtype|buffer source array|Maximum allowed dimension|negative dimensions|"
    r"object of type|not subscriptable|unsupported operand|truth value|'NoneType'|"
    r"setting an array element|array is too big|not supported between"
)


def _follows_missing_values():
    """Whether scikit-learn's `decision_path` goes where its `apply` and `predict` go.

    In 1.6 it compares every value with the threshold, so that missing ones go right.
    """
    X = [[np.nan], [np.nan], [0.0], [1.0]]
    tree = DecisionTreeClassifier().fit(X, [0, 0, 0, 1])
    return tree.decision_path(X[:1]).indices[-1] == tree.apply(X[:1])[0]


FOLLOWS_MISSING_VALUES = _follows_missing_values()


class Refused(Exception):
    """The estimator refused the input by a clear error."""


class NotApplicable(Exception):
    """A case has nothing that the test could look at."""


def attempt(function, *args, **kwargs):
    """Call a function; raise `Refused` for a clear error, and what it is otherwise."""
    try:
        return function(*args, **kwargs)
    except CLEAR as error:
        if not isinstance(error, MemoryError) and RAW.search(str(error)):
            raise
        raise Refused(str(error)) from error


def accepted(function, *args, **kwargs):
    """Call a function; end the test, which holds, if it raises `Refused`."""
    try:
        return function(*args, **kwargs)
    except Refused as refusal:
        raise NotApplicable from refusal


def build(case):
    """Return the estimator of a case, its data and weights, as its `fit` takes them."""
    estimator = CLASSES[case["estimator"]](**{"random_state": 0} | case["params"])
    X = make_matrix(case["X"])
    y = None
    if "y" in case:
        make = make_classes if is_classifier(estimator) else make_targets
        y = make(case["y"], X)
    weights = make_weights(case["weights"], len(X), case["X"]["seed"])
    return estimator, make_input(case["X"]), y, weights


def fitted(case, **changes):
    """Return the estimator of a case fitted, and its data; or raise `Refused`."""
    estimator, X, y, weights = build(case)
    estimator.set_params(**changes)
    attempt(estimator.fit, X, y, sample_weight=weights)
    return estimator, X, y, weights


def require_finite(name, value):
    """Fail if something of an answer is not finite."""
    parts = value if isinstance(value, (list, tuple)) else [value]
    for part in parts:
        part = part.data if sparse.issparse(part) else np.asarray(part)
        if part.dtype.kind == "f":
            assert np.isfinite(part).all(), f"{name} is not finite"


def require_distributions(probabilities):
    """Fail if rows are not probabilities of classes."""
    outputs = probabilities if isinstance(probabilities, list) else [probabilities]
    for output in outputs:
        assert (output >= 0).all(), "negative probabilities"
        np.testing.assert_allclose(output.sum(axis=1), 1.0, rtol=1e-6)


def require_classes(estimator, predicted):
    """Fail if predictions are not among the classes."""
    classes = estimator.classes_
    columns = predicted.T if predicted.ndim == 2 else [predicted]
    classes = classes if predicted.ndim == 2 else [classes]
    for column, known in zip(columns, classes, strict=True):
        assert set(np.unique(column)) <= set(known)


def require_answers(estimator, X):
    """Fail if predictions are not finite, or not what they should be."""
    predicted = attempt(estimator.predict, X)
    if is_classifier(estimator):
        require_classes(estimator, predicted)
        probabilities = estimator.predict_proba(X)
        require_finite("predict_proba", probabilities)
        require_distributions(probabilities)
    else:
        require_finite("predict", predicted)
    return predicted


def weight_of_nodes(tree, X, weights):
    """Return the weight of the rows that reach each node of a tree."""
    if FOLLOWS_MISSING_VALUES:
        return np.asarray(weights @ tree.decision_path(X)).ravel()
    nodes = tree.tree_
    totals = np.bincount(tree.apply(X), weights, nodes.node_count)
    children = np.column_stack([nodes.children_left, nodes.children_right])
    for node in reversed(range(nodes.node_count)):  # children come after their parent
        if children[node, 0] >= 0:
            totals[node] = totals[children[node]].sum()
    return totals


def require_equal_fits(fitted, case):
    """Fail if two fits of a case differ in what they would write to a file."""
    first = accepted(fitted, case)[0]
    require_equal_pickles(first, fitted(case)[0])


def require_equal_pickles(first, second):
    """Fail if two fits differ in what they would write to a file."""
    if pickle.dumps(first) == pickle.dumps(second):
        return
    for name, value in vars(first).items():
        other = vars(second)[name]
        assert pickle.dumps(value) == pickle.dumps(other), f"pickles of {name} differ"
    raise AssertionError("pickles differ")
