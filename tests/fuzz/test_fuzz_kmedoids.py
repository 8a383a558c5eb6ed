"""BanditKMedoids of any parameters on any data."""

import numpy as np
from fuzz_checks import (
    Refused,
    accepted,
    attempt,
    build,
    fitted,
    require_equal_fits,
    require_finite,
)
from fuzz_data import SPARSE_LAYOUTS, VALUES
from fuzz_profile import fuzzed
from fuzz_strategies import PLAIN_VALUES, clustering_cases
from sklearn.metrics import pairwise_distances

from sklearn_bandit.cluster._distances.sparse_rows import GUARD

FLOATS = {"dtypes": ("float64", "float32")}
ANY_WEIGHTS = ("none", "counts", "some zero", "real")
FAST = ("euclidean", "sqeuclidean", "manhattan")


def require_consistent(model, D, weights, error=0.0, smallest=0.0):
    """Labels and inertia are those of the distances to the medoids, recomputed.

    A distance of the model may be off by `error` times itself, and by `smallest`.
    """
    weights = np.ones(len(D)) if weights is None else weights
    medoids = model.medoid_indices_
    assert len(set(medoids.tolist())) == len(medoids)
    assert (weights[medoids] > 0).all()
    nearest = D.min(axis=1)
    # The label's distance may be too small, that of the nearest too large.
    room = 2 * (error * np.abs(nearest) + smallest)
    assert (D[np.arange(len(D)), model.labels_] <= nearest + room).all()
    # Sums of positive and negative distances cancel.
    terms = weights * nearest
    sum_error = error + len(D) * np.finfo(float).eps
    room = sum_error * np.abs(terms).sum() + smallest * weights.sum()
    assert abs(model.inertia_ - terms.sum()) <= room


def distance_error(case, metric, d):
    """Return the bound of the error of a distance that comes from d differences.

    Each difference is rounded, its square or absolute value, each of the additions, and
    the root. Of sparse rows two norms and a product are sums of d squares, which may
    be as large as the distance over `GUARD`.
    """
    eps = np.finfo(case["X"]["dtype"]).eps
    if case["X"]["layout"] in SPARSE_LAYOUTS and metric != "manhattan":
        return eps + 2 * (d + 2) * np.finfo(float).eps / GUARD
    return (d + 2) * eps


def require_silhouettes(silhouettes, n_clusters):
    """Means are silhouettes, and the best is the largest of those known best."""
    assert silhouettes.best == n_clusters
    assert ((silhouettes.means >= 0) & (silhouettes.means <= 1)).all()
    assert (silhouettes.radii >= 0).all()
    assert np.isfinite(silhouettes.inertias).all()
    known = silhouettes.n_samples == silhouettes.n_samples.max()
    best = silhouettes.n_clusters == n_clusters
    assert known[best].all()
    assert silhouettes.means[best].max() == silhouettes.means[known].max()


@fuzzed(clustering_cases(infinite=True, missing=("none",) * 9 + ("some",)), n_short=60)
def test_an_answer_or_a_clear_error(case):
    model, _, _, weights = accepted(fitted, case)
    require_finite("inertia_", model.inertia_)
    n_clusters = model.n_clusters_
    assert len(set(model.medoid_indices_.tolist())) == n_clusters
    assert ((model.labels_ >= 0) & (model.labels_ < n_clusters)).all()
    if model.n_clusters == "auto":
        least, most = model.k_range
        assert least <= n_clusters <= most
        if model.silhouettes_ is not None:
            require_silhouettes(model.silhouettes_, n_clusters)
    else:
        assert n_clusters == model.n_clusters
    if weights is not None:
        assert (weights[model.medoid_indices_] > 0).all()


def metric_case(case, metric):
    return case | {"params": case["params"] | {"metric": metric}}


@fuzzed(
    clustering_cases(
        fixed={"metric": "euclidean"}, weights=ANY_WEIGHTS, values=VALUES, **FLOATS
    ),
    n_short=40,
)
def test_labels_and_inertia_are_those_of_the_medoids(case):
    metric = FAST[case["X"]["seed"] % 3]
    model, X, _, weights = accepted(fitted, metric_case(case, metric))
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float)
    # In units, a power of two, in which squares do not overflow or underflow.
    unit = 2.0 ** np.frexp(max(np.abs(X).max(), 1e-300))[1]
    centers = X[model.medoid_indices_]
    D = pairwise_distances(X / unit, centers / unit, metric="cityblock")
    if metric != "manhattan":
        D = ((X[:, None] / unit - centers / unit) ** 2).sum(axis=2)
        D = D if metric == "sqeuclidean" else np.sqrt(D)
    model.inertia_ /= unit
    if metric == "sqeuclidean":
        model.inertia_ /= unit
    # Squares of differences that are below this share of the largest are zero.
    smallest = X.shape[1] * np.sqrt(np.finfo(case["X"]["dtype"]).tiny) * D.max()
    if np.isfinite(model.inertia_) and model.inertia_ > 0 and unit > 1e-30:
        error = distance_error(case, metric, X.shape[1])
        require_consistent(model, D, weights, error, smallest)


@fuzzed(
    clustering_cases(
        fixed={"metric": "precomputed"},
        weights=ANY_WEIGHTS,
        values=("normal", "few", "huge", "wide", "denormal"),
        most_rows=300,
        most_features=1,
        layouts=("C",),
        **FLOATS,
    )
)
def test_precomputed_and_callable_distances(case):
    """Any matrix is a metric: negative, asymmetric, of any size."""
    model, X, _, weights = build(case)
    rng = np.random.default_rng(case["X"]["seed"])
    D = np.asarray(X) + rng.permutation(np.asarray(X)).T
    if not np.isfinite(D).all():
        return
    try:
        model.fit(D, sample_weight=weights)
    except ValueError:
        return
    require_consistent(model, D[:, model.medoid_indices_].astype(float), weights)
    if len(D) <= 40:
        other = build(case)[0].set_params(
            metric=lambda i, j: D[int(i), int(j)], metric_symmetric=False
        )
        other.fit(list(range(len(D))), sample_weight=weights)
        require_consistent(other, D[:, other.medoid_indices_].astype(float), weights)


@fuzzed(
    clustering_cases(
        fixed={"metric": "euclidean"},
        weights=ANY_WEIGHTS,
        values=PLAIN_VALUES,
        most_rows=130,
        most_features=5,
        layouts=("C",),
        **FLOATS,
    )
)
def test_callables_one_pair_or_many_at_a_time(case):
    """The same distances give the same medoids, in whatever way they are asked for."""
    _, X, _, weights = build(case)
    D = pairwise_distances(np.asarray(X, dtype=float))
    objects = list(range(len(D)))
    n_pairs = [0]

    def one(i, j):
        n_pairs[0] += 1
        return D[i, j]

    def many(some, others):
        return D[np.ix_(some, others)]

    found = []
    for metric, batched, symmetric in (
        (one, False, "auto"),
        (one, False, True),
        (one, False, False),
        (many, True, "auto"),
        (many, True, True),
    ):
        n_pairs[0] = 0
        model = build(case)[0].set_params(
            metric=metric, metric_batched=batched, metric_symmetric=symmetric
        )
        try:
            attempt(model.fit, objects, sample_weight=weights)
        except Refused:
            assert not found
            return
        if metric is one:
            assert n_pairs[0] == model.n_distance_evaluations_
        require_consistent(model, D[:, model.medoid_indices_], weights)
        assert np.array_equal(model.predict(objects), model.labels_)
        found.append(model.medoid_indices_.tolist())
    assert all(medoids == found[0] for medoids in found)


@fuzzed(
    clustering_cases(
        fixed={"metric": "euclidean", "algorithm": "pam", "init": "build"},
        weights=("some zero",),
        values=PLAIN_VALUES,
        layouts=("C", "F"),
        **FLOATS,
    )
)
def test_a_row_of_no_weight_is_not_there(case):
    model, X, _, weights = accepted(fitted, case)
    used = np.flatnonzero(weights > 0)
    other = build(case)[0].fit(X[used], sample_weight=weights[used])
    np.testing.assert_allclose(other.inertia_, model.inertia_, rtol=1e-6)
    np.testing.assert_array_equal(used[other.medoid_indices_], model.medoid_indices_)


@fuzzed(clustering_cases(weights=ANY_WEIGHTS, values=PLAIN_VALUES, **FLOATS))
def test_equal_fits_have_equal_pickles(case):
    require_equal_fits(fitted, case)


@fuzzed(
    clustering_cases(
        weights=ANY_WEIGHTS, values=PLAIN_VALUES, most_rows=1251, most_features=32
    )
)
def test_any_number_of_jobs_finds_the_same_medoids(case):
    first = accepted(fitted, case, n_jobs=1)[0]
    for n_jobs in (2, 3):
        other = fitted(case, n_jobs=n_jobs)[0]
        np.testing.assert_array_equal(first.medoid_indices_, other.medoid_indices_)
        np.testing.assert_array_equal(first.labels_, other.labels_)
        np.testing.assert_allclose(first.inertia_, other.inertia_, rtol=1e-12)
