"""Parameters of trees and forests, and the counts that they stand for."""

from dataclasses import dataclass
from math import ceil
from numbers import Integral, Real

import numpy as np

from sklearn_bandit._compat import Interval, StrOptions

from ._data.packed_rows import MAX_BINS

MAX_INT64 = np.iinfo(np.int64).max
MAX_INT32 = np.iinfo(np.int32).max

CLASS_CRITERIA = ("gini", "entropy", "log_loss")

# Parameters of trees and forests that scikit-learn's do not have.
PARAMETER_CONSTRAINTS = {
    "solver": [StrOptions({"mab", "exact", "auto", "mab-thesis"})],
    "max_bins": [Interval(Integral, 2, MAX_BINS, closed="both")],
    "delta": [Interval(Real, 0.0, 1.0, closed="left")],
    "batch_size": [Interval(Integral, 32, None, closed="left")],
    "tol": [Interval(Real, 0.0, None, closed="left")],
    "radius": [StrOptions({"paired", "bernstein"})],
    "max_insertions": [Interval(Integral, 1, None, closed="left"), None],
    "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
}

# Those of extremely randomised trees.
THRESHOLD_CONSTRAINTS = {
    "n_thresholds": [Interval(Integral, 1, None, closed="left"), StrOptions({"sqrt"})]
}


@dataclass(frozen=True)
class GrowthLimits:
    """Where a tree stops to grow, in numbers that fit the kernels.

    Parameters
    ----------
    max_depth : int
        Most levels below the root.
    min_samples_split, min_samples_leaf : int
        Least samples of a node that is split, and of a leaf.
    max_leaf_nodes : int
        Most leaves of a tree that is grown best first; -1 grows depth first.
    min_weight_leaf : float
        Least weight of a leaf.
    min_impurity_decrease : float
        Least decrease in impurity by a split.
    monotonic : bool
        Whether there are monotonic constraints.
    """

    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    max_leaf_nodes: int
    min_weight_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    monotonic: bool = False


def growth_limits(estimator, n_samples, n_rows):
    """Return the limits that an estimator sets to a tree.

    Parameters
    ----------
    estimator : DecisionTreeClassifier or DecisionTreeRegressor
        Its parameters are the limits.
    n_samples : int
        Samples of the training set, of which some parameters are a fraction.
    n_rows : int
        Samples that the tree is grown on.

    Returns
    -------
    GrowthLimits
        The limits.
    """
    max_depth, max_leaf_nodes = estimator.max_depth, estimator.max_leaf_nodes
    # One more than there are samples says as much as any larger number.
    min_samples_leaf = cap(
        as_count(estimator.min_samples_leaf, n_samples), n_samples + 1
    )
    return GrowthLimits(
        max_depth=MAX_INT32 if max_depth is None else cap(max_depth, MAX_INT32),
        min_samples_split=max(
            2,
            cap(as_count(estimator.min_samples_split, n_samples), n_samples + 1),
            2 * min_samples_leaf,
        ),
        min_samples_leaf=min_samples_leaf,
        # Every leaf has a sample.
        max_leaf_nodes=-1 if max_leaf_nodes is None else cap(max_leaf_nodes, n_rows),
        min_impurity_decrease=estimator.min_impurity_decrease,
        monotonic=estimator.monotonic_cst is not None,
    )


def cap(value, most):
    """Return a number, or `most` if it is larger than that.

    An int of Python: NumPy's would wrap around in what is computed from it, and larger
    ones do not fit the kernels.
    """
    return min(int(value), most)


def as_count(value, n_samples):
    """Return the number of samples that a parameter stands for."""
    return value if isinstance(value, Integral) else ceil(value * n_samples)


def count_features(max_features, n_features):
    """Return the number of features to look at in a node."""
    if max_features is None:
        return n_features
    if max_features == "sqrt":
        return max(1, int(np.sqrt(n_features)))
    if max_features == "log2":
        return max(1, int(np.log2(n_features)))
    if isinstance(max_features, Integral):
        return max_features
    return max(1, int(max_features * n_features))


def count_drawn(estimator, n_features):
    """Return the number of features to look at in a node: at most all."""
    return cap(count_features(estimator.max_features, n_features), n_features)


def count_thresholds(estimator, training_set):
    """Return the number of random thresholds per feature; 0 for all thresholds."""
    if estimator.splitter == "best":
        return 0
    n_thresholds = getattr(estimator, "n_thresholds", 1)
    if n_thresholds == "sqrt":
        return max(1, int(np.sqrt(training_set.n_features)))
    return n_thresholds


def monotonic_constraints(estimator, training_set):
    """Monotonic constraints as the kernels want them, or None if there are none."""
    if estimator.monotonic_cst is None:
        return None
    if len(training_set.n_classes) > 1:
        raise ValueError(
            "Monotonicity constraints are not supported with multiple outputs."
        )
    constraints = np.asarray(estimator.monotonic_cst)
    if constraints.shape[0] != training_set.n_features_in:
        raise ValueError(
            f"monotonic_cst has shape {constraints.shape[0]} but the input data "
            f"X has {training_set.n_features_in} features."
        )
    if not np.isin(constraints, (-1, 0, 1)).all():
        raise ValueError(
            "monotonic_cst must be None or an array-like of -1, 0 or 1, but"
            f" got {np.unique(constraints)}"
        )
    constraints = constraints.astype(np.int8)
    if training_set.features is not None:
        constraints = constraints[training_set.features]
    if training_set.is_classification:
        if training_set.n_classes[0] > 2:
            raise ValueError(
                "Monotonicity constraints are not supported with multiclass "
                "classification"
            )
        # Kernels bound the fraction of the first class; constraints are on the second.
        constraints *= -1
    return constraints


def check_thesis_problem(estimator, training_set):
    """Raise if the thesis has no rule for the training_set."""
    criteria = (*CLASS_CRITERIA, "squared_error")
    if len(training_set.n_classes) > 1 or training_set.criterion not in criteria:
        raise ValueError(
            'solver="mab-thesis" needs a single output and one of the criteria '
            f"{', '.join(criteria)}; got {len(training_set.n_classes)} outputs and "
            f"{training_set.criterion!r}."
        )
    if estimator.splitter != "best":
        raise ValueError('solver="mab-thesis" needs splitter="best".')
