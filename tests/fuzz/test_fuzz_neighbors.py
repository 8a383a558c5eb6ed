"""BanditNearestNeighbors and its drop-ins of any parameters on any rows and queries."""

import numpy as np
from fuzz_checks import accepted, attempt, require_finite
from fuzz_data import lay_out, make_matrix
from fuzz_profile import fuzzed
from fuzz_strategies import (
    CLASSES,
    DROP_INS,
    PLAIN,
    PLAIN_VALUES,
    learning_cases,
    search_cases,
)

from sklearn_bandit.neighbors import BanditNearestNeighbors


def nearest_cases(**data):
    return search_cases(kind=BanditNearestNeighbors, **data)


def answer(case, **changes):
    """Fit and ask; return the model, rows, queries, distances and ids."""
    model = BanditNearestNeighbors(**{"random_state": 0} | case["params"])
    model.set_params(**changes)
    X, Q = case["X"], case["queries"]
    rows, queries = make_matrix(X), make_matrix(Q)
    attempt(model.fit, lay_out(rows, X["dtype"], X["layout"]))
    asked = lay_out(queries, X["dtype"], Q["layout"])
    distances, ids = attempt(model.kneighbors, asked)
    exact = (v.astype(X["dtype"]).astype(float) for v in (rows, queries))
    return model, *exact, distances, ids


def every_key(metric, rows, queries):
    """Return all distances, or minus inner products, by brute force."""
    if metric == "inner_product":
        return -queries @ rows.T
    if metric == "cosine":
        rows, queries = (
            v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-300)
            for v in (rows, queries)
        )
        return 1.0 - queries @ rows.T
    power = 1 if metric == "manhattan" else 2
    each = [(np.abs(rows - query) ** power).sum(axis=1) for query in queries]
    return np.array(each) ** (1.0 / power)


@fuzzed(nearest_cases(infinite=True, missing=("none",) * 9 + ("some",)), n_short=60)
def test_an_answer_or_a_clear_error(case):
    _, rows, _, distances, ids = accepted(answer, case)
    require_finite("distances", distances)
    assert ((ids >= 0) & (ids < len(rows))).all()
    assert (np.diff(np.sort(ids, axis=1), axis=1) > 0).all(), "a row twice"


@fuzzed(
    nearest_cases(fixed={"delta": 0.0}, values=(*PLAIN_VALUES, "offset", "adjacent")),
    n_short=60,
)
def test_neighbours_are_the_nearest(case):
    model, rows, queries, distances, ids = accepted(answer, case)
    keys = -distances if model.metric == "inner_product" else distances
    every = every_key(model.metric, rows, queries)
    sizes = [np.linalg.norm(v, axis=1).max() for v in (rows, queries)]
    unit = {"cosine": 1.0, "inner_product": sizes[0] * sizes[1]}
    room = 1e-12 * np.abs(every).max() + 1e-12 * unit.get(model.metric, 0.0) + 1e-300
    best = np.sort(every, axis=1)[:, : ids.shape[1]]
    assert (np.abs(best - keys) <= room).all(), "not the nearest"
    said = np.take_along_axis(every, ids, axis=1)
    assert (np.abs(said - keys) <= room).all(), "distances are not the rows'"


@fuzzed(nearest_cases(values=PLAIN_VALUES, layouts=("C",)))
def test_any_number_of_jobs_gives_the_same_answer(case):
    *_, distances, ids = accepted(answer, case, n_jobs=1)
    *_, others, other_ids = answer(case, n_jobs=3)
    np.testing.assert_array_equal(ids, other_ids)
    np.testing.assert_array_equal(distances, others)


@fuzzed(learning_cases(DROP_INS, weights=("none",), most_features=65, **PLAIN))
def test_drop_ins_answer_or_refuse(case):
    model = CLASSES[case["estimator"]]()
    X = make_matrix(case["X"])
    k = min(5, len(X))
    y = np.arange(len(X)) % 3
    model.set_params(n_neighbors=k, algorithm="brute")
    accepted(attempt, model.fit, X, y)
    distances, _ = model.kneighbors(X[:7])
    best = np.sort(every_key("euclidean", X, X[:7]), axis=1)[:, :k]
    np.testing.assert_allclose(distances, best, atol=1e-10 * (1 + np.abs(X).max()))
