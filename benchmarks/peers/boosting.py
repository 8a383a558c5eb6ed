"""Histogram gradient boosting beside scikit-learn, LightGBM and XGBoost.

Fit times include validation and binning. All sides have the same data, loss, learning
rate, number of leaves and threads, and no early stopping.

With samples a tree costs less and is worth a little less, so that trees are not counted
there: what is timed is the fit that reaches the loss that LightGBM (or our exact
solver) has after so many trees. How many iterations it takes is found beforehand,
outside the clock: as many as it takes to have that loss on validation rows and on test
rows, both, as a mean over the seeds that are timed. Chosen by validation rows alone, a
number of trees misses the loss on other rows as often as not. What is shown is the loss
on the test rows.
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
from ._other_boosters import YDF, ydf_boosting
from .forest import split

OURS = "exact"
SKLEARN = "scikit-learn"
LIGHTGBM = "LightGBM"
XGBOOST = "XGBoost"

ITERATIONS = 100
LEARNING_RATE = 0.1
N_LEAVES = 31

# Rows that numbers of trees are chosen by.
N_VALIDATION = 100_000

# Seconds of a fit after which a rival gets no more trees.
LONGEST = 4.0

# Data sets of the exact solver's comparisons.
REAL = ("beijing_air", "flights2001_3m", "covtype", "mnist")


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


# What samples are measured on.
LARGE = {
    "1M x 28": partial(synthetic, 1_000_000),
    "flights2001_3m": partial(split, "flights2001_3m"),
    "10M x 28": partial(synthetic, 10_000_000),
}


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


def scikit_learn(data, max_iter=ITERATIONS, **parameters):
    """Return what fits scikit-learn's estimator with a seed."""
    X, _, y, _ = data
    kind = "Regressor" if is_regression(data) else "Classifier"
    Estimator = getattr(sk_ensemble, f"HistGradientBoosting{kind}")
    return lambda seed: Estimator(
        max_iter=max_iter, early_stopping=False, random_state=seed, **parameters
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


def xgboost(data, threads, max_iter=ITERATIONS, reg_lambda=0.0):
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
            reg_lambda=reg_lambda,
            n_jobs=threads,
            random_state=seed,
        ).fit(X, y - y.min() if kind == "Classifier" else y)

    return Contender(run, needs="xgboost")


def catboost(data, threads, max_iter=ITERATIONS):
    """Return the contender of CatBoost: grown by leaf, samples by minimal variance."""

    def run(seed):
        import catboost

        kind = "Regressor" if is_regression(data) else "Classifier"
        X, _, y, _ = data
        return getattr(catboost, f"CatBoost{kind}")(
            iterations=max_iter,
            learning_rate=LEARNING_RATE,
            grow_policy="Lossguide",
            max_leaves=N_LEAVES,
            depth=16,
            bootstrap_type="MVS",
            boosting_type="Plain",
            thread_count=threads,
            random_seed=seed,
            allow_writing_files=False,
            verbose=False,
        ).fit(X, y)

    return Contender(run, needs="catboost")


def quality(data):
    """Return the name of the test score and what computes it."""
    _, X, _, y = data
    if is_regression(data):
        return "R2", lambda model: r2_score(y, model.predict(X))
    return "log-loss", lambda model: log_loss(y, model.predict_proba(X))


@benchmark("boosting.exact", data=["flights2001_3m", "covtype", "beijing_air", "mnist"])
def exact(options):
    """Exact solver, 100 iterations.

    Without regularisation the leaves of rare classes, where all hessians are tiny, take
    steps of hundreds: after 60 to 90 iterations on covertype the losses of all sides go
    up and down by chance. It is run once as it comes and once with an L2 term of 1.
    """
    for name, l2 in [*((name, 0.0) for name in REAL), ("covtype", 1.0)]:
        if not options.wants(name):
            continue
        data = split(name)
        shape = " x ".join(f"{size:,}" for size in data[0].shape)
        metric, score = quality(data)
        yield Comparison(
            title=(
                f"{name} ({shape}), {ITERATIONS} iterations, {N_LEAVES} leaves, "
                f"L2 regularisation {l2:g}"
            ),
            contenders={
                OURS: ours(data, solver="exact", l2_regularization=l2),
                SKLEARN: scikit_learn(data, l2_regularization=l2),
                LIGHTGBM: lightgbm(data, options.threads, reg_lambda=l2),
                XGBOOST: xgboost(data, options.threads, reg_lambda=l2),
                **unregularised_peers(data, options.threads, l2),
            },
            quality={metric: score},
            goals={SKLEARN: 2.0, LIGHTGBM: 1.2, XGBOOST: 1.2},
            rounds=2,
            warm_up=False,
        )


def unregularised_peers(data, threads, l2):
    """Return YDF, where there is no term that it would have in another form."""
    if l2 > 0:
        return {}
    return {YDF: ydf_boosting(data, threads, ITERATIONS, LEARNING_RATE, N_LEAVES)}


def hold_out(data):
    """Split the test part into one to choose by and one to report on."""
    X, X_test, y, y_test = data
    n = min(N_VALIDATION, len(y_test) // 2)
    return (X, X_test[:n], y, y_test[:n]), (X, X_test[n:], y, y_test[n:])


def iterations_to(peers, data, models):
    """Find the least iterations after which models are as good as their peers.

    Parameters
    ----------
    peers : list of list of estimator
        Fitted peers, in lists that differ by the seed only. The best list counts.
    data : tuple of ndarray
        Training and test part. On both halves of the latter the loss is to be reached.
    models : list of estimator
        Ours with many iterations, fitted with several seeds.

    Returns
    -------
    n_iterations : int or None
        None if they never are.
    target : float
        The mean loss of the peers on validation rows.
    """
    _, X, _, y = data
    n = len(hold_out(data)[0][3])
    rows = np.arange(len(y))
    column = np.searchsorted(models[0].classes_, y)

    def losses(probabilities):
        """Log-losses on both parts of the test rows."""
        loss = -np.log(probabilities[rows, column])
        return loss[:n].mean(), loss[n:].mean()

    targets = np.min(
        [
            np.mean([losses(peer.predict_proba(X)) for peer in same], axis=0)
            for same in peers
        ],
        axis=0,
    )
    reached = np.zeros(2, dtype=bool)
    stages = zip(*(model.staged_predict_proba(X) for model in models), strict=True)
    for i, stage in enumerate(stages, 1):
        reached |= np.mean([losses(p) for p in stage], axis=0) <= targets
        if reached.all():
            return i, targets[0]
    return None, targets[0]


# Trees of ours that a loss is to be reached with.
MOST_TREES = 200


def race(title, data, references, peers, goal, n_rounds, arm="auto", note=""):
    """Compare the time that ours take to a loss with the times of others.

    `references` fit, with a seed, the models whose loss is to be reached, the lowest of
    them; `peers` are other contenders. `title` has a place for the loss; `arm` is our
    solver.
    """
    seeds = range(n_rounds)
    n_trees, target = iterations_to(
        [[fit(seed) for seed in seeds] for fit in references],
        data,
        [ours(data, MOST_TREES, solver=arm)(seed) for seed in seeds],
    )
    title = title.format(target)
    if n_trees is None:
        return Table(title=f"{title}; never", columns=["trees"], rows=[[MOST_TREES]])
    metric, score = quality(hold_out(data)[1])
    return Comparison(
        title=title,
        contenders={
            f"{arm}, {n_trees} trees": ours(data, n_trees, solver=arm),
            **peers,
        },
        quality={f"test {metric}": score},
        goals=dict.fromkeys(peers, goal),
        rounds=n_rounds,
        warm_up=False,
        note=note,
    )


# Random rows that a rival of samples sees.
N_SUBSET = 262_144


def rival_arms(data, threads):
    """Return ways to see fewer rows, or to need fewer trees: `arm(max_iter=...)`."""
    X, X_test, y, y_test = data
    chosen = np.random.default_rng(0).permutation(len(y))[:N_SUBSET]
    subset = X[chosen], X_test, y[chosen], y_test
    bagging = {"subsample": N_SUBSET / len(y), "subsample_freq": 1}
    arms = {}
    for rate in (LEARNING_RATE, 0.25):
        shown = "" if rate == LEARNING_RATE else f", learning rate {rate}"
        exact = {"solver": "exact", "learning_rate": rate}
        arms[f"mab{shown}"] = partial(ours, data, solver="mab", learning_rate=rate)
        arms[f"exact{shown}"] = partial(ours, data, **exact)
        arms[f"exact on {N_SUBSET:,} rows{shown}"] = partial(ours, subset, **exact)
    for shown, parameters in (
        ("", {}),
        (f", bagging {N_SUBSET:,}", bagging),
        (", GOSS", {"data_sample_strategy": "goss"}),
    ):
        arms[LIGHTGBM + shown] = partial(lightgbm, data, threads, **parameters)
    return arms


@benchmark("boosting.rivals", data=["flights2001_3m"])
def rivals(options):
    """Loss and time of all ways to see fewer rows."""
    marks = (50, 100, 200)
    for name in ("1M x 28", "flights2001_3m"):
        if not options.wants(name):
            continue
        data = LARGE[name]()
        _, score = quality(data)
        rows = []
        for arm, make in rival_arms(data, options.threads).items():
            row, seconds = [arm], 0.0
            for max_iter in marks:
                side = make(max_iter=max_iter)
                if seconds > LONGEST or not getattr(side, "is_installed", True):
                    row += [None, None]
                    continue
                run = side.run if isinstance(side, Contender) else side
                start = time.perf_counter()
                model = run(0)
                seconds = time.perf_counter() - start
                row += [seconds, float(score(model))]
            rows.append(row)
        columns = [c for n in marks for c in (f"{n} trees, s", "log-loss")]
        yield Table(
            title=f"{name}: fit time and test log-loss, one run each",
            columns=["", *columns],
            rows=rows,
            note=f"No fit follows one of more than {LONGEST:g} seconds.",
        )


@benchmark("boosting.cut_over", data=["flights2001_3m"])
def cut_over(options):
    """From how many rows on samples pay: time to the loss of 100 exact trees."""
    sources = {"synthetic x 28": partial(synthetic, 1_000_000)} | {
        "flights2001_3m": LARGE["flights2001_3m"]
    }
    for name, make in sources.items():
        if not options.wants(name):
            continue
        X, X_test, y, y_test = make()
        order = np.random.default_rng(0).permutation(len(y))
        for n in (250_000, 500_000, 1_000_000):
            chosen = order[:n]
            data = (X[chosen], X_test, y[chosen], y_test)
            exact = ours(data, solver="exact")
            yield race(
                f"{n:,} rows of {name}: time to a loss of {{:.5f}}, that of "
                f"{ITERATIONS} exact trees",
                data,
                [exact],
                {OURS: exact},
                1.0,
                options.rounds or 2,
                "mab",
            )
