"""What several threads do at once.

The threads of Python are the subject. Each runs kernels on one thread of OpenMP, or on
``SKLEARN_BANDIT_STRESS_THREADS``: more than there are cores wait for each other.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from threading import Event

import numpy as np
from fault_families import answer, make_data, make_family
from fork_models import make_divided_tree, make_swaps
from threadpoolctl import threadpool_limits

from sklearn_bandit.neighbors import BanditMIPS, BanditNearestNeighbors

ROUNDS = int(os.environ.get("SKLEARN_BANDIT_STRESS", "3"))
N_THREADS = 4
KERNEL_THREADS = int(os.environ.get("SKLEARN_BANDIT_STRESS_THREADS", "1"))


def together(function, arguments):
    """Call a function in several threads at once; return what it returns."""

    def call(argument):
        with threadpool_limits(KERNEL_THREADS, "openmp"):
            return function(argument)

    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(call, arguments))


def shared_queries(family):
    """One fitted estimator answers in all threads as it does in one."""
    X, y = make_data(family, 600, 12)
    model = make_family(family).fit(X, y)
    parts = [X[i::7] for i in range(7)]
    expected = [answer(model, part) for part in parts]
    for _ in range(ROUNDS):
        said = together(lambda part: answer(model, part), parts * 2)
        for here, there in zip(expected * 2, said, strict=True):
            np.testing.assert_array_equal(here, there)
    return True


def shared_packing(family):
    """The first predictions of a model, which pack its trees, come at the same time."""
    X, y = make_data(family, 5_000, 12)
    model = make_family(family).fit(X, y)
    # Some pack at once and predict in several threads, some leave it to a second call.
    parts = [X, X[:20], X[20:50], X[::2]]
    expected = [answer(model, part) for part in parts]
    for _ in range(ROUNDS):
        # Copies have no packed form.
        fresh = deepcopy(model)
        said = together(lambda part, model=fresh: answer(model, part), parts * 2)
        for here, there in zip(expected * 2, said, strict=True):
            np.testing.assert_array_equal(here, there)
    return True


def simultaneous_fits(family):
    """Fits of one matrix at the same time are as those one after the other."""
    X, y = make_data(family, 1_500, 12)
    seeds = list(range(4))

    def fit(seed):
        model = make_family(family).set_params(random_state=seed)
        known = {"n_estimators": 4, "max_iter": 6}.items()
        model.set_params(**{k: v for k, v in known if k in model.get_params()})
        return answer(model.fit(X, y), X)

    expected = [fit(seed) for seed in seeds]
    for _ in range(ROUNDS):
        for here, there in zip(expected, together(fit, seeds), strict=True):
            np.testing.assert_array_equal(here, there)
    return True


def simultaneous_subtrees():
    """Trees whose subtrees take histograms over grow at the same time."""
    model, X, y = make_divided_tree()
    seeds = list(range(4))

    def fit(seed):
        tree = deepcopy(model).set_params(random_state=seed).fit(X, y)
        return np.append(tree.predict_proba(X[:500]), tree.n_insertions_)

    expected = [fit(seed) for seed in seeds]
    for _ in range(ROUNDS):
        for here, there in zip(expected, together(fit, seeds), strict=True):
            np.testing.assert_array_equal(here, there)
    return True


def shared_swaps():
    """The threads of a worker of dask share the references of all partitions."""
    swaps, medoids, arms = make_swaps(1_500)
    parts = [arms[i::6] for i in range(6)]

    def ask(part):
        means, removed = swaps.changes(medoids, part, 1_024)
        chosen = swaps.descend(medoids, part[:100], 0.0)
        return np.concatenate([means, removed, chosen])

    expected = [ask(part) for part in parts]
    for _ in range(ROUNDS):
        for here, there in zip(expected, together(ask, parts), strict=True):
            np.testing.assert_array_equal(here, there)
    return True


def shared_search(parameters, n_features):
    """One index, different numbers of neighbours and queries."""
    rng = np.random.default_rng(0)
    atoms = rng.standard_normal((300, n_features)).astype(np.float32)
    model = BanditMIPS(n_jobs=1, random_state=0, **parameters).fit(atoms)
    sizes = [(1, 1), (64, 1), (5, 3), (200, 2), (1, 40), (30, 9)] * 2

    def ask(size):
        k, n_queries = size
        queries = np.random.default_rng(k).standard_normal((n_queries, n_features))
        return model.kneighbors(queries.astype(np.float32), k)

    expected = [ask(size) for size in sizes]
    for _ in range(ROUNDS):
        said = together(ask, sizes)
        for here, there in zip(expected, said, strict=True):
            np.testing.assert_array_equal(here[1], there[1])
            np.testing.assert_array_equal(here[0], there[0])
    return True


def queries_beside_changes(metric):
    """Rows are added and removed while other threads ask.

    Every answer is that of the rows before or after a change, never of something
    between, and a thread never sees rows that were there before those it saw already.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 70)).astype(np.float32)
    queries = rng.standard_normal((9, 70)).astype(np.float32)
    changes = [("partial_fit", X[i : i + 40]) for i in range(200, 600, 40)]
    changes[3:3] = [("remove", np.arange(0, 200, 3))]
    changes[7:7] = [("remove", np.arange(1, 200, 3))]
    changes.append(("remove", np.arange(300, 600)))

    def start():
        model = BanditNearestNeighbors(7, metric=metric, n_jobs=2, random_state=0)
        return model.fit(X[:200])

    model = start()
    states = [model.kneighbors(queries)]
    for method, argument in changes:
        getattr(model, method)(argument)
        states.append(model.kneighbors(queries))

    def is_state(said, state):
        return all(map(np.array_equal, said, state))

    for _ in range(ROUNDS):
        model = start()
        is_over = Event()

        def act(role, model=model, is_over=is_over):
            if role == "change":
                try:
                    for method, argument in changes:
                        getattr(model, method)(argument)
                finally:
                    is_over.set()
                return
            seen = 0
            while True:
                was_over = is_over.is_set()
                said = model.kneighbors(queries)
                while seen < len(states) and not is_state(said, states[seen]):
                    seen += 1
                assert seen < len(states), "an answer of no state"
                if was_over:
                    break
            assert is_state(said, states[-1])

        together(act, ["change", "ask", "ask", "ask"])
    return True
