"""BanditMIPS of any parameters on any atoms and queries."""

import numpy as np
from fuzz_checks import accepted, attempt, require_equal_fits, require_finite
from fuzz_data import lay_out, make_matrix
from fuzz_profile import fuzzed
from fuzz_strategies import PLAIN_VALUES, search_cases

from sklearn_bandit.neighbors import BanditMIPS


def build(case):
    model = BanditMIPS(**{"random_state": 0} | case["params"])
    atoms, queries = make_matrix(case["X"]), make_matrix(case["queries"])
    return model, atoms, queries


def answer(case, **changes):
    """Fit and ask; return the model, atoms, queries, products and indices."""
    model, atoms, queries = build(case)
    model.set_params(**changes)
    X, Q = case["X"], case["queries"]
    attempt(model.fit, lay_out(atoms, X["dtype"], X["layout"]))
    dtype = Q["dtype"] if Q["layout"] == "csr" else X["dtype"]
    queries = queries.astype(dtype).astype(float)
    products, indices = attempt(model.kneighbors, lay_out(queries, dtype, Q["layout"]))
    # Queries are rounded to the type of the atoms.
    queries = queries.astype(model._index.dtype).astype(float)
    return model, atoms, queries, products, indices


def require_products(atoms, queries, products, indices, exact):
    """The products are those of the atoms named; the largest ones if it is exact."""
    single = products.dtype == np.float32
    rounding = (1e-6 if single else 1e-13) * np.sqrt(atoms.shape[1] + 1)
    with np.errstate(all="ignore"):
        norms = np.linalg.norm(atoms, axis=1).max() * np.linalg.norm(queries, axis=1)
        true = queries @ atoms.T
    room = np.maximum(rounding * norms, 1e-300)[:, None]
    if single:
        room += 1e-44
    said = np.take_along_axis(true, indices, axis=1)
    assert (np.abs(products - said) <= room).all(), "products are not the atoms'"
    assert (np.diff(products, axis=1) <= 0).all(), "products do not descend"
    assert (np.diff(np.sort(indices, axis=1), axis=1) > 0).all(), "an atom twice"
    if exact:
        best = -np.sort(-true, axis=1)[:, : indices.shape[1]]
        assert (np.abs(best - said) <= 2 * room).all(), "not the largest products"


@fuzzed(
    search_cases(infinite=True, missing=("none",) * 9 + ("some",)),
    n_short=60,
)
def test_an_answer_or_a_clear_error(case):
    _, atoms, _, products, indices = accepted(answer, case)
    require_finite("products", products)
    assert ((indices >= 0) & (indices < len(atoms))).all()


@fuzzed(search_cases(values=(*PLAIN_VALUES, "wide", "offset")), n_short=40)
def test_products_are_those_of_the_atoms(case):
    _, atoms, queries, products, indices = accepted(answer, case)
    require_products(atoms, queries, products, indices, exact=False)


@fuzzed(
    search_cases(
        fixed={"delta": 0.0, "epsilon": 0.0},
        values=(*PLAIN_VALUES, "offset", "adjacent", "denormal"),
    ),
    n_short=40,
)
def test_exact_search_finds_the_largest(case):
    _, atoms, queries, products, indices = accepted(answer, case)
    require_products(atoms, queries, products, indices, exact=True)


@fuzzed(
    search_cases(
        fixed={"delta": 0.0, "epsilon": 0.0, "n_neighbors": 1},
        values=PLAIN_VALUES,
        layouts=("C", "csr"),
    )
)
def test_atoms_come_and_go(case):
    model, atoms, queries, _, _ = accepted(answer, case)
    rng = np.random.default_rng(case["X"]["seed"])
    dtype = model._index.dtype
    ids = np.arange(len(atoms))
    for kind, n in case["steps"]:
        if kind == "add":
            more = rng.standard_normal((n, atoms.shape[1])).astype(dtype)
            model.partial_fit(more)
            ids = np.append(ids, np.arange(len(atoms), len(atoms) + n))
            atoms = np.vstack([atoms, more.astype(float)])
        else:
            n = min(n, len(ids) - 1)
            gone = rng.permutation(len(ids))[:n]
            model.remove(ids[gone])
            ids = np.delete(ids, gone)
    k = min(3, len(ids))
    products, found = model.kneighbors(queries.astype(dtype), k)
    assert np.isin(found, ids).all(), "a removed atom"
    places = np.searchsorted(ids, found)
    require_products(atoms[ids], queries, products, places, exact=True)


@fuzzed(search_cases(values=PLAIN_VALUES, layouts=("C",)))
def test_equal_fits_have_equal_pickles(case):
    require_equal_fits(answer, case)


@fuzzed(search_cases(values=PLAIN_VALUES, layouts=("C",)))
def test_any_number_of_jobs_gives_the_same_answer(case):
    *_, products, indices = accepted(answer, case, n_jobs=1)
    for n_jobs in (2, 3):
        *_, other, others = answer(case, n_jobs=n_jobs)
        np.testing.assert_array_equal(indices, others)
        np.testing.assert_array_equal(products, other)
