"""Trees and forests beside scikit-learn, scikit-learn-intelex, LightGBM and XGBoost.

Fit times include validation and binning. All sides have the same data, number of trees,
depth, features a split and threads; everything else is their default.
"""

import subprocess
import sys
from functools import cache, partial

import numpy as np
from sklearn import ensemble as sk_ensemble
from sklearn import tree as sk_tree
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    make_classification,
)
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from sklearn_bandit import ensemble, tree

from ..data import load
from ..harness import Comparison, Contender, Table, benchmark
from ._other_boosters import YDF, ydf_forest

OURS = "sklearn-bandit"
SKLEARN = "scikit-learn"
INTELEX = "scikit-learn-intelex"

# With a tolerance that is always met the leader of the first batch is taken: a plain
# subsample of fixed size in every large node.
ALWAYS_MET = 1e9


@cache
def split(name):
    """Training and test part of a data set."""
    if name == "mnist":
        data = load("mnist")
        return data.X_train, data.X_test, data.y_train, data.y_test
    if name == "covtype":
        data = load("covtype")
        X, y = data.X.astype(np.float32), data.y
    elif name == "beijing_air":
        data = load("beijing_air")
        X = np.column_stack([data.X, data.wd, data.station]).astype(np.float32)
        known = ~np.isnan(data.y)
        X, y = X[known], data.y[known]
    elif name == "flights2001_3m":
        data = load("flights2001_3m")
        X, y = data.X.astype(np.float32), (data.delay > 15).astype(np.uint8)
    elif name == "continuous":
        X, y = make_classification(
            1_250_000,
            28,
            n_informative=12,
            n_redundant=0,
            n_clusters_per_class=8,
            flip_y=0.05,
            random_state=0,
        )
        X = X.astype(np.float32)
    elif name == "faint":
        # What the features tell of the target is little, and of each the same.
        rng = np.random.default_rng(0)
        X = rng.standard_normal((500_000, 20), dtype=np.float32)
        y = 0.05 * X[:, :5].sum(axis=1) + rng.standard_normal(len(X))
    return train_test_split(X, y, test_size=0.2, random_state=0)


def fits(Estimator, data, **parameters):
    """Return what a contender does: fit the estimator with a seed."""
    X, _, y, _ = data
    return lambda seed: Estimator(random_state=seed, **parameters).fit(X, y)


def scores(data):
    """Return the estimator's own score on the test part."""
    _, X, _, y = data
    return lambda model: model.score(X, y)


def intelex(data, **parameters):
    """Return the contender of scikit-learn-intelex."""

    def run(seed):
        from sklearnex.ensemble import RandomForestClassifier

        return fits(RandomForestClassifier, data, **parameters)(seed)

    return Contender(run, needs="sklearnex")


def fixed_sample(Estimator, data, n_rows, **parameters):
    """Return our estimator with a plain subsample of fixed size in each node."""
    return fits(Estimator, data, batch_size=n_rows, tol=ALWAYS_MET, **parameters)


def insertions(model):
    """Histogram insertions, in millions; scikit-learn's trees do not count them."""
    return getattr(model, "n_insertions_", np.nan) / 1e6


@benchmark("forest.covertype", data=["covtype"])
def covertype(options):
    """RandomForestClassifier, covertype, full depth, 20 trees."""
    data = split("covtype")
    shared = {"n_estimators": 20, "n_jobs": options.threads}
    yield Comparison(
        title="RandomForestClassifier, covertype (464,809 x 54), full depth, 20 trees",
        contenders={
            OURS: fits(ensemble.RandomForestClassifier, data, **shared),
            SKLEARN: fits(sk_ensemble.RandomForestClassifier, data, **shared),
            INTELEX: intelex(data, **shared),
        },
        quality={"accuracy": scores(data)},
        goals={SKLEARN: 8.0, INTELEX: 5.0},
    )


@benchmark("forest.mnist", data=["mnist"])
def mnist(options):
    """RandomForestClassifier, MNIST, full depth, 20 trees."""
    data = split("mnist")
    shared = {"n_estimators": 20, "n_jobs": options.threads}
    yield Comparison(
        title="RandomForestClassifier, MNIST (60,000 x 784), full depth, 20 trees",
        contenders={
            OURS: fits(ensemble.RandomForestClassifier, data, **shared),
            SKLEARN: fits(sk_ensemble.RandomForestClassifier, data, **shared),
        },
        quality={"accuracy": scores(data)},
        goals={SKLEARN: 6.0},
    )


@benchmark("forest.beijing", data=["beijing_air"])
def beijing(options):
    """RandomForestRegressor, Beijing air quality, full depth, 10 trees."""
    data = split("beijing_air")
    shared = {"n_estimators": 10, "max_features": 1 / 3, "n_jobs": options.threads}
    yield Comparison(
        title=(
            "RandomForestRegressor, Beijing air (329,623 x 16, missing values), full "
            "depth, a third of the features a split, 10 trees"
        ),
        contenders={
            OURS: fits(ensemble.RandomForestRegressor, data, **shared),
            SKLEARN: fits(sk_ensemble.RandomForestRegressor, data, **shared),
        },
        quality={"R2": scores(data)},
        goals={SKLEARN: 8.0},
        rounds=3,
    )


@benchmark("forest.extra_trees", data=["covtype"])
def extra_trees(options):
    """ExtraTreesClassifier, covertype, full depth, 20 trees."""
    data = split("covtype")
    shared = {"n_estimators": 20, "n_jobs": options.threads}
    yield Comparison(
        title="ExtraTreesClassifier, covertype (464,809 x 54), full depth, 20 trees",
        contenders={
            OURS: fits(ensemble.ExtraTreesClassifier, data, **shared),
            SKLEARN: fits(sk_ensemble.ExtraTreesClassifier, data, **shared),
        },
        quality={"accuracy": scores(data)},
        goals={SKLEARN: 6.0},
    )


@benchmark("forest.single_tree", data=["mnist", "covtype"])
def single_tree(options):
    """DecisionTreeClassifier, all features, depth 8."""
    for name, goal in (("mnist", 8.0), ("covtype", 20.0)):
        if not options.wants(name):
            continue
        data = split(name)
        yield Comparison(
            title=f"DecisionTreeClassifier, {name}, depth 8, all features",
            contenders={
                OURS: fits(tree.DecisionTreeClassifier, data, max_depth=8),
                "exact": fits(
                    tree.DecisionTreeClassifier, data, max_depth=8, solver="exact"
                ),
                "1,024 rows a node": fixed_sample(
                    tree.DecisionTreeClassifier, data, 1024, max_depth=8
                ),
                SKLEARN: fits(sk_tree.DecisionTreeClassifier, data, max_depth=8),
            },
            quality={"accuracy": scores(data), "million insertions": insertions},
            goals={SKLEARN: goal},
        )


@benchmark("forest.flights", data=["flights2001_3m"])
def flights(options):
    """RandomForestClassifier, three million flights, depth 12, 20 trees."""
    data = split("flights2001_3m")
    X, X_test, y, y_test = data
    shared = {"n_estimators": 20, "max_depth": 12, "n_jobs": options.threads}
    share = np.sqrt(X.shape[1]) // 1 / X.shape[1]

    def lightgbm(seed):
        from lightgbm import LGBMClassifier

        return LGBMClassifier(
            boosting_type="rf",
            subsample=0.632,
            subsample_freq=1,
            colsample_bynode=share,
            num_leaves=2**12,
            min_child_samples=1,
            random_state=seed,
            verbose=-1,
            **shared,
        ).fit(X, y)

    def xgboost(seed):
        from xgboost import XGBRFClassifier

        return XGBRFClassifier(
            subsample=0.632,
            colsample_bynode=share,
            tree_method="hist",
            random_state=seed,
            **shared,
        ).fit(X, y)

    yield Comparison(
        title="RandomForestClassifier, flights (2,400,000 x 8), depth 12, 20 trees",
        contenders={
            OURS: fits(ensemble.RandomForestClassifier, data, **shared),
            "1,024 rows a node": fixed_sample(
                ensemble.RandomForestClassifier, data, 1024, **shared
            ),
            INTELEX: intelex(data, **shared),
            "LightGBM rf": Contender(lightgbm, needs="lightgbm"),
            "XGBoost rf": Contender(xgboost, needs="xgboost"),
            f"{YDF} rf": ydf_forest(data, options.threads, 20, 12),
        },
        quality={
            "AUC": lambda model: roc_auc_score(
                y_test, model.predict_proba(X_test)[:, 1]
            )
        },
        goals={INTELEX: 3.0, "LightGBM rf": 3.0, "XGBoost rf": 3.0},
        rounds=3,
        warm_up=False,
    )


@benchmark("forest.continuous")
def continuous(options):
    """RandomForestClassifier, a million samples of 28 continuous features."""
    data = split("continuous")
    shared = {"n_estimators": 10, "n_jobs": options.threads}
    yield Comparison(
        title=(
            "RandomForestClassifier, make_classification (1,000,000 x 28, 12 "
            "informative, 8 clusters a class), full depth, 10 trees"
        ),
        contenders={
            OURS: fits(ensemble.RandomForestClassifier, data, **shared),
            SKLEARN: fits(sk_ensemble.RandomForestClassifier, data, **shared),
        },
        quality={"accuracy": scores(data)},
        goals={SKLEARN: 15.0},
        rounds=2,
        warm_up=False,
    )


@cache
def ten_million():
    """Ten million samples of 28 features: a noisy rule of a few of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10_000_000, 28), dtype=np.float32)
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * np.abs(X[:, 3]) - 0.3 * X[:, 4]
    y = (score + rng.standard_normal(len(X), dtype=np.float32) > 0.4).astype(np.uint8)
    return X, y


@benchmark("forest.solvers", data=["covtype"])
def solvers(options):
    """Our "mab" against our "exact": depth 8, all features."""
    if options.wants("covtype"):
        data = split("covtype")
        yield _solver_race("covertype (464,809 x 54)", data, goal=2.0)
    if options.wants("synthetic"):
        X, y = ten_million()
        data = X, X[:100_000], y, y[:100_000]
        yield _solver_race("synthetic (10,000,000 x 28)", data, goal=4.0, rounds=3)


def _solver_race(title, data, goal, rounds=5):
    race = partial(fits, tree.DecisionTreeClassifier, data, max_depth=8)
    return Comparison(
        title=f"DecisionTreeClassifier, {title}, depth 8, all features",
        contenders={"mab": race(), "exact": race(solver="exact")},
        quality={"accuracy": scores(data), "million insertions": insertions},
        goals={"exact": goal},
        rounds=rounds,
    )


@benchmark("forest.subsample", data=["covtype"])
def subsample(options):
    """The rival: a plain subsample of fixed size, in each node or for each tree."""
    data = split("covtype")
    n_rows, n_samples = 1024, 20_000
    for depth, n_trees in ((8, 20), (None, 10)):
        race = partial(
            fits,
            ensemble.RandomForestClassifier,
            data,
            n_estimators=n_trees,
            max_depth=depth,
            n_jobs=options.threads,
        )
        shown = "full depth" if depth is None else f"depth {depth}"
        yield Comparison(
            title=f"RandomForestClassifier, covertype, {shown}, {n_trees} trees",
            contenders={
                OURS: race(),
                "exact": race(solver="exact"),
                f"{n_rows:,} rows a node": race(batch_size=n_rows, tol=ALWAYS_MET),
                f"max_samples={n_samples:,}": race(max_samples=n_samples),
            },
            quality={"accuracy": scores(data), "million insertions": insertions},
        )


def small_sets():
    """Yield small data sets: name, estimators of both sides, data."""
    forests = ensemble.RandomForestClassifier, sk_ensemble.RandomForestClassifier
    regressors = ensemble.RandomForestRegressor, sk_ensemble.RandomForestRegressor
    for name, (Ours, Theirs), loader in (
        ("iris", forests, load_iris),
        ("breast cancer", forests, load_breast_cancer),
        ("digits", forests, load_digits),
        ("diabetes", regressors, load_diabetes),
    ):
        X, y = loader(return_X_y=True)
        yield name, Ours, Theirs, train_test_split(X, y, random_state=0)


@benchmark("forest.small")
def small(options):
    """Small data against scikit-learn: not slower; 100 trees."""
    for name, Ours, Theirs, data in small_sets():
        for n_jobs in (1, 2):
            yield Comparison(
                title=f"{Ours.__name__}, {name}, 100 trees, n_jobs={n_jobs}",
                contenders={
                    OURS: fits(Ours, data, n_jobs=n_jobs),
                    SKLEARN: fits(Theirs, data, n_jobs=n_jobs),
                },
                quality={"score": scores(data)},
                goals={SKLEARN: 1.0},
                rounds=7,
            )


@benchmark("forest.all_features", data=["beijing_air"])
def all_features(options):
    """Our "mab" against our "exact" where regressors search all features, which tie."""
    for name in ("beijing_air", "faint"):
        if not options.wants(name):
            continue
        data = split(name)
        shape = " x ".join(f"{size:,}" for size in data[0].shape)
        for depth in (8, None):
            race = partial(
                fits,
                ensemble.RandomForestRegressor,
                data,
                n_estimators=4,
                max_depth=depth,
                n_jobs=options.threads,
            )
            shown = "full depth" if depth is None else f"depth {depth}"
            yield Comparison(
                title=f"RandomForestRegressor, {name} ({shape}), {shown}, 4 trees",
                contenders={"mab": race(), "exact": race(solver="exact")},
                quality={"R2": scores(data), "million insertions": insertions},
                goals={"exact": 1 / 1.05},
                rounds=3,
            )


# Run in a process of its own: fit, and print by how much the peak has grown.
MEMORY_PROGRAM = """
import resource, sys
from benchmarks.peers.forest import split
from {package}.ensemble import RandomForestClassifier
X, _, y, _ = split("covtype")
forest = RandomForestClassifier(100, n_jobs={n_jobs}, random_state=0)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
def peak():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))
before = peak()
forest.fit(X, y)
print((peak() - before) / 1024)
"""


@benchmark("forest.memory", data=["covtype"])
def memory(options):
    """Peak memory over the input, covertype, 100 trees, full depth."""
    rows = []
    for name, package in ((OURS, "sklearn_bandit"), (SKLEARN, "sklearn")):
        program = MEMORY_PROGRAM.format(package=package, n_jobs=options.threads)
        output = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True
        ).stdout
        rows.append([name, float(output)])
    yield Table(
        title="RandomForestClassifier, covertype, full depth, 100 trees",
        columns=["", "peak memory over the input (MB)"],
        rows=rows,
        note="Goal: at most scikit-learn's. Linux only.",
    )
