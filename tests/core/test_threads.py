"""How many threads kernels use, also in a process that was forked."""

import os
import subprocess
import sys
import textwrap

import pytest
from sklearn_bandit._core.threads import effective_n_threads, has_openmp

# Models of all families. Their data are large enough for threads, but for the pursuit,
# which has none below 2^28 products.
MODELS = """
import os, signal, sys, traceback
import numpy as np
from sklearn_bandit import cluster, ensemble, linear_model, neighbors, tree

rng = np.random.default_rng(0)
X = rng.standard_normal((50_500, 20))
y = X[:, 0] * X[:, 1] + X[:, 2]
labels = (y > 0) + (y > 1)

def boosting(loss="squared_error", **parameters):
    model = ensemble.HistGradientBoostingRegressor(
        loss, max_iter=3, random_state=0, **parameters
    )
    return lambda: model.fit(X, y).predict(X)

def classifier():
    model = ensemble.HistGradientBoostingClassifier(max_iter=2, random_state=0)
    model.fit(X, labels)
    return np.stack(list(model.staged_predict_proba(X)))

def medoids(algorithm, **parameters):
    model = cluster.BanditKMedoids(
        3, algorithm=algorithm, n_jobs=2, random_state=0, **parameters
    )
    n = 1_000 if algorithm == "pam" else 10_000
    return lambda: model.fit(X[:n]).predict(X[:n])

def forest(kind, **parameters):
    model = kind(
        n_estimators=2, max_depth=4, n_jobs=2, random_state=0, **parameters
    )
    return lambda: model.fit(X, labels).predict_proba(X)

def a_tree(**parameters):
    model = tree.DecisionTreeRegressor(random_state=0, **parameters)
    return lambda: model.fit(X, y).predict(X)

def products(**parameters):
    index = neighbors.BanditMIPS(1, n_jobs=2, random_state=0, **parameters)
    atoms = rng.standard_normal((4_000, 500)) + 3 * rng.standard_normal((4_000, 1))
    queries = rng.standard_normal((1_100, 500)) + 1.0
    return lambda: index.fit(atoms).kneighbors(queries)[1]

def pursuit():
    atoms = np.random.default_rng(0).standard_normal((20_000, 20))
    model = linear_model.BanditMatchingPursuit(
        n_nonzero_coefs=4, n_jobs=2, random_state=0
    )
    return model.fit(atoms, atoms[:, :8] @ np.arange(1, 9)).coef_

FAMILIES = {
    "boosting": boosting(),
    "boosting of medians": boosting("absolute_error"),
    "boosting on samples": boosting(solver="mab", batch_size=8192),
    "boosting that stops": boosting(early_stopping=True, scoring=lambda m, X, y: 0.0),
    "boosting of classes": classifier,
    "k-medoids, bandit": medoids("bandit"),
    "k-medoids, eager": medoids("eager"),
    "k-medoids, exact": medoids("pam"),
    "k-medoids, manhattan": medoids("eager", metric="manhattan"),
    "random forest": forest(ensemble.RandomForestClassifier),
    "extra trees": forest(ensemble.ExtraTreesClassifier),
    "random patches": forest(
        ensemble.RandomPatchesClassifier, patch_samples=1.0, patch_features=1.0
    ),
    "tree": a_tree(),
    "exact tree": a_tree(solver="exact", max_depth=6),
    "inner products": products(),
    "inner products, zero-copy": products(layout="zero-copy"),
    "pursuit": pursuit,
}
"""


def run(script, seconds=300):
    """Run a script after the models, in a process that has two threads."""
    environment = os.environ | {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", MODELS + textwrap.dedent(script)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")


@needs_fork
def test_every_family_works_in_a_forked_child():
    """The threads of the parent are not in the child, but their OpenMP waits there."""
    done = run(
        """
        def check(name, expected):
            try:
                assert np.array_equal(FAMILIES[name](), expected)
                os._exit(0)
            except BaseException:
                traceback.print_exc()
                os._exit(1)

        bad = []
        for name, compute in FAMILIES.items():
            expected = compute()
            child = os.fork()
            if child == 0:
                signal.alarm(10)  # ends a child that hangs
                check(name, expected)
            if os.waitpid(child, 0)[1] != 0:
                bad.append(name)
                print(name, file=sys.stderr, flush=True)
        print(bad)
        """
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]", done.stderr


@needs_fork
def test_models_fit_in_workers_of_joblib():
    done = run(
        """
        from joblib import Parallel, delayed

        def compute(name):
            signal.alarm(60)  # ends a worker that hangs
            return FAMILIES[name]()

        names = ["boosting", "k-medoids, eager", "random forest", "tree"]
        expected = [FAMILIES[name]() for name in names]
        found = Parallel(n_jobs=2, backend="multiprocessing")(
            delayed(compute)(name) for name in names
        )
        print(all(map(np.array_equal, found, expected)))
        """,
        seconds=100,
    )
    assert done.stdout == "True\n", done.stderr


@needs_fork
@pytest.mark.skipif(not has_openmp(), reason="built without OpenMP")
def test_a_forked_child_has_one_thread():
    done = run(
        """
        from sklearn_bandit._core.threads import effective_n_threads, limit_threads

        def numbers():
            counts = [effective_n_threads(n) for n in (None, 1, 2)]
            print(*counts, limit_threads(2), flush=True)

        numbers()
        for _ in range(2):  # a child, and a child of the child
            child = os.fork()
            if child:
                os.waitpid(child, 0)
                break
            numbers()
        """
    )
    assert done.stdout.splitlines() == ["2 1 2 2", "1 1 1 1", "1 1 1 1"], done.stderr


def test_at_least_one_thread():
    assert effective_n_threads(1) == 1
    assert effective_n_threads(None) >= 1
