"""Weights, distances and objects out of the ordinary; failures; several threads."""

import signal
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from fault_processes import run_apart
from fault_programs import interrupt_medoids
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_info, threadpool_limits

from sklearn_bandit.cluster import BanditKMedoids
from sklearn_bandit.cluster._distances.blas_threads import one_blas_thread

ALGORITHMS = ["pam", "bandit", "eager"]


def blobs(n=120, d=3):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)) + 8 * rng.integers(3, size=n)[:, None]


def kmedoids(**parameters):
    return BanditKMedoids(3, random_state=0, batch_size=16, **parameters)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("init", ["build", "k-medoids++"])
@pytest.mark.parametrize("exponent", [-1000, 1000, None])
def test_weights_of_any_size(algorithm, init, exponent):
    """Powers of two change nothing but the inertia, and that exactly.

    None is the largest for which the inertia is finite: sums on the way to it are not.
    """
    X = blobs()
    weights = np.random.default_rng(1).uniform(0.1, 1, len(X))
    expected = kmedoids(algorithm=algorithm, init=init).fit(X, None, weights)
    if exponent is None:
        exponent = 1024 - np.frexp(expected.inertia_)[1]
    found = kmedoids(algorithm=algorithm, init=init)
    found.fit(X, None, np.ldexp(weights, exponent))
    assert_array_equal(found.medoid_indices_, expected.medoid_indices_)
    assert_array_equal(found.labels_, expected.labels_)
    assert found.inertia_ == np.ldexp(expected.inertia_, exponent)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_weights_whose_inertia_is_out_of_range(algorithm):
    X = blobs()
    with pytest.raises(ValueError, match="divide sample_weight by its maximum"):
        kmedoids(algorithm=algorithm).fit(X, None, np.full(len(X), 1.5e308))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "callable"])
@pytest.mark.parametrize("exponent", [-900, -600, 600, 1010])
def test_data_of_any_size(algorithm, metric, exponent):
    X = blobs()
    if metric == "callable":
        metric = _largest_difference
    expected = kmedoids(algorithm=algorithm, metric=metric).fit(X)
    large = np.ldexp(X, exponent)
    found = kmedoids(algorithm=algorithm, metric=metric).fit(large)
    assert_array_equal(found.medoid_indices_, expected.medoid_indices_)
    assert_array_equal(found.predict(large), expected.predict(X))
    if metric != "cosine":
        found.inertia_ = np.ldexp(found.inertia_, -exponent)
    assert_allclose(found.inertia_, expected.inertia_)


def _largest_difference(a, b):
    return np.abs(a - b).max()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("init", ["build", "random", "k-medoids++"])
@pytest.mark.parametrize("cache_size", [0, 2**20])
def test_distances_out_of_range_are_refused(algorithm, init, cache_size):
    X = np.random.default_rng(0).uniform(-1, 1, (120, 3)) * 1.7e308
    estimator = kmedoids(algorithm=algorithm, init=init, cache_size=cache_size)
    with pytest.raises(ValueError, match=r"too large for their type|infinite|NaN"):
        estimator.fit(X)
    assert not [name for name in vars(estimator) if name.endswith("_")]


def test_columns_of_objects_are_refused():
    words = np.array(["a", "of", "to", "medoid", "bandit", "search"], dtype=object)

    def distance(a, b):
        return abs(len(a) - len(b))

    estimator = BanditKMedoids(2, metric=distance)
    assert estimator.fit(words).cluster_centers_.tolist() == ["of", "medoid"]
    for column in (words[:, None], words[:, None].astype(str)):
        with pytest.raises(ValueError, match=r"Use X.ravel\(\)"):
            estimator.fit(column)
        with pytest.raises(ValueError, match=r"Use X.ravel\(\)"):
            estimator.predict(column)
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"Use X.ravel\(\)"):
        estimator.fit(pandas.DataFrame({"word": words}))
    assert_array_equal(estimator.fit(pandas.Series(words)).labels_, [0, 0, 0, 1, 1, 1])
    with pytest.raises(ValueError, match="0 objects"):
        estimator.fit(words[:0])
    with pytest.raises(ValueError, match="a single one"):
        estimator.fit(np.array("word", dtype=object))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("n_calls", [0, 50, 5000])
def test_a_callable_that_fails_in_the_middle_changes_nothing(algorithm, n_calls):
    X = blobs()
    n_left = [10**9]

    def distance(a, b):
        n_left[0] -= 1
        if n_left[0] < 0:
            raise ZeroDivisionError("no more")
        return np.abs(a - b).sum()

    estimator = kmedoids(algorithm=algorithm, metric=distance)
    n_left[0] = n_calls
    with pytest.raises(ZeroDivisionError):
        estimator.fit(X)
    assert not [name for name in vars(estimator) if name.endswith("_")]
    n_left[0] = 10**9
    estimator.fit(X)
    before, labels = dict(vars(estimator)), estimator.predict(X)
    n_left[0] = n_calls
    with pytest.raises(ZeroDivisionError):
        estimator.fit(X[:, :2])
    assert vars(estimator).keys() == before.keys()
    assert all(vars(estimator)[name] is before[name] for name in before)
    n_left[0] = 10**9
    assert_array_equal(estimator.predict(X), labels)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_callable_that_returns_no_number(bad):
    X = blobs(40)

    def distance(a, b):
        return bad if a[0] == X[7, 0] else np.abs(a - b).sum()

    for algorithm in ALGORITHMS:
        with pytest.raises(ValueError, match="The distances contain"):
            kmedoids(algorithm=algorithm, metric=distance).fit(X)
    estimator = kmedoids(metric=distance).fit(X[8:])
    if np.isnan(bad):
        with pytest.raises(ValueError, match="The distances contain NaN"):
            estimator.predict(X)
        with pytest.raises(ValueError, match="The distances contain NaN"):
            estimator.score(X)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_interrupted_fits_leave_a_whole_estimator(algorithm):
    """That of the last fit that ended: width and medoids belong together."""
    # Within 30 seconds: far more than it takes on a busy machine.
    assert run_apart(interrupt_medoids, algorithm, seconds=30) == (0, True)


def test_fits_at_once_give_back_the_threads_of_blas():
    """Whoever ends last takes the limit back, in whatever order they end."""

    def n_threads():
        pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
        return {pool["filepath"]: pool["num_threads"] for pool in pools}

    with threadpool_limits(3, user_api="blas"):
        before = n_threads()
        if set(before.values()) != {3}:
            pytest.skip("BLAS has one thread only")
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        assert set(n_threads().values()) == {1}
        first.__exit__(None, None, None)
        assert set(n_threads().values()) == {1}
        second.__exit__(None, None, None)
        assert n_threads() == before


def test_fits_at_once_are_those_of_one_after_the_other():
    X = blobs(400, 4)
    expected = {a: kmedoids(algorithm=a, n_jobs=2).fit(X) for a in ALGORITHMS}
    barrier = threading.Barrier(3)

    def fit(algorithm):
        barrier.wait()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return [kmedoids(algorithm=algorithm, n_jobs=2).fit(X) for _ in range(5)]

    with ThreadPoolExecutor(3) as pool:
        for algorithm, fits in zip(ALGORITHMS, pool.map(fit, ALGORITHMS), strict=True):
            for found in fits:
                medoids = expected[algorithm].medoid_indices_
                assert_array_equal(found.medoid_indices_, medoids)
                assert_array_equal(found.labels_, expected[algorithm].labels_)


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
def test_metrics_that_take_no_sparse_matrices(metric):
    X = sparse.csc_matrix(np.random.default_rng(0).standard_normal((50, 4)))
    with pytest.raises(TypeError, match="does not take sparse matrices"):
        BanditKMedoids(3, metric=metric).fit(X)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_rounding_of_changes_is_no_reason_to_swap(algorithm):
    """As many clusters as distinct samples: the loss is 0, its changes are rounding."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((10, 19))[rng.integers(10, size=60)]
        weights = rng.integers(4, size=60)
        model = BanditKMedoids(10, algorithm=algorithm, max_iter=40, random_state=0)
        model.fit(X, sample_weight=weights)
        assert model.inertia_ == 0.0
        assert model.n_iter_ < 40
