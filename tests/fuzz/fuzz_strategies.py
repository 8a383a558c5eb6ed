"""Strategies of hypothesis for whole cases: an estimator, its parameters, its data.

A case is a dict of plain values (see `fuzz_data.py` for how data are made of them), so
that it can be written down before it is run, and run again from what was written.

Sizes are drawn from both sides of the constants at which the kernels change their ways;
parameters from the ends of what `_parameter_constraints` allows.
"""

from numbers import Integral, Real

import numpy as np
from fuzz_data import LABELS, LAYOUTS, SPARSE_LAYOUTS, VALUES, WEIGHTS
from hypothesis import strategies as st

from sklearn_bandit import (
    cluster,
    ensemble,
    feature_selection,
    linear_model,
    neighbors,
    tree,
)

# Rows and features where something changes: SIMD lanes (8, 16), small nodes compared in
# pairs (64), ranks in a byte (255), sparse histograms and tiles (512), BanditKMedoids'
# small matrix (700), groups of features (1024), data taken as bytes (1250), exact
# k-medoids (3000), blocks (4096), sampled nodes and shared histograms (8000, 8192).
CUT_OVERS = (1, 2, 4, 8, 16, 32, 64, 128, 255, 256, 512, 700, 1024, 1250)
LARGE_CUT_OVERS = (2000, 3000, 4096, 5000, 8000, 8192, 16_000)
MOST_VALUES = 1 << 17

DTYPES = ("float64", "float32", "float16", "int8", "uint8", "int64", "bool", ">f8")

# Numbers that multiply the work asked for, and what is not the fuzzer's to vary.
WORK = {
    "n_estimators": (1, 2, 5),
    "n_init": (1, 2, "auto"),
    "max_samples": (None, 5e-324, 0.5, 1.0, 2.5, 1, 30),
    "verbose": (0,),
    "warm_start": (False,),
    "n_jobs": (None, 1, 2, 3, -1),
    "random_state": (0, 1, 2**31 - 1, 2**32 - 1),
    "scoring": ("loss", None),
    "oob_score": (False, True),
    "metric_params": (None,),
    "monotonic_cst": (None,),
    "categorical_features": (None,),
    "interaction_cst": (None, "pairwise", "no_interactions"),
    "n_thresholds": (1, 2, 16, "sqrt"),
}

TREES = (
    tree.DecisionTreeClassifier,
    tree.DecisionTreeRegressor,
    tree.ExtraTreeClassifier,
    tree.ExtraTreeRegressor,
)
FORESTS = (
    ensemble.RandomForestClassifier,
    ensemble.RandomForestRegressor,
    ensemble.ExtraTreesClassifier,
    ensemble.ExtraTreesRegressor,
    ensemble.RandomPatchesClassifier,
    ensemble.RandomPatchesRegressor,
)
BOOSTERS = (
    ensemble.HistGradientBoostingClassifier,
    ensemble.HistGradientBoostingRegressor,
)
DROP_INS = (
    neighbors.KNeighborsClassifier,
    neighbors.KNeighborsRegressor,
    neighbors.KNeighborsTransformer,
)
CLASSES = {
    each.__name__: each
    for each in (
        *TREES,
        *FORESTS,
        *BOOSTERS,
        cluster.BanditKMedoids,
        neighbors.BanditMIPS,
        neighbors.BanditNearestNeighbors,
        *DROP_INS,
        linear_model.BanditMatchingPursuit,
        feature_selection.BanditSelectKBest,
    )
}


def limits(constraint):
    """Yield what a constraint allows, at its ends, if that is plain data."""
    if constraint is None:
        yield None
    elif constraint == "boolean":
        yield from (False, True)
    elif hasattr(constraint, "options"):
        options = constraint.options
        yield from sorted(option for option in options if isinstance(option, str))
    elif hasattr(constraint, "left") and constraint.type is Integral:
        left, right = constraint.left, constraint.right
        yield from (left, left + 1, left + 2, left + 30)
        yield from (
            (2**31 - 1, 2**31, 2**62, 2**63 - 1)
            if right is None
            else (
                right - 1,
                right,
            )
        )
    elif hasattr(constraint, "left") and constraint.left is None:
        yield from (-1e300, -1.0, 0.0, 1e-300, 0.3, 5.0, 1e300)
    elif hasattr(constraint, "left"):
        left, right = constraint.left, constraint.right
        yield from (left, np.nextafter(left, np.inf), left + 1e-3, left + 0.3)
        if right is None:
            yield from (1e6, 1e300)
        else:
            yield from (0.5 * (left + right), np.nextafter(right, -np.inf), right)


def choices(estimator_class):
    """Return the values to try of every parameter, by name."""
    found = {}
    for name, constraints in estimator_class._parameter_constraints.items():
        if name in WORK:
            found[name] = WORK[name]
            continue
        if isinstance(constraints, str):
            continue
        values = []
        for constraint in constraints:
            for value in limits(constraint):
                is_real = isinstance(value, Real) and not isinstance(value, (bool, int))
                value = float(value) if is_real else value
                # A closed or open end is the constraint's own business.
                if not hasattr(constraint, "left") or constraint.is_satisfied_by(value):
                    values.append(value)
        if values:
            found[name] = tuple(dict.fromkeys(values))
    return found


@st.composite
def parameters(draw, estimator_class, fixed=(), most=4):
    """Draw a few parameters at their limits; the others keep their defaults."""
    known = {k: v for k, v in choices(estimator_class).items() if k not in fixed}
    names = draw(st.lists(st.sampled_from(sorted(known)), max_size=most, unique=True))
    return {name: draw(st.sampled_from(known[name])) for name in names}


def sizes(largest):
    """Draw a number on either side of a cut-over, small ones more often."""
    around = sorted(
        {
            max(1, each + step)
            for each in CUT_OVERS + LARGE_CUT_OVERS
            for step in (-1, 0, 1)
            if each + step <= largest
        }
    )
    small = [size for size in around if size <= 130]
    return st.one_of(
        st.sampled_from(small or [1]), st.sampled_from(around), st.integers(1, 40)
    ).map(lambda size: min(size, largest))


@st.composite
def matrices(
    draw,
    most_rows=8193,
    most_features=1025,
    layouts=LAYOUTS,
    values=VALUES,
    dtypes=DTYPES,
    missing=("none",),
    infinite=False,
):
    """Draw the specification of a matrix."""
    n_samples = draw(sizes(most_rows))
    n_features = draw(sizes(max(1, min(most_features, MOST_VALUES // n_samples))))
    return {
        "n_samples": n_samples,
        "n_features": n_features,
        "values": draw(st.sampled_from(values)),
        "dtype": draw(st.sampled_from(dtypes)),
        "layout": draw(st.sampled_from(layouts)),
        "missing": draw(st.sampled_from(missing)),
        "infinite": draw(st.integers(0, 15)) == 15 if infinite else False,
        "seed": draw(st.integers(0, 2**16)),
    }


@st.composite
def learning_cases(
    draw,
    estimators,
    fixed=None,
    weights=WEIGHTS,
    most_outputs=1,
    target_values=VALUES,
    most_parameters=4,
    **data,
):
    """Draw a case of supervised learning.

    Parameters
    ----------
    estimators : tuple of classes
        What may be fitted.
    fixed : dict
        Parameters that are always set.
    weights : tuple of str
        Kinds of weights.
    most_outputs : int
        Of one target.
    target_values : tuple of str
        Kinds of real targets.
    most_parameters : int
        How many may differ from their defaults.
    **data : dict
        Keyword arguments of `matrices`.
    """
    estimator_class = draw(st.sampled_from(estimators))
    fixed = {
        name: value
        for name, value in (fixed or {}).items()
        if name in estimator_class._parameter_constraints
    }
    params = draw(parameters(estimator_class, tuple(fixed), most_parameters)) | fixed
    X = draw(matrices(**data))
    return {
        "estimator": estimator_class.__name__,
        "params": params,
        "X": X,
        "y": {
            "n_outputs": draw(st.sampled_from((1, 1, 1, 2, 3)))
            if most_outputs > 1
            else 1,
            "n_classes": draw(st.sampled_from((1, 2, 2, 3, 5, 17, 40))),
            "labels": draw(st.sampled_from(LABELS)),
            "target_values": draw(st.sampled_from(target_values)),
            "positive": draw(st.booleans()),
            "seed": X["seed"],
        },
        "weights": draw(st.sampled_from(weights)),
    }


DENSE = tuple(layout for layout in LAYOUTS if layout not in SPARSE_LAYOUTS)

# Data whose arithmetic neither overflows nor underflows, for properties that compare.
PLAIN_VALUES = ("normal", "few", "bytes", "sorted", "duplicates", "mostly zero")
PLAIN = {
    "values": PLAIN_VALUES,
    "dtypes": ("float64", "float32"),
    "layouts": ("C", "F"),
}


# Numbers of clusters that "auto" tries: the last three are refused.
K_RANGES = ((2, 2), (2, 3), (3, 7), (5, 12), (2, 10**6), (1, 3), (4, 2))


@st.composite
def clustering_cases(draw, fixed=None, weights=WEIGHTS, **data):
    """Draw a case of BanditKMedoids: as `learning_cases`, without targets."""
    fixed = fixed or {}
    data = {"most_rows": 1025, "most_features": 257, "layouts": LAYOUTS} | data
    others = "n_clusters", "k_range", "metric_batched"
    params = draw(parameters(cluster.BanditKMedoids, (*fixed, *others)))
    params["n_clusters"] = draw(st.sampled_from(("auto", *range(1, 13))))
    if params["n_clusters"] == "auto":
        params["k_range"] = draw(st.sampled_from(K_RANGES))
    return {
        "estimator": "BanditKMedoids",
        "params": params | fixed,
        "X": draw(matrices(**data)),
        "weights": draw(st.sampled_from(weights)),
    }


# Dimensions where a search begins to sample: 2,000 alone, 5,000 in batches, 20,000
# without a prepared sample.
DIMENSIONS = (1, 3, 16, 17, 64, 129, 513, 1999, 2000, 2049, 4999, 5001, 20_001)


@st.composite
def search_cases(draw, fixed=None, kind=neighbors.BanditMIPS, **data):
    """Draw a case of a search: rows, queries and what is added and removed."""
    fixed = fixed or {}
    dtypes = ("float64", "float32", "int64", "float16")
    layouts = LAYOUTS if kind is neighbors.BanditMIPS else DENSE
    data = {"dtypes": dtypes, "layouts": layouts} | data
    params = draw(parameters(kind, (*fixed, "n_neighbors")))
    X = draw(matrices(most_rows=1025, most_features=65, **data))
    X["n_features"] = draw(st.sampled_from(DIMENSIONS))
    X["n_samples"] = max(1, min(X["n_samples"], 4 * MOST_VALUES // X["n_features"]))
    queries = draw(matrices(most_rows=80, most_features=1, **data))
    queries["layout"] = draw(st.sampled_from(LAYOUTS))
    queries["n_samples"] = draw(st.sampled_from((1, 1, 2, 3, 17, 65)))
    queries["n_features"] = X["n_features"]
    steps = st.tuples(st.sampled_from(("add", "remove")), st.integers(1, 9))
    return {
        "estimator": kind.__name__,
        "params": {"n_neighbors": draw(st.sampled_from((1, 1, 2, 5, 64)))}
        | params
        | fixed,
        "X": X,
        "queries": queries,
        "steps": [list(step) for step in draw(st.lists(steps, max_size=4))],
    }


@st.composite
def pursuit_cases(draw, fixed=None, **data):
    """Draw a case of BanditMatchingPursuit: atoms in columns, and signals."""
    fixed = fixed or {}
    data = {"dtypes": ("float64", "float32", "int64"), "layouts": DENSE} | data
    scales = data.pop("scales", (1.0, 1e-30, 1e30, 1e37, 1e200))
    X = draw(matrices(most_rows=16_001, most_features=33, **data))
    return {
        "estimator": "BanditMatchingPursuit",
        "params": draw(parameters(linear_model.BanditMatchingPursuit, tuple(fixed)))
        | fixed,
        "X": X,
        "n_targets": draw(st.sampled_from((0, 0, 1, 3))),
        "scale": draw(st.sampled_from(scales)),
        "noise": draw(st.sampled_from((0.0, 0.1, 1.0))),
    }
