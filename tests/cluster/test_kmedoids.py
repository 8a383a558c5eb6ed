"""The estimator: metrics, objects, input that is odd, and what it counts."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import pairwise_distances

from sklearn_bandit.cluster import BanditKMedoids

ALGORITHMS = ["pam", "bandit", "eager"]
X_IRIS = load_iris().data


def small(algorithm, k=3, **parameters):
    return BanditKMedoids(
        k, algorithm=algorithm, random_state=0, batch_size=32, n_jobs=1, **parameters
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_attributes_agree_with_each_other(algorithm):
    model = small(algorithm).fit(X_IRIS)
    D = pairwise_distances(X_IRIS, X_IRIS[model.medoid_indices_])
    np.testing.assert_array_equal(model.cluster_centers_, X_IRIS[model.medoid_indices_])
    np.testing.assert_array_equal(model.labels_, D.argmin(axis=1))
    np.testing.assert_array_equal(model.predict(X_IRIS), model.labels_)
    np.testing.assert_allclose(model.inertia_, D.min(axis=1).sum())
    np.testing.assert_allclose(model.score(X_IRIS), -model.inertia_)
    np.testing.assert_allclose(model.transform(X_IRIS), D)
    weights = np.arange(150.0)
    np.testing.assert_allclose(
        model.score(X_IRIS, sample_weight=weights), -(D.min(axis=1) @ weights)
    )
    names = [f"banditkmedoids{i}" for i in range(3)]
    assert model.get_feature_names_out().tolist() == names


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("chebyshev", None),
        ("minkowski", {"p": 3}),
        ("seuclidean", None),
        ("mahalanobis", None),
        ("canberra", None),
        ("correlation", None),
        ("nan_euclidean", None),
    ],
)
def test_metrics_of_scikit_learn(algorithm, metric, params):
    model = small(algorithm, metric=metric, metric_params=params).fit(X_IRIS)
    D = pairwise_distances(X_IRIS, metric=metric, **(params or {}))
    matrix = small("pam", metric="precomputed").fit(D)
    if algorithm != "eager":
        np.testing.assert_array_equal(model.medoid_indices_, matrix.medoid_indices_)
    np.testing.assert_allclose(
        model.inertia_, D[:, model.medoid_indices_].min(axis=1).sum()
    )
    np.testing.assert_array_equal(model.predict(X_IRIS), model.labels_)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine", "manhattan"])
def test_sparse_equals_dense(metric):
    rng = np.random.default_rng(0)
    X = sparse.random(200, 30, density=0.2, random_state=0, format="csr")
    X += sparse.csr_matrix(rng.random((200, 30)) * (rng.random((200, 30)) < 0.05))
    dense = small("pam", metric=metric).fit(X.toarray())
    model = small("bandit", metric=metric).fit(X)
    np.testing.assert_array_equal(model.medoid_indices_, dense.medoid_indices_)
    np.testing.assert_allclose(model.inertia_, dense.inertia_)
    np.testing.assert_array_equal(model.predict(X), dense.labels_)
    assert sparse.issparse(model.cluster_centers_)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("cache_size", [2**30, 0])
def test_objects_of_any_kind_and_an_exact_counter(algorithm, cache_size):
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list("abc"), rng.integers(1, 9))) for _ in range(150)]
    calls = []

    def distance(a, b):
        calls.append((a, b))
        return abs(len(a) - len(b)) + 0.1 * sum(map(str.__ne__, a, b))

    model = small(algorithm, metric=distance, cache_size=cache_size).fit(words)
    assert model.n_distance_evaluations_ == len(calls)
    if cache_size:
        assert len(calls) <= 150**2
    assert model.cluster_centers_ == [words[i] for i in model.medoid_indices_]
    np.testing.assert_array_equal(model.predict(words), model.labels_)
    assert model.transform(["abc", "a"]).shape == (2, 3)


def test_a_costly_callable_is_called_for_few_pairs():
    X = np.random.default_rng(0).standard_normal((3000, 2))
    X[1500:] += 8

    def distance(a, b):
        return abs(a[0] - b[0]) + abs(a[1] - b[1])

    model = BanditKMedoids(
        2, metric=distance, algorithm="eager", batch_size=64, random_state=0
    ).fit(X)
    exact = BanditKMedoids(2, metric="l1", algorithm="pam").fit(X)
    assert model.inertia_ <= 1.005 * exact.inertia_
    assert model.n_distance_evaluations_ < 0.25 * 3000**2


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_asymmetric_callable(algorithm):
    X = np.random.default_rng(1).random((120, 1))

    def distance(sample, medoid):
        gap = float(sample[0] - medoid[0])
        return 3 * gap if gap > 0 else -gap

    model = small(algorithm, metric=distance).fit(X)
    D = np.array([[distance(x, m) for m in X] for x in X])
    reference = small("pam", metric="precomputed").fit(D)
    np.testing.assert_allclose(model.inertia_, reference.inertia_, rtol=0.02)
    np.testing.assert_allclose(model.transform(X), D[:, model.medoid_indices_])


def test_negative_distances_are_allowed(brute_force_pam):
    D = np.random.default_rng(0).standard_normal((40, 40))
    model = small("pam", metric="precomputed").fit(D)
    assert model.medoid_indices_.tolist() == brute_force_pam(D, 3)[-1]


def test_memory_mapped_matrix_is_read_in_parts(tmp_path):
    X = np.random.default_rng(0).standard_normal((700, 2))
    X[350:] += 9
    D = pairwise_distances(X)
    # What must not be read is NaN: the distances to samples of weight zero.
    weights = np.ones(700)
    weights[::3] = 0
    D[:, ::3] = np.nan
    path = tmp_path / "distances.npy"
    np.save(path, D)
    mapped = np.load(path, mmap_mode="r")
    model = small("bandit", 2, metric="precomputed").fit(mapped, sample_weight=weights)
    assert model.n_distance_evaluations_ < 700**2
    assert not np.isin(model.medoid_indices_, np.arange(0, 700, 3)).any()


@pytest.mark.parametrize("init", ["k-medoids++", "random"])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_random_init(init, algorithm):
    once = small(algorithm, 4, init=init, n_init=1).fit(X_IRIS)
    best = small(algorithm, 4, init=init, n_init=6).fit(X_IRIS)
    again = small(algorithm, 4, init=init, n_init=6).fit(X_IRIS)
    assert best.inertia_ <= once.inertia_
    np.testing.assert_array_equal(best.medoid_indices_, again.medoid_indices_)


@pytest.mark.parametrize(("n_samples", "used"), [(3_000, "pam"), (3_001, "eager")])
def test_the_algorithm_of_a_fit_is_told(n_samples, used):
    X = np.random.default_rng(0).standard_normal((n_samples, 2))
    model = BanditKMedoids(2, max_iter=1, n_jobs=1, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert model.fit(X).algorithm_ == used
        # Equal samples are one.
        assert model.fit(np.repeat(X[:30], 120, axis=0)).algorithm_ == "pam"
        assert small("bandit").fit(X[:100]).algorithm_ == "bandit"


def test_given_init_is_where_the_path_starts(brute_force_pam):
    D = pairwise_distances(X_IRIS[:60])
    path = brute_force_pam(D, 3, init=[1, 2, 50])
    model = small("bandit", init=[1, 2, 50]).fit(X_IRIS[:60])
    assert model.medoid_indices_.tolist() == path[-1]
    assert model.n_swaps_ == len(path)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        ([1, 2], "3 indices"),
        ([1.0, 2.0, 3.0], "3 indices"),
        ([1, 1, 2], "twice"),
        ([1, 2, 150], "not in 0..149"),
        ([0, 1, 2], "weight zero"),
    ],
)
def test_bad_init(init, message):
    weights = np.ones(150)
    weights[0] = 0
    with pytest.raises(ValueError, match=message):
        small("pam", init=init).fit(X_IRIS, sample_weight=weights)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_extreme_numbers_of_clusters(algorithm):
    X = X_IRIS[:40] + 1e-3 * np.arange(40)[:, None]
    one = small(algorithm, 1).fit(X)
    assert one.medoid_indices_[0] == pairwise_distances(X).sum(axis=0).argmin()
    all_of_them = small(algorithm, 40).fit(X)
    assert sorted(all_of_them.medoid_indices_) == list(range(40))
    assert all_of_them.inertia_ == 0
    with pytest.raises(ValueError, match="n_samples=40 should be >= n_clusters=41"):
        small(algorithm, 41).fit(X)
    with pytest.raises(ValueError, match=r"n_samples=40 .* the largest of k_range=50"):
        small(algorithm, "auto").set_params(k_range=(2, 50)).fit(X)


@pytest.mark.parametrize("kind", [list, np.array])
def test_strings_want_a_metric(kind):
    with pytest.raises(ValueError, match="Give a function of two strings as `metric`"):
        BanditKMedoids(2).fit(kind(["medoid", "bandit", "band"]))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_few_distinct_points(algorithm):
    X = np.repeat([[0.0], [1.0]], 60, axis=0)
    with pytest.warns(ConvergenceWarning, match="Only 2 of 3"):
        model = small(algorithm).fit(X)
    assert model.inertia_ == 0
    assert len(set(model.medoid_indices_)) == 3


def test_bad_distances():
    D = np.zeros((5, 4))
    with pytest.raises(ValueError, match="square"):
        small("pam", metric="precomputed").fit(D)
    D = np.ones((5, 5))
    D[3, 2] = np.nan
    with pytest.raises(ValueError, match="contain NaN"):
        small("pam", metric="precomputed").fit(D)
    with pytest.raises(ValueError, match="infinite"):
        small("pam", metric=lambda a, b: np.inf).fit(list("abcde"))
    with pytest.raises(ValueError, match="0 objects"):
        small("pam", metric=lambda a, b: 0.0).fit([])
    with pytest.raises(ValueError, match="NaN"):
        small("pam").fit(np.full((5, 2), np.nan))
    with pytest.raises(ValueError, match="infinity"):
        small("pam").fit(np.full((5, 2), np.inf))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_nan_from_a_callable(algorithm):
    def distance(a, b):
        return np.nan if {a, b} == {7, 9} else abs(a - b)

    model = small(algorithm, metric=distance)
    with pytest.raises(ValueError, match="The distances contain NaN"):
        model.fit(list(range(60)))
    with pytest.raises(NotFittedError):
        model.predict([1])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_samples_of_weight_zero_do_not_count(algorithm):
    weights = np.ones(150)
    weights[::4] = 0
    X = X_IRIS.copy()
    X[::4] += 100
    model = small(algorithm).fit(X, sample_weight=weights)
    others = small(algorithm).fit(X[weights > 0])
    np.testing.assert_array_equal(model.cluster_centers_, others.cluster_centers_)
    np.testing.assert_allclose(model.inertia_, others.inertia_)
    np.testing.assert_array_equal(model.labels_, model.predict(X))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_zero_vectors_under_cosine(algorithm):
    X = X_IRIS - X_IRIS.mean(axis=0)
    X[:5] = 0
    model = small(algorithm, 3, metric="cosine").fit(X)
    D = pairwise_distances(X, metric="cosine")
    np.testing.assert_allclose(
        model.inertia_, D[:, model.medoid_indices_].min(axis=1).sum(), atol=1e-9
    )


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_large_offset_in_float32_moves_nothing(algorithm):
    """Quarters are exact in float32 at this offset, so that the points are the same."""
    X = np.round(4 * X_IRIS) / 4
    far = (X + 2.0**20).astype(np.float32)
    model = small(algorithm).fit(far)
    reference = small(algorithm).fit(X.astype(np.float32))
    np.testing.assert_allclose(model.inertia_, reference.inertia_, rtol=1e-6)
    np.testing.assert_array_equal(model.medoid_indices_, reference.medoid_indices_)


@pytest.mark.parametrize("algorithm", ["bandit", "eager"])
def test_memory_stays_below_the_ceiling(algorithm):
    """Beside the cache there are the working copy, sums for each arm, and a chunk."""
    n, d, k = 12_000, 16, 4
    X = np.random.default_rng(0).standard_normal((n, d)).astype(np.float32)
    cache_size = 20e6
    model = BanditKMedoids(
        k, algorithm=algorithm, cache_size=cache_size, random_state=0, max_iter=2
    )
    tracemalloc.start()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    sums = 8 * n * 8 * (1 + k)
    rows_at_once = 2**26
    assert peak < cache_size + 2 * X.nbytes + 2 * sums + 4 * 512 * n + rows_at_once
    assert 4 * n**2 > 5 * peak


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_error_in_a_callable_comes_through(algorithm):
    def distance(a, b):
        if b == 7:
            raise KeyError("seven")
        return abs(a - b)

    model = small(algorithm, metric=distance)
    with pytest.raises(KeyError, match="seven"):
        model.fit(list(range(60)))
    with pytest.raises(NotFittedError):
        model.predict([1])


def test_convergence_warning():
    with pytest.warns(ConvergenceWarning, match="max_iter=1"):
        small("pam", 5, init=[0, 1, 2, 3, 4], max_iter=1).fit(X_IRIS)


def test_integers_that_float32_holds_are_taken_as_such():
    X = np.random.default_rng(0).integers(0, 255, (200, 10))
    as_bytes = small("pam").fit(X.astype(np.uint8))
    as_doubles = small("pam").fit(X.astype(np.float64))
    np.testing.assert_array_equal(as_bytes.medoid_indices_, as_doubles.medoid_indices_)
    assert as_bytes.cluster_centers_.dtype == np.float32


def test_verbose(capsys):
    small("pam", verbose=1).fit(X_IRIS)
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if "build" in line]) == 3
    assert any("swap" in line for line in lines)


def test_callbacks_see_build_and_swap_steps(recorder):
    pytest.importorskip("sklearn.callback")
    small("bandit").set_callbacks(recorder).fit(X_IRIS)
    assert recorder.events[:4] == ["setup", "begin fit", "begin build", "end build"]
    assert recorder.events.count("end build") == 3
    assert "end swap" in recorder.events
    assert recorder.events[-2:] == ["end fit", "teardown"]


@pytest.mark.parametrize("kind", ["bandit", "eager", "pam", "scikit-learn", "callable"])
def test_interrupt_within_a_second(kind, interrupt):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((15_000, 300)).astype(np.float32)
    if kind in ("bandit", "eager"):
        model = BanditKMedoids(20, algorithm=kind, n_jobs=1, random_state=0)
    elif kind == "pam":
        model = BanditKMedoids(20, algorithm="pam", n_jobs=1)
    elif kind == "scikit-learn":
        model = BanditKMedoids(20, metric="canberra", n_jobs=1, random_state=0)
    else:
        X = list(range(4000))
        model = BanditKMedoids(5, algorithm="pam", metric=lambda a, b: abs(a - b))
    interrupt.send_after(0.7)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert interrupt.cpu_seconds < 1.0
    assert not hasattr(model, "labels_")


def test_clone_and_pickle_keep_everything():
    import pickle

    model = small("bandit").fit(X_IRIS)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X_IRIS), model.labels_)
    assert clone(model).get_params() == model.get_params()
