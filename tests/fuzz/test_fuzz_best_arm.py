"""`best_arm` on any costs with any parameters."""

from numbers import Integral

import numpy as np
from fuzz_checks import accepted, attempt, require_finite
from fuzz_data import VALUES, make_matrix
from fuzz_profile import fuzzed
from fuzz_strategies import limits, matrices
from hypothesis import strategies as st

from sklearn_bandit._compat import Interval
from sklearn_bandit.bandit import best_arm

RADII = ("paired", "normal", "bernstein", "hoeffding")
METHODS = ("elimination", "elimination", "sequential-halving", "median-elimination")


@st.composite
def arm_cases(draw, values=VALUES):
    count = Interval(Integral, 1, None, closed="left")
    return {
        "X": draw(
            matrices(most_rows=300, most_features=1025, layouts=("C",), values=values)
        ),
        "k": draw(st.sampled_from((1, 1, 2, 5, 300, 2**62))),
        "delta": draw(st.sampled_from((0.0, 5e-324, 0.01, 0.5, 1 - 1e-16))),
        "batch_size": draw(st.sampled_from(list(limits(count)))),
        "radius": draw(st.sampled_from(RADII)),
        "method": draw(st.sampled_from(METHODS)),
        "maximize": draw(st.booleans()),
        "cost_range": draw(st.sampled_from((None, 1e300))),
        "scale": draw(st.sampled_from((None, 5e-324, 1.0, 1e300))),
        "exact": draw(st.sampled_from((None, True, False))),
        "max_pulls": draw(st.sampled_from((None, 1, 10, 1000, 2**62))),
        "tol": draw(st.sampled_from((0.0, 1e-3, 1e300))),
    }


def ask(case):
    X = make_matrix(case["X"])
    params = {name: value for name, value in case.items() if name not in ("X", "scale")}
    params["sigma"] = case["scale"]
    result = attempt(
        best_arm,
        lambda arms, references: X[np.ix_(arms, references)],
        *X.shape,
        random_state=0,
        **params,
    )
    return X, result


@fuzzed(arm_cases(), n_short=60)
def test_an_answer_or_a_clear_error(case):
    X, result = accepted(ask, case)
    is_pulled = case["max_pulls"] is None or case["max_pulls"] >= len(X)
    if is_pulled and case["k"] < len(X):
        require_finite("means", result.means[result.best])
    assert len(set(result.best.tolist())) == case["k"]
    assert ((result.best >= 0) & (result.best < len(X))).all()
    if case["max_pulls"] is not None:
        assert result.n_pulls <= case["max_pulls"]


@fuzzed(arm_cases(values=("normal", "few", "bytes", "duplicates")), n_short=30)
def test_without_error_probability_the_best_are_found(case):
    case = case | {"delta": 0.0, "max_pulls": None, "tol": 0.0, "exact": None}
    X, result = accepted(ask, case)
    means = X.mean(axis=1)
    if case["maximize"]:
        means = -means
    np.testing.assert_allclose(
        np.sort(means[result.best]), np.sort(means)[: case["k"]], rtol=1e-9, atol=1e-12
    )
