"""Models beside the exact ones: what sampling costs in quality, with time beside.

Each row is a data set. Both sides are fitted with the same seeds, which also split the
data or draw them, so that differences are paired: what is shown is their mean over the
seeds, with its standard error. ``--rounds`` sets the number of seeds.
"""

import time
from collections import defaultdict
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from sklearn.metrics import average_precision_score

from sklearn_bandit import ensemble

from ..harness import Comparison, Table, benchmark
from ._other_boosters import PERPETUAL, YDF, perpetual, ydf_boosting
from ._quality_data import (
    classes,
    covertype_binary,
    curve,
    flights_by_delay,
    lognormal_noise,
    main_effects,
    rare,
    rare_noise,
    real,
)
from .boosting import (
    ITERATIONS,
    LARGE,
    LEARNING_RATE,
    LIGHTGBM,
    N_LEAVES,
    catboost,
    lightgbm,
    ours,
    quality,
    race,
)

SEEDS = 5

# A tree for each class in every iteration takes as many times as long.
SEEDS_OF_CLASSES = 3

# Where single targets decide, differences vary more from seed to seed.
SEEDS_OF_NOISY = 30

# -- what every comparison of quality shares ------------------------------------------


def differences(ours, exact):
    """Mean of paired differences in percent of the exact side, and standard error."""
    percent = 100.0 * (np.asarray(ours) / np.asarray(exact) - 1.0)
    error = percent.std(ddof=1) / np.sqrt(len(percent)) if len(percent) > 1 else np.nan
    return f"{percent.mean():+.2f} ± {error:.2f}%"


def timed(run):
    """Run a function; return its result and the processor time that it took."""
    start = time.process_time()
    result = run()
    return result, time.process_time() - start


# -- boosting -------------------------------------------------------------------------

SOLVERS = ("auto", "exact")

# Iterations after which losses are compared.
MARKS = (100, 300)


@dataclass
class Task:
    """A data set for boosting.

    Attributes
    ----------
    make : callable
        ``make(seed)`` returns training and test part: X, X_test, y, y_test.
    parameters : dict
        Of the estimator.
    noise : callable or None
        ``noise(X)`` returns mean and variance of the targets of some rows. With it the
        test loss, half of the squared error, is its expectation over the targets: in
        a million targets with heavy tails a single one may decide.
    seeds : int
        How many seeds are counted, unless the command line says it.
    """

    make: Callable
    parameters: dict = field(default_factory=dict)
    noise: Callable | None = None
    seeds: int = SEEDS

    def mean_loss(self, model, X, y, raw):
        """Mean loss of raw predictions; 0 is the least that targets allow."""
        raw = raw[:, 0] if raw.shape[1] == 1 else raw
        if self.noise is not None and y.dtype.kind == "f":
            mean, variance = self.noise(X)
            return np.mean((raw - mean) ** 2 + variance) / 2.0
        if hasattr(model, "classes_"):
            y = np.searchsorted(model.classes_, y)
        y = y.astype(np.float64)
        rest = np.mean(model._loss.constant_to_optimal_zero(y))
        return model._loss(y_true=y, raw_prediction=raw) + rest


LOGNORMAL = partial(curve, "lognormal", 600_000, n_test=1_000_000)

BOOSTING = {
    "flights2001_3m": Task(partial(real, "flights2001_3m")),
    "beijing_air": Task(partial(real, "beijing_air")),
    "covtype": Task(partial(real, "covtype"), {"l2_regularization": 1.0}),
    "covtype, binary": Task(covertype_binary),
    "donors": Task(partial(real, "donors"), {"l2_regularization": 1.0}),
    "sgemm": Task(partial(real, "sgemm")),
    "1M x 28": Task(partial(main_effects, 1_000_000)),
    "six classes, one rare": Task(partial(classes, 600_000), seeds=SEEDS_OF_CLASSES),
    "flights, four classes": Task(flights_by_delay, seeds=SEEDS_OF_CLASSES),
    "lognormal": Task(LOGNORMAL, seeds=SEEDS_OF_NOISY),
    "lognormal, expected loss": Task(
        LOGNORMAL, noise=lognormal_noise, seeds=SEEDS_OF_NOISY
    ),
    "poisson": Task(partial(curve, "poisson", 600_000), {"loss": "poisson"}),
    "90% quantile": Task(
        partial(curve, "quantile", 600_000), {"loss": "quantile", "quantile": 0.9}
    ),
}

RARE = {
    name: Task(
        partial(rare, n, share),
        {"l2_regularization": 1.0},
        partial(rare_noise, share),
        SEEDS_OF_NOISY,
    )
    for name, n, share in (
        ("0.5% of 800,000", 800_000, 0.005),
        ("0.1% of 2,000,000", 2_000_000, 0.001),
    )
}


def boost(data, solver, n_trees, seed, parameters):
    """Fit with a solver."""
    X, _, y, _ = data
    kind = "Regressor" if y.dtype.kind == "f" else "Classifier"
    return getattr(ensemble, f"HistGradientBoosting{kind}")(
        max_iter=n_trees,
        solver=solver,
        early_stopping=False,
        random_state=seed,
        **parameters,
    ).fit(X, y)


def raw_predictions(model, X, marks):
    """Raw predictions after so many iterations, by that number."""
    shorter = {mark: copy(model) for mark in marks}
    for mark, part in shorter.items():
        part._predictors = model._predictors[:mark]
    return {mark: part._raw_predict(X) for mark, part in shorter.items()}


def draws_samples(data, task):
    """Whether "auto" draws samples here. If not, its model is the exact one."""
    return boost(data, "auto", 1, 0, task.parameters).n_sampled_iterations_ > 0


@dataclass
class Found:
    """What was counted on one data set, a value for each seed.

    Attributes
    ----------
    scores : dict of tuple to list
        By solver, metric and number of iterations.
    seconds : dict of str to list
        Processor time of the fits, by solver.
    sampled : list of int
        Iterations of "auto" whose trees saw a sample.
    is_same : bool
        Whether "auto" draws no samples: there is nothing to compare then.
    """

    scores: dict = field(default_factory=lambda: defaultdict(list))
    seconds: dict = field(default_factory=lambda: defaultdict(list))
    sampled: list = field(default_factory=list)
    is_same: bool = False

    def count(self, task, seed, marks, metrics):
        """Fit both solvers with one more seed."""
        data = task.make(seed)
        test = data[1], data[3]
        if seed == 0:
            self.is_same = not draws_samples(data, task)
        if self.is_same:
            return
        for solver in SOLVERS:
            fit = partial(boost, data, solver, max(marks), seed, task.parameters)
            model, spent = timed(fit)
            self.seconds[solver].append(spent)
            for mark, raw in raw_predictions(model, data[1], marks).items():
                for metric, score in metrics.items():
                    value = score(task, model, *test, raw)
                    self.scores[solver, metric, mark].append(value)
            if solver == "auto":
                self.sampled.append(model.n_sampled_iterations_)

    def row(self, columns):
        """Cells of a table, for columns of metric and number of iterations."""
        if self.is_same:
            return ["exact trees"] + ["same"] * len(columns) + ["", "", 0]
        cells = [
            differences(self.scores["auto", *column], self.scores["exact", *column])
            for column in columns
        ]
        seconds = [float(np.median(self.seconds[solver])) for solver in SOLVERS]
        return [len(self.sampled), *cells, *seconds, float(np.mean(self.sampled))]


def compare_solvers(options, title, tasks, marks, metrics, note):
    """Compare "auto" with "exact".

    A metric is a function of task, model, X, y and raw predictions. After each seed
    there is a table of what was counted so far: a run that is cut off leaves something.
    """
    columns = [(metric, mark) for metric in metrics for mark in marks]
    found = {name: Found() for name in tasks if options.wants(name)}
    n_seeds = {name: options.rounds or tasks[name].seeds for name in found}
    for seed in range(max(n_seeds.values(), default=0)):
        for name, counted in found.items():
            if seed >= n_seeds[name]:
                continue
            counted.count(tasks[name], seed, marks, metrics)
            print(name, *counted.row(columns), flush=True)
        yield Table(
            title=title,
            columns=["", "seeds"]
            + [f"{metric}, {mark} iterations" for metric, mark in columns]
            + ["auto, s", "exact, s", "on samples"],
            rows=[[name, *counted.row(columns)] for name, counted in found.items()],
            note="Mean of paired differences over seeds, which also split or draw the "
            "data, and its standard error; below zero, samples are better. Seconds of "
            f"the processor for {max(marks)} iterations; how many of them saw samples. "
            + note,
        )


@benchmark(
    "quality.boosting",
    data=["flights2001_3m", "beijing_air", "covtype", "donors", "sgemm"],
)
def boosting(options):
    """Test loss of `auto` over `exact` after 100 and 300 iterations."""
    yield from compare_solvers(
        options,
        "Test loss, samples (the default) over exact trees",
        BOOSTING,
        MARKS,
        {"loss": Task.mean_loss},
        "Settings were chosen on the flights, the lognormal target and rows like "
        "1M x 28. A single lognormal target may make a difference of 1 or 2%: the "
        "expected loss leaves such noise out. Goal: at most +0.1% on average, none "
        "above +0.2%.",
    )


@benchmark("quality.boosting_rare")
def boosting_rare(options):
    """Rare positives with an L2 term of 1: log-loss and average precision."""

    def precision(task, model, X, y, raw):
        return average_precision_score(y, raw[:, 0])

    def expected_precision(task, model, X, y, raw):
        # A row is a positive and a negative, each as often as it would be.
        positive, _ = task.noise(X)
        return average_precision_score(
            np.repeat([1, 0], len(y)),
            np.tile(raw[:, 0], 2),
            sample_weight=np.concatenate([positive, 1.0 - positive]),
        )

    yield from compare_solvers(
        options,
        "Rare positives, samples (the default) over exact trees",
        RARE,
        (100,),
        {
            "log-loss": Task.mean_loss,
            "average precision": precision,
            "expected precision": expected_precision,
        },
        "Expected precision is average precision where test rows count by their "
        "probability of being positive, which is known here, and not by what was "
        "drawn: it leaves half of the noise out. Goal: within 1%.",
    )


CATBOOST = "CatBoost, MVS"

# How often we, LightGBM and its quantised mode run, and others, of which some take
# minutes: once. A pair of fits of LightGBM's modes takes 12 s on a million rows of 28
# features and on the flights.
N_ROUNDS = 5
SLOW_ROUNDS = 1

# Rows above which everybody runs once. A fit of LightGBM takes a minute or more there.
MOST_ROWS = 5_000_000


def is_large(data):
    """Whether a data set is so large that sides run once, and some not at all."""
    return len(data[0]) > MOST_ROWS


def count_rounds(data, options):
    """Return how often each side runs, the slow ones excepted."""
    return options.rounds or (1 if is_large(data) else N_ROUNDS)


def lightgbm_modes(data, threads):
    """LightGBM, plain and with quantised gradients."""
    return {
        LIGHTGBM: lightgbm(data, threads),
        f"{LIGHTGBM}, quantised": lightgbm(data, threads, use_quantized_grad=True),
    }


def once(sides):
    """Return contenders that run less often than others."""
    return {name: replace(side, rounds=SLOW_ROUNDS) for name, side in sides.items()}


def catboost_once(data, threads):
    """CatBoost with MVS."""
    return once({CATBOOST: catboost(data, threads)})


def ydf_once(data, threads):
    """YDF, grown by leaf."""
    fit = ydf_boosting(data, threads, ITERATIONS, LEARNING_RATE, N_LEAVES)
    return once({YDF: fit})


@benchmark("quality.boosting_time_to_loss", data=["flights2001_3m"])
def boosting_time_to_loss(options):
    """Time to the loss of LightGBM's 100 trees.

    It is the lower one of its two modes' losses, on validation and on test rows.
    """
    goals = {"flights2001_3m": 8.0, "1M x 28": 6.0, "10M x 28": 50.0}
    for name, goal in goals.items():
        if not options.wants(name):
            continue
        data = LARGE[name]()
        modes = lightgbm_modes(data, options.threads)
        others, note = {}, f"{CATBOOST}: as in quality.boosting_default."
        if not is_large(data):
            others, note = catboost_once(data, options.threads), ""
        yield race(
            f"{name}: time to a loss of {{:.5f}}, LightGBM's of {ITERATIONS} trees",
            data,
            [mode.run for mode in modes.values()],
            modes | others,
            goal,
            count_rounds(data, options),
            note=note,
        )


@benchmark("quality.boosting_default", data=["flights2001_3m"])
def boosting_default(options):
    """The default call at 100 iterations beside others with as many."""
    goals = {"flights2001_3m": 5.0, "1M x 28": 4.0, "10M x 28": 15.0}
    for name, goal in goals.items():
        if not options.wants(name):
            continue
        data = LARGE[name]()
        metric, score = quality(data)
        others = lightgbm_modes(data, options.threads)
        others |= catboost_once(data, options.threads)
        note = f"{YDF} was left out: a fit takes some minutes."
        if not is_large(data):
            others, note = others | ydf_once(data, options.threads), ""
        yield Comparison(
            title=f"{name}: {ITERATIONS} iterations",
            contenders={
                "auto": ours(data),
                "fast, sample_tol=1": ours(data, sample_tol=1.0),
                "exact": ours(data, solver="exact"),
                **others,
            },
            quality={f"test {metric}": score},
            goals=dict.fromkeys(others, goal),
            rounds=count_rounds(data, options),
            warm_up=False,
            note=note,
        )
    if options.wants(PERPETUAL):
        yield beside_perpetual(options)


# Rows that Perpetual gets: it takes a minute for them, and 17 seconds for a quarter.
FEW_ROWS = 20_000


def beside_perpetual(options):
    """Compare with Perpetual, which chooses its number of trees, on few rows."""
    X, X_test, y, y_test = LARGE["1M x 28"]()
    data = X[:FEW_ROWS], X_test, y[:FEW_ROWS], y_test
    metric, score = quality(data)
    modes = lightgbm_modes(data, options.threads)
    return Comparison(
        title=f"{FEW_ROWS:,} rows of 1M x 28: {ITERATIONS} iterations, Perpetual by a "
        "budget of 0.5",
        contenders={
            "auto": ours(data),
            LIGHTGBM: modes[LIGHTGBM],
            **ydf_once(data, options.threads),
            **once({PERPETUAL: perpetual(data, options.threads)}),
        },
        quality={f"test {metric}": score},
        rounds=options.rounds or N_ROUNDS,
        warm_up=False,
    )
