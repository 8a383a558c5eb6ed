"""Histogram gradient boosting beside scikit-learn, LightGBM and XGBoost.

Fit times include validation and binning. All sides have the same data, loss, learning
rate, number of leaves and threads, and no early stopping.

With samples a tree costs less and is worth a little less, so that trees are not counted
there: what is timed is the fit that reaches the test loss of LightGBM's (or our exact
solver's) 100 trees. The number of iterations it takes is found beforehand, outside the
clock, on the same test rows.
"""

import time
from functools import cache, partial

import numpy as np
from sklearn import ensemble as sk_ensemble
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import train_test_split

from sklearn_bandit import ensemble

from ..data import load
from ..harness import Comparison, Contender, Table, benchmark
from .forest import split

OURS = "exact"
SKLEARN = "scikit-learn"
LIGHTGBM = "LightGBM"
XGBOOST = "XGBoost"

ITERATIONS = 100
LEARNING_RATE = 0.1
N_LEAVES = 31

# Ways to grow trees on samples, in the tables.
# The default first: it is what the others are compared with.
SAMPLED = {
    "mab, values from the sample": {"solver": "mab", "leaf_values": "sample"},
    "mab, values from all rows": {"solver": "mab", "leaf_values": "all"},
    "mab, lazy": {"solver": "mab", "leaf_values": "lazy"},
}


@cache
def small(name):
    """Training and test part of a small data set."""
    if name == "adult":
        data = load("adult")
        return data.X_train, data.X_test, data.y_train, data.y_test
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        data = load("california_housing")
        X, y = data.X, data.y
    return train_test_split(X, y, test_size=0.2, random_state=0)


@cache
def synthetic(n_samples):
    """Return 28 features, of which 12 matter, with main effects and interactions."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_samples + 200_000, 28), dtype=np.float32)
    weights = rng.uniform(0.2, 0.6, 12).astype(np.float32)
    score = X[:, :12] @ weights
    score += X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3] + np.abs(X[:, 4]) - 0.8
    y = score + rng.logistic(size=len(X)).astype(np.float32) > 0
    y = y.astype(np.uint8)
    return X[:n_samples], X[n_samples:], y[:n_samples], y[n_samples:]


def is_regression(data):
    """Whether targets are real numbers."""
    return data[2].dtype.kind == "f"


def ours(data, max_iter=ITERATIONS, **parameters):
    """Return what fits our estimator with a seed."""
    X, _, y, _ = data
    kind = "Regressor" if is_regression(data) else "Classifier"
    Estimator = getattr(ensemble, f"HistGradientBoosting{kind}")
    parameters = {"learning_rate": LEARNING_RATE, "early_stopping": False} | parameters
    return lambda seed: Estimator(
        max_iter=max_iter, random_state=seed, **parameters
    ).fit(X, y)


def scikit_learn(data, max_iter=ITERATIONS):
    """Return what fits scikit-learn's estimator with a seed."""
    X, _, y, _ = data
    kind = "Regressor" if is_regression(data) else "Classifier"
    Estimator = getattr(sk_ensemble, f"HistGradientBoosting{kind}")
    return lambda seed: Estimator(
        max_iter=max_iter, early_stopping=False, random_state=seed
    ).fit(X, y)


def lightgbm(data, threads, max_iter=ITERATIONS, **parameters):
    """Return the contender of LightGBM."""

    def run(seed):
        import lightgbm

        kind = "Regressor" if is_regression(data) else "Classifier"
        X, _, y, _ = data
        return getattr(lightgbm, f"LGBM{kind}")(
            n_estimators=max_iter,
            learning_rate=LEARNING_RATE,
            num_leaves=N_LEAVES,
            n_jobs=threads,
            random_state=seed,
            verbose=-1,
            **parameters,
        ).fit(X, y)

    return Contender(run, needs="lightgbm")


def xgboost(data, threads, max_iter=ITERATIONS):
    """Return the contender of XGBoost: grown by leaf, with as many leaves."""

    def run(seed):
        import xgboost

        kind = "Regressor" if is_regression(data) else "Classifier"
        X, _, y, _ = data
        return getattr(xgboost, f"XGB{kind}")(
            n_estimators=max_iter,
            learning_rate=LEARNING_RATE,
            max_leaves=N_LEAVES,
            max_depth=0,
            grow_policy="lossguide",
            tree_method="hist",
            min_child_weight=1e-3,
            reg_lambda=0.0,
            n_jobs=threads,
            random_state=seed,
        ).fit(X, y - y.min() if kind == "Classifier" else y)

    return Contender(run, needs="xgboost")


def quality(data):
    """Return the name of the test score and what computes it."""
    _, X, _, y = data
    if is_regression(data):
        return "R2", lambda model: r2_score(y, model.predict(X))
    return "log-loss", lambda model: log_loss(y, model.predict_proba(X))


@benchmark("boosting.exact", data=["flights2001_3m", "covtype", "beijing_air", "mnist"])
def exact(options):
    """Exact solver, 100 iterations (MNIST: 10)."""
    for name, max_iter in (
        ("beijing_air", ITERATIONS),
        ("flights2001_3m", ITERATIONS),
        ("covtype", ITERATIONS),
        ("mnist", 10),
    ):
        if not options.wants(name):
            continue
        data = split(name)
        shape = " x ".join(f"{size:,}" for size in data[0].shape)
        metric, score = quality(data)
        yield Comparison(
            title=f"{name} ({shape}), {max_iter} iterations, {N_LEAVES} leaves",
            contenders={
                OURS: ours(data, max_iter, solver="exact"),
                SKLEARN: scikit_learn(data, max_iter),
                LIGHTGBM: lightgbm(data, options.threads, max_iter),
                XGBOOST: xgboost(data, options.threads, max_iter),
            },
            quality={metric: score},
            goals={SKLEARN: 2.0, LIGHTGBM: 1.2, XGBOOST: 1.2},
            rounds=2,
            warm_up=False,
        )


def iterations_to(target, data, limit, **parameters):
    """Least iterations after which the test loss is at most `target`, and the loss."""
    _, X, _, y = data
    model = ours(data, limit, **parameters)(0)
    for i, probabilities in enumerate(model.staged_predict_proba(X)):
        loss = log_loss(y, probabilities)
        if loss <= target:
            return i + 1, loss
    return None, loss


@benchmark("boosting.sampled", data=["flights2001_3m"])
def sampled(options):
    """Time to the test loss of LightGBM's 100 trees."""
    goals = {
        "1M x 28": (partial(synthetic, 1_000_000), 3.0, 2.0),
        "flights2001_3m": (partial(split, "flights2001_3m"), 6.0, 3.0),
        "10M x 28": (partial(synthetic, 10_000_000), 20.0, 12.0),
    }
    for name, (make, over_lightgbm, over_exact) in goals.items():
        if not options.wants(name):
            continue
        data = make()
        peer = lightgbm(data, options.threads)
        metric, score = quality(data)
        target = score(peer.run(0))
        arms, never = {}, []
        for arm, parameters in {**SAMPLED, OURS: {"solver": "exact"}}.items():
            n_trees, loss = iterations_to(target, data, 2 * ITERATIONS, **parameters)
            if n_trees is None:
                never.append(f"{arm} (loss {loss:.5f})")
            else:
                arms[f"{arm}, {n_trees} trees"] = ours(data, n_trees, **parameters)
        last = list(arms)[-1] if arms else ""
        yield Comparison(
            title=(
                f"{name}: time to a test loss of {target:.5f}, LightGBM's with "
                f"{ITERATIONS} trees; never: {', '.join(never) or 'none'}"
            ),
            contenders={**arms, LIGHTGBM: peer},
            quality={metric: score},
            goals={LIGHTGBM: over_lightgbm, last: over_exact},
            rounds=2,
            warm_up=False,
        )


@benchmark("boosting.rivals", data=["flights2001_3m"])
def rivals(options):
    """Loss against time of all ways to see fewer rows."""
    marks = (25, 50, 100, 200)
    sources = {
        "1M x 28": partial(synthetic, 1_000_000),
        "flights2001_3m": partial(split, "flights2001_3m"),
        "10M x 28": partial(synthetic, 10_000_000),
    }
    for name, make in sources.items():
        if not options.wants(name):
            continue
        data = make()
        X, X_test, y, y_test = data
        size = 262_144
        chosen = np.random.default_rng(0).permutation(len(y))[:size]
        subset = (X[chosen], X_test, y[chosen], y_test)
        bagging = {"subsample": size / len(y), "subsample_freq": 1}
        arms = {arm: partial(ours, data, **p) for arm, p in SAMPLED.items()} | {
            OURS: partial(ours, data, solver="exact"),
            "exact, learning rate 0.15": partial(
                ours, data, solver="exact", learning_rate=0.15
            ),
            f"exact on {size:,} fixed rows": partial(ours, subset, solver="exact"),
        }
        peers = {
            LIGHTGBM: {},
            f"LightGBM, bagging {size:,}": bagging,
            "LightGBM, GOSS": {"data_sample_strategy": "goss"},
        }
        for arm, parameters in peers.items():
            arms[arm] = partial(lightgbm, data, options.threads, **parameters)
        _, score = quality(data)
        rows = []
        for arm, make_arm in arms.items():
            for max_iter in marks:
                contender = make_arm(max_iter=max_iter)
                run = contender.run if isinstance(contender, Contender) else contender
                start = time.perf_counter()
                model = run(0)
                seconds = time.perf_counter() - start
                rows.append([arm, max_iter, seconds, score(model)])
        yield Table(
            title=f"{name}: test log-loss against fit time, one run each",
            columns=["", "trees", "seconds", "log-loss"],
            rows=rows,
        )


@benchmark(
    "boosting.auto", data=["adult", "california_housing", "beijing_air", "covtype"]
)
def auto(options):
    """The default solver beside exact and "mab"."""
    for name in ("adult", "california_housing", "digits", "beijing_air", "1M x 28"):
        if not options.wants(name):
            continue
        if name == "1M x 28":
            data = synthetic(1_000_000)
        else:
            data = split(name) if name == "beijing_air" else small(name)
        metric, score = quality(data)
        yield Comparison(
            title=f"{name}, {ITERATIONS} iterations",
            contenders={
                solver: ours(data, solver=solver) for solver in ("auto", "exact", "mab")
            },
            quality={metric: score},
            goals={"exact": 0.95, "mab": 0.95},
        )


@benchmark("boosting.predict", data=["covtype"])
def predict(options):
    """Prediction beside scikit-learn's."""
    data = split("covtype")
    _, X, _, _ = data
    models = {
        "sklearn-bandit": ours(data, 20, solver="exact")(0),
        SKLEARN: scikit_learn(data, 20)(0),
    }
    yield Comparison(
        title=f"predict_proba of {len(X):,} rows, covertype, 20 iterations",
        contenders={
            name: lambda seed, model=model: model.predict_proba(X)
            for name, model in models.items()
        },
        goals={SKLEARN: 1.0},
    )
